"""How a graph is decomposed around a backbone: how many lumps the workers and the coordinator have room for."""

from typing import TYPE_CHECKING

from parge.decompose.limits import Limits, anchor_count, check_feasible
from parge.errors import InfeasibleError, InputError
from parge.graph.graph import Graph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import format_bytes
from parge.techniques.base import Technique

if TYPE_CHECKING:
    from parge.decompose.base import Decomposer
    from parge.planning.plan import Plan


def landmark_technique(technique: Technique, n_parts: int) -> LandmarkTechnique:
    """Return the technique as one that embeds landmarks; refuse one that does not, and a single part."""
    if not isinstance(technique, LandmarkTechnique):
        raise InputError(
            f"a backbone is for techniques that prepare one, such as deepwalk and node2vec; {technique.name} does "
            "not: use consensus"
        )
    if n_parts == 1:
        raise InputError("a backbone ties parts together; there is one part: leave reconcile alone")
    return technique


def least_lumps(technique: LandmarkTechnique) -> int:
    """Return the fewest lumps that a space of that many dimensions is made from: half as many again.

    With twice as many where capacities leave no more, DeepWalk in 8 and 16 parts of three generated graphs of 2,700
    vertices kept 100 to 101 % of the centralised micro-F1, and rotated 91 to 96 % (one seed, no pass).
    """
    return technique.dim + technique.dim // 2


def prepare_lumped(
    graph: Graph, plan: "Plan", technique: LandmarkTechnique, limits: Limits | None
) -> tuple["Decomposer", Limits]:
    """Return how to decompose into lumped subgraphs: a third of the lumps are anchors, the rest groups.

    Anchors take from every worker the room for a halo of its own. With half, a quarter and an eighth of 2,000 lumps
    anchors, 96.8, 99.3 and 100.1 % were kept on a planted graph of 20,000 vertices; on a small dense one (1,250 lumps)
    99.6, 98.3 and 96.3 % (8 parts, one seed, no pass).
    """
    n_parts, n_lumps = plan.n_parts, technique.landmark_count(graph)
    if limits is not None:  # every worker holds all lumps: no more than the slack has room for
        slack = int(limits.typical_capacities(graph).sum()) - graph.n_vertices
        n_lumps = min(n_lumps, slack // n_parts)
    least = min(least_lumps(technique), graph.n_vertices // 2)
    if n_lumps < max(least, 2):
        raise InfeasibleError(
            f"a backbone takes {least_lumps(technique):,} vertices of every worker at least, 1.5 times the dimensions; "
            f"there is room for {max(0, n_lumps):,}: give the workers more, lower --dim, or use --reconcile consensus"
        )
    n_lumps = _within_coordinator(graph, plan, technique, n_lumps, least)
    while True:
        try:
            return _lumped(graph, plan, technique, limits, n_lumps)
        except InfeasibleError:
            # What lumps take of a budget grows with their square; capacities were looked at above.
            n_lumps //= 2
            if limits is None or limits.budgets is None or n_lumps < least:
                raise


def backbone_bytes(graph: Graph, technique: LandmarkTechnique, n_parts: int, n_lumps: int) -> int:
    """Return the most memory of the coordinator, beside the graph, while it prepares a backbone of so many lumps."""
    from parge.decompose.choice import lumped_bytes  # compiled code: not needed to refuse a plan

    # Every part has a lump, also one that is too small for its share of the groups.
    return lumped_bytes(graph, n_parts) + technique.landmark_bytes(graph.n_vertices, n_lumps + n_parts)


def _within_coordinator(graph: Graph, plan: "Plan", technique: LandmarkTechnique, n_lumps: int, least: int) -> int:
    """Return the number of lumps, halved until the coordinator has room to prepare the backbone.

    Halved, not as many as fit: what a process holds differs by a little from run to run, and lumps should not.
    """
    limit = plan.coordinator_limit()
    if limit is None:
        return n_lumps
    from parge.decompose.choice import room_within  # compiled code: not needed to refuse a plan

    room = room_within(limit)
    while True:
        size = backbone_bytes(graph, technique, plan.n_parts, sum(_counts(graph, plan, technique, n_lumps)))
        if size <= room:
            return n_lumps
        if n_lumps // 2 < max(least, 2):
            raise InfeasibleError(
                f"the coordinator has {format_bytes(max(0, room))} left of {format_bytes(limit)}, and to prepare a "
                f"backbone of {n_lumps:,} lumps takes {format_bytes(size)}: give --coordinator-memory "
                f"{-(-(limit - room + size) // 10**6)}MB or more, or use --reconcile consensus"
            )
        n_lumps //= 2


def _counts(graph: Graph, plan: "Plan", technique: LandmarkTechnique, n_lumps: int) -> tuple[int, int]:
    """Return how many groups and anchors make so many lumps; anchors that were asked for count as asked."""
    n_parts, n_anchors = plan.n_parts, n_lumps // 3
    if plan.anchors not in (None, "auto"):
        n_anchors = anchor_count(
            plan.anchors or 0, n_vertices=graph.n_vertices, n_parts=n_parts, dim=technique.dim, slack=0, smallest=0
        )
        if n_anchors > 2 * n_lumps:  # the backbone is a dense matrix over anchors and groups
            raise InfeasibleError(
                f"{n_anchors:,} anchors were asked for; a backbone of this graph has some {n_lumps:,} vertices in all: "
                f"ask for at most {2 * n_lumps:,} anchors, for auto, or use --reconcile consensus"
            )
    return max(n_parts, n_lumps - n_lumps // 3), n_anchors


def _lumped(
    graph: Graph, plan: "Plan", technique: LandmarkTechnique, limits: Limits | None, n_lumps: int
) -> tuple["Decomposer", Limits]:
    """Return how to decompose around so many lumps, or raise where the limits cannot hold them."""
    n_groups, n_anchors = _counts(graph, plan, technique, n_lumps)
    footprint = technique.landmark_footprint(n_groups + n_anchors)
    if limits is None:
        near = max(n_anchors, int(0.1 * graph.n_vertices))
        limits = Limits.equal(plan.n_parts, graph.n_vertices, n_anchors)
        limits = Limits.of_vertices(limits.capacities + (near - n_anchors) + n_groups)
    elif limits.budgets is not None:
        limits = Limits.of_bytes(limits.budgets, footprint)
    check_feasible(limits, graph, n_anchors)
    from parge.decompose.base import AnchorDecomposer  # compiled code: not needed to refuse a plan
    from parge.decompose.supervertices import LumpDecomposer

    fewer = plan.anchors in (None, "auto")
    parts = AnchorDecomposer(n_anchors, str(plan.anchor_strategy), str(plan.partitioner), plan.seed, at_most=fewer)
    decomposer = LumpDecomposer(parts, n_groups, footprint)
    check_feasible(decomposer.room(limits), graph, n_anchors)
    return decomposer, limits
