"""Loops over compressed sparse rows: building, inducing, counting."""

import numpy as np

from parge.kernels.jit import kernel
from parge.typing import FloatArray, IntArray, NeighbourArray


@kernel
def arc_offsets(source: NeighbourArray, target: NeighbourArray, n_vertices: int) -> IntArray:
    """Return row offsets for both directions of every edge; self loops are not counted."""
    indptr = np.zeros(n_vertices + 1, np.int64)
    for e in range(source.size):
        if source[e] != target[e]:
            indptr[source[e] + 1] += 1
            indptr[target[e] + 1] += 1
    for v in range(n_vertices):
        indptr[v + 1] += indptr[v]
    return indptr


@kernel
def scatter_arcs(source: NeighbourArray, target: NeighbourArray, indptr: IntArray, out: NeighbourArray) -> None:
    """Write both directions of every edge into its rows, in order of appearance."""
    cursor = indptr[:-1].copy()
    for e in range(source.size):
        u, v = source[e], target[e]
        if u != v:
            out[cursor[u]] = v
            cursor[u] += 1
            out[cursor[v]] = u
            cursor[v] += 1


@kernel
def transpose(indptr: IntArray, indices: NeighbourArray, out: NeighbourArray) -> None:
    """Write the transpose of a symmetric pattern: itself, with every row sorted.

    Rows are visited in order, so each row of the transpose receives its neighbours in ascending order:
    a counting sort of all rows at once.
    """
    cursor = indptr[:-1].copy()
    for u in range(indptr.size - 1):
        for j in range(indptr[u], indptr[u + 1]):
            v = indices[j]
            out[cursor[v]] = u
            cursor[v] += 1


@kernel
def drop_repeats(indptr: IntArray, indices: NeighbourArray) -> IntArray:
    """Compact sorted rows in place so that no neighbour repeats; return the new offsets."""
    out = np.empty_like(indptr)
    out[0] = 0
    end = 0
    for u in range(indptr.size - 1):
        last = -1
        for j in range(indptr[u], indptr[u + 1]):
            if indices[j] != last:
                last = indices[j]
                indices[end] = last
                end += 1
        out[u + 1] = end
    return out


@kernel
def induced_offsets(
    indptr: IntArray, indices: NeighbourArray, vertices: IntArray, position: NeighbourArray
) -> IntArray:
    """Return row offsets of the subgraph induced on `vertices`; `position` is -1 outside it."""
    out = np.zeros(vertices.size + 1, np.int64)
    for i in range(vertices.size):
        count = 0
        for j in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            count += position[indices[j]] >= 0
        out[i + 1] = out[i] + count
    return out


@kernel
def induced_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    vertices: IntArray,
    position: NeighbourArray,
    n_first: int,
    out_indices: NeighbourArray,
    out_weights: FloatArray,
) -> None:
    """Fill the induced rows, sorted, for vertices that are two ascending runs split at `n_first`.

    `weights` of size 0 means an unweighted graph. Neighbours in the first run are written first, so two
    sweeps over a sorted row leave it sorted in the new numbering.
    """
    end = 0
    for i in range(vertices.size):
        row = range(indptr[vertices[i]], indptr[vertices[i] + 1])
        for second in range(2):
            for j in row:
                p = position[indices[j]]
                if p >= 0 and (p >= n_first) == (second == 1):
                    out_indices[end] = p
                    if weights.size:
                        out_weights[end] = weights[j]
                    end += 1
