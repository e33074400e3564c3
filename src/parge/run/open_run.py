"""Open a run: a new one, one that is resumed, or one that is completed from its folder."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import request_meaning
from parge.decompose.partitioner_choice import ChosenDecomposer
from parge.errors import InputError, PargeError
from parge.events import Listener, Step
from parge.graph.graph import Graph
from parge.memory import read_sizes
from parge.planning.auto_technique import as_chosen
from parge.planning.decision import Decision, candidates, decide, decompose, lasting_settings
from parge.planning.plan import PLAN_FIELDS, Plan, ResolvedPlan
from parge.planning.summary import footprint_of, idle
from parge.result import WHERE
from parge.run import arrays
from parge.run.arrays import DamagedError
from parge.run.folder import RunFolder, check_same, digest, fingerprint, is_left
from parge.run.lock import holder
from parge.run.metadata import (
    PlanMetadata,
    RecordedTechnique,
    TechniqueRecord,
    recorded_retries,
    recorded_seconds,
    run_id,
)
from parge.run.run import RESUMED, Run
from parge.run.schema import PARTS, RESULT, SHARED, SPACE, strays
from parge.show.text import pasteable, printable
from parge.stage_reports import Coordinator
from parge.values import Settings

# Work on a plan that is done again without asking.
_SECONDS = 60.0


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
            started = _begin(graph, _decided(graph, plan, listener), RunFolder(Path(temporary)), listener)
            yield replace(started, kept=False)
        return
    folder = RunFolder(Path(run_dir))
    folder.check_open(resume=resume)
    # A plan that cannot be kept leaves no folder behind.
    decision = None if folder.exists else _decided(graph, plan, listener)
    with folder.locked():
        folder.check_open(resume=resume)  # another process may have started one before the lock was ours
        if folder.exists:
            yield _resume(graph, plan, folder, listener)
        else:
            yield _begin(graph, decision or _decided(graph, plan, listener), folder, listener)


def failed_before_reading(path: Path) -> bool:
    """Return whether a folder holds a run without any result, whose plan took less than a minute, and nothing else.

    The corrected command may then start again: `RunFolder.discard` removes what the run wrote. False where a process is
    at work, where the folder holds other files, and where it is no run that this version reads.
    """
    folder = RunFolder(path)
    if not is_left(path, folder.check):
        return False
    is_quick = folder.plan_metadata().decompose_seconds < _SECONDS
    parts = sorted((path / PARTS).iterdir()) if (path / PARTS).is_dir() else []
    has_work = any(arrays.exists(place) for place in (path / SHARED, path / SPACE, *(part / RESULT for part in parts)))
    is_at_work = any(holder(part) is not None for part in parts)
    return is_quick and not has_work and not is_at_work and not strays(path)


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
    """Decide what a plan means for a graph, and report which technique was chosen, and why."""
    decision = decide(graph, plan, on_step=lambda step: listener(Step("choose", step)))
    if decision.choice is not None:
        listener(Step("choose", str(decision.choice)))
    return decision


def _begin(graph: Graph, decision: Decision, folder: RunFolder, listener: Listener) -> Run:
    started = time.perf_counter()
    listener(Step("decompose"))
    decomposed = decompose(graph, decision, on_step=lambda step: listener(Step("decompose", step)))
    plan, decomposition, decomposer = decomposed.plan, decomposed.decomposition, decomposed.decomposer
    seconds = time.perf_counter() - started
    settings, bound = lasting_settings(plan), footprint_of(plan.technique, decomposition)
    edges = tuple(decomposition.edges.tolist())
    settings["graph"], belongs = fingerprint(graph), digest(decomposition)
    coordinator = decomposer.choice.report() if isinstance(decomposer, ChosenDecomposer) else Coordinator()
    metadata = PlanMetadata(
        settings=Settings(settings),
        run=run_id(settings, belongs),
        decomposition=belongs,
        decompose_seconds=seconds,
        technique=TechniqueRecord.of(plan.technique, bound),
        sizes=tuple(decomposition.held.tolist()),
        edges=edges,
        coordinator=coordinator,
        notices=decomposition.notices,
        choice=decomposed.choice,
    )
    folder.save_plan(decomposition, metadata)
    return _run(folder, plan, decomposition, metadata, decision.notices)


def _run(
    folder: RunFolder,
    plan: ResolvedPlan,
    decomposition: Decomposition,
    metadata: PlanMetadata,
    notices: tuple[str, ...] = (),
) -> Run:
    """Return the run in a folder, with its records of the work so far; `notices` are those on its plan."""
    known = recorded_seconds(folder.path, metadata.run)
    seconds = {"decompose": metadata.decompose_seconds} | {stage: known[stage] for stage in RESUMED if stage in known}
    retries = recorded_retries(folder.path, metadata.run)
    return Run(
        folder,
        plan,
        plan.technique,
        decomposition,
        metadata.run,
        seconds,
        retries,
        coordinator=metadata.coordinator,
        choice=metadata.choice,
        notices=(*folder.notices(), *notices),
    )


def _as_decided(graph: Graph, plan: ResolvedPlan, kept: Mapping[str, Any]) -> ResolvedPlan:
    """Return the plan with open fields as the resumed run decided them, even if that would differ now."""
    decided = kept.get("reconcile")
    if decided in (plan.reconcile, *plan.fallbacks):
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
    notices = idle(plan)  # as it was given
    recorded = folder.plan_metadata()
    kept = recorded.settings.to_json()
    if plan.memory_is_auto:  # what the nodes had when the run was planned; some may be gone
        plan = replace(plan, memory=kept.get("memory"))
    decided = _as_decided(graph, as_chosen(_respelled(plan, kept), recorded.described).resolved, kept)
    check_same(kept, {**lasting_settings(decided), "graph": fingerprint(graph)}, folder.path)
    decomposition, metadata = folder.load_plan(graph)
    if not folder.has_graph():
        folder.save_graph(graph)
    return _run(folder, decided, decomposition, metadata, notices)


@contextmanager
def open_planned(path: Path, *, reconciler: str | None = None, allow: str = "") -> Iterator[Run]:
    """Open a run from its folder alone, to complete it; all subgraphs must be embedded.

    `allow` is the technique that the user typed: the folder must name it, and its code may be imported.
    """
    folder = RunFolder(path)
    folder.check_planned()
    with folder.locked():
        decomposition, metadata = folder.load_plan()
        run = replace(_run(folder, _plan_of(metadata, reconciler, path), decomposition, metadata), allow=allow)
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
    place = run.folder.part(i) / RESULT
    try:
        if arrays.exists(place):
            arrays.load(place, RESULT)
    except DamagedError as error:
        return f" ({error})"
    return ""


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
    settings, technique = metadata.settings.to_json(), RecordedTechnique(record=metadata.technique)
    kept = {name: settings[name] for name in PLAN_FIELDS if name in settings and name not in WHERE}
    kept |= {"technique": technique, "reconcile": reconciler or settings.get("reconcile")}
    if not isinstance(kept["reconcile"], str):
        raise DamagedError(f"{path} does not say how its spaces are reconciled")
    try:
        return ResolvedPlan.recorded(Plan(**kept), technique)
    except (TypeError, ValueError) as error:
        raise DamagedError(f"{path} holds an invalid plan: {printable(error, 200)}") from None
