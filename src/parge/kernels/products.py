"""Products of a graph's rows with columns of numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.typing import FloatArray, IntArray, NeighbourArray

_TINY = float(np.finfo(float).tiny)


@kernel
def sum_neighbours(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    columns: NDArray[Any],
    first: int,
    out: NDArray[Any],
) -> None:
    """Write into `out` the weighted sums of the neighbours' rows of `columns`, for vertices from `first` on.

    A row is summed in the order of its neighbours, whoever computes it. `weights` of size 0 means ones.
    """
    for i in range(out.shape[0]):
        out[i, :] = 0
        for j in range(indptr[first + i], indptr[first + i + 1]):
            row = columns[indices[j]]
            if weights.size:
                for c in range(out.shape[1]):
                    out[i, c] += weights[j] * row[c]
            else:
                for c in range(out.shape[1]):
                    out[i, c] += row[c]


@kernel
def mix_neighbours(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    strength: NDArray[np.float64],
    some: IntArray,
    share: FloatArray,
    columns: FloatArray,
    out: FloatArray,
) -> None:
    """Write some rows of `columns` into `out`, moved by a share of the way to the mean of their neighbours' rows.

    `strength` are the sums of the weights.
    """
    mean = np.empty(columns.shape[1], np.float32)
    for i in range(some.size):
        v = some[i]
        scale = 1.0 / max(strength[v], _TINY)
        mean[:] = 0
        for j in range(indptr[v], indptr[v + 1]):
            row, weight = columns[indices[j]], np.float32(scale * weights[j])
            for c in range(mean.size):
                mean[c] += weight * row[c]
        for c in range(mean.size):
            out[v, c] = columns[v, c] + share[i] * (mean[c] - columns[v, c])


@kernel
def mean_neighbours(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    strength: NDArray[np.float64],
    some: IntArray,
    row_of: IntArray,
    source: FloatArray,
    out: FloatArray,
) -> None:
    """Write into `out`, for some vertices, the mean over their neighbours u of row ``row_of[u]`` of `source`.

    `strength` are the sums of the weights; a vertex without edges gets zeros.
    """
    for i in range(some.size):
        v = some[i]
        scale = 1.0 / max(strength[v], _TINY)
        out[i, :] = 0
        for j in range(indptr[v], indptr[v + 1]):
            row, weight = source[row_of[indices[j]]], np.float32(scale * weights[j])
            for c in range(out.shape[1]):
                out[i, c] += weight * row[c]
