"""A run in shards, from a folder of edges to a folder of vectors: no process holds the graph or all vectors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import parge
from parge.cluster.balance import Room
from parge.cluster.fetch import Fetch
from parge.cluster.ingest import Counts
from parge.cluster.launch import ShardLauncher, own_address
from parge.cluster.plan_checks import checked_plan, settings_of
from parge.cluster.rendezvous import LOOPBACK
from parge.cluster.run_folder import (
    CUT,
    DIVIDE,
    FINISH,
    READ,
    Folders,
    check_run_folder,
    keep_settings,
    remove_files,
    sweep,
)
from parge.cluster.sockets import Program
from parge.cluster.source import Source, edge_files
from parge.cluster.split import Aim
from parge.cluster.stage_results import (
    CutResult,
    DivideResult,
    FinishResult,
    R,
    ReadResult,
    ShardResult,
    read_results,
    saved_results,
)
from parge.cluster.stages import Cut, Divide, Finish, Read
from parge.decompose.anchors import AnchorDecomposer
from parge.decompose.decomposition import much_lost
from parge.decompose.supervertices import LandmarkDecomposer
from parge.engine.base import Engine, joins_cluster
from parge.errors import InfeasibleError, InputError
from parge.estimate.shards import split_bytes
from parge.events import Listener, Step, ignore
from parge.io.embeddings.folder import replace_vectors, write_manifest
from parge.io.stores import shown_url
from parge.linalg.threads import one_blas_thread
from parge.links import LinkHead
from parge.memory import BASE_BYTES, Footprint, format_bytes, peak_bytes, refuse_over_budget
from parge.planning.decision import Decision, decide, next_decision
from parge.planning.plan import Plan, ResolvedPlan
from parge.planning.summary import idle
from parge.reconcile.reconciliation import Reconciliation, reconcile
from parge.result import Report
from parge.run import arrays, parts
from parge.run.folder import RunFolder
from parge.run.lock import hold
from parge.run.metadata import run_id
from parge.run.pipeline import part_task, prepared_engine, run_parts
from parge.run.run import stage_seconds, timed
from parge.run.schema import DONE, PLAN, SHARDED
from parge.show.text import count
from parge.stage_reports import Coordinator, EdgeCounts, Refined, ShardStage, ShardStages
from parge.stage_reports import Part as PartReport
from parge.stage_reports import Shard as ShardReport
from parge.techniques.resolve import describe
from parge.values import Settings

_STAGES = {READ: "read", DIVIDE: "decompose", CUT: "prepare", FINISH: "refine"}

_FEWER = "use fewer parts, or more machines (--engine ray)"


def embed_sharded(
    source: Source,
    plan: Plan,
    out: Path,
    *,
    run_dir: Path,
    resume: bool = False,
    listener: Listener = ignore,
    command: Sequence[str] = (),
) -> Report:
    """Embed a graph that no process holds, and write a folder of vectors; return the report.

    Parameters
    ----------
    source : Source
        The files of edges.
    plan : Plan
        As for `parge.embed`; there are as many shards as parts.
    out : Path
        The folder of vectors: a Parquet file for each part, and a manifest.
    run_dir : Path
        Folder that keeps the run. On several machines all of them must see it under this name.
    resume : bool
        Resume the run in `run_dir` where it stopped.
    listener : callable
        Called at every stage.
    command : sequence of str
        The words of the command line, without secrets, if that started the run: `parge status` shows them.

    Equivalent: ``parge embed FOLDER -o OUT --sharded``.
    """
    resolved = checked_plan(replace(plan, coordinator_memory=None))
    run_dir, out = run_dir.absolute(), out.absolute()  # shards on Ray may have another current folder
    check_run_folder(run_dir, resume=resume)
    run_dir.mkdir(parents=True, exist_ok=True)
    with hold(run_dir), prepared_engine(plan) as ready, ready.connected() as engine:
        sweep(run_dir)
        run = ShardedRun.opened(run_dir, source, resolved, engine, listener, command)
        return run.embed(out)


@dataclass(eq=False)
class ShardedRun:
    """An open run in shards: its folder, its plan, and what its stages have answered."""

    folder: Path
    id: str
    source: Source
    plan: ResolvedPlan
    engine: Engine
    listener: Listener
    retries: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    shards: dict[int, dict[str, ShardStage]] = field(default_factory=dict)

    @staticmethod
    def opened(
        folder: Path, source: Source, plan: ResolvedPlan, engine: Engine, listener: Listener, words: Sequence[str] = ()
    ) -> "ShardedRun":
        """Return the run in a folder, new or resumed; a resumed one must have the same settings."""
        settings = settings_of(source, plan)
        if arrays.exists(folder / PLAN):
            listener(Step("resume", str(folder)))
        keep_settings(folder, settings, words)
        return ShardedRun(folder, run_id(settings, SHARDED), source, plan, engine, listener)

    @property
    def folders(self) -> Folders:
        """Where shards keep what they have."""
        return Folders(self.folder)

    def embed(self, out: Path) -> Report:
        """Run all stages that are not done yet, and write the vectors."""
        counts, decision, cut = self.prepared()
        size, footprint = self.plan.n_parts, _footprint(decision)
        self._embed_parts(cut, decision, footprint)
        with timed(self.seconds, "reconcile"), one_blas_thread():
            self.listener(Step("reconcile", decision.plan.reconcile))
            anchors = [self._anchor_vectors(i, cut[i].own, cut[0].anchors) for i in range(size)]
            if len({found.shape[1] for found in anchors}) > 1:
                raise arrays.DamagedError("parts have vectors of different dimensions. Use another run folder.")
            reconciliation = reconcile(decision.plan.reconciler, anchors)
            del anchors
        staged = out.with_name(f".{out.name}.parge-{self.id}")
        if staged.is_symlink():
            raise InputError(f"{staged} is a link, and vectors are gathered in a folder of that name. Remove the link.")
        plan = decision.plan
        finish = Finish(
            self.folders, counts, reconciliation.maps, plan.technique, plan.refiner, staged, self.id, plan.seed
        )
        if not all((staged / result.file).is_file() for result in self._results(FinishResult, FINISH) or ()):
            arrays.discard(self.folder / f"done-{FINISH}")  # its vectors were written, or are gone
        finished = self._stage(FinishResult, FINISH, size, lambda: finish)
        report = self._report(counts, decision, cut, reconciliation, finished, footprint)
        self.listener(Step("write", str(out)))
        shards = [{"file": found.file, "rows": found.rows, "sha256": found.sha256} for found in finished]
        head = LinkHead(*finished[0].head) if finished[0].head else None
        write_manifest(staged, shards, finished[0].dim, report.reproducible(), head)
        replace_vectors(staged, out)
        return report

    def prepared(self) -> tuple[Counts, Decision, list[CutResult]]:
        """Read, split and cut out, as far as that is not done yet; return what parts are ready to be embedded."""
        size = self.plan.n_parts
        source = self._here(size)
        read = self._stage(ReadResult, READ, size, lambda: Read(self.folders, source, self._room()))
        if self.source.url is not None and self.folders.fetched.is_dir():
            remove_files(self.folders.fetched)
        counts = _counts(read, self.source)
        self._check_memory(read)
        decision = self._divided(counts, size)
        return counts, decision, self._stage(CutResult, CUT, size, lambda: self._cut(counts, decision))

    def _room(self) -> Room:
        """Return what each shard has room for besides its libraries, if workers are limited."""
        limits = self.plan.budgets()
        return None if limits is None else [max(1, limit - int(BASE_BYTES)) for limit in limits]

    def _here(self, size: int) -> Source:
        """Return the source with files that all shards see: those of a URL are fetched."""
        url = self.source.url
        if url is None or self._results(ReadResult, READ) is not None:
            return self.source.absolute()
        self.listener(Step("read", shown_url(url)))
        self._launcher().run("fetch", size, Fetch(url, self.folders.fetched))
        return replace(self.source, files=edge_files(self.folders.fetched))

    def _check_memory(self, read: list[ReadResult]) -> None:
        """Refuse to split a graph of which a shard holds more than its worker has, or all more than this machine."""
        limits = self.plan.budgets()
        if not joins_cluster(self.plan.request.engine):
            total = sum(split_bytes(found.arcs, found.own, len(read)) - BASE_BYTES for found in read)
            refuse_over_budget(total, f"{count(len(read), 'shard')} of this machine split the graph", _FEWER)
        for rank, found in enumerate(read if limits else ()):
            needs, has = split_bytes(found.arcs, found.own, len(read)), limits[rank] if limits else 0
            if needs > has:
                raise InfeasibleError(
                    f"shard {rank} holds {found.own:,} vertices and {found.arcs:,} arcs, and needs about "
                    f"{format_bytes(needs)} to split the graph; its worker has {format_bytes(has)}. "
                    + _advice(found, len(read), has)
                )

    def _divided(self, counts: Counts, size: int) -> Decision:
        """Choose parts and anchors as decided; where that is not possible, by the next alternative."""
        decision = decide(counts, self.plan.request)
        done = self._results(DivideResult, DIVIDE)
        while done is not None and decision.plan.reconcile != done[0].reconcile and decision.others:
            decision = next_decision(counts, decision, InfeasibleError("as the run began"))
        while True:
            name = decision.plan.reconcile
            try:
                divide = partial(Divide, self.folders, aim_of(decision), counts.n_vertices, name)
                self._stage(DivideResult, DIVIDE, size, divide)
                return decision
            except InfeasibleError as error:
                if not decision.others:
                    raise
                decision = next_decision(counts, decision, error)

    def _cut(self, counts: Counts, decision: Decision) -> Cut:
        decomposer = decision.decomposer if isinstance(decision.decomposer, LandmarkDecomposer) else None
        plan = decision.plan
        return Cut(
            self.folders,
            counts,
            decision.limits,
            plan.technique,
            describe(plan.technique),
            self.id,
            plan.partitioner,
            plan.seed,
            decomposer,
        )

    def _stage(self, kind: type[R], name: str, size: int, program: Callable[[], Program]) -> list[R]:
        """Run a stage, unless it is done; return what each shard returned."""
        done, stage = self._results(kind, name), _STAGES[name]
        if done is not None:
            return done
        self.listener(Step(stage, f"in {count(size, 'shard')}"))
        with timed(self.seconds, stage):
            found = read_results(kind, self._launcher().run(name, size, program()))
        self._record(stage, found)
        arrays.save(self.folder / f"done-{name}", DONE, {}, {"answers": [result.to_json() for result in found]})
        return found

    def _record(self, stage: str, found: Sequence[ShardResult]) -> None:
        """Record what each shard took for a stage, for the report."""
        for rank, result in enumerate(found):
            self.shards.setdefault(rank, {})[stage] = ShardStage.from_json(result.to_json())

    def _results(self, kind: type[R], name: str) -> list[R] | None:
        """Return what each shard returned from a stage that is done, or None."""
        place = self.folder / f"done-{name}"
        if not arrays.exists(place):
            return None
        found = saved_results(kind, name, arrays.load(place, DONE)[1], self.plan.n_parts)
        self._record(_STAGES[name], found)
        return found

    def _launcher(self) -> ShardLauncher:
        coordinator_host = (
            own_address(self.plan.request.address) if joins_cluster(self.plan.request.engine) else LOOPBACK
        )
        return ShardLauncher(self.engine, self.folder, self.plan.budgets(), coordinator_host, self._on_retry)

    def _on_retry(self, reason: str) -> None:
        self.retries.append(reason)
        self.listener(Step("retry", reason))

    def _embed_parts(self, cut: list[CutResult], decision: Decision, footprint: Footprint) -> None:
        """Embed every part that has no result yet, as every run does; no file passes through this process."""
        n_parts, technique = len(cut), decision.plan.technique
        waiting = [i for i in range(n_parts) if parts.whole_result(self.folders.part(i)) is None]
        self.listener(Step("embed", f"{count(n_parts, 'subgraph')} with {technique.name}"))
        projected = [footprint.bytes(found.vertices, found.edges) for found in cut]
        folder, budgets = RunFolder(self.folder), decision.limits.budgets
        tasks = [
            part_task(folder, i, technique, projected[i], budgets, self._on_retry, seen_by_all=True) for i in waiting
        ]
        with timed(self.seconds, "embed"):
            run_parts(self.engine, tasks, n_parts, self.listener)

    def _anchor_vectors(self, index: int, n_own: int, n_anchors: int) -> Any:
        folder = self.folders.part(index)
        vectors = parts.load_result(folder).vectors
        if len(vectors) != n_own + n_anchors:
            raise arrays.DamagedError(f"{folder} has {len(vectors):,} vectors; expected {n_own + n_anchors:,}")
        return vectors[n_own:]

    def _report(
        self,
        counts: Counts,
        decision: Decision,
        cut: list[CutResult],
        reconciliation: Reconciliation,
        finished: list[FinishResult],
        footprint: Footprint,
    ) -> Report:
        plan, limits = decision.plan, decision.limits
        edges = EdgeCounts(*cut[0].counts)
        lost = edges.lost / max(1, counts.n_edges)
        took = [parts.load_metadata(self.folders.part(i)) for i in range(len(cut))]
        notices = [*counts.notices, *idle(plan.request)]
        if decision.instead_of is not None:
            notices.append(f"{plan.reconcile} instead: {decision.instead_of}")
        warnings = [*reconciliation.warnings, *filter(None, [much_lost(lost)])]
        return Report(
            vertices=counts.n_vertices,
            edges=counts.n_edges,
            dim=finished[0].dim,
            technique=plan.technique.name,
            anchors=cut[0].anchors,
            edge_counts=edges,
            lost_edges=lost,
            parts=tuple(
                PartReport(
                    vertices=found.vertices,
                    own=found.own,
                    halo=found.halo,
                    supervertices=found.supervertices,
                    capacity=int(limits.capacities[i]),
                    edges=found.edges,
                    projected_bytes=footprint.bytes(found.vertices, found.edges),
                    kept_edges=found.kept,
                    budget_bytes=None if limits.budgets is None else int(limits.budgets[i]),
                    peak_bytes=took[i].peak_bytes,
                    seconds=took[i].seconds,
                )
                for i, found in enumerate(cut)
            ),
            warnings=tuple(warnings),
            notices=tuple(notices),
            seconds=stage_seconds(self.seconds, ()),
            reconcile=reconciliation.report(),
            refine=Refined.of(finished[0].refined, plan.refine),
            retries=tuple(self.retries),
            coordinator=Coordinator(peak_bytes=peak_bytes()),
            plan=Settings(plan.settings()),
            parge=parge.__version__,
            shards=tuple(_shard_report(self.shards[rank]) for rank in sorted(self.shards)),
        )


def _shard_report(stages: Mapping[str, ShardStage]) -> ShardReport:
    return ShardReport(peak_bytes=max(took.peak_bytes for took in stages.values()), stages=ShardStages(**stages))


def _advice(read: ReadResult, n_shards: int, limit: int) -> str:
    """Return what to do where a shard does not fit; with more workers, that of a hub still holds the hub's row."""
    alone = split_bytes(read.largest, 1, n_shards)
    if alone <= limit:
        return "Use more workers, or larger ones."
    return (
        f"One vertex has {read.largest:,} neighbours, which one shard holds: that alone needs {format_bytes(alone)}. "
        "Use larger workers."
    )


def _counts(read: list[ReadResult], source: Source) -> Counts:
    first = read[0]
    if first.edges == 0 and source.vertices is None:
        dropped = "".join(f" ({notice})" for notice in first.notices)
        raise InputError(
            f"the files have no edge between two vertices{dropped}. To embed a graph without edges, give its vertices: "
            "their number, or a file with one id per line (--vertices)."
        )
    return Counts(first.vertices, first.edges, first.notices, first.weighted)


def aim_of(decision: Decision) -> Aim:
    """Return what a split has to be for a decided plan."""
    decomposer, limits = decision.decomposer, decision.limits
    if isinstance(decomposer, LandmarkDecomposer):
        limits, decomposer = decomposer.limits_for_own(limits), decomposer.parts
    assert isinstance(decomposer, AnchorDecomposer)
    return Aim(
        limits,
        decomposer.n_anchors,
        decomposer.at_most,
        decomposer.seed,
        decomposer.balance,
        decomposer.partitioner,
    )


def _footprint(decision: Decision) -> Footprint:
    if isinstance(decision.decomposer, LandmarkDecomposer):
        return decision.decomposer.footprint
    return decision.plan.technique.footprint()
