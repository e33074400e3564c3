"""Run: its folder, its plan, and what was measured so far."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import parge
from parge.decompose.decomposition import Decomposition
from parge.errors import InputError, TechniqueError
from parge.linalg.threads import one_blas_thread
from parge.memory import Footprint, peak_bytes
from parge.planning.plan import ResolvedPlan
from parge.planning.summary import footprint_of, summarise
from parge.reconcile.reconciliation import Reconciliation, reconcile
from parge.result import Report
from parge.run import parts
from parge.run.arrays import DamagedError
from parge.run.folder import RunFolder
from parge.run.metadata import RecordedTechnique, record_retries, record_seconds, recorded_seconds
from parge.run.parts import Result
from parge.run.trust import is_path, must_be_allowed, trusted
from parge.show.text import pasteable
from parge.stage_reports import Coordinator, Refined, Seconds, TechniqueChoice
from parge.techniques.base import Technique
from parge.techniques.resolve import Described, describe, restore
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
    coordinator: Coordinator = field(default_factory=Coordinator)
    choice: TechniqueChoice | None = None
    notices: tuple[str, ...] = ()  # on the folder and on how the plan was given; the graph and the parts have theirs
    allow: str = ""  # the technique that the user typed, where a folder names one
    results: dict[int, Result] = field(default_factory=dict)  # read and checked once, which takes the longest of all

    def has_subgraph(self, i: int) -> bool:
        """Return whether subgraph i of this run is present and intact."""
        place = self.folder.part(i)
        with suppress(DamagedError):
            found = parts.subgraph_metadata(place)
            return (found.run, found.index) == (self.id, i)
        return False

    def has_result(self, i: int) -> bool:
        """Return whether subgraph i has an intact result of this run (not of another run, copied here)."""
        place = self.folder.part(i)
        with suppress(DamagedError):
            found = self.results.get(i) or parts.load_result(place)
            if self._is_ours(found, i) and found.metadata.vertices == self.decomposition.held[i]:
                self.results[i] = found
        return i in self.results

    def _is_ours(self, result: Result, i: int) -> bool:
        return (result.metadata.run, result.metadata.index) == (self.id, i)

    def advice(self, i: int) -> str:
        """Return how to embed subgraph i alone, if that is possible from a command line."""
        if describe(self.technique) is None or not self.kept:
            return ""
        return f"to run it alone: {embed_part_command(self.folder.part(i), self.technique)}"

    @property
    def footprint(self) -> Footprint:
        """Upper bound on the memory of a worker."""
        return footprint_of(self.technique, self.decomposition)

    @property
    def technique_of_pass(self) -> Technique:
        """The technique that the plan's pass gets; refused where the pass does not fit it.

        A run that is completed from its folder has only a record of its technique. Registered techniques are restored;
        anything else that a folder names is imported only if the user typed it (`allow`). Without it, a pass that uses
        the technique is refused: its vectors would differ from those of `parge embed`.
        """
        refiner, technique = self.plan.refiner, self._live_technique()
        if refiner.uses_technique and isinstance(technique, RecordedTechnique):
            raise InputError(
                f"the pass {refiner.name} uses the code of the technique {technique.name}, which is not a technique of "
                f"parge or of an installed plug-in. {self._how_to_refine()}"
            )
        if refiner.uses_technique:
            refiner.check(technique)
        return technique

    def _live_technique(self) -> Technique:
        """Return the technique itself if it may be imported, or its record."""
        described = self._described() if isinstance(self.technique, RecordedTechnique) else None
        if described is None:
            return self.technique
        if self.allow:
            return trusted(described, self.folder.path, allow=self.allow)
        return restore(described) if described.is_registered else self.technique

    def _described(self) -> Described | None:
        """Return what the folder says of its technique; None for a Python object, which no folder can hold."""
        return self.folder.plan_metadata().described if self.folder.exists else None

    def _how_to_refine(self) -> str:
        described = self._described()
        if described is None or not is_path(described.name):
            place = str(self.folder.path)
            return f"Complete the run where it started: parge.embed(graph, plan, run_dir={place!r}, resume=True)"
        command = pasteable("parge", "reconcile", self.folder.path, "-o", "OUT", "--technique", described.name)
        return f"If you trust this code: {command}"

    def note_retry(self, reason: str) -> None:
        """Store a retry for the report, also for that of a resumed run."""
        self.retries.append(reason)
        record_retries(self.folder.path, self.id, self.retries)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage; the time of a nested stage counts only for that one."""
        try:
            with timed(self.seconds, stage):
                yield
        finally:
            if stage in RESUMED:
                self.note_seconds(RESUMED)

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

    def _settings(self) -> dict[str, Any]:
        """Return the plan's fields; a folder does not say which engine embedded its parts, so then none is claimed."""
        unknown = {"engine": None} if isinstance(self.technique, RecordedTechnique) else {}
        return self.plan.settings() | unknown

    def report(self, reconciliation: Reconciliation, refinement: Refined) -> Report:
        """Return the run in numbers, as `parge embed --json` prints them."""
        from parge.planning.verdict import no_savings  # what it imports is not needed to refuse a run

        summary = summarise(self.decomposition, self.technique)
        unsaved = no_savings(self.plan, self.decomposition, summary.parts)
        reconciled = reconciliation.report()
        dim = self.shape[1]  # which reads every result
        took = [self.results[i].metadata for i in range(self.decomposition.n_parts)]
        return Report(
            vertices=summary.vertices,
            edges=summary.edges,
            dim=dim,
            technique=summary.technique,
            choice=self.choice,
            anchors=summary.anchors,
            edge_counts=summary.edge_counts,
            lost_edges=summary.lost_edges,
            parts=tuple(
                replace(part, peak_bytes=metadata.peak_bytes, seconds=metadata.seconds)
                for part, metadata in zip(summary.parts, took, strict=True)
            ),
            warnings=tuple(dict.fromkeys((*summary.warnings, *reconciliation.warnings))),  # each once
            notices=(*summary.notices, *self.notices, *unsaved),
            seconds=stage_seconds(self.seconds, [metadata.seconds for metadata in took]),
            reconcile=reconciled,
            refine=refinement,
            retries=tuple(self.retries),
            coordinator=replace(self.coordinator, peak_bytes=peak_bytes()),
            plan=Settings(self._settings()),
            parge=parge.__version__,
        )


