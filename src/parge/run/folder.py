"""RunFolder: where a run stores its plan, its subgraphs and their results, and how it is resumed."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parge.decompose.decomposition import Contexts, Decomposition
from parge.errors import InputError, PargeError
from parge.graph.graph import Graph
from parge.run import arrays, parts, schema
from parge.run.arrays import DamagedError, Stored
from parge.run.codec import Arrays, graph_arrays, graph_of, id_arrays, ids_of
from parge.run.lock import hold, holder
from parge.run.metadata import RUN_NOTES, PlanMetadata, described_in, note_faults
from parge.run.schema import GRAPH, PARTS, PLAN, SHARDED, SHARED, SPACE
from parge.show.text import on_one_line, printable

_NO_PLAN = "a run without a plan cannot be resumed: start it again in another folder"


@dataclass(frozen=True)
class RunFolder:
    """A run on disk.

    ``plan/`` holds the settings and the part of each vertex, ``graph/`` the graph, ``parts/000/subgraph`` the input
    of the first worker, ``parts/000/result`` its output. Each is written completely, then renamed.
    """

    path: Path

    def part(self, i: int) -> Path:
        """Return the folder of subgraph i, which can be copied to any machine and back; links are refused."""
        place = self.path / PARTS / f"{i:03d}"
        arrays.refuse_links(self.path, place)
        return place

    @property
    def exists(self) -> bool:
        """Whether a run was planned here."""
        return arrays.exists(self.path / PLAN)

    def check(self) -> None:
        """Refuse a folder in which a run can neither start nor resume; nothing in it is changed.

        A run can start in an empty or new folder, and resume in one that holds a plan of parge. Any other folder
        belongs to another user, or was made to do harm.
        """
        if not is_folder(self.path):
            return
        if not self.exists:
            schema.check_unplanned(self.path, lambda graph: is_kind(graph, GRAPH))
            return
        if is_kind(self.path / PLAN, SHARDED):
            raise InputError(
                f"{self.path} holds a run in shards. Only the command that started it, parge embed --sharded, resumes "
                "it (with --resume). Give the folder of another run."
            )
        schema.check_run(self.path)
        self.plan_metadata()

    def check_open(self, *, resume: bool) -> None:
        """Refuse a folder in which a run can neither start nor resume, and, without `resume`, one that holds a run."""
        self.check()
        if self.exists and not resume:
            raise has_a_run(self.path)

    def check_planned(self) -> None:
        """Refuse a folder that holds no run, or other things with it; nothing in it is changed."""
        if not self.exists:
            raise InputError(f"{self.path} holds no run: it has no plan. Give the folder of --run-dir.")
        self.check()

    def notices(self) -> tuple[str, ...]:
        """Return notices on a run folder: files that do not belong to the run, and damaged records."""
        found = schema.strays(self.path)
        if not found:
            return note_faults(self.path, self.plan_metadata().run)
        names = ", ".join(on_one_line(name, 200) for name in found[:3])
        more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
        said = f"{on_one_line(self.path)} holds files that parge did not write: {names}{more}. They are not touched."
        return (said, *note_faults(self.path, self.plan_metadata().run))

    def discard(self) -> str | None:
        """Remove the files of the run, and the folder if it is then empty; return a notice if it is kept.

        The plan is removed last: if the process is killed, the run can be resumed, or a new one can start there.
        """
        return emptied(self.path, self._remove)

    def _remove(self) -> None:
        for i in range(len(self.plan_metadata().sizes)):
            parts.remove(self.part(i))
        with contextlib.suppress(OSError):
            (self.path / PARTS).rmdir()
        arrays.sweep(self.path)
        for name in RUN_NOTES:
            (self.path / name).unlink(missing_ok=True)
        for name in (SPACE, SHARED, GRAPH):
            arrays.discard(self.path / name)
        doomed = self.path / f"{PLAN}.old-{os.getpid()}"
        (self.path / PLAN).rename(doomed)
        arrays.discard(doomed)

    def save_plan(self, decomposition: Decomposition, metadata: PlanMetadata) -> None:
        """Write the decomposition and its settings; from then on the run exists."""
        content: Arrays = {
            "part": decomposition.part,
            "anchors": decomposition.anchors,
            "capacities": decomposition.capacities,
            **id_arrays(decomposition.graph.ids),
        }
        if decomposition.budgets is not None:
            content["budgets"] = decomposition.budgets
        if decomposition.contexts is not None:
            around = decomposition.contexts
            content |= {"lump": around.landmark, "halos": around.halos, "lumped_edges": around.edges}
        self.save_graph(decomposition.graph)
        arrays.save(self.path / PLAN, PLAN, content, metadata.to_json())

    def save_graph(self, graph: Graph) -> None:
        """Write the graph, so that the run can be completed from its folder alone."""
        arrays.save(self.path / GRAPH, GRAPH, graph_arrays(graph), {})

    def shared(self, make: Callable[[], Arrays]) -> dict[str, Stored]:
        """Return the arrays that a technique prepares for all workers; computed once, so all have the same bits.

        Their names are those in files, with the prefix ``shared_``.
        """
        place = self.path / SHARED
        if not is_kind(place, SHARED, intact=True):
            content = {f"shared_{name}": array for name, array in make().items()}
            if not content:
                return {}
            arrays.save(place, SHARED, content, {})
        return arrays.load_stored(place, SHARED)

    def stored_graph(self, graph: Graph) -> dict[str, Stored]:
        """Return the rows of the run's graph with the files that hold them; empty where these are not there."""
        rows = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights}
        try:
            return arrays.stored_as(self.path / GRAPH, GRAPH, rows)
        except DamagedError:
            return {}

    def has_graph(self) -> bool:
        """Return whether the graph is present and intact."""
        return is_kind(self.path / GRAPH, GRAPH, intact=True)

    def plan_metadata(self) -> PlanMetadata:
        """Return the metadata of the run."""
        with _advising(_NO_PLAN):
            return self._metadata(arrays.load(self.path / PLAN, PLAN, arrays=False)[1])

    def _metadata(self, metadata: dict[str, Any]) -> PlanMetadata:
        try:
            return PlanMetadata.from_json(metadata)
        except InputError as error:
            raise DamagedError(f"{self.path / PLAN} is not a plan of parge: {printable(error, 200)}") from None

    def load_plan(self, graph: Graph | None = None) -> tuple[Decomposition, PlanMetadata]:
        """Return the decomposition and the settings; the graph is read from the folder unless given."""
        with _advising(_NO_PLAN):
            content, plain = arrays.load(self.path / PLAN, PLAN)
            metadata = self._metadata(plain)
        with _advising("to write the graph again, repeat the command that started the run with --resume"):
            stored = arrays.load(self.path / GRAPH, GRAPH)[0] if graph is None else {}
        try:
            if graph is None:
                graph = graph_of(stored, ids_of(content))
            return _decomposition(graph, content, metadata), metadata
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise DamagedError(f"{self.path} does not hold a decomposition: {printable(error, 200)}") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock this folder against other parge processes; the system releases the lock when the process ends."""
        self.check()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PargeError(f"Cannot create the run folder {self.path}: {error.strerror}") from error
        with hold(self.path):
            self.sweep()
            yield

    def sweep(self) -> None:
        """Remove temporary files that a killed run left, except in parts that another process works on."""
        arrays.sweep(self.path)
        arrays.refuse_links(self.path, self.path / PARTS)
        if (self.path / PARTS).is_dir():
            for place in (self.path / PARTS).iterdir():
                if place.is_dir() and not place.is_symlink():
                    with contextlib.suppress(PargeError, OSError), hold(place, patience=0):
                        arrays.sweep(place)


def is_folder(path: Path) -> bool:
    """Return whether a run folder is there already; refuse what is there and is no folder."""
    if os.path.lexists(path) and not path.is_dir():
        raise InputError(f"{path} cannot be a run folder: it is not a folder. Choose another name.")
    return path.is_dir()


def has_a_run(path: Path) -> InputError:
    """Return the error of a folder that holds a run, where a new one should start."""
    other = holder(path)
    at_work = "" if other is None or other.pid == os.getpid() else f". Another parge ({other}) is at work in it"
    return InputError(
        f"{path} holds a run already. Resume it with --resume (in Python, resume=True), use another --run-dir, or "
        f"delete {path} if you do not need it{at_work}"
    )


def is_left(path: Path, check: Callable[[], None]) -> bool:
    """Return whether a folder, which is no link, holds a run that passes `check` and that nobody works on."""
    if path.is_symlink() or not arrays.exists(path / PLAN) or holder(path) is not None:
        return False
    try:
        check()
    except PargeError:
        return False  # the command itself says what is wrong
    return True


def emptied(path: Path, remove: Callable[[], None]) -> str | None:
    """Remove the files of a run while its folder is locked, and the folder if it is then empty; or say why not."""
    with contextlib.suppress(OSError, PargeError):
        with hold(path, patience=0):
            remove()
        path.rmdir()
    left = sorted(path.iterdir()) if path.is_dir() else []
    if not left:
        return None
    return f"{on_one_line(path)} is kept: it holds {on_one_line(left[0].name, 200)}, which this run did not write"


@contextmanager
def _advising(advice: str) -> Iterator[None]:
    """Add advice to a DamagedError that is raised inside."""
    try:
        yield
    except DamagedError as error:
        raise DamagedError(f"{error}; {advice}") from None


def is_kind(folder: Path, kind: str, *, intact: bool = False) -> bool:
    """Return whether a folder has a manifest of this kind and, with `intact`, all arrays as it says."""
    try:
        arrays.load(folder, kind, arrays=intact)
    except DamagedError:
        return False
    return True


def _decomposition(graph: Graph, content: Arrays, metadata: PlanMetadata) -> Decomposition:
    anchors, capacities = content["anchors"], content["capacities"]
    if anchors.size and not 0 <= anchors.min() <= anchors.max() < graph.n_vertices:
        raise ValueError(f"anchors must lie in 0..{graph.n_vertices - 1}")
    budgets = content.get("budgets")
    if not capacities.size or (budgets is not None and budgets.size != capacities.size):
        raise ValueError(f"{capacities.size} capacities and {0 if budgets is None else budgets.size} budgets")
    footprint = None if budgets is None else metadata.technique.bound
    around = _contexts(graph, content, capacities.size)
    decomposition = Decomposition(
        graph, content["part"], anchors, capacities, budgets, footprint, metadata.notices, contexts=around
    )
    if digest(decomposition) != metadata.decomposition:
        raise ValueError("its parts are not those that the run started with")
    return decomposition


def _contexts(graph: Graph, content: Arrays, n_parts: int) -> Contexts | None:
    if "lump" not in content:
        return None
    landmark, halos, edges = content["lump"], content["halos"], content["lumped_edges"]
    if landmark.size != graph.n_vertices or halos.size != n_parts or edges.size != n_parts:
        raise ValueError(f"{landmark.size} landmarks of vertices, {halos.size} halos and {edges.size} numbers of edges")
    if landmark.size and not 0 <= landmark.min() <= landmark.max() < graph.n_vertices:
        raise ValueError(f"landmarks must lie in 0..{graph.n_vertices - 1}")
    if (halos < 0).any() or (edges < 0).any():
        raise ValueError("halos and edges cannot be negative")
    return Contexts(landmark, int(landmark.max(initial=-1)) + 1, halos, edges)


def digest(decomposition: Decomposition) -> str:
    """Return a short text that is equal for equal decompositions."""
    found = hashlib.sha256()
    around = decomposition.contexts
    extra = () if around is None else (around.landmark, around.halos)
    for array in (decomposition.part, decomposition.anchors, decomposition.capacities, *extra):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:16]


def check_same(recorded: dict[str, Any], wanted: dict[str, Any], path: Path) -> None:
    """Refuse to resume a run that has another plan or graph; name the fields that differ."""
    was, now = _flat(recorded), _flat(wanted)
    # Of two techniques, the settings that only one has say nothing.
    keys = was.keys() & now.keys() if was.get("technique") != now.get("technique") else was.keys() | now.keys()
    other = [key for key in sorted({*keys, *recorded, *wanted}) if was.get(key) != now.get(key)]
    if other == ["graph"]:
        raise InputError(
            f"The run in {path} was made from a different graph. Use another --run-dir, or delete that one."
        )
    if other:
        differing = "; ".join(f"{key} was {was.get(key)!r}, now {now.get(key)!r}" for key in other)
        raise InputError(
            f"{path} holds a run with another plan: {printable(differing)}. "
            f"Give the plan that the run started with, use another --run-dir, or delete {path} if you do not need it."
        )


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with those of the technique among the others, as ``technique.dim``."""
    described = described_in(settings)
    if described is None:
        return settings
    return {**settings, "technique": described.name, **{f"technique.{key}": value for key, value in described.settings}}


def fingerprint(graph: Graph) -> str:
    """Return a short text that is equal for equal graphs."""
    found = hashlib.sha256()
    for array in (*graph_arrays(graph).values(), *id_arrays(graph.ids).values()):
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:16]
