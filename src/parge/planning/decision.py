"""Decision: what a plan means for one graph, decided once per run; with a backbone, how many landmarks there are."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parge.decompose.limits import Limits, anchor_count, check_feasible
from parge.errors import InfeasibleError, InputError
from parge.events import OnStep, ignore_step
from parge.graph.graph import Counted, Graph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import Footprint, format_bytes
from parge.planning.auto_technique import choose_technique
from parge.planning.plan import AUTO, Plan, ResolvedPlan, landmark_technique
from parge.planning.summary import idle
from parge.reconcile.base import reconcilers
from parge.result import WHERE
from parge.stage_reports import TechniqueChoice
from parge.techniques.base import Chooser
from parge.techniques.resolve import describe

if TYPE_CHECKING:
    from parge.decompose.anchors import AnchorDecomposer, Decomposer
    from parge.decompose.decomposition import Decomposition


@dataclass(frozen=True, eq=False)
class Decision:
    """A plan with everything decided for one graph, and how to decompose that graph."""

    plan: ResolvedPlan  # with one reconciler
    decomposer: "Decomposer"  # decomposes the graph
    limits: Limits  # what each worker can hold
    # Alternatives, best first; used if the partitioner cannot fit the parts into the limits.
    others: Sequence[ResolvedPlan] = ()
    instead_of: InfeasibleError | None = None  # why the previous, better alternative is not possible
    choice: TechniqueChoice | None = None  # why this technique, if the plan left it open
    notices: tuple[str, ...] = ()  # options that were given and have no effect


def decide(graph: Counted, plan: Plan, *, on_step: OnStep = ignore_step) -> Decision:
    """Return what a plan means for a graph; raise if a quick check shows that it is not feasible.

    A technique that stands for others is tried on a sample of the graph first, which `on_step` is called with.

    >>> from parge.graph.generate import ring_of_cliques
    >>> decision = decide(ring_of_cliques(40, 5), Plan("hope", parts=2, anchors=20))
    >>> decision.plan.reconcile, decision.plan.refine, decision.limits.capacities.tolist()
    ('consensus', 'subspace', [120, 120])
    """
    resolved, choice, notices = plan.resolved, None, idle(plan)
    if isinstance(resolved.technique, Chooser):
        on_step("choosing the technique")
        assert isinstance(graph, Graph)  # shards are refused without a named technique
        resolved, choice = choose_technique(graph, plan)
    return replace(_first_feasible(graph, candidates(graph, resolved), None), choice=choice, notices=notices)


def _first_feasible(graph: Counted, plans: Sequence[ResolvedPlan], failure: InfeasibleError | None) -> Decision:
    for i, plan in enumerate(plans):
        try:
            return Decision(plan, *_prepare(graph, plan), plans[i + 1 :], failure)
        except InfeasibleError as error:
            failure = error
    raise failure or InfeasibleError("no plan was tried")


def candidates(graph: Counted, plan: ResolvedPlan) -> Sequence[ResolvedPlan]:
    """Return the alternatives of a plan for a graph, best first: one, or one per reconciler that is possible.

    A graph with fewer than three vertices per dimension has no landmarks: its backbone would be most of the graph.
    """
    plan = plan.refined_for(graph)
    if not plan.fallbacks:
        return [plan]
    technique = plan.technique
    fits = (
        isinstance(technique, LandmarkTechnique)
        and technique.landmark_count(graph) >= least_landmarks(technique)
        and _fits_coordinator(graph, plan)
    )
    possible = [name for name in (plan.reconcile, *plan.fallbacks) if fits or not reconcilers.get(name).needs_landmarks]
    return [plan.reconciled_by(name) for name in possible]


def _fits_coordinator(graph: Counted, plan: ResolvedPlan) -> bool:
    """Return whether the graph can be decomposed in the coordinator's memory; on disk there are no landmarks."""
    limit = plan.coordinator_limit()
    if limit is None:
        return True
    from parge.decompose.partitioner_choice import choose  # compiled code: not needed to refuse a plan

    assert isinstance(graph, Graph)  # a graph in shards has no coordinator
    return choose(graph, limit).is_first