def common_dim(technique: Technique, dims: Sequence[int]) -> int:
    """Return the number of columns that all subgraphs' vectors have, or name two that differ.

    `dims` are the columns of subgraphs 0, 1, ...; 0 for one without vertices, where the number is unknown.
    """
    known = [(dim, index) for index, dim in enumerate(dims) if dim]
    for dim, index in known:
        if dim != known[0][0]:
            raise TechniqueError(
                f"the technique {technique.name} must give vectors of one length to all subgraphs; it gave "
                f"{known[0][0]} columns to subgraph {known[0][1]} and {dim} to subgraph {index}. Declare the length "
                f"where the technique is created, for example adapt(..., dim={max(known)[0]})"
            )
    return known[0][0] if known else technique.dim


def embed_part_command(part: Path, technique: Technique) -> str:
    """Return the command that embeds a part folder; it names the technique if that must be allowed explicitly."""
    described = describe(technique)
    name = "" if described is None else described.name
    typed = ":" in name or must_be_allowed(technique)
    return pasteable("parge", "embed-part", part, *(("--technique", name) if typed else ()))


# The stages of a run, which do not overlap. `prepare` is what one machine does for all workers before they begin.
STAGES = ("decompose", "prepare", "embed", "reconcile", "refine")


# Stages that a resumed run continues; the later ones start again.
RESUMED = ("prepare", "embed")


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time spent inside to a stage; the time of a nested stage counts only for that one."""
    started, known = time.perf_counter(), sum(seconds.values())
    try:
        yield
    finally:
        within = sum(seconds.values()) - known
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - started - within


def stage_seconds(seconds: Mapping[str, float], workers: Sequence[float]) -> Seconds:
    """Return the wall time of each stage and in total, without reading the graph and writing vectors.

    Workers on other machines, or of a command that was killed, leave no wall time: then the time of the slowest worker
    is used.
    """
    found = {stage: float(seconds.get(stage, 0.0)) for stage in STAGES}
    found["embed"] = max([found["embed"], *workers])
    return Seconds(**found, total=sum(found.values()))
