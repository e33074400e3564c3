"""Run: an open run: new, resumed, or completed from its folder."""

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.decompose.choice import Chosen
from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import request_meaning
from parge.errors import InputError, PargeError
from parge.events import Listener, Step
from parge.graph.graph import Graph
from parge.io.names import local_folder
from parge.linalg.threads import one_blas_thread
from parge.memory import Footprint, peak_bytes
from parge.planning.choosing import as_chosen
from parge.planning.decision import Decision, candidates, decide, decompose
from parge.planning.plan import PLAN_FIELDS, Plan, ResolvedPlan, read_sizes
from parge.planning.summary import footprint_of, idle, summarise
from parge.reconcile.reconciliation import Reconciliation, reconcile
from parge.result import WHERE, Report
from parge.run import parts
from parge.run.arrays import DamagedError
from parge.run.folder import RunFolder, check_same, digest, fingerprint
from parge.run.metadata import (
    PlanMetadata,
    RecordedTechnique,
    record_retries,
    record_seconds,
    recorded_retries,
    recorded_seconds,
    run_id,
)
from parge.run.parts import Result
from parge.run.trust import needs_word
from parge.stage_reports import Choice, Coordinator, Refined, Seconds
from parge.techniques.base import Technique, common_dim
from parge.techniques.registry import techniques
from parge.techniques.resolve import describe, restore
from parge.text import pasteable, printable
from parge.typing import FloatArray
from parge.values import Settings


