"""Connected components, in memory that grows with the vertices alone."""

import numpy as np

from parge.kernels.jit import kernel
from parge.typing import IntArray, NeighbourArray


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
