"""Plan: everything that decides a run, checked before any work."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from parge.decompose.limits import Limits, anchor_count, check_feasible, check_request
from parge.engine.base import Engine
from parge.engine.registry import check_engine, make_engine
from parge.errors import InfeasibleError, InputError
from parge.events import OnStep, ignore_step
from parge.graph.graph import Graph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import format_bytes, parse_bytes
from parge.numbers import MOST, check_number, check_whole
from parge.planning.landmarks import backbone_bytes, landmark_technique, least_landmarks, prepare_landmarks
from parge.reconcile.registry import reconcilers
from parge.refine.registry import refiners
from parge.techniques.base import Technique
from parge.techniques.resolve import resolve

if TYPE_CHECKING:
    from parge.decompose.base import Decomposer
    from parge.decompose.decomposition import Decomposition

# What a preset decides where the plan itself is silent. `paper` is the paper as corrected (docs/paper.md).
PRESETS: dict[str, dict[str, str]] = {
    "best": {
        "anchors": "auto",
        "anchor_strategy": "alternating",
        "partitioner": "kaminpar",
        "reconcile": "auto",
        "refine": "auto",
    },
    "paper": {
        "anchors": "1%",
        "anchor_strategy": "top-cut",
        "partitioner": "metis",
        "reconcile": "orthogonal",
        "refine": "none",
    },
}


@dataclass(frozen=True)
class Plan:
    """What to embed with, on which workers, and how to make one space of the parts.

    Exactly one of `parts`, `capacities` and `memory` says what the workers can hold; without any, one worker
    holds the whole graph. Fields left at None are decided by the preset.

    Parameters
    ----------
    technique : Technique, callable, object with fit_transform, or name
        Embeds each subgraph.
    parts : int, optional
        So many equal workers.
    capacities : sequence of int, optional
        Vertices that each worker can hold: its own, the anchors, and around a backbone its halo and super-vertices.
    memory : sequence of int or str, or "auto", optional
        Bytes that each worker can hold, such as ``"2GB"``; auto: a worker on every node of the engine's cluster,
        with what that node has.
    anchors : "auto", int or share such as "5%"
        How many vertices every subgraph shares.
    anchor_strategy : str
        alternating, top-cut, random or degree.
    partitioner : str
        kaminpar, kaminpar-compressed, metis, streaming or random.
    reconcile : str
        consensus, orthogonal, linear, mlp or none; backbone makes one space before the workers begin (walk
        techniques: every worker holds the rest of the graph as super-vertices, within its limit). auto is backbone
        where the technique knows one and the limits have room for it, none where spaces agree by construction, else
        consensus.
    refine : str
        The pass over the whole graph after the merge: whiten, settle, propagate, subspace or none; auto is the
        technique's own, and none for a single part, which has nothing to mend.
    preset : str
        best, or paper.
    engine : str
        How the subgraphs are run: processes, serial (here, one by one), or ray (on a cluster).
    address : str, optional
        Which cluster, as ``HOST:PORT``; see `parge.engine.ray.Ray`.
    workers : int, optional
        How many subgraphs are embedded at once.
    seed : int
        Seeds everything: same seed, same bits.
    coordinator_memory : int or str, optional
        Most bytes of this process, such as ``"2GB"``; decides the partitioner, where that is kaminpar, by what it is
        projected to take: kaminpar, kaminpar-compressed, or streaming. The latter two, named, are refused where they
        are projected not to fit; of others a notice says that nobody knows. (The command line also enforces it.)

    Examples
    --------
    >>> Plan(parts=8, preset="paper").resolved.anchor_strategy
    'top-cut'
    """

    technique: Any = "deepwalk"
    parts: int | None = None
    capacities: Sequence[int] | None = None
    memory: Sequence[int | str] | str | None = None
    anchors: str | int | None = None
    anchor_strategy: str | None = None
    partitioner: str | None = None
    reconcile: str | None = None
    refine: str | None = None
    preset: str = "best"
    engine: str = "processes"
    address: str | None = None
    workers: int | None = None
    seed: int = 0
    coordinator_memory: int | str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("parts", "capacities", "memory") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(f"only one of parts, capacities and memory can be given; got {' and '.join(given)}")
        if self.preset not in PRESETS:
            raise InputError(f"there is no preset {self.preset!r}; known: {', '.join(PRESETS)}")
        if self.refine not in (None, "auto"):
            refiners.check(self.refine)
        check_whole("seed", self.seed)
        for name in ("parts", "workers"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)
        if self.anchors is not None:
            check_request(self.anchors)
        if isinstance(self.capacities, str | int | float) or isinstance(self.memory, int | float):
            raise InputError("capacities and memory are lists, one item a worker")
        for capacity in self.capacities if self.capacities is not None else ():
            check_whole("capacities", capacity)
        self.budgets()
        self.coordinator_limit()

    def coordinator_limit(self) -> int | None:
        """Return the most bytes of the coordinator, if that is limited."""
        size = self.coordinator_memory
        return None if size is None else _bytes("coordinator_memory", size)

    def budgets(self) -> list[int] | None:
        """Return the memory of each worker in bytes; a text such as ``"2GB,4GB"`` will do for a list."""
        if self.memory is None or self.memory_is_auto:
            return None
        sizes = self.memory.split(",") if isinstance(self.memory, str) else self.memory
        return [_bytes("memory", size) for size in sizes]

    @property
    def memory_is_auto(self) -> bool:
        """Whether the engine's cluster says what each worker has; `resolved` then holds its answer."""
        return self.memory is not None and list(self.memory) in (["auto"], list("auto"))

    @property
    def n_parts(self) -> int:
        """How many workers share the graph."""
        given = self.capacities if self.capacities is not None else self.budgets()
        return int(self.parts or 1) if given is None else len(given)

    @cached_property
    def resolved(self) -> "Plan":
        """The same plan with every field decided and its names looked up."""
        check_engine(self.engine, self.address)
        if self.memory_is_auto:
            sizes = self.make_engine().worker_memory()
            _check_nodes(sizes, resolve(self.technique))
            return replace(self, memory=sizes).resolved
        decided = {name: value for name, value in PRESETS[self.preset].items() if getattr(self, name) is None}
        technique = resolve(self.technique)
        if technique.aligned and self.reconcile in (None, "auto"):
            decided["reconcile"] = "none"  # its spaces agree by construction; a rotation could only hurt
        elif decided.get("reconcile", self.reconcile) == "auto" and (
            self.n_parts == 1 or not isinstance(technique, LandmarkTechnique)
        ):
            decided["reconcile"] = "consensus"
        if decided.get("refine", self.refine) == "auto":
            decided["refine"] = technique.refine if self.n_parts > 1 else "none"
        plan = replace(self, technique=technique, **decided)  # type: ignore[arg-type]  # every value is a str
        if technique.needs_extra is not None:
            technique.needs_extra.check(f"the technique {technique.name}")
        refiners.get(str(plan.refine))().check(technique)
        if plan.reconcile == "backbone":
            landmark_technique(technique, plan.n_parts)
        if plan.reconcile != "auto":
            reconcilers.check(str(plan.reconcile))
        return plan

    def reconciled_by(self, reconciler: str) -> "Plan":
        """The same plan with another reconciler, every field decided."""
        return replace(self, reconcile=reconciler).resolved

    def make_engine(self) -> Engine:
        """Return the engine that runs the subgraphs."""
        return make_engine(self.engine, workers=self.workers, address=self.address)

    def settings(self) -> dict[str, Any]:
        """Return the fields as plain values, for people and files."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "technique"}


def _check_nodes(sizes: Sequence[int], technique: Technique) -> None:
    """Refuse nodes on which not even an empty subgraph can be embedded, and say how to plan without them."""
    least = technique.footprint().fixed
    large = [size for size in sizes if size > least]
    if len(large) < len(sizes):
        others = f", or plan without such nodes by --memory {','.join(map(str, large))}" if large else ""
        raise InfeasibleError(
            f"--memory auto takes every node with a core; the smallest has {format_bytes(min(sizes))} for a worker; "
            f"one of {technique.name} needs {format_bytes(least)} before it holds a vertex: start it with --num-cpus=0"
            f"{others}"
        )


class Decomposed(NamedTuple):
    """A plan with every field decided for a graph, the graph decomposed accordingly, and by whom."""

    plan: Plan
    decomposition: "Decomposition"
    decomposer: "Decomposer"


def decompose(graph: Graph, plan: Plan, *, on_step: OnStep = ignore_step) -> Decomposed:
    """Decide what a plan leaves open, and decompose the graph; raise where no way keeps the limits."""
    last: InfeasibleError | None = None
    for candidate in candidates(graph, plan):
        try:
            decomposer, limits = prepare(graph, candidate)
            found = decomposer.decompose(graph, limits, on_step=on_step)
        except InfeasibleError as error:
            last = error
            continue
        if last is not None:
            found = replace(found, notices=(*found.notices, f"{candidate.reconcile} instead: {last}"))
        return Decomposed(candidate, replace(found, notices=(*found.notices, *_unprojected(candidate))), decomposer)
    raise last or InfeasibleError("no plan was tried")


def _unprojected(plan: Plan) -> tuple[str, ...]:
    """Return the notice that the coordinator's memory does not decide the partitioner, where that is so."""
    if plan.coordinator_memory is None:
        return ()
    from parge.decompose.choice import unprojected  # compiled code: not needed to refuse a plan

    return unprojected(str(plan.resolved.partitioner), plan.n_parts)