@dataclass(frozen=True, eq=False)
class Run:
    """An open run: its folder, its plan, and the measurements so far."""

    folder: RunFolder
    plan: ResolvedPlan
    technique: Technique
    decomposition: Decomposition
    id: str
    seconds: dict[str, float] = field(default_factory=dict)
    retries: list[str] = field(default_factory=list)
    kept: bool = True
    choice: dict[str, Any] = field(default_factory=dict)
    chosen: Choice | None = None
    notices: tuple[str, ...] = ()  # on the folder and on how the plan was given; the graph and the parts have theirs
    results: dict[int, Result] = field(default_factory=dict)  # read and checked once, which takes the longest of all

    def has_subgraph(self, i: int) -> bool:
        """Return whether subgraph i of this run is present and intact."""
        found = self.folder.subgraph_metadata(i)
        return found is not None and (found.get("run"), found.get("index")) == (self.id, i)

    def has_result(self, i: int) -> bool:
        """Return whether subgraph i has an intact result of this run (not of another run, copied here)."""
        if i in self.results:
            return True
        found = self.folder.result(i)
        if found is None or not self._is_ours(found, i) or found.metadata.vertices != self.decomposition.held[i]:
            return False
        self.results[i] = found
        return True

    def _is_ours(self, result: Result, i: int) -> bool:
        return (result.metadata.run, result.metadata.index) == (self.id, i)

    def advice(self, i: int) -> str:
        """Return how to embed subgraph i alone, if that is possible from a command line."""
        described = describe(self.technique)
        if described is None or not self.kept:
            return ""
        return f"to run it alone: {embed_part_command(self.folder.part(i), self.technique)}"

    @property
    def footprint(self) -> Footprint:
        """Upper bound on the memory of a worker."""
        return footprint_of(self.technique, self.decomposition)

    @property
    def live_technique(self) -> Technique:
        """The technique itself, also if the run is completed from its folder (only for parge's own techniques)."""
        described = self.folder.plan_metadata().settings.get("technique") if self.folder.exists else None
        if not isinstance(self.technique, RecordedTechnique) or not isinstance(described, dict):
            return self.technique
        known = described.get("technique") in techniques.names()
        return restore(described) if known else self.technique  # nothing else that a folder names is imported

    def note_retry(self, words: str) -> None:
        """Store a retry for the report, also for that of a resumed run."""
        self.retries.append(words)
        record_retries(self.folder.path, self.id, self.retries)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage; the time of a nested stage counts only for that one."""
        begun, known = time.perf_counter(), sum(self.seconds.values())
        try:
            yield
        finally:
            within = sum(self.seconds.values()) - known
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun - within
            if stage in _RESUMED:
                self.note_seconds(_RESUMED)

    def note_seconds(self, stages: Sequence[str]) -> None:
        """Store the time of each stage so far in the folder."""
        known = recorded_seconds(self.folder.path, self.id)
        known |= {stage: self.seconds[stage] for stage in stages if stage in self.seconds}
        record_seconds(self.folder.path, self.id, known)

    @cached_property
    def local_vectors(self) -> list[FloatArray]:
        """Return the vectors of all subgraphs, memory-mapped; they must have the same number of columns."""
        found = [self._vectors(i) for i in range(self.decomposition.n_parts)]
        common_dim(self.technique, [vectors.shape[1] if len(vectors) else 0 for vectors in found])
        return found

    def _vectors(self, i: int) -> FloatArray:
        place = self.folder.part(i)
        found = self.results.get(i) or parts.load_result(place)
        if not self._is_ours(found, i) or len(found.vectors) != self.decomposition.sizes[i]:
            raise DamagedError(f"the result in {place} does not belong to subgraph {i} of this run; embed it again")
        self.results[i] = found
        return found.vectors

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the embedding."""
        widths = [vectors.shape[1] for vectors in self.local_vectors if len(vectors)]
        return self.decomposition.graph.n_vertices, widths[0] if widths else self.local_vectors[0].shape[1]

    @property
    def in_one_space(self) -> bool:
        """Whether the workers' spaces agree by construction, so that no alignment is needed."""
        return self.technique.aligned or self.plan.reconciler.needs_landmarks

    @property
    def anchor_vectors(self) -> list[FloatArray]:
        """The vectors of the anchors in every subgraph: its last rows."""
        n_anchors = self.decomposition.anchors.size
        return [vectors[len(vectors) - n_anchors :] for vectors in self.local_vectors]

    def reconcile(self) -> Reconciliation:
        """Compute the maps into one space; reads only the anchor rows of every result."""
        with one_blas_thread():
            return reconcile(self.plan.reconciler, self.anchor_vectors)

    def report(self, reconciliation: Reconciliation, refinement: Refined) -> Report:
        """Return the run in numbers, as `parge embed --json` prints them."""
        summary = summarise(self.decomposition, self.technique)
        dim = self.shape[1]  # which reads every result
        took = [self.results[i].metadata for i in range(self.decomposition.n_parts)]
        return Report(
            vertices=summary.vertices,
            edges=summary.edges,
            dim=dim,
            technique=summary.technique,
            choice=self.chosen,
            anchors=summary.anchors,
            edge_counts=summary.edge_counts,
            lost_edges=summary.lost_edges,
            parts=tuple(
                replace(part, peak_bytes=metadata.peak_bytes, seconds=metadata.seconds)
                for part, metadata in zip(summary.parts, took, strict=True)
            ),
            warnings=tuple(dict.fromkeys((*summary.warnings, *reconciliation.warnings))),  # each once
            notices=(*summary.notices, *self.notices),
            seconds=stage_seconds(self.seconds, [metadata.seconds for metadata in took]),
            reconcile=reconciliation.report(),
            refine=refinement,
            retries=tuple(self.retries),
            coordinator=replace(Coordinator.from_json(self.choice, "coordinator"), peak_bytes=peak_bytes()),
            plan=Settings(self.plan.settings()),
            parge=parge.__version__,
        )


def embed_part_command(part: Path, technique: Technique) -> str:
    """Return the command that embeds a part folder; it names the technique if that must be allowed explicitly."""
    name = str((describe(technique) or {}).get("technique", ""))
    typed = ":" in name or needs_word(technique)
    return pasteable("parge", "embed-part", part, *(("--technique", name) if typed else ()))


# The stages of a run, which do not overlap. `prepare` is what one machine does for all workers before they begin.
STAGES = ("decompose", "prepare", "embed", "reconcile", "refine")

# Stages that a resumed run continues; the later ones start again.
_RESUMED = ("prepare", "embed")


def stage_seconds(seconds: Mapping[str, float], workers: Sequence[float]) -> Seconds:
    """Return the wall time of each stage and in total, without reading the graph and writing vectors.

    Workers on other machines, or of a command that was killed, leave no wall time: then the time of the slowest worker
    is used.
    """
    found = {stage: float(seconds.get(stage, 0.0)) for stage in STAGES}
    found["embed"] = max([found["embed"], *workers])
    return Seconds(**found, total=sum(found.values()))


