"""Run: a run that is open, begun anew, taken up where it stopped, or finished by its folder alone."""

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.decompose.decomposition import Decomposition
from parge.errors import InputError, TechniqueError
from parge.events import Listener, Step
from parge.graph.graph import Graph
from parge.plan import Plan, prepare
from parge.reconcile.reconciliation import Reconciliation
from parge.report.summary import summarise
from parge.run import parts
from parge.run.folder import RunFolder, check_same, fingerprint
from parge.techniques.base import Technique
from parge.techniques.resolve import describe, restore
from parge.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Run:
    """A run that is being worked on: its folder, what was planned, what has been measured so far."""

    folder: RunFolder
    plan: Plan
    technique: Technique
    decomposition: Decomposition
    id: str
    seconds: dict[str, float] = field(default_factory=dict)

    def has_result(self, i: int) -> bool:
        """Return whether subgraph i has an intact result of this very run, not of another one copied here."""
        return self.folder.has_result(i) and parts.load_facts(self.folder.part(i))["run"] == self.id

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        begun = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun

    @cached_property
    def local_vectors(self) -> list[FloatArray]:
        """Return the vectors of all subgraphs, memory-mapped; they must have the same number of columns."""
        found = [parts.load_result(self.folder.part(i))[0] for i in range(self.decomposition.n_parts)]
        widths = sorted({vectors.shape[1] for vectors in found if len(vectors)})
        if len(widths) > 1:
            raise TechniqueError(f"{self.technique.name} answered with {widths} columns for different subgraphs")
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the embedding."""
        return self.decomposition.graph.n_vertices, self.local_vectors[0].shape[1]

    def report(self, reconciliation: Reconciliation) -> dict[str, Any]:
        """Return the run in numbers, as `parge embed --json` prints them."""
        out = summarise(self.decomposition, self.technique).to_json()
        for i, part in enumerate(out["parts"]):
            facts = parts.load_facts(self.folder.part(i))
            part |= {key: facts[key] for key in ("peak_bytes", "seconds")}
        stages = {stage: self.seconds.get(stage, 0.0) for stage in ("decompose", "embed", "reconcile", "refine")}
        out["dim"] = self.shape[1]
        out["seconds"] = {**stages, "total": sum(stages.values())}
        out["reconcile"] = reconciliation.to_json()
        out["warnings"] = [*out["warnings"], *reconciliation.warnings]
        out["plan"] = self.plan.settings()
        out["parge"] = parge.__version__
        return out


@contextmanager
def open_run(
    graph: Graph, plan: Plan, *, run_dir: str | PathLike[str] | None, resume: bool, listener: Listener
) -> Iterator[Run]:
    """Decompose the graph into a run folder, or take up the run that is there; locked while it is open."""
    if run_dir is None:
        if resume:
            raise InputError("a run can be resumed only where it was kept: say which folder")
        with tempfile.TemporaryDirectory(prefix="parge-run-") as temporary:
            yield _begin(graph, plan, RunFolder(Path(temporary)), listener)
        return
    folder = RunFolder(Path(run_dir))
    with folder.locked():
        if folder.exists and not resume:
            raise InputError(f"{folder.path} holds a run already; resume it, or use another folder")
        yield _take_up(graph, plan, folder, listener) if folder.exists else _begin(graph, plan, folder, listener)


def _begin(graph: Graph, plan: Plan, folder: RunFolder, listener: Listener) -> Run:
    plan = plan.resolved
    begun = time.perf_counter()
    listener(Step("decompose"))
    decomposer, limits = prepare(graph, plan)
    decomposition = decomposer.decompose(graph, limits, tell=lambda step: listener(Step("decompose", step)))
    seconds = time.perf_counter() - begun
    settings = _settings(graph, plan)
    folder.save_plan(decomposition, {"settings": settings, "decompose_seconds": seconds})
    return Run(folder, plan, plan.technique, decomposition, _run_id(settings), {"decompose": seconds})


def _take_up(graph: Graph, plan: Plan, folder: RunFolder, listener: Listener) -> Run:
    plan = plan.resolved
    listener(Step("resume", str(folder.path)))
    decomposition, facts = folder.load_plan(graph)
    settings = _settings(graph, plan)
    check_same(facts, settings, folder.path)
    seconds = {"decompose": facts["decompose_seconds"]}
    return Run(folder, plan, plan.technique, decomposition, _run_id(settings), seconds)


@contextmanager
def open_planned(path: Path, *, reconciler: str | None = None) -> Iterator[Run]:
    """Open a run by its folder alone, to finish it; every subgraph must have been embedded."""
    folder = RunFolder(path)
    if not folder.exists:
        raise InputError(f"{path} holds no run: it has no plan")
    with folder.locked():
        decomposition, facts = folder.load_plan()
        settings = facts["settings"]
        kept = {field.name: settings[field.name] for field in fields(Plan) if field.name in settings}
        technique = settings["technique"]
        kept["technique"] = _unknown if isinstance(technique, str) else restore(technique)
        plan = Plan(**{**kept, "reconcile": reconciler or settings["reconcile"]})
        seconds = {"decompose": facts["decompose_seconds"]}
        run = Run(folder, plan, plan.resolved.technique, decomposition, _run_id(settings), seconds)
        missing = [i for i in range(decomposition.n_parts) if not run.has_result(i)]
        if missing:
            names = ", ".join(folder.part(i).name for i in missing[:8])
            raise InputError(
                f"{len(missing)} of {decomposition.n_parts} subgraphs of {path} have no intact result of this run: "
                f"{names}{', ...' if len(missing) > 8 else ''}. "
                f"Embed them first: parge embed-part {folder.part(missing[0])}"
            )
        run.seconds["embed"] = sum(parts.load_facts(folder.part(i))["seconds"] for i in range(decomposition.n_parts))
        yield run


def _unknown(_csr: Any, _rng: Any) -> Any:
    raise InputError("the technique of this run is a Python object that is not at hand")


def _run_id(settings: dict[str, Any]) -> str:
    """Return what ties the results of a run to its plan."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _settings(graph: Graph, plan: Plan) -> dict[str, Any]:
    """Return all that decides the result of a run; engine and workers do not."""
    settings = {key: value for key, value in plan.settings().items() if key not in {"engine", "workers"}}
    settings["technique"] = describe(plan.technique) or repr(plan.technique)
    settings["graph"] = fingerprint(graph)
    return {key: list(value) if isinstance(value, tuple | np.ndarray) else value for key, value in settings.items()}