def candidates(graph: Graph, plan: Plan) -> list[Plan]:
    """Return what a plan may mean for a graph, best first: only ``reconcile="auto"`` means more than one thing.

    A graph under three vertices a dimension has no landmarks: its backbone would be most of it.
    """
    plan = refined_for(graph, plan).resolved
    if plan.reconcile != "auto":
        return [plan]
    has_room = plan.technique.landmark_count(graph) >= least_landmarks(plan.technique) and _fits_coordinator(
        graph, plan
    )
    return [plan.reconciled_by(name) for name in (["backbone"] if has_room else []) + ["consensus"]]


def refined_for(graph: Graph, plan: Plan) -> Plan:
    """Return the plan with ``refine="auto"`` as the technique means it for this graph."""
    if plan.memory_is_auto:  # how many parts there are, only the engine's answer tells
        plan = replace(plan, memory=plan.resolved.memory)
    asked = PRESETS[plan.preset]["refine"] if plan.refine is None else plan.refine
    if asked != "auto" or plan.n_parts == 1:
        return plan
    return replace(plan, refine=plan.resolved.technique.refine_for(graph))


def _fits_coordinator(graph: Graph, plan: Plan) -> bool:
    """Return whether the graph can be decomposed in the coordinator's memory; out of core it has no landmarks."""
    limit = plan.coordinator_limit()
    if limit is None:
        return True
    from parge.decompose.choice import choose  # compiled code: not needed to refuse a plan

    return choose(graph, limit).partitioner == "kaminpar"