@contextmanager
def open_run(
    graph: Graph, plan: Plan, *, run_dir: str | PathLike[str] | None, resume: bool, listener: Listener
) -> Iterator[Run]:
    """Decompose the graph into a run folder, or resume the run in it; the folder is locked while it is open."""
    _refuse_no_graph(graph)
    if run_dir is None:
        if resume:
            raise InputError("to resume a run, give its folder (run_dir)")
        with tempfile.TemporaryDirectory(prefix="parge-run-") as temporary:
            begun = _begin(graph, _decided(graph, plan, listener), RunFolder(Path(temporary)), listener)
            yield replace(begun, kept=False, notices=idle(plan))
        return
    if os.fspath(run_dir) == "":
        raise InputError("expected the name of a run folder; got an empty name")
    folder = RunFolder(local_folder(run_dir))
    folder.check_open(resume=resume)
    # A plan that cannot be kept leaves no folder behind.
    decision = None if folder.exists else _decided(graph, plan, listener)
    with folder.locked():
        folder.check_open(resume=resume)  # somebody may have begun one before the lock was ours
        if folder.exists:
            run = _resume(graph, plan, folder, listener)
        else:
            run = _begin(graph, decision or _decided(graph, plan, listener), folder, listener)
        yield replace(run, notices=(*run.notices, *idle(plan)))


def _refuse_no_graph(graph: Any) -> None:
    if isinstance(graph, Graph):
        return
    if isinstance(graph, str | PathLike):
        raise InputError(f"expected a graph; got the path {str(graph)!r}. Use parge.read({str(graph)!r}).")
    raise InputError(
        f"expected a graph; got {type(graph).__name__}. Make one with parge.read, or parge.Graph.from_edges, "
        "from_scipy, from_networkx, from_igraph, from_pyg or from_frame."
    )


def _decided(graph: Graph, plan: Plan, listener: Listener) -> Decision:
    """Decide what a plan means for a graph, and tell which technique was chosen, and why."""
    decision = decide(graph, plan, on_step=lambda step: listener(Step("choose", step)))
    if decision.choice is not None:
        listener(Step("choose", str(decision.choice)))
    return decision


def _begin(graph: Graph, decision: Decision, folder: RunFolder, listener: Listener) -> Run:
    begun = time.perf_counter()
    listener(Step("decompose"))
    decomposed = decompose(graph, decision, on_step=lambda step: listener(Step("decompose", step)))
    plan, decomposition, decomposer = decomposed.plan, decomposed.decomposition, decomposed.decomposer
    seconds = time.perf_counter() - begun
    settings, belongs = _settings(graph, plan), digest(decomposition)
    choice = decomposer.choice.to_json() if isinstance(decomposer, Chosen) else {}
    metadata = PlanMetadata(
        settings=settings,
        run=run_id(settings, belongs),
        decomposition=belongs,
        decompose_seconds=seconds,
        technique=replace(RecordedTechnique.of(plan.technique), bound=footprint_of(plan.technique, decomposition)),
        sizes=tuple(decomposition.held.tolist()),
        edges=tuple(decomposition.edges.tolist()),
        coordinator=choice,
        notices=decomposition.notices,
        choice={} if decomposed.choice is None else decomposed.choice.to_json(),
    )
    folder.save_plan(decomposition, metadata)
    return _run(folder, plan, plan.technique, decomposition, metadata)


def _run(
    folder: RunFolder, plan: ResolvedPlan, technique: Technique, decomposition: Decomposition, metadata: PlanMetadata
) -> Run:
    """Return the run in a folder, with its records of the work so far."""
    known = recorded_seconds(folder.path, metadata.run)
    seconds = {"decompose": metadata.decompose_seconds} | {stage: known[stage] for stage in _RESUMED if stage in known}
    retries, notices = recorded_retries(folder.path, metadata.run), folder.notices()
    return Run(
        folder,
        plan,
        technique,
        decomposition,
        metadata.run,
        seconds,
        retries,
        choice=metadata.coordinator,
        chosen=Choice.from_json(metadata.choice, "choice") if metadata.choice else None,
        notices=notices,
    )


def _as_decided(graph: Graph, plan: ResolvedPlan, kept: Mapping[str, Any]) -> ResolvedPlan:
    """Return the plan with open fields as the resumed run decided them, even if that would differ now."""
    decided = kept.get("reconcile")
    if decided in plan.reconcilers:
        plan = plan.reconciled_by(str(decided))
    return candidates(graph, plan)[0]


# Fields that can be written differently, and what they mean.
_MEANINGS: dict[str, Callable[[Any], Any]] = {"anchors": request_meaning, "memory": read_sizes}


