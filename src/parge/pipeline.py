"""The paper's Figure 1 as functions: decompose, embed every subgraph, reconcile, merge."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.decompose.decomposition import Decomposition
from parge.embedding import Embedding
from parge.engine.base import Task
from parge.engine.registry import engines
from parge.errors import InputError
from parge.events import Listener, Part, Step, ignore
from parge.graph.graph import Graph
from parge.plan import Plan, prepare
from parge.reconcile.merge import merged_blocks
from parge.reconcile.reconciliation import Reconciliation, reconcile
from parge.report.summary import summarise
from parge.run import parts
from parge.run.embed_part import PartJob, embed_part
from parge.run.folder import RunFolder, check_same, fingerprint
from parge.techniques.base import Technique
from parge.techniques.resolve import describe
from parge.typing import FloatArray


def embed(
    graph: Graph,
    plan: Plan | None = None,
    *,
    run_dir: str | PathLike[str] | None = None,
    resume: bool = False,
    listener: Listener = ignore,
) -> Embedding:
    """Embed a graph in parts, each alone, and return all vectors in one space.

    Parameters
    ----------
    graph : Graph
        The graph.
    plan : Plan
        Technique, workers, anchors, seed; by default DeepWalk on one worker.
    run_dir : path, optional
        Folder that keeps the run, so that it can be resumed; by default a temporary one.
    resume : bool
        Go on with the run in `run_dir` where it stopped.
    listener : callable
        Hears of stages and of the progress of each subgraph.

    Returns
    -------
    Embedding
        Vectors in vertex order, their ids, and a report.
    """
    with open_run(graph, plan or Plan(), run_dir=run_dir, resume=resume, listener=listener) as run:
        embed_parts(run, listener)
        reconciliation = reconcile_parts(run, listener)
        vectors = merge_parts(run, reconciliation)
        return Embedding(vectors, graph.outside_ids, run.report(reconciliation))


@dataclass(frozen=True, eq=False)
class Run:
    """A run that is being worked on: its folder, what was planned, what has been measured so far."""

    folder: RunFolder
    plan: Plan
    technique: Technique
    decomposition: Decomposition
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        begun = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - begun

    def results(self) -> list[tuple[FloatArray, dict[str, Any]]]:
        """Return the local vectors (memory-mapped) of all subgraphs, and how each came about."""
        return [parts.load_result(self.folder.part(i)) for i in range(self.decomposition.n_parts)]

    def report(self, reconciliation: Reconciliation) -> dict[str, Any]:
        """Return the run in numbers, as `parge embed --json` prints them."""
        out = summarise(self.decomposition, self.technique).to_json()
        for i, part in enumerate(out["parts"]):
            _, facts = parts.load_facts(self.folder.part(i))
            part |= {key: facts[key] for key in ("peak_bytes", "seconds")}
        stages = {stage: self.seconds.get(stage, 0.0) for stage in ("decompose", "embed", "reconcile", "refine")}
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
    folder.save_plan(decomposition, {"settings": _settings(graph, plan), "decompose_seconds": seconds})
    return Run(folder, plan, plan.technique, decomposition, {"decompose": seconds})


def _take_up(graph: Graph, plan: Plan, folder: RunFolder, listener: Listener) -> Run:
    plan = plan.resolved
    listener(Step("resume", str(folder.path)))
    decomposition, facts = folder.load_plan(graph)
    check_same(facts, _settings(graph, plan), folder.path)
    return Run(folder, plan, plan.technique, decomposition, {"decompose": facts["decompose_seconds"]})


def _settings(graph: Graph, plan: Plan) -> dict[str, Any]:
    """Return all that decides the result of a run; engine and workers do not."""
    settings = {key: value for key, value in plan.settings().items() if key not in {"engine", "workers"}}
    settings["technique"] = describe(plan.technique) or repr(plan.technique)
    settings["graph"] = fingerprint(graph)
    return {key: list(value) if isinstance(value, tuple | np.ndarray) else value for key, value in settings.items()}


def embed_parts(run: Run, listener: Listener) -> None:
    """Embed every subgraph that has no intact result yet."""
    n_parts = run.decomposition.n_parts
    listener(Step("embed", f"{n_parts} subgraphs with {run.technique.name}"))
    with run.timed("embed"):
        tasks = []
        projected = run.decomposition.projected(run.technique.footprint())
        budgets = run.decomposition.budgets
        described = describe(run.technique)
        for i in range(n_parts):
            if run.folder.has_result(i):
                listener(Part(i, 1.0, n_parts))
                continue
            if not run.folder.has_subgraph(i):
                facts = {"technique": described, "seed": run.plan.seed, "task": run.folder.path.name}
                parts.save_subgraph(run.folder.part(i), run.decomposition.subgraph(i), facts)
            job = PartJob(run.folder.part(i), None if described else run.technique)
            limit = None if budgets is None else int(budgets[i])
            tasks.append(Task(i, embed_part, job, int(projected[i]), limit, label=f"subgraph {i}"))
        engine = engines.get(run.plan.engine)(workers=run.plan.workers)
        for task, _ in engine.run(tasks, lambda task, share: listener(Part(task.key, share, n_parts))):
            listener(Part(task.key, 1.0, n_parts))


def reconcile_parts(run: Run, listener: Listener) -> Reconciliation:
    """Compute the maps into one space from the anchor rows of every result."""
    listener(Step("reconcile"))
    with run.timed("reconcile"):
        anchors = [np.asarray(vectors[vectors.shape[0] - run.decomposition.anchors.size :]) for vectors, _ in run.results()]
        return reconcile(str(run.plan.reconcile), anchors)


def merge_parts(run: Run, reconciliation: Reconciliation) -> FloatArray:
    """Return all vectors in vertex order, in memory."""
    with run.timed("reconcile"):
        dim = run.results()[0][0].shape[1]
        out = np.empty((run.decomposition.graph.n_vertices, dim), np.float32)
        for rows, block in merged_blocks(run.decomposition, [vectors for vectors, _ in run.results()], reconciliation.maps):
            out[rows] = block
        return out
