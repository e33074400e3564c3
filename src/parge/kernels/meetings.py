"""Random walks of two and three steps that meet: how many lead from one vertex of a pair to the other."""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.typing import IntArray, NeighbourArray


@kernel
def walk_meetings(
    indptr: IntArray, indices: NeighbourArray, pairs: IntArray, scratch: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write ``d_u (P^2 + P^3)[u, v]`` of every pair into `out`; it is the same from u and from v.

    The neighbours of v are marked with the share of a step from them, then the rows two steps from u are summed. The
    cost of a pair is the sum of the degrees of u's neighbours. `scratch` holds one zero per vertex, before and after.
    """
    for i in range(out.size):
        u, v = pairs[i, 0], pairs[i, 1]
        for j in range(indptr[v], indptr[v + 1]):
            x = indices[j]
            scratch[x] = 1.0 / (indptr[x + 1] - indptr[x])
        total = 0.0
        for j in range(indptr[u], indptr[u + 1]):
            w = indices[j]
            inner = 0.0
            for k in range(indptr[w], indptr[w + 1]):
                inner += scratch[indices[k]]
            total += scratch[w] + inner / (indptr[w + 1] - indptr[w])
        for j in range(indptr[v], indptr[v + 1]):
            scratch[indices[j]] = 0.0
        out[i] = total
