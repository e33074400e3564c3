"""Rows of a graph merged: some vertices into one, their neighbours by label."""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.typing import FloatArray, IntArray, NeighbourArray


@kernel
def merged_size(indptr: IntArray, rows: IntArray, offsets: IntArray, n_labels: int) -> int:
    """Return at least as many entries as `merge_rows` writes."""
    size = 0
    for g in range(offsets.size - 1):
        degrees = 0
        for i in range(offsets[g], offsets[g + 1]):
            degrees += indptr[rows[i] + 1] - indptr[rows[i]]
        size += min(degrees, n_labels)
    return size


@kernel
def merge_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    rows: IntArray,
    offsets: IntArray,
    label: IntArray,
    n_labels: int,
    out_indptr: IntArray,
    out_indices: IntArray,
    out_data: NDArray[np.float64],
) -> None:
    """Write for each group g of vertices, rows[offsets[g]:offsets[g+1]], its weight to every label, ascending.

    A neighbour whose label is negative is left out. An empty `weights` stands for ones.
    """
    total = np.zeros(n_labels, np.float64)
    met = np.zeros(n_labels, np.bool_)
    size = 0
    for g in range(offsets.size - 1):
        first = size
        for i in range(offsets[g], offsets[g + 1]):
            for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
                c = label[indices[j]]
                if c < 0:
                    continue
                if not met[c]:
                    met[c] = True
                    out_indices[size] = c
                    size += 1
                total[c] += 1.0 if weights.size == 0 else weights[j]
        out_indices[first:size].sort()
        for k in range(first, size):
            c = out_indices[k]
            out_data[k] = total[c]
            total[c], met[c] = 0.0, False
        out_indptr[g + 1] = size