def _respelled(plan: Plan, kept: Mapping[str, Any]) -> Plan:
    """Return the plan with its numbers written as in the resumed run, if they mean the same.

    A run that was started in Python with 8 anchors is resumed with ``--anchors 8``, and its report has the same bits.
    """
    same = {}
    for name, meaning in _MEANINGS.items():
        with suppress(TypeError, ValueError, PargeError):  # a word such as auto, or what a folder cannot mean
            if meaning(getattr(plan, name)) == meaning(kept.get(name)):
                same[name] = kept[name]
    return replace(plan, **same)


def _resume(graph: Graph, plan: Plan, folder: RunFolder, listener: Listener) -> Run:
    listener(Step("resume", str(folder.path)))
    kept = folder.plan_metadata().settings
    if plan.memory_is_auto:  # what the nodes had when the run was planned; some may be gone
        plan = replace(plan, memory=kept.get("memory"))
    decided = _as_decided(graph, as_chosen(_respelled(plan, kept), kept).resolved, kept)
    check_same(kept, _settings(graph, decided), folder.path)
    decomposition, metadata = folder.load_plan(graph)
    if not folder.has_graph():
        folder.save_graph(graph)
    return _run(folder, decided, decided.technique, decomposition, metadata)


@contextmanager
def open_planned(path: Path, *, reconciler: str | None = None) -> Iterator[Run]:
    """Open a run from its folder alone, to complete it; all subgraphs must be embedded."""
    folder = RunFolder(path)
    folder.check_planned()
    with folder.locked():
        decomposition, metadata = folder.load_plan()
        run = _run(folder, _plan_of(metadata, reconciler, path), metadata.technique, decomposition, metadata)
        missing = [i for i in range(decomposition.n_parts) if not run.has_result(i)]
        if missing:
            raise InputError(
                f"{len(missing)} of {decomposition.n_parts} subgraphs of {path} have no intact result of this run: "
                f"{_names(folder, missing)}{_why(run, missing[0])}. {_how_to_embed(run, missing)}"
            )
        yield run


def _names(folder: RunFolder, some: list[int]) -> str:
    return ", ".join(folder.part(i).name for i in some[:8]) + (", ..." if len(some) > 8 else "")


def _why(run: Run, i: int) -> str:
    """Return what is wrong with the result of subgraph i, if it has one."""
    fault = run.folder.result_fault(i)
    return f" ({fault})" if fault else ""


def _how_to_embed(run: Run, missing: list[int]) -> str:
    """Say how to get the missing results; a worker needs an intact subgraph of this run."""
    strange = [i for i in missing if not run.has_subgraph(i)]
    if not strange:
        return f"Embed them first: {pasteable('parge', 'embed-part', run.folder.part(missing[0]))}"
    return (
        f"There is also no intact subgraph of this run in {_names(run.folder, strange)}: write it again first. Repeat "
        f"the command that started the run with --resume (parge decompose GRAPH ... "
        f"{pasteable('--run-dir', run.folder.path)} --resume; parge embed also embeds it)"
    )


def _plan_of(metadata: PlanMetadata, reconciler: str | None, path: Path) -> ResolvedPlan:
    """Return the plan in a folder, with the technique as a name alone."""
    # Where work is done, a folder does not say: an address is that of a cluster, which runs whatever it is sent.
    kept = {name: metadata.settings[name] for name in PLAN_FIELDS if name in metadata.settings and name not in WHERE}
    kept |= {"technique": metadata.technique, "reconcile": reconciler or metadata.settings.get("reconcile")}
    if not isinstance(kept["reconcile"], str):
        raise DamagedError(f"{path} does not say how its spaces are reconciled")
    try:
        return ResolvedPlan.recorded(Plan(**kept), metadata.technique)
    except (TypeError, ValueError) as error:
        raise DamagedError(f"{path} holds an invalid plan: {printable(error, 200)}") from None


def _settings(graph: Graph, plan: ResolvedPlan) -> dict[str, Any]:
    """Return everything that determines the result of a run, as a file gives it back; where it runs does not."""
    settings = {key: value for key, value in plan.settings().items() if key not in WHERE}
    # Where an object lies in memory is another one in every process.
    live = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(plan.technique))
    settings["technique"] = describe(plan.technique) or live
    settings["graph"] = fingerprint(graph)
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=_plain))
    return plain


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
