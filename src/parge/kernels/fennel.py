"""Partitioning in one pass over the rows, and what it needs to know of anchors."""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.typing import BoolArray, IntArray, NeighbourArray, PartArray

# A part with more than this times its share of the work takes no more, as in the paper.
_CROWDED = 1.1


@kernel
def _best_part(
    votes: IntArray,
    weight: int,
    free: IntArray,
    loads: IntArray,
    shares: NDArray[np.float64],
    work: NDArray[np.float64],
    strength: float,
) -> int:
    """Return the part with room that has most votes less its cost, or -1."""
    best, highest = -1, -np.inf
    for p in range(free.size):
        if loads[p] + weight <= free[p]:
            full = max(work[p] / shares[p], loads[p] / max(1, free[p]))
            score = votes[p] - strength * np.sqrt(full)
            if full > _CROWDED:
                score -= 1e12  # only where nobody else has room
            if score > highest:
                best, highest = p, score
    return best


@kernel
def stream_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    left_out: BoolArray,
    part: PartArray,
    rows: tuple[int, int],
    weights: IntArray,
    cost: tuple[float, float],
    free: IntArray,
    loads: IntArray,
    shares: NDArray[np.float64],
    work: NDArray[np.float64],
    mean_degree: float,
) -> int:
    """Put vertices ``rows[0]..rows[1]-1`` into parts, one after the other; return how many fit nowhere.

    Fennel (Tsourakakis et al., 2014): the part with most neighbours, less what its load would add to a cost
    ``a |S|^1.5``, here ``1.5 (m / n) sqrt(load / share)``. Parts without room for the vertex are out of the question.
    `part` holds -1, or the answer of an earlier pass, which counts until a vertex is met again (restreaming,
    Nishimura and Ugander, 2013).

    Parameters
    ----------
    left_out : (n_vertices,) bool
        Anchors, which are in every subgraph.
    weights : (n_vertices,) int64, or size 0
        What a vertex weighs against `free`; of size 0 where `cost` says it.
    cost : two floats
        What a vertex weighs otherwise: itself, and each edge (those between two non-anchors half at each end).
    free, loads : (n_parts,) int64
        The most weight of each part, and what it has; updated.
    shares, work : (n_parts,) float64
        The work of each part in balance, and what it has; updated. A vertex brings ``1 + degree / mean_degree``.
    """
    votes = np.zeros(free.size, np.int64)
    n_over = 0
    for v in range(rows[0], rows[1]):
        if left_out[v]:
            part[v] = -1
            continue
        votes[:] = 0
        to_anchors = 0
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            if left_out[u]:
                to_anchors += 1
            elif part[u] >= 0:
                votes[part[u]] += 1
        degree = indptr[v + 1] - indptr[v]
        if weights.size:
            weight = weights[v]
        else:
            weight = np.int64(np.ceil(cost[0] + cost[1] * (to_anchors + (degree - to_anchors) / 2)))
        best = _best_part(votes, weight, free, loads, shares, work, 0.75 * mean_degree)
        if best < 0:
            best = int(np.argmax(free - loads))
            n_over += 1
        part[v] = best
        loads[best] += weight
        work[best] += 1 + degree / mean_degree
    return n_over


@kernel
def edges_among(indptr: IntArray, indices: NeighbourArray, marked: BoolArray, vertices: IntArray) -> int:
    """Return the edges between marked vertices, which are those in `vertices`."""
    found = 0
    for v in vertices:
        for j in range(indptr[v], indptr[v + 1]):
            found += marked[indices[j]]
    return found // 2
