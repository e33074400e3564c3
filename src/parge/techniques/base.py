"""Base class of embedding techniques, its laws, and the checks of what a technique returns."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, ClassVar, NamedTuple, Protocol, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from parge.errors import Extra, InputError, TechniqueError
from parge.events import Progress, silent
from parge.graph.features import with_features
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import Subgraph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import Footprint
from parge.numbers import MOST, MOST_DIM, MOST_SETTING, check_number, check_whole, shown
from parge.skipgram.settings import Mode
from parge.stage_reports import TechniqueChoice
from parge.storage import all_finite
from parge.typing import FloatArray, Shape

WHITEN_20 = "settle"
"""The name that plans, files and command lines have for 20 rounds of the pass `whiten`."""

# Whole numbers that are no amount of work.
_NO_WORK = {"seed", "threads", "batch", "exact_up_to"}


@dataclass(frozen=True)
class Technique(ABC):
    """Base class of embedding techniques: immutable settings, and a method that computes the vectors of a subgraph.

    Laws (held by `parge.testing.TechniqueContract`):

    * the same subgraph and generator state give the same vectors, bit for bit;
    * every vector is finite, also for isolated vertices, subgraphs smaller than `dim` and empty ones;
    * the subgraph is not changed;
    * the technique can be pickled;
    * memory of a process that embeds stays under ``projected_bytes(n_vertices, n_edges)``.
    """

    dim: int = 128

    name: ClassVar[str] = ""
    aligned: ClassVar[bool] = False
    """True where the vectors of different subgraphs lie in one space by construction."""
    refine: ClassVar[str] = "none"
    """The pass over the whole graph that ``refine="auto"`` means (see `parge.refine`)."""
    link_refine: ClassVar[str] = ""
    """The pass that ``refine="auto"`` means where links matter (``purpose="links"``); empty: the same."""
    refines_whole: ClassVar[bool] = True
    """Whether the pass also improves the vectors of a graph that was embedded whole."""

    on_walks: ClassVar[bool] = False
    """True where vectors are trained on random walks; `parge plan` then names techniques that may suit better."""
    leaves_nothing: ClassVar[bool] = False
    """True where embedding leaves nothing behind in a process: no thread, child process or changed state.

    Small subgraphs then share a process. Workers of a registered technique are copies of a process that has embedded a
    few vertices with the default settings. A subclass that starts threads sets it to False again.
    """
    needs_extra: ClassVar[Extra | None] = None
    """The optional package that it cannot embed without; a plan is refused where that is missing."""

    def refine_for(self, graph: Counted) -> str:
        """Return the pass that ``refine="auto"`` means for this graph."""
        del graph
        return self.refine

    @property
    def relative_work(self) -> float:
        """The work for a vertex as a multiple of that of the default settings; `parge estimate` multiplies by it."""
        return self.dim / 128

    @property
    def most_relative_work(self) -> float:
        """A bound on the same, at least 1, for settings that a stranger chose (`parge.run.trust`).

        It is the product of all counts, each divided by its default: walks, their length, windows and so on are nested
        loops. A count below its default makes up for no other.
        """
        times = 1.0
        for field in fields(self):
            if field.name not in _NO_WORK and type(field.default) is int and field.default > 0:
                times *= max(1.0, getattr(self, field.name) / field.default)
        return times

    @property
    def shared_shapes(self) -> Mapping[str, Shape]:
        """Names and shapes of the arrays that `prepare` returns; none by default.

        An axis is a number, or a name: axes of one name are equally long. ``{"centroids": ("k", 16), "mass": ("k",)}``
        declares a table of 16 columns and one number per row of it.
        """
        return {}

    def prepare(self, graph: Graph, decomposition: Any) -> Mapping[str, NDArray[Any]]:
        """Return small arrays that every worker receives as `Subgraph.shared`; nothing by default.

        Called once, by the coordinator, before any worker starts. `shared_shapes` declares what is returned.
        """
        del graph, decomposition
        return {}

    @abstractmethod
    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex of the subgraph, (n_vertices, dim) float32."""

    @abstractmethod
    def footprint(self) -> Footprint:
        """Return the bound on the memory of a worker, linear in vertices and edges, for a graph without features."""

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound for subgraphs of this graph, including the features that every worker reads."""
        bound = self.footprint()
        return bound if graph.features is None else with_features(bound, graph)

    def projected_bytes(self, n_vertices: int, n_edges: int) -> int:
        """Return the most memory that a worker needs for a subgraph of that size, in bytes."""
        return self.footprint().bytes(n_vertices, n_edges)


class Chosen(NamedTuple):
    """The technique that was chosen, and why."""

    technique: Technique
    choice: TechniqueChoice


class Chooser(ABC):
    """The capability of a technique that chooses another: a plan asks it once which one suits the graph."""

    @abstractmethod
    def candidates(self, graph: Graph | None = None) -> tuple[Technique, ...]:
        """Return the techniques that it may choose for a graph; without a graph, all that it may ever choose."""

    @abstractmethod
    def choose(self, graph: Graph, seed: int = 0, among: Sequence[Technique] = ()) -> Chosen:
        """Return one of the candidates, or of those in `among`; the same for the same graph and seed."""

    @abstractmethod
    def around_landmarks(self) -> Technique:
        """Return the technique for plans that need a backbone; it has the capability of landmarks."""


_SHARED_NAME = re.compile("[a-z][a-z0-9_]{0,39}")
_SHARED_TYPES = tuple(np.dtype(name) for name in ("float32", "float64", "int32", "int64", "uint8", "bool"))

# Rows looked at together; a mask of all vectors would cost a quarter of their memory.
_ROWS = 4096


def embed_checked(
    technique: Technique, subgraph: Subgraph, rng: np.random.Generator, progress: Progress = silent
) -> FloatArray:
    """Return one finite vector per vertex of the subgraph, (n_vertices, dim) float32, or raise `TechniqueError`.

    What the technique raises keeps its type and traceback, and gains a note that names technique and subgraph.

    Raises
    ------
    TechniqueError
        Where the answer is not a matrix of numbers, has the wrong shape, or holds NaN or infinity; where the
        technique tries to end the process.
    """
    try:
        answer = technique.embed(subgraph, rng, progress=progress)
    except SystemExit as error:  # of sys.exit(), which would end the run as if all were well
        raise TechniqueError(
            f"the technique {technique.name} called sys.exit({'' if error.code is None else repr(error.code)}) on "
            f"{_sizes(subgraph)}. It must return vectors or raise an exception."
        ) from error
    except Exception as error:
        error.add_note(f"raised by the technique {technique.name} on {_sizes(subgraph)}")
        raise
    return _as_vectors(answer, technique, subgraph)


class HasContexts(Protocol):
    """What of a decomposition is handed to a technique that prepares arrays for all workers."""

    @property
    def graph(self) -> Graph:
        """The whole graph."""

    @property
    def contexts(self) -> Any:
        """The landmark of every vertex and their number; None where subgraphs have no context."""


def prepare_checked(technique: Technique, decomposition: HasContexts) -> dict[str, NDArray[Any]]:
    """Return the arrays that every worker receives; raise where they differ from what the technique declares."""
    graph, context = decomposition.graph, decomposition.contexts
    found = {name: np.ascontiguousarray(array) for name, array in technique.prepare(graph, decomposition).items()}
    if context is not None and isinstance(technique, LandmarkTechnique):
        found |= technique.embed_landmarks(graph, context.landmark, context.n_landmarks)
    check_shared(technique, found, None if context is None else context.n_landmarks)
    return found


def check_shared(technique: Technique, shared: Mapping[str, NDArray[Any]], n_landmarks: int | None) -> None:
    """Refuse arrays for all workers that differ in name, type or shape from what the technique declares.

    `n_landmarks` is None where subgraphs have no context.
    """
    declared = dict(technique.shared_shapes)
    if n_landmarks is not None and isinstance(technique, LandmarkTechnique):
        declared |= technique.landmark_shapes
    if declared.keys() != shared.keys():
        raise TechniqueError(
            f"{technique.name} declares the shared arrays {_names(declared)}, but prepare() returned {_names(shared)}. "
            "Return what shared_shapes declares."
        )
    lengths: dict[int | str, int] = {} if n_landmarks is None else {"landmarks": n_landmarks}
    for name, array in shared.items():
        if _SHARED_NAME.fullmatch(name) is None:
            raise TechniqueError(f"the shared array {name!r} of {technique.name}: use lower-case letters, digits and _")
        expected = tuple(
            axis if isinstance(axis, int) else lengths.setdefault(axis, length)
            for axis, length in zip(declared[name], array.shape, strict=False)
        )
        if not array.ndim or expected != array.shape or len(declared[name]) != array.ndim:
            raise TechniqueError(
                f"the shared array {name} of {technique.name} has shape {array.shape}, but {declared[name]} is "
                f"declared, with {lengths}"
            )
        if array.dtype not in _SHARED_TYPES or not all_finite(array):
            raise TechniqueError(
                f"the shared array {name} of {technique.name} holds {array.dtype}; finite numbers of "
                f"{', '.join(map(str, _SHARED_TYPES))} are needed"
            )


def _names(arrays: Mapping[str, Any]) -> str:
    return ", ".join(arrays) or "none"


def _as_vectors(answer: Any, technique: Technique, subgraph: Subgraph) -> FloatArray:
    def wrong(found: str) -> TechniqueError:
        columns = technique.dim or "any number of"
        return TechniqueError(
            f"the technique {technique.name} must return a finite number for each of {subgraph.n_embedded:,} vertices "
            f"x {columns} columns; on {_sizes(subgraph)} it returned {found}"
        )

    if sp.issparse(answer):
        raise wrong(f"a sparse {type(answer).__name__}; return its toarray()")
    try:
        vectors = np.asarray(answer)
    except (TypeError, ValueError) as error:
        raise wrong(f"a {type(answer).__name__} that is not an array ({error})") from error
    if vectors.dtype.kind not in "iuf":
        raise wrong(f"{vectors.dtype} in a {type(answer).__name__}")
    if vectors.ndim != 2:
        raise wrong(f"an array of shape {vectors.shape}")
    if len(vectors) != subgraph.n_embedded:
        raise wrong(f"{len(vectors):,} rows")
    if vectors.shape[1] != technique.dim if technique.dim else not vectors.shape[1] and len(vectors):
        raise wrong(f"{vectors.shape[1]} columns")
    for start in range(0, len(vectors), _ROWS):
        _check_finite(vectors[start : start + _ROWS], start, wrong)
    return np.ascontiguousarray(vectors, np.float32)


def _check_finite(rows: Any, start: int, wrong: Any) -> None:
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(rows.astype(np.float32, copy=False)).all(axis=1))
    if bad.size:
        values = rows[bad[0]]
        beyond = " (beyond float32)" if np.isfinite(values).all() else ""
        shown = values[~np.isfinite(values.astype(np.float32))][0] if beyond == "" else values[np.abs(values).argmax()]
        raise wrong(f"{shown}{beyond} in row {start + bad[0]:,}, counted from 0")


def _sizes(subgraph: Subgraph) -> str:
    return f"subgraph {subgraph.index} ({subgraph.n_vertices:,} vertices, {subgraph.n_edges:,} edges)"


# Far more than anybody was better off with, so that no setting alone asks for years of work, or fills the memory; what
# is not listed counts what a kernel counts.
_MOST = {
    "dim": MOST_DIM,
    "seed": MOST,
    "threads": 1024,
    "walks": 100_000,
    "walk_length": 1_000_000,
    "window": 10_000,
    "negatives": 10_000,
    "samples": 10_000_000,
    "batch": 10_000_000,
    "hops": 100_000,
    "rounds": 100_000,
    "step": 100_000,
    "rank": MOST_DIM,
    "exact_up_to": MOST_DIM,
}

MOST_RATE = 1e6
"""Learning rates far below this one diverge already, which is said; over it float32 itself ends."""


def check_counts(technique: Technique, least: int, *settings: str) -> None:
    """Raise `InputError` for settings that are not whole numbers of at least `least`."""
    for setting in settings:
        most = _MOST.get(setting, MOST_SETTING)
        check_whole(f"{setting} of {technique.name}", getattr(technique, setting), least, most)


def check_range(technique: Technique, setting: str, low: float, high: float = inf, *, above: bool = False) -> None:
    """Raise `InputError` unless a setting is a number from `low` to `high`, both included; `above` excludes `low`."""
    check_number(f"{setting} of {technique.name}", getattr(technique, setting), low, high, above=above)


def check_choice(technique: Technique, setting: str, choices: tuple[str, ...]) -> None:
    """Raise `InputError` for a setting that is not one of the choices."""
    value = getattr(technique, setting)
    if value not in choices:
        raise InputError(f"{setting} of {technique.name} must be one of {', '.join(choices)}; got {shown(value)}")


def check_threads(technique: Technique) -> None:
    """Raise `InputError` unless `threads` and `mode` are valid."""
    check_counts(technique, 1, "threads")
    check_choice(technique, "mode", get_args(Mode))