def check(graph: Graph, plan: Plan) -> None:
    """Raise where a plan cannot be kept, as far as that can be told without work."""
    *first, last = candidates(graph, plan)
    for candidate in first:
        try:
            prepare(graph, candidate)
        except InfeasibleError:
            continue
        return
    prepare(graph, last)


def prepare(graph: Graph, plan: Plan) -> tuple["Decomposer", Limits]:
    """Return how to decompose this graph under a plan that leaves nothing open, or refuse before any work is done."""
    plan = plan.resolved
    limit = plan.coordinator_limit()
    if limit is None:
        return _prepare(graph, plan)
    from parge.decompose.choice import PROJECTED, Chosen, choose  # compiled code: not needed to refuse a plan
    from parge.decompose.supervertices import LandmarkDecomposer

    if plan.partitioner not in PROJECTED:
        return _prepare(graph, plan)
    choice = choose(graph, limit, str(plan.partitioner))
    decomposer, limits = _prepare(graph, replace(plan, partitioner=choice.partitioner))
    if isinstance(decomposer, LandmarkDecomposer):
        size = backbone_bytes(graph, plan.technique, limits.n_parts, decomposer.n_landmarks)
        choice = replace(choice, landmarks=decomposer.n_landmarks, backbone=size)
    return Chosen(decomposer, choice), limits


def _prepare(graph: Graph, plan: Plan) -> tuple["Decomposer", Limits]:
    technique: Technique = plan.technique
    if plan.parts is not None and plan.parts > max(1, graph.n_vertices):
        raise InputError(
            f"{plan.parts:,} parts were asked for; the graph has {graph.n_vertices:,} vertices: ask for no more than "
            "that"
        )
    if plan.reconcile == "backbone":
        known = landmark_technique(technique, plan.n_parts)
        return prepare_landmarks(graph, plan, known, _limits(plan, technique, graph))
    limits = _limits(plan, technique, graph)
    n_parts = limits.n_parts if limits is not None else int(plan.parts or 1)
    if limits is None:
        slack, smallest = (n_parts - 1) * graph.n_vertices, graph.n_vertices
    else:
        typical = limits.typical_capacities(graph)
        slack, smallest = int(typical.sum()) - graph.n_vertices, int(typical.min())
    n_anchors = anchor_count(
        plan.anchors or 0,
        n_vertices=graph.n_vertices,
        n_parts=n_parts,
        dim=technique.dim,
        slack=slack,
        smallest=smallest,
    )
    limits = limits or Limits.equal(n_parts, graph.n_vertices, n_anchors)
    needs_anchors = plan.anchors == "auto" and n_parts > 1 and not technique.aligned
    check_feasible(limits, graph, n_anchors, useful=technique.dim if needs_anchors else 0)
    from parge.decompose.base import AnchorDecomposer  # compiled code: not needed to refuse a plan

    decomposer = AnchorDecomposer(
        n_anchors, str(plan.anchor_strategy), str(plan.partitioner), plan.seed, at_most=plan.anchors == "auto"
    )
    return decomposer, limits


def _limits(plan: Plan, technique: Technique, graph: Graph) -> Limits | None:
    if plan.capacities is not None:
        return Limits.of_vertices(list(plan.capacities))
    budgets = plan.budgets()
    return None if budgets is None else Limits.of_bytes(budgets, technique.footprint_for(graph))


def _bytes(what: str, size: int | str) -> int:
    return parse_bytes(size) if isinstance(size, str) else int(check_number(what, size, 0, MOST))
