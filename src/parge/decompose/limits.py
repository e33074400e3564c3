"""What each worker can hold, in vertices or bytes; what is feasible; how many anchors the slack affords.

Whatever a partitioner answers is moved under the limits (`repair`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from parge.errors import InfeasibleError, InputError
from parge.graph.graph import Counted, Graph
from parge.memory import Footprint, format_bytes
from parge.numbers import MOST, check_whole, shown
from parge.show.text import count
from parge.typing import IntArray, NeighbourArray, PartArray

# Anchors beyond this share of the vertices cost every worker more than the edges that they still save.
MAX_ANCHOR_SHARE = 0.10

# Beyond these, a limit is no limit; sums of them still fit 64 bits.
_MOST_VERTICES, _MOST_BYTES = 2**40, 2**50

# Room that `--parts` leaves each part over an equal share, to balance work within.
EQUAL_SLACK = 0.10


@dataclass(frozen=True, eq=False)
class Limits:
    r"""What each worker can hold: capacities k_i in vertices and, where given, budgets in bytes.

    A budget is kept exactly because the bytes of a subgraph are at most linear in its vertices. With p bytes per vertex
    and q per edge (`Footprint`), and every edge between two non-anchors counted half at each end,

        bytes(P_i) <= fixed + p |A| + q |E(A, A)| + Σ_{v in V_i \ A} (p + q (deg_A v + deg_rest v / 2)),

    hubs included; the only slack in it is that lost edges are counted.
    """

    capacities: IntArray
    budgets: IntArray | None = None
    footprint: Footprint | None = None

    def __post_init__(self) -> None:
        if self.capacities.size == 0:
            raise InputError("at least one worker is needed")
        if (self.capacities < 0).any():
            raise InputError(f"capacities must not be negative; got {self.capacities.min()}")

    @property
    def n_parts(self) -> int:
        """Number of workers, and so of parts."""
        return self.capacities.size

    @staticmethod
    def of_vertices(capacities: list[int] | tuple[int, ...] | IntArray) -> "Limits":
        """Limits in vertices."""
        return Limits(np.array([min(int(k), _MOST_VERTICES) for k in capacities], np.int64))

    @staticmethod
    def of_bytes(budgets: list[int] | tuple[int, ...] | IntArray, footprint: Footprint) -> "Limits":
        """Limits in bytes, for a technique of that footprint."""
        array = np.array([min(int(size), _MOST_BYTES) for size in budgets], np.int64)
        free = np.maximum(array - footprint.fixed, 0)
        return Limits((free / footprint.per_vertex).astype(np.int64), array, footprint)

    @staticmethod
    def equal(n_parts: int, n_vertices: int, n_anchors: int) -> "Limits":
        """Limits for `n_parts` equal workers that are just large enough."""
        if n_parts < 1:
            raise InputError(f"the number of parts must be at least 1; got {n_parts}")
        share = -(-(n_vertices - n_anchors) // n_parts)
        own = share if n_parts == 1 else int(np.ceil(share * (1 + EQUAL_SLACK)))
        return Limits.of_vertices([min(n_vertices, n_anchors + own)] * n_parts)

    def typical_capacities(self, graph: Counted) -> IntArray:
        """Capacities for vertices that have the graph's mean number of edges; exact where no bytes are given."""
        if self.budgets is None or self.footprint is None:
            return self.capacities
        one = self.footprint.per_vertex + self.footprint.per_edge * graph.n_edges / max(1, graph.n_vertices)
        free: IntArray = np.maximum(self.budgets - self.footprint.fixed, 0)
        return (free / one).astype(np.int64)

    def needed(self, graph: Counted) -> int:
        """Return the bytes that all vertices and edges need together; of a graph in shards an upper bound."""
        assert self.footprint is not None
        if isinstance(graph, Graph):
            return int(self.load(graph, np.zeros(0, np.int64)).weights.sum())
        one = self.footprint
        return int(one.per_vertex * graph.n_vertices + one.per_edge * graph.n_edges) + graph.n_vertices

    def load(self, graph: Graph, anchors: IntArray) -> "Load":
        """Return what the vertices weigh against these limits once `anchors` are in every subgraph."""
        if self.footprint is None or self.budgets is None:
            weights = np.ones(graph.n_vertices, np.int64)
            weights[anchors] = 0
            return Load(weights, self.capacities - anchors.size)
        from parge.kernels.cut import marked_neighbours  # compiled code, loaded only where it is needed

        is_anchor = np.zeros(graph.n_vertices, np.bool_)
        is_anchor[anchors] = True
        to_anchors = marked_neighbours(graph.indptr, graph.indices, is_anchor)
        among = int(to_anchors[anchors].sum()) // 2
        edges = to_anchors + (graph.degrees - to_anchors) / 2
        weights = np.ceil(self.footprint.per_vertex + self.footprint.per_edge * edges).astype(np.int64)
        weights[anchors] = 0
        return Load(weights, self.budgets - self.footprint.bytes(anchors.size, among))