def next_decision(graph: Counted, decision: Decision, failure: InfeasibleError) -> Decision:
    """Return the next alternative of a decision that turned out not to be possible, or raise why."""
    found = _first_feasible(graph, decision.others, failure)
    return replace(found, choice=decision.choice, notices=decision.notices)


def lasting_settings(plan: ResolvedPlan) -> dict[str, Any]:
    """Return what of a decided plan determines the vectors, as a file gives it back; where it runs does not."""
    settings = {key: value for key, value in plan.settings().items() if key not in WHERE}
    # Where an object lies in memory is another one in every process.
    live = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(plan.technique))
    described = describe(plan.technique)
    settings["technique"] = live if described is None else described.to_json()
    as_read: dict[str, Any] = json.loads(json.dumps(settings, default=_plain))
    return as_read


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


class Decomposed(NamedTuple):
    """A plan with every field decided for a graph, and the decomposition of that graph."""

    plan: ResolvedPlan
    decomposition: "Decomposition"
    decomposer: "Decomposer"
    choice: TechniqueChoice | None = None
    notices: tuple[str, ...] = ()


def decompose(graph: Graph, decision: Decision, *, on_step: OnStep = ignore_step) -> Decomposed:
    """Decompose the graph as decided; if that is impossible, use the next alternative, or raise."""
    while True:
        plan, decomposer, failure = decision.plan, decision.decomposer, decision.instead_of
        try:
            found = decomposer.decompose(graph, decision.limits, on_step=on_step)
        except InfeasibleError as error:
            if not decision.others:
                raise
            decision = next_decision(graph, decision, error)
            continue
        instead = () if failure is None else (f"{plan.reconcile} instead: {failure}",)
        found = replace(found, notices=(*found.notices, *instead, *_unprojected(plan)))
        return Decomposed(plan, found, decomposer, decision.choice, decision.notices)


def _unprojected(plan: ResolvedPlan) -> tuple[str, ...]:
    """Return a notice if the coordinator's memory does not decide the partitioner."""
    if plan.coordinator_limit() is None:
        return ()
    from parge.decompose.partitioner_choice import unprojected  # compiled code: not needed to refuse a plan

    return unprojected(plan.partitioner, plan.n_parts)


def _prepare(graph: Counted, plan: ResolvedPlan) -> tuple["Decomposer", Limits]:
    """Return how to decompose this graph under a decided plan; raise before any work if it cannot be done."""
    limit = plan.coordinator_limit()
    if limit is None:
        return _within_limits(graph, plan)
    from parge.decompose.partitioner_choice import (  # compiled code: not needed to refuse a plan
        ChosenDecomposer,
        choose,
    )
    from parge.decompose.partitioners import partitioner_named
    from parge.decompose.supervertices import LandmarkDecomposer

    if partitioner_named(plan.partitioner).memory is None:
        return _within_limits(graph, plan)
    assert isinstance(graph, Graph)  # a graph in shards has no coordinator
    choice = choose(graph, limit, plan.partitioner)
    decomposer, limits = _within_limits(graph, replace(plan, partitioner=choice.partitioner))
    if isinstance(decomposer, LandmarkDecomposer):
        technique = landmark_technique(plan.technique, plan.n_parts)
        size = backbone_bytes(graph, technique, limits.n_parts, decomposer.n_landmarks)
        choice = replace(choice, landmarks=decomposer.n_landmarks, backbone=size)
    return ChosenDecomposer(decomposer, choice), limits


