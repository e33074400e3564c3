"""Counting what a decomposition keeps and loses, choosing the vertices that keep most, and connected components."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.kernels.splitmix import GOLDEN, mix
from parge.typing import BoolArray, IntArray, NeighbourArray, PartArray


@kernel
def count_edges(
    indptr: IntArray, indices: NeighbourArray, part: PartArray, is_anchor: BoolArray, n_parts: int
) -> tuple[IntArray, IntArray, int]:
    """Sort every edge by its ends.

    Returns
    -------
    cut : (n_parts, n_parts) int64, symmetric
        Edges between two non-anchors by their parts; an inner edge counts once on the diagonal.
    to_anchors : (n_parts,) int64
        Edges between a non-anchor of each part and an anchor.
    among_anchors : int
        Edges between two anchors, which every subgraph holds.
    """
    cut = np.zeros((n_parts, n_parts), np.int64)
    to_anchors = np.zeros(n_parts, np.int64)
    among_anchors = 0
    for u in range(part.size):
        for j in range(indptr[u], indptr[u + 1]):
            v = indices[j]
            if is_anchor[u]:
                if is_anchor[v] and u < v:
                    among_anchors += 1
            elif is_anchor[v]:
                to_anchors[part[u]] += 1
            elif part[u] != part[v]:
                cut[part[u], part[v]] += 1
            elif u < v:
                cut[part[u], part[u]] += 1
    return cut, to_anchors, among_anchors


@kernel
def saved_alone(
    indptr: IntArray,
    indices: NeighbourArray,
    part: NDArray[Any],
    marked: BoolArray,
    rank: PartArray,
    names: PartArray,
    candidates: IntArray,
) -> IntArray:
    """Return how many lost edges each candidate saves that no better one does; edges to marked vertices are saved.

    `rank` has the lost edges of candidates, and -1 for others. A candidate is better if it has more, or as many and
    the larger hash of its name.
    """
    out = np.empty(candidates.size, np.int64)
    for i in range(candidates.size):
        v = candidates[i]
        better = 0
        key = mix(np.uint64(names[v]) + GOLDEN)
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            if part[u] != part[v] and not marked[u] and rank[u] >= rank[v]:
                better += rank[u] > rank[v] or mix(np.uint64(names[u]) + GOLDEN) > key
        out[i] = rank[v] - better
    return out


@kernel
def count_lost(indptr: IntArray, indices: NeighbourArray, part: NDArray[Any]) -> int:
    """Return how many edges lead from one part to another; a vertex in part -1 is in all parts."""
    n_arcs = 0
    for u in range(part.size):
        here = part[u]
        if here >= 0:
            for j in range(indptr[u], indptr[u + 1]):
                there = part[indices[j]]
                n_arcs += (there != here) & (there >= 0)
    return n_arcs // 2


@kernel
def cut_degrees(indptr: IntArray, indices: NeighbourArray, part: NDArray[Any]) -> NeighbourArray:
    """Return for each vertex how many of its edges lead to another part: h_u of the paper's Algorithm 1."""
    out = np.zeros(indptr.size - 1, indices.dtype)  # no larger than the number of a vertex
    for u in range(out.size):
        for j in range(indptr[u], indptr[u + 1]):
            out[u] += part[indices[j]] != part[u]
    return out


@kernel
def greedy_cover(
    indptr: IntArray, indices: NeighbourArray, part: NDArray[Any], degree: NeighbourArray, n_chosen: int
) -> IntArray:
    """Choose vertices one by one, each with the most cut edges that no chosen vertex touches yet; in that order.

    `degree` holds the cut degrees and is used up. A bucket per degree with lazy updates makes it linear in
    the edges: an entry whose degree has fallen since is moved down when it is met.
    Vertices whose degree fell to 0 are chosen last.
    """
    n = part.size
    chosen = np.zeros(n, np.bool_)
    order = np.empty(min(n, n_chosen), np.int64)
    top = np.int64(0)
    for v in range(n):
        top = max(top, np.int64(degree[v]))
    # Buckets as linked lists; pushed in descending order so that ties pop in ascending order of vertex.
    head = np.full(top + 1, -1, np.int64)
    following = np.full(n, -1, indices.dtype)
    for v in range(n - 1, -1, -1):
        following[v] = head[degree[v]]
        head[degree[v]] = v
    d = top
    count = 0
    while count < order.size:
        v = head[d]
        if v < 0:
            d -= 1
            continue
        head[d] = following[v]
        if degree[v] < d:
            following[v] = head[degree[v]]
            head[degree[v]] = v
            continue
        chosen[v] = True
        order[count] = v
        count += 1
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            if part[u] != part[v] and not chosen[u]:
                degree[u] -= 1
    return order


