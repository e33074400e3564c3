"""Vertex numbers from outside ids: ascending, so that number order is id order."""

from typing import Any

import numpy as np

from parge.graph.graph import MAX_INT32_VERTICES
from parge.ids import STRING, unique_ids
from parge.typing import IdArray, IntArray, NeighbourArray

Numbered = tuple[NeighbourArray, NeighbourArray, IdArray | None, int]
"""Both ends as vertex numbers, the ids in ascending order (None where they are the numbers), how many there are."""

# A table over all ids up to the largest (5 bytes each) is the fastest way while that id is below this many times the
# number of ids read.
_DENSE_FACTOR = 2

# From this many edges on, hashing the ids beats sorting them and searching for each.
_MANY = 200_000


def number_dtype(n_vertices: int) -> Any:
    """Return the integer type of vertex numbers in a graph of that size."""
    return np.int32 if n_vertices <= MAX_INT32_VERTICES else np.int64


def number_integers(source: IdArray, target: IdArray) -> Numbered:
    """Number integer ids.

    >>> number_integers(np.array([30, 10]), np.array([10, 20]))[2:]
    (array([10, 20, 30]), 3)
    """
    if not source.size:
        return source.astype(np.int32), target.astype(np.int32), None, 0
    low, high = min(source.min(), target.min()), int(max(source.max(), target.max()))
    if is_dense(low, high, source.size):
        return _number_dense(source, target, high)
    return _number_sparse(source, target)


def is_dense(low: int, high: int, n_edges: int) -> bool:
    """Return whether a table over all ids up to the largest is the way to number them."""
    return low >= 0 and high < _DENSE_FACTOR * 2 * n_edges + 1024


def _number_dense(source: IdArray, target: IdArray, high: int) -> Numbered:
    present = np.zeros(high + 1, np.bool_)
    present[source] = True
    present[target] = True
    n_vertices = int(np.count_nonzero(present))
    dtype = number_dtype(n_vertices)
    if n_vertices == high + 1:
        return source.astype(dtype, copy=False), target.astype(dtype, copy=False), None, n_vertices
    number = np.cumsum(present, dtype=dtype)
    number -= 1
    return number[source], number[target], np.flatnonzero(present), n_vertices


def _number_sparse(source: IdArray, target: IdArray) -> Numbered:
    if source.size < _MANY:
        ids = np.unique(np.concatenate([source, target])).astype(np.int64)
        dtype = number_dtype(ids.size)
        return np.searchsorted(ids, source).astype(dtype), np.searchsorted(ids, target).astype(dtype), ids, ids.size
    from parge.kernels import codes

    dtype = number_dtype(2 * source.size)
    ends = np.empty(source.size, dtype), np.empty(target.size, dtype)
    table, n_vertices = codes.encode(source, ends[0], np.full((2**16, 2), -1, np.int64), 0)
    table, n_vertices = codes.encode(target, ends[1], table, n_vertices)
    ids = codes.decode(table, n_vertices)
    del table
    order = np.argsort(ids)
    return *_renumbered(ends, order), ids[order], n_vertices


def _renumbered(ends: tuple[NeighbourArray, NeighbourArray], order: IntArray) -> tuple[NeighbourArray, NeighbourArray]:
    """Replace places in an array of ids by places in the sorted array ``ids[order]``."""
    number = np.empty(order.size, number_dtype(order.size))
    number[order] = np.arange(order.size)
    return number[ends[0]], number[ends[1]]


def number_strings(source: IdArray, target: IdArray) -> Numbered:
    """Number string ids by code point; integers among them are taken as written.

    >>> number_strings(np.array(["b", "a"], STRING), np.array(["a", "c"], STRING))[:2]
    (array([1, 0], dtype=int32), array([0, 2], dtype=int32))
    """
    both = np.concatenate([source.astype(STRING), target.astype(STRING)])
    ids, place = unique_ids(both)
    number = place.astype(number_dtype(ids.size))
    return number[: source.size], number[source.size :], ids, ids.size


def number_names(source: NeighbourArray, target: NeighbourArray, names: Any) -> Numbered:
    """Number edges whose ends are places in an arrow array of distinct names."""
    import pyarrow.compute as pc

    # Arrow compares the bytes of UTF-8, whose order is that of the code points.
    order = pc.sort_indices(names)
    ids = np.array(names.take(order).to_pylist(), STRING)
    return *_renumbered((source, target), order.to_numpy()), ids, ids.size
