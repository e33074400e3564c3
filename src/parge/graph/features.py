"""Features that subgraphs agree on: drawn for a vertex by its number in the graph, or projected from given ones."""

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.seeds import GOLDEN, mixed
from parge.typing import FloatArray, IntArray

# Rows drawn, or features projected, at once.
ROWS = 1024

# Rows of features longer than this share of them are paid for by every worker, as if it held them all.
_USUAL_ROWS = 0.99


def with_features(bound: Footprint, graph: Graph, *, copies: int = 0, dim: int = 0) -> Footprint:
    """Return the bound for subgraphs that carry their rows of the graph's features.

    Linear in vertices, whatever the lengths x of the rows. A sum over m vertices is at most ``t m + Σ max(0, x - t)``
    for any t, here the length that one row in a hundred exceeds.

    `copies` of the features' bytes are added to those that the worker reads, and `dim` columns of float32 that a
    product with them needs for a while.
    """
    if graph.features is None:
        return bound
    features = graph.features
    lengths = np.diff(features.indptr)
    usual = int(np.quantile(lengths, _USUAL_ROWS, method="higher")) if lengths.size else 0
    beyond = int(np.maximum(lengths - usual, 0).sum())
    entry = features.data.itemsize + features.indices.itemsize
    each = (1 + copies) * entry + 1  # a byte: each is looked at whether it is finite
    columns = copies * features.shape[1] * features.indptr.itemsize
    return bound.plus(each * beyond + columns, each * usual + features.indptr.itemsize + 4 * dim)


def projected_features(bound: Footprint, graph: Graph, dim: int) -> Footprint:
    """Return the bound for a technique that calls `vertex_features`: sorted by column, and a block of columns of it."""
    wide = graph.features is not None and graph.features.shape[1] > dim
    return with_features(bound, graph, copies=2 * wide, dim=dim * wide)


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
    for start in range(0, numbers.size, ROWS):
        out[start : start + ROWS] = _box_muller(_pairs(numbers[start : start + ROWS], dim, seed))[:, :dim]
    return out


def uniform_rows(numbers: IntArray, dim: int, seed: int) -> FloatArray:
    """Return rows drawn between -1 and 1, as `normal_rows` does in four times the time.

    >>> rows = uniform_rows(np.array([5, 9]), 3, seed=1)
    >>> bool((rows[1:] == uniform_rows(np.array([9]), 3, seed=1)).all())
    True
    """
    halves = _pairs(numbers, dim, seed).view(np.int32)[:, :dim]
    return np.multiply(halves, 2.0**-31, dtype=np.float32)


def _pairs(numbers: IntArray, dim: int, seed: int) -> NDArray[np.uint64]:
    """Return 64 random bits for every two columns of rows, each decided by its number and the seed alone."""
    pairs = np.arange(-(-dim // 2), dtype=np.uint64)
    keys = mixed(numbers.astype(np.uint64) + mixed(np.array([seed], np.uint64) + GOLDEN))
    return mixed(keys[:, None] + (pairs + np.uint64(1)) * GOLDEN)


def _box_muller(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return two normal draws from the halves of 64 bits, side by side (Box and Muller, 1958)."""
    high = ((bits >> np.uint64(32)).astype(np.float64) + 0.5) * 2.0**-32  # never 0
    angle = (bits & np.uint64(0xFFFFFFFF)).astype(np.float64) * (2.0 * np.pi * 2.0**-32)
    radius = np.sqrt(-2.0 * np.log(high))
    both = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return both.reshape(bits.shape[0], -1)