def _within_limits(graph: Counted, plan: ResolvedPlan) -> tuple["Decomposer", Limits]:
    technique, limits, n_parts = plan.technique, plan.limits(graph), plan.n_parts
    if plan.request.parts is not None and n_parts > max(1, graph.n_vertices):
        raise InputError(
            f"cannot make {n_parts:,} parts of {graph.n_vertices:,} vertices. Use at most one part per vertex."
        )
    if plan.reconciler.needs_landmarks:
        return prepare_landmarks(graph, plan, landmark_technique(technique, n_parts), limits)
    if limits is None:
        slack, smallest = (n_parts - 1) * graph.n_vertices, graph.n_vertices
    else:
        typical = limits.typical_capacities(graph)
        slack, smallest = int(typical.sum()) - graph.n_vertices, int(typical.min())
    asked = plan.request.asked("anchors")
    n_anchors = anchor_count(
        asked, n_vertices=graph.n_vertices, n_parts=n_parts, dim=technique.dim, slack=slack, smallest=smallest
    )
    limits = limits or Limits.equal(n_parts, graph.n_vertices, n_anchors)
    needs_anchors = asked == AUTO and n_parts > 1 and not technique.aligned
    check_feasible(limits, graph, n_anchors, useful=technique.dim if needs_anchors else 0)
    return _anchored(plan, n_anchors), limits


def _anchored(plan: ResolvedPlan, n_anchors: int, balance: Footprint | None = None) -> "AnchorDecomposer":
    """Return how to decompose with that many anchors; at most that many if the plan leaves their number open."""
    from parge.decompose.anchors import AnchorDecomposer  # compiled code: not needed to refuse a plan

    at_most = plan.request.asked("anchors") == AUTO
    return AnchorDecomposer(
        n_anchors, plan.anchor_strategy, plan.partitioner, plan.seed, at_most=at_most, balance=balance
    )


def least_landmarks(technique: LandmarkTechnique) -> int:
    """Return the smallest number of landmarks for the technique's dimensions: 1.5 per dimension.

    With twice as many, where capacities left no more, DeepWalk kept 100 to 101 % of the whole graph's micro-F1. (Three
    generated graphs of 2,700 vertices in 8 and 16 parts, one seed, no pass. Rotated, they kept 91 to 96 %.)
    """
    return technique.dim + technique.dim // 2


def landmarks_for(graph: Counted, technique: LandmarkTechnique, n_parts: int) -> int:
    """Return how many landmarks there are for parts of a graph: as many as are best, within the bytes of a context."""
    from parge.decompose.supervertices import context_budget, landmarks_within  # not needed to refuse a plan

    footprint = technique.landmark_footprint(0)
    most = landmarks_within(context_budget(graph, n_parts, footprint), footprint)
    wanted = technique.landmark_count(graph)
    return min(wanted, max(least_landmarks(technique), most))