@kernel
def majority_part(
    indptr: IntArray, indices: NeighbourArray, part: PartArray, vertices: IntArray, n_parts: int
) -> PartArray:
    """Return for each of `vertices` the part of most neighbours (parts < 0 do not count; ties: the lowest).

    A vertex without such neighbours keeps its part, or goes to part 0 where it has none.
    """
    out = np.empty(vertices.size, np.int32)
    votes = np.zeros(n_parts, np.int64)
    for i in range(vertices.size):
        v = vertices[i]
        votes[:] = 0
        best, most = max(part[v], 0), 0
        for j in range(indptr[v], indptr[v + 1]):
            p = part[indices[j]]
            if p >= 0:
                votes[p] += 1
        for p in range(n_parts):
            if votes[p] > most:
                best, most = p, votes[p]
        out[i] = best
    return out


@kernel
def part_votes(
    indptr: IntArray, indices: NeighbourArray, part: PartArray, vertices: IntArray, n_parts: int
) -> IntArray:
    """Return how many neighbours each of `vertices` has in each part, (vertices, n_parts) int64."""
    votes = np.zeros((vertices.size, n_parts), np.int64)
    for i in range(vertices.size):
        for j in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            votes[i, part[indices[j]]] += 1
    return votes


@kernel
def relieve(
    full: int,
    vertices: IntArray,
    votes: IntArray,
    weights: IntArray,
    limits: IntArray,
    part: PartArray,
    loads: IntArray,
) -> int:
    """Move vertices of a part that is over its limit, in the given order, until it is not; return how many moved.

    Each goes to the part with room for it that has most of its neighbours (row i of `votes` is of ``vertices[i]``);
    among equals, to the one with most room. `part` and `loads` are changed.
    """
    n_moved = 0
    for i in range(vertices.size):
        if loads[full] <= limits[full]:
            break
        v, best, most, free = vertices[i], -1, np.int64(-1), np.int64(0)
        for p in range(limits.size):
            here, left = votes[i, p], limits[p] - loads[p]
            if left >= weights[v] and (here > most or (here == most and left > free)):
                best, most, free = p, here, left
        if best >= 0:
            part[v] = best
            loads[full] -= weights[v]
            loads[best] += weights[v]
            n_moved += 1
    return n_moved


@kernel
def marked_neighbours(indptr: IntArray, indices: NeighbourArray, marked: BoolArray) -> IntArray:
    """Return how many neighbours of each vertex are marked."""
    out = np.zeros(indptr.size - 1, np.int64)
    for u in range(out.size):
        for j in range(indptr[u], indptr[u + 1]):
            out[u] += marked[indices[j]]
    return out


@kernel
def component_roots(indptr: IntArray, indices: NeighbourArray) -> NeighbourArray:
    """Return for each vertex the smallest vertex of its connected component.

    Union-find with path halving; the smaller root wins, so that labels do not depend on the order of edges.
    """
    n = indptr.size - 1
    parent = np.arange(n).astype(indices.dtype)
    for u in range(n):
        for j in range(indptr[u], indptr[u + 1]):
            a, b = np.int64(u), np.int64(indices[j])
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = np.int64(parent[a])
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = np.int64(parent[b])
            if a < b:
                parent[b] = a
            elif b < a:
                parent[a] = b
    for u in range(n):  # roots come before their members
        parent[u] = parent[parent[u]]
    return parent
