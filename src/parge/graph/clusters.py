"""Groups of neighbouring vertices, by matching strong edges again and again."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.typing import IntArray

# Groups grow to this multiple of the mean size at most, unless nothing else is left to merge.
_LARGEST = 1.5

# Rounds that merge fewer than this share of the groups have run out of strong edges.
_STALLED = 0.05


def group_vertices(graph: Graph, vertices: IntArray, count: int) -> IntArray:
    """Return the group of each of these vertices, 0..count-1 or fewer: neighbours together, sizes similar.

    Each round, groups that are each other's strongest neighbour become one. Strength is the weight of the edges between
    them over the product of their sizes. Where that stalls, groups with the same strongest neighbour become one, as the
    leaves of a star do.
    """
    matrix = graph.to_scipy()[vertices][:, vertices].astype(np.float64).tocsr()
    group = np.arange(vertices.size)
    size: NDArray[Any] = np.ones(vertices.size)
    most = max(2.0, _LARGEST * vertices.size / max(1, count))
    while size.size > max(1, count):
        merged = _merged(_strongest(matrix, size, most), size, size.size - count, most)
        group, size = merged[group], np.bincount(merged, size)
        matrix = _quotient(matrix, merged, size.size)
    return group


def _strongest(matrix: Any, size: NDArray[Any], most: float) -> IntArray:
    """Return the strongest neighbour of each group with which it may merge, or -1."""
    pick = np.full(size.size, -1)
    rows = np.repeat(np.arange(size.size), np.diff(matrix.indptr))
    columns = matrix.indices.astype(np.int64)
    fits = (size[rows] + size[columns] <= most) & (rows != columns)
    rows, columns = rows[fits], columns[fits]
    if not rows.size:
        return pick
    strength = matrix.data[fits] / (size[rows] * size[columns]) * (1.0 + 1e-3 * _ties(rows, columns))
    order = np.lexsort((columns, np.negative(strength, out=strength), rows))
    first = np.flatnonzero(np.r_[True, np.diff(rows[order]) > 0])
    pick[rows[order[first]]] = columns[order[first]]
    return pick


def _ties(rows: IntArray, columns: IntArray) -> NDArray[Any]:
    """Return numbers in 0..1 by which ties are broken alike from both ends, or few picks would be mutual."""
    mixed = np.minimum(rows, columns) * 2654435761
    mixed += np.maximum(rows, columns) * 40503
    mixed %= 65521
    return mixed / 65521


def _merged(pick: IntArray, size: NDArray[Any], excess: int, most: float) -> IntArray:
    """Return the number of each group after some have been merged in pairs, `excess` pairs at most."""
    numbers = np.arange(pick.size)
    mutual = (pick >= 0) & (pick[pick] == numbers) & (numbers < pick)
    left, right = numbers[mutual], pick[mutual]
    if left.size < _STALLED * pick.size:
        free = np.ones(pick.size, np.bool_)
        free[left], free[right] = False, False
        pairs = _pairs(np.flatnonzero(free & (pick >= 0)), pick)
        if not left.size and not pairs[0].size:  # nobody has anybody: the smallest ones together
            pairs = _pairs(np.argsort(size, kind="stable")[: 2 * max(1, excess)], np.zeros_like(pick))
            most = np.inf
        left, right = np.r_[left, pairs[0]], np.r_[right, pairs[1]]
    fits = size[left] + size[right] <= most
    left, right = left[fits], right[fits]
    if not left.size:
        return _merged(np.full_like(pick, -1), size, excess, np.inf)
    chosen = np.argsort(size[left] + size[right], kind="stable")[:excess]
    into = numbers.copy()
    into[right[chosen]] = left[chosen]
    return np.unique(into, return_inverse=True)[1]


def _pairs(some: IntArray, pick: IntArray) -> tuple[IntArray, IntArray]:
    """Return pairs of groups that pick the same one."""
    order = some[np.argsort(pick[some], kind="stable")]
    left, right = order[:-1:2], order[1::2]
    same = pick[left] == pick[right]
    return left[same], right[same]


def _quotient(matrix: Any, merged: IntArray, n_groups: int) -> Any:
    member = sp.csr_matrix((np.ones(merged.size), merged, np.arange(merged.size + 1)), shape=(merged.size, n_groups))
    return (member.T @ matrix @ member).tocsr()
