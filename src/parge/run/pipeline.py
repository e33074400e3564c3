"""The paper's Figure 1 as functions: decompose, embed every subgraph, reconcile, merge."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from parge.embedding import Embedding
from parge.engine.base import Engine, Task, make_engine
from parge.errors import InputError, PargeError
from parge.events import Listener, OnStep, Part, Step, ignore
from parge.graph.graph import Graph
from parge.io.outputs import is_inside
from parge.io.places import given_name, local_folder
from parge.linalg.threads import Threads, one_blas_thread
from parge.memory import current_limit, private_bytes
from parge.planning.plan import Plan, ResolvedPlan
from parge.reconcile.merge import merged_blocks
from parge.reconcile.reconciliation import Reconciliation
from parge.refine.base import BUDGET, Workspace
from parge.result import Report
from parge.run import parts
from parge.run.arrays import Stored, scratch_matrix
from parge.run.folder import RunFolder
from parge.run.metadata import SubgraphMetadata
from parge.run.open_run import open_run
from parge.run.run import STAGES, Run
from parge.run.schema import SCRATCH, SPACE
from parge.run.spaces import save_space
from parge.run.worker import PartJob, embed_part, prepare_worker
from parge.show.text import count, printable
from parge.space.frozen import Space, frozen_from
from parge.space.head import fit_head
from parge.stage_reports import Refined
from parge.storage import MEMORY, Files, release_pages, usable_cores
from parge.techniques.base import Technique, prepare_checked
from parge.techniques.resolve import Described, describe
from parge.typing import FloatArray, IntArray

_NEARLY_DONE = 0.999

# Subgraphs that take no more than this above what any worker takes share a process: they take some tenths of a second
# of a core, and a process of their own 0.05 s.
_SMALL_BYTES = 16_000_000


def embed(
    graph: Graph,
    plan: Plan | ResolvedPlan | None = None,
    *,
    run_dir: str | PathLike[str] | None = None,
    resume: bool = False,
    listener: Listener = ignore,
) -> Embedding:
    """Embed a graph in parts, each independently, and return all vectors in one space.

    Parameters
    ----------
    graph : Graph
        The graph.
    plan : Plan
        Technique, workers, anchors, seed; by default DeepWalk on one worker.
    run_dir : path, optional
        Folder that keeps the run, so that it can be resumed; by default a temporary one.
    resume : bool
        Resume the run in `run_dir` where it stopped.
    listener : callable
        Called at every stage, and with the progress of each subgraph.

    Returns
    -------
    Embedding
        Vectors in vertex order, their ids, and a report.
    """
    asked = plan.request if isinstance(plan, ResolvedPlan) else plan or Plan()
    folder = None if run_dir is None else local_folder(run_dir)
    with _embedded(graph, asked, folder, resume=resume, listener=listener) as run:
        reconciliation = reconcile_parts(run, listener)
        vectors = np.empty(run.shape, np.float32)
        report = _finished(run, reconciliation, vectors, listener)
        embedding = _embedding(run, vectors, report)
        unkept = () if run_dir is None else freeze(run, embedding, [run.folder.path / SPACE])
        return replace(embedding, report=replace(report, notices=(*report.notices, *unkept))) if unkept else embedding


def embed_to_file(
    graph: Graph | Callable[[], Graph],
    plan: Plan,
    out: Path,
    *,
    run_dir: Path,
    resume: bool = False,
    spaces: Sequence[Path] = (),
    listener: Listener = ignore,
) -> Report:
    """Embed a graph into a file without holding all vectors in memory; return the report.

    A function that reads the graph is called while workers are being prepared. `spaces` are the folders that the
    frozen space is written to.
    """
    _refuse_inside(out, run_dir)
    with _embedded(graph, plan, run_dir, resume=resume, listener=listener) as run:
        return finish(run, out, listener, spaces)


@contextmanager
def _embedded(
    graph: Graph | Callable[[], Graph],
    plan: Plan,
    run_dir: Path | None,
    *,
    resume: bool,
    listener: Listener,
) -> Iterator[Run]:
    """Yield a run of which every part is embedded; its engine is prepared while the graph is read and decomposed."""
    with ExitStack() as workers:
        engine = workers.enter_context(prepared_engine(plan))
        found = graph() if callable(graph) else graph
        with open_run(found, plan, run_dir=run_dir, resume=resume, listener=listener) as run:
            embed_parts(run, listener, engine)
            workers.close()  # what they were forked from is not needed to reconcile
            yield run


@contextmanager
def prepared_engine(plan: Plan) -> Iterator[Engine]:
    """Yield the engine of a plan, prepared in the background for the workers of its technique."""
    named = plan.technique  # not resolved here: a run that is resumed has a plan of its own
    described = describe(named) if isinstance(named, Technique) else Described(str(named))
    engine = make_engine(plan.engine, jobs=plan.jobs, address=plan.address)
    if plan.n_parts == 1:
        yield engine
        return
    with engine.prepared(partial(prepare_worker, described)) as ready:
        yield ready


def _refuse_inside(out: Path, run_dir: Path) -> None:
    if is_inside(out, run_dir):
        raise InputError(f"Cannot write {out}: a run folder may hold only the run. Choose a file outside it.")


def finish(run: Run, out: Path, listener: Listener, spaces: Sequence[Path] = ()) -> Report:
    """Reconcile the results of a run and write the embedding and the spaces; return the report."""
    _refuse_inside(out, run.folder.path)
    if not run.plan.refiner.is_identity:
        _ = run.technique_of_pass  # refused before any work
    reconciliation = reconcile_parts(run, listener)
    with ExitStack() as scratch:
        vectors = _scratch(scratch, run.folder.path / SCRATCH, run.shape)
        report = _finished(run, reconciliation, vectors, listener, in_files=True)
        embedding = _embedding(run, vectors, report.reproducible())
        listener(Step("write", given_name(out)))
        embedding.save(out)
        unkept = freeze(run, embedding, spaces)
    return replace(report, notices=(*report.notices, *unkept))


def _finished(
    run: Run, reconciliation: Reconciliation, vectors: FloatArray, listener: Listener, *, in_files: bool = False
) -> Report:
    """Write all vectors, merged and refined; return the report."""
    merge_parts(run, reconciliation, vectors)
    refinement = refine_vectors(run, vectors, listener, in_files=in_files)
    run.note_seconds(STAGES)
    return run.report(reconciliation, refinement)


def freeze(run: Run, embedding: Embedding, places: Sequence[Path]) -> tuple[str, ...]:
    """Write the frozen space of a finished embedding; its graph is linked, where the file system can do that.

    The vectors are written already. So a space that nobody asked for, in the run folder, may be missing: where it
    cannot be written, a notice is returned.
    """
    try:
        if places:
            space = _space(run, embedding)
            stored = run.folder.stored_graph(run.decomposition.graph)
            for place in places:
                save_space(space, place, stored)
    except (PargeError, MemoryError) as error:
        if any(not is_inside(place, run.folder.path) for place in places):
            raise
        why = "there is not enough memory for it" if isinstance(error, MemoryError) else printable(error, 300)
        return (f"The run folder has no space for new vertices: {why}. Use --space DIR to write one.",)
    return ()


def _space(run: Run, embedding: Embedding) -> Space:
    storage = MEMORY if current_limit() is None else Files(run.folder.path)
    named = {"technique": run.technique.name, "refine": run.plan.refine}
    return Space.of(embedding.vectors, run.decomposition.graph, **named, head=embedding.head, storage=storage)


def _embedding(run: Run, vectors: FloatArray, report: Report) -> Embedding:
    """Return the vectors with their ids, and the degree head that is fitted on edges of the graph."""
    graph, technique, refine = run.decomposition.graph, run.technique.name, run.plan.refine
    head = fit_head(vectors, graph, run.plan.seed)
    made = partial(frozen_from, graph, technique, refine)
    return Embedding(vectors, graph.outside_ids, report, head, graph.degrees, made)


def _scratch(scratch: ExitStack, path: Path, shape: tuple[int, int], dtype: Any = np.float32) -> Any:
    """Return a matrix in a file that is removed with `scratch`; an existing file is not touched."""
    made = scratch_matrix(path, shape, dtype)
    scratch.callback(path.unlink, missing_ok=True)
    return made


def write_subgraphs(run: Run) -> list[int]:
    """Write every part folder that is missing or damaged; return the subgraphs that have no result yet."""
    described = describe(run.technique)
    waiting = [i for i in range(run.decomposition.n_parts) if not run.has_result(i)]
    missing = [i for i in waiting if not run.has_subgraph(i)]
    shared = shared_arrays(run) if missing else {}
    cut = run.decomposition.cutter(len(missing))

    def write(i: int) -> None:
        subgraph = cut(i)
        metadata = SubgraphMetadata.of(subgraph, described, run.plan.seed, run.id)
        parts.save_subgraph(run.folder.part(i), subgraph, metadata, shared)

    # While one is being flushed to the disk, the next is cut; more at once would take more memory.
    is_free = current_limit() is None and run.plan.coordinator_limit() is None
    with Threads(min(2, usable_cores()) if is_free else 1) as threads:
        threads.each(write, missing)
    return waiting


def shared_arrays(run: Run) -> dict[str, Stored]:
    """Return the arrays that the technique prepares for all workers, landmarks included; empty for most techniques."""
    if run.decomposition.contexts is None and not run.technique.shared_shapes:
        return {}
    with run.timed("prepare"):
        return run.folder.shared(lambda: prepare_checked(run.technique, run.decomposition))


def embed_parts(run: Run, listener: Listener, engine: Engine | None = None) -> None:
    """Embed every subgraph that has no intact result yet, with an engine that is prepared, or with the plan's."""
    n_parts = run.decomposition.n_parts
    if run.decomposition.contexts is not None:
        listener(Step("prepare"))
    with run.timed("embed"):
        waiting = write_subgraphs(run)
        listener(Step("embed", f"{count(n_parts, 'subgraph')} with {run.technique.name}"))
        tasks = _tasks(run, waiting, partial(_on_retry, run, listener))
        with prepared_engine(run.plan.request) if engine is None else nullcontext(engine) as ready:
            run_parts(ready, tasks, n_parts, listener)


