"""How a graph is decomposed around a backbone: how many landmarks the workers and the coordinator have room for."""

from typing import TYPE_CHECKING

from parge.decompose.limits import Limits, anchor_count, check_feasible
from parge.errors import InfeasibleError
from parge.graph.graph import Graph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import format_bytes
from parge.planning.plan import AUTO, ResolvedPlan

if TYPE_CHECKING:
    from parge.decompose.base import Decomposer


def least_landmarks(technique: LandmarkTechnique) -> int:
    """Return the smallest number of landmarks for the technique's dimensions: 1.5 per dimension.

    With twice as many where capacities leave no more, DeepWalk in 8 and 16 parts of three generated graphs of 2,700
    vertices kept 100 to 101 % of the centralised micro-F1, and rotated 91 to 96 % (one seed, no pass).
    """
    return technique.dim + technique.dim // 2


def prepare_landmarks(
    graph: Graph, plan: ResolvedPlan, technique: LandmarkTechnique, limits: Limits | None
) -> tuple["Decomposer", Limits]:
    """Return how to decompose into subgraphs with a context: a third of the landmarks are anchors, the rest groups.

    Anchors take room in every worker that its halo could use. With half, a quarter and an eighth of 2,000 landmarks
    anchors, 96.8, 99.3 and 100.1 % were kept on a planted graph of 20,000 vertices; on a small dense one (1,250
    landmarks) 99.6, 98.3 and 96.3 % (8 parts, one seed, no pass).
    """
    n_parts, n_landmarks = plan.n_parts, technique.landmark_count(graph)
    if limits is not None:  # every worker holds all landmarks: no more than the slack has room for
        slack = int(limits.typical_capacities(graph).sum()) - graph.n_vertices
        n_landmarks = min(n_landmarks, slack // n_parts)
    least = min(least_landmarks(technique), graph.n_vertices // 2)
    if n_landmarks < max(least, 2):
        raise InfeasibleError(
            f"a backbone takes at least {least_landmarks(technique):,} vertices of every worker (1.5 per dimension); "
            f"there is room for {max(0, n_landmarks):,}. Give the workers more room, lower --dim, or use "
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


def backbone_bytes(graph: Graph, technique: LandmarkTechnique, n_parts: int, n_landmarks: int) -> int:
    """Return the most memory of the coordinator, beside the graph, while it prepares a backbone of that size."""
    from parge.decompose.choice import context_bytes  # compiled code: not needed to refuse a plan

    # Every part has a landmark, also one that is too small for its share of the groups.
    return context_bytes(graph, n_parts) + technique.landmark_bytes(graph.n_vertices, n_landmarks + n_parts)


def _within_coordinator(
    graph: Graph, plan: ResolvedPlan, technique: LandmarkTechnique, n_landmarks: int, least: int
) -> int:
    """Return the number of landmarks, halved until the coordinator has room to prepare the backbone.

    Halved, not as many as fit: what a process holds differs by a little from run to run, and landmarks should not.
    """
    limit = plan.coordinator_limit()
    if limit is None:
        return n_landmarks
    from parge.decompose.choice import room_within  # compiled code: not needed to refuse a plan

    room = room_within(limit)
    while True:
        size = backbone_bytes(graph, technique, plan.n_parts, sum(_counts(graph, plan, technique, n_landmarks)))
        if size <= room:
            return n_landmarks
        if n_landmarks // 2 < max(least, 2):
            raise InfeasibleError(
                f"a backbone of {n_landmarks:,} landmarks needs {format_bytes(size)} of the coordinator, which has "
                f"{format_bytes(max(0, room))} left of {format_bytes(limit)}. Use --coordinator-memory "
                f"{-(-(limit - room + size) // 10**6)}MB or more, or use --reconcile consensus."
            )
        n_landmarks //= 2


def _counts(graph: Graph, plan: ResolvedPlan, technique: LandmarkTechnique, n_landmarks: int) -> tuple[int, int]:
    """Return how many super-vertices and anchors make that many landmarks; anchors count as asked."""
    n_parts, n_anchors = plan.n_parts, n_landmarks // 3
    if plan.anchors != AUTO:
        n_anchors = anchor_count(
            plan.anchors, n_vertices=graph.n_vertices, n_parts=n_parts, dim=technique.dim, slack=0, smallest=0
        )
        if n_anchors > 2 * n_landmarks:  # the backbone is a dense matrix over anchors and groups
            raise InfeasibleError(
                f"{n_anchors:,} anchors are too many: a backbone of this graph has about {n_landmarks:,} vertices in "
                f"total. Use at most {2 * n_landmarks:,} anchors, --anchors auto, or --reconcile consensus."
            )
    return max(n_parts, n_landmarks - n_landmarks // 3), n_anchors


def _around(
    graph: Graph, plan: ResolvedPlan, technique: LandmarkTechnique, limits: Limits | None, n_landmarks: int
) -> tuple["Decomposer", Limits]:
    """Return how to decompose around that many landmarks, or raise where the limits cannot hold them."""
    n_supervertices, n_anchors = _counts(graph, plan, technique, n_landmarks)
    footprint = technique.landmark_footprint(n_supervertices + n_anchors)
    if limits is None:
        near = max(n_anchors, int(0.1 * graph.n_vertices))
        limits = Limits.equal(plan.n_parts, graph.n_vertices, n_anchors)
        limits = Limits.of_vertices(limits.capacities + (near - n_anchors) + n_supervertices)
    elif limits.budgets is not None:
        limits = Limits.of_bytes(limits.budgets, footprint)
    check_feasible(limits, graph, n_anchors)
    from parge.decompose.base import AnchorDecomposer  # compiled code: not needed to refuse a plan
    from parge.decompose.supervertices import LandmarkDecomposer

    fewer = plan.anchors == AUTO
    parts = AnchorDecomposer(n_anchors, plan.anchor_strategy, plan.partitioner, plan.seed, at_most=fewer)
    decomposer = LandmarkDecomposer(parts, n_supervertices, footprint)
    check_feasible(decomposer.room(limits), graph, n_anchors)
    return decomposer, limits
