"""Products of a graph's rows with columns of numbers."""

from typing import Any

from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.typing import FloatArray, IntArray, NeighbourArray


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