def run_parts(engine: Engine, tasks: Sequence[Task], n_parts: int, listener: Listener) -> None:
    """Run the tasks of parts, and report the progress of all parts; those without a task are done."""
    for i in set(range(n_parts)) - {task.key for task in tasks}:
        listener(Part(i, 1.0, n_parts))
    for task, _ in engine.run(tasks, partial(_on_progress, listener, n_parts)):
        listener(Part(task.key, 1.0, n_parts))


def _on_retry(run: Run, listener: Listener, reason: str) -> None:
    run.note_retry(reason)
    listener(Step("retry", reason))


def _on_progress(listener: Listener, n_parts: int, task: Task, share: float) -> None:
    """Pass on the progress of a task; only its result makes it done, not the progress that it reports."""
    listener(Part(task.key, min(share, _NEARLY_DONE), n_parts))


def part_task(
    folder: RunFolder,
    i: int,
    technique: Technique,
    projected: int,
    budgets: IntArray | None,
    on_retry: OnStep,
    *,
    seen_by_all: bool = False,
) -> Task:
    """Return the task of a worker: embed subgraph i of a run, as planned, whatever its folder may say."""
    return Task(
        key=i,
        function=embed_part,
        argument=PartJob(folder.part(i), describe(technique) or technique, seen_by_all=seen_by_all),
        projected_bytes=projected,
        limit_bytes=None if budgets is None else int(budgets[i]),
        label=f"subgraph {i}",
        on_failure=partial(parts.record_failure, folder.part(i)),
        on_retry=on_retry,
    )


