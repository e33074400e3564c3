"""One vector per vertex: its own where it lies in one subgraph, the mean of its copies where it is an anchor."""

from collections.abc import Iterator, Sequence

import numpy as np

from parge.decompose.decomposition import Decomposition
from parge.reconcile.base import Map
from parge.reconcile.maps import Matrix, double
from parge.rows import BLOCK_ROWS, forget, row_blocks
from parge.typing import FloatArray, IntArray


def evidence(decomposition: Decomposition) -> IntArray:
    """Return how many edges each subgraph sees of each anchor, (n_parts, n_anchors).

    The weights of an anchor's copies: a technique places a vertex by its edges, so the copy that saw more of
    them is the better informed (for samples drawn along edges its variance falls as one over their number).
    An anchor without any edge has equal weights, 1 each.
    """
    graph, anchors = decomposition.graph, decomposition.anchors
    row = np.repeat(np.arange(anchors.size), graph.degrees[anchors])
    neighbour = graph.indices[_stretches(graph.indptr[anchors], graph.degrees[anchors])]
    among = decomposition.is_anchor[neighbour]
    shape = (decomposition.n_parts, anchors.size)
    key = decomposition.part[neighbour[~among]].astype(np.int64) * anchors.size + row[~among]
    seen = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)
    seen += np.bincount(row[among], minlength=anchors.size)
    seen[:, seen.sum(axis=0) == 0] = 1
    return seen.astype(np.int64)


def _stretches(start: IntArray, length: IntArray) -> IntArray:
    """Return the positions ``start[i] .. start[i] + length[i] - 1`` of every i, one after another."""
    before = np.cumsum(length) - length
    return np.asarray(np.arange(length.sum()) + np.repeat(start - before, length))


class AnchorMerge:
    """The weighted mean of the anchors' copies, gathered one subgraph at a time: |A| x d numbers, no more.

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
    block_rows: int = BLOCK_ROWS,
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield vertex numbers and their final vectors, block by block, every vertex once.

    Subgraphs are read one after another, so neither all local vectors nor the whole embedding need be in
    memory: write each block into an array, or into a memory map.

    Parameters
    ----------
    decomposition : Decomposition
        Where each vertex lies.
    vectors : sequence of (n_own + n_anchors, dim) arrays
        Local vectors of every subgraph, own vertices first; memory maps will do.
    maps : sequence of Map
        One a subgraph.
    block_rows : int
        Rows at a time.
    """
    anchors, seen = decomposition.anchors, evidence(decomposition)
    merge = AnchorMerge(anchors.size, vectors[0].shape[1])
    for i, (local, apply) in enumerate(zip(vectors, maps, strict=True)):
        own = decomposition.own(i)
        for rows in row_blocks(own.size, block_rows):
            yield own[rows], apply(local[rows])
        merge.add(apply(local[own.size :]), seen[i])
        forget(local)
    means = merge.vectors().astype(vectors[0].dtype)
    for rows in row_blocks(anchors.size, block_rows):
        yield anchors[rows], means[rows]
