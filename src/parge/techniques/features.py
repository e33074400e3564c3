"""Features that subgraphs agree on: drawn for a vertex by its number in the graph, or projected from given ones."""

import numpy as np
from numpy.typing import NDArray

from parge.graph.subgraph import Subgraph
from parge.typing import FloatArray, IntArray

# Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): splitmix64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

# Rows drawn, or features projected, at once.
ROWS = 1024


def vertex_features(subgraph: Subgraph, dim: int, seed: int) -> FloatArray:
    """Return `dim` features of each vertex, the same in every subgraph that holds it.

    Without features in the graph: standard normal, keyed by the vertex's number in the parent graph. With up
    to `dim` features: those, then zeros. With more: their Gaussian random projection, whose row for feature j
    is keyed by j, over sqrt(dim), so that inner products are kept in expectation (Johnson and Lindenstrauss).
    """
    features = subgraph.graph.features
    if features is None:
        return normal_rows(subgraph.vertices, dim, seed)
    n_vertices, n_features = features.shape
    out: FloatArray = np.zeros((n_vertices, dim), np.float32)
    if n_features <= dim:
        for start in range(0, n_vertices, ROWS):
            out[start : start + ROWS, :n_features] = features[start : start + ROWS].toarray()
        return out
    by_feature = features.tocsc()
    for start in range(0, n_features, ROWS):
        numbers = np.arange(start, min(start + ROWS, n_features))
        out += by_feature[:, start : start + ROWS] @ normal_rows(numbers, dim, seed)
    out /= np.float32(np.sqrt(dim))
    return out


def normal_rows(numbers: IntArray, dim: int, seed: int) -> FloatArray:
    """Return standard normal rows, (n, dim) float32, each decided by its number and the seed alone.

    >>> rows = normal_rows(np.array([5, 9]), 3, seed=1)
    >>> bool((rows[1:] == normal_rows(np.array([9]), 3, seed=1)).all())
    True
    """
    out: FloatArray = np.empty((numbers.size, dim), np.float32)
    pairs = np.arange(-(-dim // 2), dtype=np.uint64)
    for start in range(0, numbers.size, ROWS):
        keys = _mix(numbers[start : start + ROWS].astype(np.uint64) + _mix(np.array([seed], np.uint64) + _GOLDEN))
        bits = _mix(keys[:, None] + (pairs + np.uint64(1)) * _GOLDEN)
        out[start : start + ROWS] = _box_muller(bits)[:, :dim]
    return out


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (state ^ (state >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def _box_muller(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return two normal draws from the halves of 64 bits, side by side (Box and Muller, 1958)."""
    high = ((bits >> np.uint64(32)).astype(np.float64) + 0.5) * 2.0**-32  # never 0
    angle = (bits & np.uint64(0xFFFFFFFF)).astype(np.float64) * (2.0 * np.pi * 2.0**-32)
    radius = np.sqrt(-2.0 * np.log(high))
    both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return both.reshape(bits.shape[0], -1)