def _tasks(run: Run, waiting: list[int], on_retry: OnStep) -> list[Task]:
    projected, budgets = run.decomposition.projected(run.footprint).tolist(), run.decomposition.budgets
    small = run.footprint.fixed + _SMALL_BYTES if run.technique.leaves_nothing else -1
    return [
        replace(
            part_task(run.folder, i, run.technique, projected[i], budgets, on_retry),
            advice=partial(run.advice, i),
            shares_process=projected[i] <= small,
        )
        for i in waiting
    ]


def reconcile_parts(run: Run, listener: Listener) -> Reconciliation:
    """Compute the maps into one space; reads only the anchor rows of every result."""
    listener(Step("reconcile", _how_reconciled(run)))
    with run.timed("reconcile"):
        return run.reconcile()


def _how_reconciled(run: Run) -> str:
    if run.decomposition.n_parts == 1:
        return "not needed for one part"
    if run.plan.reconciler.is_identity:
        agree = run.in_one_space
        return "not needed (all parts are in one space already)" if agree else "skipped, as requested"
    return f"from {count(run.decomposition.anchors.size, 'anchor')}"


def merge_parts(run: Run, reconciliation: Reconciliation, out: FloatArray) -> FloatArray:
    """Write all vectors into `out`, in vertex order, one block at a time; `out` may be a memory map."""
    with run.timed("reconcile"), one_blas_thread():
        for rows, block in merged_blocks(run.decomposition, run.local_vectors, reconciliation.maps):
            out[rows] = block
            release_pages(out)
    return out


def refine_vectors(run: Run, vectors: FloatArray, listener: Listener, *, in_files: bool = False) -> Refined:
    """Improve all vectors in place with the plan's pass over the whole graph; return what it did.

    An interrupted pass restarts from the results of the workers, which are kept.
    """
    name, refiner = run.plan.refine, run.plan.refiner
    if refiner.is_identity:
        return Refined(name=name)
    listener(Step("refine", name))
    with run.timed("refine"), one_blas_thread(), ExitStack() as scratch:
        work = workspace(run.folder.path, scratch) if in_files else Workspace()
        return Refined.of(refiner.refine(run.decomposition.graph, vectors, run.technique_of_pass, work), name)


def workspace(folder: Path, scratch: ExitStack) -> Workspace:
    """Return the workspace of a pass on vectors in files: scratch files, and the memory that is left."""
    names = iter(range(9))

    def matrix(shape: tuple[int, int], dtype: Any) -> Any:
        return _scratch(scratch, folder / f"refine-{next(names)}.npy", shape, dtype)

    limit = current_limit()
    left = BUDGET if limit is None else min(BUDGET, max(0, limit - private_bytes()) // 3)
    return Workspace(matrix, left, threads=usable_cores() if limit is None else 1)
