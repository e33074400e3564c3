"""Rows of a graph merged: some vertices into one, their neighbours by label."""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.typing import FloatArray, IntArray, NeighbourArray


@kernel
def merged_size(indptr: IntArray, rows: IntArray, offsets: IntArray, n_labels: int) -> int:
    """Return at least as many entries as `quotient_rows` writes."""
    size = 0
    for g in range(offsets.size - 1):
        degrees = 0
        for i in range(offsets[g], offsets[g + 1]):
            degrees += indptr[rows[i] + 1] - indptr[rows[i]]
        size += min(degrees, n_labels)
    return size


@kernel
def quotient_size(
    indptr: IntArray, indices: NeighbourArray, rows: IntArray, offsets: IntArray, label: NeighbourArray
) -> int:
    """Return how many entries `quotient_rows` writes."""
    last = np.full(offsets.size - 1, -1, label.dtype)
    size = 0
    for g in range(offsets.size - 1):
        last[g] = g
        for i in range(offsets[g], offsets[g + 1]):
            for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
                c = label[indices[j]]
                if last[c] != g:
                    last[c] = g
                    size += 1
    return size


@kernel
def quotient_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    rows: IntArray,
    offsets: IntArray,
    label: NeighbourArray,
    out_indptr: IntArray,
    out_indices: NeighbourArray,
    out_weights: FloatArray | NDArray[np.float64],
    loops: FloatArray | NDArray[np.float64],
) -> None:
    """Write for each group g of vertices, rows[offsets[g]:offsets[g+1]], its weight to the others, ascending.

    `label` is the group of every vertex. What lies inside of a group goes to `loops`. An empty `weights` stands for
    ones.
    """
    total = np.zeros(offsets.size - 1, np.float64)
    size = 0
    for g in range(offsets.size - 1):
        first = size
        for i in range(offsets[g], offsets[g + 1]):
            for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
                c = label[indices[j]]
                if total[c] == 0.0 and c != g:  # weights are positive
                    out_indices[size] = c
                    size += 1
                total[c] += 1.0 if weights.size == 0 else weights[j]
        out_indices[first:size].sort()
        for k in range(first, size):
            c = out_indices[k]
            out_weights[k] = total[c]
            total[c] = 0.0
        loops[g] = total[g]
        total[g] = 0.0
        out_indptr[g + 1] = size


@kernel
def quotient_matrix(
    indptr: IntArray, indices: NeighbourArray, weights: FloatArray, label: IntArray, out: NDArray[np.float64]
) -> None:
    """Add to a matrix of zeros the weights between groups of vertices, both directions, and inside them, twice.

    `label` is the group of every vertex. An empty `weights` stands for ones.
    """
    for v in range(label.size):
        g = label[v]
        for j in range(indptr[v], indptr[v + 1]):
            out[g, label[indices[j]]] += 1.0 if weights.size == 0 else weights[j]