def prepare_landmarks(
    graph: Counted, plan: ResolvedPlan, technique: LandmarkTechnique, limits: Limits | None
) -> tuple["Decomposer", Limits]:
    """Return how to decompose into subgraphs with a context: a third of the landmarks are anchors, the rest groups.

    Anchors take room in every worker that its halo could use. With half, a quarter and an eighth of 2,000 landmarks
    anchors, 96.8, 99.3 and 100.1 % were kept on a planted graph of 20,000 vertices. On a small dense one (1,250
    landmarks) 99.6, 98.3 and 96.3 % (8 parts, one seed, no pass).
    """
    n_parts, n_landmarks = plan.n_parts, landmarks_for(graph, technique, plan.n_parts)
    if limits is not None:  # every worker holds all landmarks: no more than the slack has room for
        slack = int(limits.typical_capacities(graph).sum()) - graph.n_vertices
        n_landmarks = min(n_landmarks, slack // n_parts)
    least = min(least_landmarks(technique), graph.n_vertices // 2)
    if n_landmarks < max(least, 2):
        raise InfeasibleError(
            f"a backbone takes at least {least_landmarks(technique):,} vertices of every worker (1.5 per dimension); "
            f"the workers can hold {max(0, n_landmarks):,}. Increase --memory or --capacities, lower --dim, or use "
            "--reconcile consensus."
        )
    n_landmarks = _within_coordinator(graph, plan, technique, n_landmarks, least)
    while True:
        try:
            return _around(graph, plan, technique, limits, n_landmarks)
        except InfeasibleError:
            # What landmarks take of a budget grows with their square; capacities were looked at above.
            n_landmarks //= 2
            if limits is None or limits.budgets is None or n_landmarks < least:
                raise


def backbone_bytes(graph: Counted, technique: LandmarkTechnique, n_parts: int, n_landmarks: int) -> int:
    """Return the most memory of the coordinator, besides the graph, while it prepares a backbone of that size."""
    from parge.decompose.partitioner_choice import context_bytes  # compiled code: not needed to refuse a plan

    # Every part has a landmark, also one that is too small for its share of the groups.
    return context_bytes(graph, n_parts) + technique.landmark_bytes(graph.n_vertices, n_landmarks + n_parts)


def _within_coordinator(
    graph: Counted, plan: ResolvedPlan, technique: LandmarkTechnique, n_landmarks: int, least: int
) -> int:
    """Return the number of landmarks, halved until the coordinator has room to prepare the backbone.

    Halved, not as many as fit: what a process holds differs by a little from run to run, and landmarks should not.
    """
    limit = plan.coordinator_limit()
    if limit is None:
        return n_landmarks
    from parge.decompose.partitioner_choice import memory_left  # compiled code: not needed to refuse a plan

    free = memory_left(limit)
    while True:
        size = backbone_bytes(graph, technique, plan.n_parts, sum(_counts(graph, plan, technique, n_landmarks)))
        if size <= free:
            return n_landmarks
        if n_landmarks // 2 < max(least, 2):
            raise InfeasibleError(
                f"a backbone of {n_landmarks:,} landmarks needs {format_bytes(size)} of the coordinator, which has "
                f"{format_bytes(max(0, free))} left of {format_bytes(limit)}. Use --coordinator-memory "
                f"{-(-(limit - free + size) // 10**6)}MB or more, or use --reconcile consensus."
            )
        n_landmarks //= 2


def _counts(graph: Counted, plan: ResolvedPlan, technique: LandmarkTechnique, n_landmarks: int) -> tuple[int, int]:
    """Return how many super-vertices and anchors make that many landmarks; anchors count as asked."""
    n_parts, n_anchors, asked = plan.n_parts, n_landmarks // 3, plan.request.asked("anchors")
    if asked != AUTO:
        n_anchors = anchor_count(
            asked, n_vertices=graph.n_vertices, n_parts=n_parts, dim=technique.dim, slack=0, smallest=0
        )
        if n_anchors > 2 * n_landmarks:  # the backbone is a dense matrix over anchors and groups
            raise InfeasibleError(
                f"{n_anchors:,} anchors are too many: a backbone of this graph has about {n_landmarks:,} vertices in "
                f"total. Use at most {2 * n_landmarks:,} anchors, --anchors auto, or --reconcile consensus."
            )
    return max(n_parts, n_landmarks - n_landmarks // 3), n_anchors


def _around(
    graph: Counted, plan: ResolvedPlan, technique: LandmarkTechnique, limits: Limits | None, n_landmarks: int
) -> tuple["Decomposer", Limits]:
    """Return how to decompose around that many landmarks, or raise where the limits cannot hold them."""
    n_supervertices, n_anchors = _counts(graph, plan, technique, n_landmarks)
    footprint = technique.landmark_footprint(n_supervertices + n_anchors)
    parts, kept_free = _anchored(plan, n_anchors, footprint), 0
    from parge.decompose.supervertices import NEAR_SHARE, LandmarkDecomposer, context_budget, halo_within

    if limits is None:
        budget = context_budget(graph, plan.n_parts, footprint)
        near = max(0, int(NEAR_SHARE * graph.n_vertices) - n_anchors)
        kept_free = min(near, halo_within(budget, n_supervertices + n_anchors, footprint))
        limits = Limits.equal(plan.n_parts, graph.n_vertices, n_anchors)
        limits = Limits.of_vertices(limits.capacities + kept_free + n_supervertices)
    elif limits.budgets is not None:
        limits = Limits.of_bytes(limits.budgets, footprint)
    check_feasible(limits, graph, n_anchors)
    decomposer = LandmarkDecomposer(parts, n_supervertices, footprint, kept_free)
    check_feasible(decomposer.limits_for_own(limits), graph, n_anchors)
    return decomposer, limits
