"""Parts in a few passes over the rows of a graph that no partitioner can hold: Fennel, restreamed, limits kept."""

from dataclasses import dataclass, field

import numpy as np

from parge.decompose.limits import Limits, loosened, repair
from parge.graph.graph import Graph
from parge.kernels import fennel
from parge.storage import arc_blocks, release_pages, storage_like
from parge.typing import BoolArray, IntArray, NeighbourArray, PartArray

# Passes over the rows; each costs little more than to read them (docs/measured/scale.md has what each saves).
PASSES = 5

# Neighbours read between two times that pages of files are let go.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Fennel:
    """Rows that are read in order, and the parts that their vertices may go to."""

    # The graph; may be in files.
    indptr: IntArray
    indices: NeighbourArray
    left_out: BoolArray  # (n_vertices,): anchors, which are in every subgraph
    free: IntArray  # (n_parts,): the most weight of each part
    # (n_vertices,), or size 0: what a vertex weighs; of size 0 where `cost` says it.
    weights: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    cost: tuple[float, float] = (1.0, 0.0)  # what a vertex and each of its edges weigh otherwise

    def split(self, part: PartArray, passes: int = PASSES) -> int:
        """Put every vertex into a part, in place; return how many had to go where there is no room for them."""
        n_over = 0
        for _ in range(passes):
            n_over = self._pass(part)
        return n_over

    def _pass(self, part: PartArray) -> int:
        n_vertices = part.size
        mean = max(1.0, self.indices.size / max(1, n_vertices))
        usable, out = np.maximum(self.free, 0), np.flatnonzero(self.left_out)
        n_arcs = self.indices.size - int((self.indptr[out + 1] - self.indptr[out]).sum())
        total = n_vertices - out.size + n_arcs / mean
        shares = np.maximum(usable / max(1, int(usable.sum())) * total, 1e-9)
        loads, work = np.zeros(usable.size, np.int64), np.zeros(usable.size)
        n_over = 0
        for rows in arc_blocks(self.indptr, _BLOCK):
            n_over += fennel.stream_rows(
                self.indptr,
                self.indices,
                self.left_out,
                part,
                rows,
                self.weights,
                self.cost,
                self.free,
                loads,
                shares,
                work,
                mean,
            )
            release_pages(self.indptr, self.indices)
        return n_over


def streamed(
    graph: Graph, limits: Limits, anchors: IntArray, *, loosely: bool = False, start: PartArray | None = None
) -> PartArray:
    """Return the part of every vertex, -1 of anchors, without ever holding the rows or a copy of them.

    `loosely` splits in proportion to the limits without keeping them; `start` are parts to begin with.
    """
    left_out = np.zeros(graph.n_vertices, np.bool_)
    left_out[anchors] = True
    free, cost = _free_and_cost(graph, limits, anchors, left_out, loosely=loosely)
    part = storage_like(graph.indices).zeros(graph.n_vertices, np.int32)
    part[:] = -1 if start is None else start
    part[anchors] = -1
    fennel = Fennel(graph.indptr, graph.indices, left_out, free, cost=cost)
    if fennel.split(part) and not loosely:  # only where vertices weigh differently
        load = limits.load(graph, anchors)
        part[:] = repair(graph.indptr, graph.indices, load.weights, load.free, np.maximum(part, 0))
        part[anchors] = -1
    return part


def _free_and_cost(
    graph: Graph, limits: Limits, anchors: IntArray, left_out: BoolArray, *, loosely: bool
) -> tuple[IntArray, tuple[float, float]]:
    """Return what the parts have room for besides the anchors, and what a vertex and an edge take of it."""
    if limits.budgets is None or limits.footprint is None:
        free, cost = limits.capacities - anchors.size, (1.0, 0.0)
    else:
        one = limits.footprint
        among = fennel.edges_among(graph.indptr, graph.indices, left_out, anchors)
        free, cost = limits.budgets - one.bytes(anchors.size, among), (one.per_vertex, one.per_edge)
    return (loosened(free, graph.n_vertices - anchors.size), (1.0, 0.0)) if loosely else (free, cost)
