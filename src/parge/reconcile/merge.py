"""One vector per vertex: its own where it lies in one subgraph, the mean of its copies where it is an anchor."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from parge.decompose.decomposition import Decomposition
from parge.reconcile.base import Map, double
from parge.storage import release_pages, row_blocks, rows_at_once
from parge.typing import FloatArray, IntArray, Matrix

# Neighbours of anchors looked at together: anchors hold most edges of many graphs, so all would be a second graph.
_NEIGHBOURS_AT_ONCE = 1 << 20


def evidence(decomposition: Decomposition) -> IntArray:
    """Return how many edges each subgraph sees of each anchor, (n_parts, n_anchors).

    These are the weights of an anchor's copies: the copy with more edges is more precise (for samples drawn along edges
    its variance falls as one over their number). An anchor without any edge has equal weights, 1 each.
    """
    graph, anchors = decomposition.graph, decomposition.anchors
    seen = np.zeros((decomposition.n_parts, anchors.size), np.int64)
    before = np.concatenate([[0], np.cumsum(graph.degrees[anchors])])
    cuts = np.searchsorted(before, np.arange(0, before[-1], _NEIGHBOURS_AT_ONCE))
    for first, last in pairwise([*np.unique(cuts).tolist(), anchors.size]):
        seen[:, first:last] = _seen(decomposition, anchors[first:last])
        release_pages(graph.indices)
    seen[:, seen.sum(axis=0) == 0] = 1
    return seen


def _seen(decomposition: Decomposition, anchors: IntArray) -> IntArray:
    """Return how many edges each subgraph sees of some anchors."""
    graph = decomposition.graph
    row = np.repeat(np.arange(anchors.size), graph.degrees[anchors])
    neighbour = graph.indices[stretches(graph.indptr[anchors], graph.degrees[anchors])]
    among = decomposition.is_anchor[neighbour]
    shape = (decomposition.n_parts, anchors.size)
    key = decomposition.part[neighbour[~among]].astype(np.int64) * anchors.size + row[~among]
    seen = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)
    return np.asarray(seen + np.bincount(row[among], minlength=anchors.size))


def stretches(start: IntArray, length: IntArray) -> IntArray:
    """Return the positions ``start[i] .. start[i] + length[i] - 1`` of every i, one after another."""
    before = np.cumsum(length) - length
    return np.asarray(np.arange(length.sum()) + np.repeat(start - before, length))


class AnchorMerge:
    """The weighted mean of some anchors' copies, gathered one subgraph at a time.

    >>> merge = AnchorMerge(n_anchors=1, dim=2)
    >>> merge.add(np.array([[0.0, 4.0]]), np.array([1]))
    >>> merge.add(np.array([[4.0, 4.0]]), np.array([3]))
    >>> merge.vectors().tolist()
    [[3.0, 4.0]]
    """

    def __init__(self, n_anchors: int, dim: int) -> None:
        self._sum: Matrix = np.zeros((n_anchors, dim))
        self._weight: Matrix = np.zeros((n_anchors, 1))

    def add(self, mapped: FloatArray, weights: IntArray) -> None:
        """Add the copies of one subgraph, mapped into the common space."""
        column = weights[:, None].astype(np.float64)
        self._sum += double(mapped) * column
        self._weight += column

    def vectors(self) -> Matrix:
        """Return the means; an anchor without any weight has 0."""
        return np.asarray(self._sum / np.maximum(self._weight, np.finfo(np.float64).tiny))


def merged_blocks(
    decomposition: Decomposition,
    vectors: Sequence[FloatArray],
    maps: Sequence[Map],
    *,
    block_rows: int | None = None,
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield vertex numbers and their final vectors, block by block, every vertex once.

    A block is all that is held, of own vertices and of anchors alike, so neither the local vectors nor the embedding
    need be in memory. Write each block into an array, or into a memory map.

    Local vectors have own vertices first; memory maps are accepted. There is one map per subgraph.
    """
    dim = vectors[0].shape[1]
    at_once = block_rows or rows_at_once(dim)
    for i, (local, apply) in enumerate(zip(vectors, maps, strict=True)):
        own = decomposition.own(i)
        for rows in row_blocks(own.size, at_once):
            yield own[rows], apply(local[rows])
            release_pages(local)
    anchors, seen = decomposition.anchors, evidence(decomposition)
    for rows in row_blocks(anchors.size, at_once):
        merge = AnchorMerge(rows.stop - rows.start, dim)
        for local, apply, weights in zip(vectors, maps, seen, strict=True):
            n_own = len(local) - anchors.size
            merge.add(apply(local[n_own + rows.start : n_own + rows.stop]), weights[rows])
            release_pages(local)
        yield anchors[rows], merge.vectors().astype(vectors[0].dtype)