@dataclass(frozen=True, eq=False)
class Load:
    """The weight of every vertex (0 of anchors) and the room that each part has for its own ones."""

    weights: IntArray
    free: IntArray

    @cached_property
    def fits(self) -> bool:
        """Whether the parts have room for all vertices; necessary, and with unit weights sufficient."""
        return bool((self.free >= 0).all() and self.free.sum() >= self.weights.sum())


def loosened(free: IntArray, n_vertices: int, slack: float = 0.1) -> IntArray:
    """Return room for all vertices, each counted as 1, in proportion to the given room: more than it may have."""
    usable = np.maximum(free, 1)
    return np.asarray(np.ceil(usable / usable.sum() * n_vertices * (1 + slack)), np.int64)


def anchor_count(request: str | int, *, n_vertices: int, n_parts: int, dim: int, slack: int, smallest: int) -> int:
    """Return how many anchors to use.

    ``auto`` uses the slack (what the workers can hold together beyond the graph's own vertices), ``floor(slack /
    (n_parts - 1))``, but at most 10 % of the vertices. It is at least `dim` where the slack allows it, because fewer
    anchors than dimensions do not determine a rotation. It is at most half the smallest worker, or half of a graph that
    has fewer vertices than dimensions.
    """
    if n_parts == 1:
        return 0
    if request != "auto":
        return _requested(str(request), n_vertices)
    wanted = max(int(MAX_ANCHOR_SHARE * n_vertices), dim) if dim <= n_vertices else n_vertices // 2
    free = max(smallest // 2, min(dim, smallest - 1), 0)
    return max(0, min(slack // (n_parts - 1), wanted, free))


def check_request(request: str | int) -> None:
    """Raise `InputError` for a wrong number of anchors, before the graph is read."""
    if request != "auto":
        _requested(request if isinstance(request, str) else str(check_whole("anchors", request)), None)


def request_meaning(request: str | int) -> tuple[float, bool]:
    """Return the requested number and whether it is a share; equal for 8 and "8"; raise for other text."""
    text = str(request)
    return float(text.removesuffix("%")), text.endswith("%")


def _requested(text: str, n_vertices: int | None) -> int:
    """Return the number asked for; without a number of vertices, only what is wrong with any graph is refused."""
    try:
        share = float(text[:-1]) if text.endswith("%") else None
        count = int(text) if share is None else round(share / 100 * (n_vertices or 0))
    except (ValueError, OverflowError):
        raise InputError(f"anchors must be auto, a number, or a percentage such as 5%; got {shown(text)}") from None
    if not 0 <= count <= MOST or (share is not None and not 0 <= share <= 100):
        raise InputError(
            f"{text if len(text) < 40 else shown(text)} anchors are requested. Give auto, a number of at least 0, or a "
            "percentage from 0% to 100%."
        )
    if n_vertices is None:
        return count
    if count > n_vertices:
        raise InputError(f"{text} anchors are requested, but the graph has {n_vertices:,} vertices")
    return count


def check_feasible(limits: Limits, graph: Counted, n_anchors: int, *, useful: int = 0) -> None:
    """Raise `InfeasibleError` for limits that no decomposition with `n_anchors` can keep.

    In vertices this is exact: feasible iff ``|A| <= min k_i`` and ``Σ(k_i - |A|) >= |V| - |A|``. (The paper asks for
    ``Σ k_i > |V|`` only, which is not enough once anchors are in every subgraph.) In bytes it is the part of the
    condition that does not depend on which vertices are anchors.

    Where fewer than `useful` anchors fit, the error also gives the capacity needed for `useful`.
    """
    if limits.budgets is not None:
        _check_bytes(limits, graph)
    else:
        _check_vertices(limits.capacities, graph.n_vertices, n_anchors, useful)


def _check_vertices(capacities: IntArray, n_vertices: int, n_anchors: int, useful: int) -> None:
    n_parts = capacities.size
    total, smallest = int(capacities.sum()), int(capacities.min())
    needed = n_vertices + (n_parts - 1) * n_anchors
    if n_anchors > smallest:
        raise InfeasibleError(
            f"every subgraph holds all {n_anchors:,} anchors, but subgraph {int(np.argmin(capacities))} has a capacity "
            f"of {smallest:,}: {n_anchors - smallest:,} short. Give it at least {n_anchors:,}, or request at most "
            f"{count(smallest, 'anchor')}."
        )
    if total < needed:
        short = needed - total
        remedy = f"the smallest increase that is enough: {count(-(-short // n_parts), 'vertex')} more for each worker"
        if n_anchors < useful <= n_vertices:
            more = max(-(-(n_vertices + (n_parts - 1) * useful - total) // n_parts), useful + 1 - smallest)
            remedy += f" with {count(n_anchors, 'anchor')}; {count(more, 'vertex')} more with {useful:,}, one for each "
            remedy += "dimension"
        spare = (total - n_vertices) // (n_parts - 1) if n_parts > 1 else -1
        if spare >= 0:
            remedy += f", or at most {count(min(spare, smallest), 'anchor')}"
        raise InfeasibleError(
            f"the capacities add up to {total:,}, but {needed:,} are needed (|V| + (n-1)|A| = {n_vertices:,} + "
            f"{n_parts - 1} x {n_anchors:,}): {count(short, 'vertex')} short; {remedy}."
        )


def check_budgets(budgets: Sequence[int], fixed: float) -> None:
    """Refuse a worker with no more bytes than it needs for any graph."""
    for i, budget in enumerate(budgets):
        if budget <= fixed:
            raise InfeasibleError(
                f"worker {i} has a budget of {format_bytes(budget)}, but a worker needs {format_bytes(fixed)} before "
                "it holds any vertex. Give every worker more than that."
            )


def _check_bytes(limits: Limits, graph: Counted) -> None:
    assert limits.budgets is not None
    assert limits.footprint is not None
    fixed = limits.footprint.fixed
    check_budgets(limits.budgets.tolist(), fixed)
    needed, free = limits.needed(graph), int((limits.budgets - fixed).sum())
    if needed > free:
        short = needed - free
        raise InfeasibleError(
            f"the graph needs {format_bytes(needed)} besides the {format_bytes(fixed)} that every worker needs; the "
            f"budgets leave {format_bytes(free)}: {format_bytes(short)} short. The smallest increase that is always "
            f"enough, without anchors: {format_bytes(-(-short // limits.n_parts))} more for each worker."
        )


def repair(
    indptr: IntArray, indices: NeighbourArray, weights: IntArray, limits: IntArray, part: PartArray
) -> PartArray:
    """Return a partition that keeps every limit, by moving vertices out of the parts that break theirs.

    The vertices that lose the fewest kept edges move first. With unit weights it always succeeds if the limits add up
    to the vertices; otherwise, where no move fits, all vertices are packed again, the heaviest first. If that fails
    too, `InfeasibleError` gives the missing amount.
    """
    part = part.copy()
    loads = np.bincount(part, weights, minlength=limits.size).astype(np.int64)
    while (loads > limits).any():
        if not _relieve(indptr, indices, weights, limits, part, loads):
            return _pack(weights, limits)
    return part


def _relieve(
    indptr: IntArray, indices: NeighbourArray, weights: IntArray, limits: IntArray, part: PartArray, loads: IntArray
) -> bool:
    """Empty the most overfull part down to its limit; return whether any vertex could move."""
    from parge.kernels.cut import part_votes, relieve  # compiled code, loaded only where it is needed

    full = int(np.argmax(loads - limits))
    members = np.flatnonzero((part == full) & (weights > 0))
    votes = part_votes(indptr, indices, part, members, limits.size)
    open_parts = loads < limits
    gain = np.where(open_parts, votes, -1).max(axis=1) - votes[:, full]
    order = np.argsort(-gain / weights[members], kind="stable")
    return relieve(full, members[order], votes[order], weights, limits, part, loads) > 0


def _pack(weights: IntArray, limits: IntArray) -> PartArray:
    """Pack vertices from the heaviest down, each into the part with most room."""
    free = limits.copy()
    part = np.empty(weights.size, np.int32)
    for v in np.argsort(-weights, kind="stable"):
        best = int(np.argmax(free))
        if free[best] < weights[v]:
            raise InfeasibleError(
                f"the parts can hold {int(limits.sum()):,} in total, the vertices need {int(weights.sum()):,}, "
                f"and one that needs {int(weights[v]):,} fits in no part"
            )
        part[v] = best
        free[best] -= weights[v]
    return part
