"""NetMF: the matrix that DeepWalk factorises implicitly, factorised explicitly."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.eigen import (
    LINEAR_ALGEBRA_BYTES,
    MATRIX_BYTES_PER_VERTEX,
    adjacency_matrix,
    components,
    eigen_footprint,
    largest,
    low_rank_eigenpairs,
    padded_vectors,
    top_eigenpairs,
)
from parge.linalg.threads import one_blas_thread
from parge.memory import Footprint
from parge.techniques.base import WHITEN_20, Technique, check_counts
from parge.typing import FloatArray, IntArray, Matrix

# Columns of the exact matrix computed at once.
_COLUMNS = 64

# Entries of the low-rank matrix that exist at once (float32), but of this number of rows at least.
_ENTRIES, _LEAST_ROWS = 2**19, 32

# Components smaller than this are worked on together: loops over thousands of tiny ones would cost more.
_TOGETHER = 1024

# Products with the logarithm of the low-rank matrix, and columns over `dim` in them. (Micro-F1 on blogcatalog after
# 2, 3, 5, 8 and 14 products: .417, .439, .450, .446, .448.)
_PASSES, _OVERSAMPLING = 5, 32

# Residual of the normalised adjacency's eigenpairs; what they make passes through a logarithm and a truncation.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class NetMF(Technique):
    """The best factors of the logarithm of DeepWalk's co-occurrence matrix.

    Use it on small graphs, or as a reference for DeepWalk: its time is quadratic in the vertices. On the command
    line: ``--technique netmf``.

    Qiu et al., "Network embedding as matrix factorization" (WSDM 2018): ``log max(M, 1) ≈ U S U^T`` with ``M = vol /
    (negatives window) Σ_r P^r D^-1`` for r = 1..window, P = D^-1 A. The vectors are ``U |S|^1/2``. M is symmetric, so
    its singular vectors are eigenvectors.

    Up to `exact_up_to` vertices M is formed exactly, n x n, from sparse products. Over that it is their algorithm 4: M
    from the `rank` leading eigenpairs of ``D^-1/2 A D^-1/2``. Theirs then stores an n x n matrix. Here its rows are
    computed again, a few at a time, in each of 5 products of a randomised subspace iteration. So memory is linear in
    the vertices, but time is quadratic. The eigenvectors of eigenvalue 1, one per component, are known and not counted
    in the rank. A graph of many components would otherwise use all of it for them.

    Parameters
    ----------
    dim : int
        Length of a vector. A subgraph of fewer vertices has that many columns, then zeros.
    window : int
        Most steps of a walk between a vertex and its context.
    negatives : int
        Number of negative samples of the skip-gram model.
    rank : int
        Eigenpairs that approximate the matrix of a larger graph.
    exact_up_to : int
        Largest number of vertices for which the exact matrix is formed; its memory is always projected.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> NetMF(dim=8).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng(1)).shape
    (20, 8)
    """

    name: ClassVar[str] = "netmf"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = WHITEN_20
    link_refine: ClassVar[str] = "blend"

    window: int = 10
    negatives: int = 1
    rank: int = 256
    exact_up_to: int = 768

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "window", "negatives", "rank")
        check_counts(self, 0, "exact_up_to")

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has the zero vector."""
        graph = subgraph.graph
        with one_blas_thread():
            if graph.n_vertices <= self.exact_up_to:
                exact = self.exact_logarithm(graph)
                values, vectors = top_eigenpairs(exact.__matmul__, graph.n_vertices, self.dim, rng, progress=progress)
            else:
                low_rank = self._low_rank(graph, rng, lambda share: progress(0.5 * share))
                values, vectors = low_rank_eigenpairs(
                    low_rank.product,
                    graph.n_vertices,
                    self.dim,
                    rng,
                    passes=_PASSES,
                    oversampling=_OVERSAMPLING,
                    progress=lambda share: progress(0.5 + 0.5 * share),
                )
            return padded_vectors(vectors, (np.sqrt(np.abs(values)),), self.dim)

    def footprint(self) -> Footprint:
        """Return the bound: the basis of the eigenvectors with its result, some rows of M, or all of a small M."""
        low_rank = eigen_footprint(self.rank, self.rank + self.dim)
        exact = eigen_footprint(self.dim, self.dim)
        rows = 3 * 4 * _ENTRIES + 8 * 4 * (self.dim + _OVERSAMPLING) ** 2
        # What the n x n matrix of the largest exact subgraph needs over the linear bound.
        square = 8 * self.exact_up_to**2 + 8 * 3 * _COLUMNS * self.exact_up_to
        over = square - (low_rank.per_vertex - exact.per_vertex) * self.exact_up_to
        return Footprint(
            int(max(low_rank.fixed, LINEAR_ALGEBRA_BYTES + rows, exact.fixed + over)),
            max(low_rank.per_vertex, exact.per_vertex, self._iteration_bytes),
            low_rank.per_edge + 16,
        )

    @property
    def _iteration_bytes(self) -> float:
        """Bytes per vertex of the subspace iteration: factors, basis, image and its single precision, some rows."""
        width = self.dim + _OVERSAMPLING
        return MATRIX_BYTES_PER_VERTEX + 4 * self.rank + 8 * 2 * width + 4 * width + 3 * 4 * _LEAST_ROWS + 64

    def exact_logarithm(self, graph: Graph) -> Matrix:
        """Return ``log max(M, 1)``, (n, n) float64, by Horner's rule on a few columns at a time."""
        S, root = _normalised(graph)
        factor = _volume(root) / (self.negatives * self.window)
        out: Matrix = np.empty((graph.n_vertices, graph.n_vertices))
        for start in range(0, graph.n_vertices, _COLUMNS):
            stop = min(start + _COLUMNS, graph.n_vertices)
            diagonal = (np.arange(start, stop), np.arange(stop - start))
            walks: Matrix = np.zeros((graph.n_vertices, stop - start))
            for _ in range(self.window):
                walks[diagonal] += 1.0
                walks = S @ walks
            walks *= factor * root[:, None] * root[start:stop]
            out[:, start:stop] = np.log(np.maximum(walks, 1.0, out=walks), out=walks)
        return out

    def _low_rank(self, graph: Graph, rng: np.random.Generator, progress: Progress) -> "_LowRankLogarithm":
        S, root = _normalised(graph)
        n_components, label = components(graph)
        degrees = np.divide(1.0, root**2, out=np.zeros_like(root), where=root > 0)
        volumes: Matrix = np.bincount(label, degrees, minlength=n_components).astype(np.float64)
        trivial = np.sqrt(degrees / np.where(volumes > 0, volumes, 1.0)[label])

        def deflated(columns: Matrix) -> Matrix:
            """Return S without its eigenvectors of eigenvalue 1, which are `trivial` on one component each."""
            out = S @ columns
            for i in range(columns.shape[1]):
                share = np.bincount(label, trivial * columns[:, i], minlength=n_components)
                out[:, i] -= trivial * share[label]
            return np.asarray(out)

        values, vectors = top_eigenpairs(
            deflated, graph.n_vertices, self.rank, rng, rank=largest, tolerance=_TOLERANCE, progress=progress
        )
        powers = np.mean([values**r for r in range(1, self.window + 1)], axis=0)
        return _LowRankLogarithm(root, label, volumes, vectors, powers, _volume(root) / self.negatives)


class _LowRankLogarithm:
    """``log max(M, 1)`` for M of low rank, never stored: rows are computed when they are multiplied.

    M is block-diagonal over the components, so vertices are put in the order of theirs.
    """

    def __init__(
        self, root: Matrix, label: IntArray, volumes: Matrix, vectors: Matrix, powers: Matrix, factor: float
    ) -> None:
        self.order = np.argsort(label, kind="stable")
        self.label = label[self.order]
        within = np.divide(factor, volumes, out=np.zeros_like(volumes), where=volumes > 0)
        self.within = within.astype(np.float32)[self.label]
        self.right: FloatArray = np.empty(vectors.shape, np.float32)
        for start in range(0, len(root), _TOGETHER):
            rows = self.order[start : start + _TOGETHER]
            self.right[start : start + _TOGETHER] = vectors[rows] * root[rows, None]
        self.powers: FloatArray = (factor * powers).astype(np.float32)

    def product(self, columns: Matrix) -> Matrix:
        """Multiply columns, in the graph's own order of vertices."""
        sorted_columns = columns[self.order].astype(np.float32)
        out = np.empty_like(columns)
        for group in self._groups():
            size = group.stop - group.start
            step = max(_LEAST_ROWS, _ENTRIES // size)
            for start in range(group.start, group.stop, step):
                rows = slice(start, min(start + step, group.stop))
                out[self.order[rows]] = self._rows(rows, group) @ sorted_columns[group]
        return out

    def _groups(self) -> Iterator[slice]:
        """Yield ranges of whole components: a large one, or several small ones."""
        bounds = np.flatnonzero(np.diff(self.label, prepend=-1, append=-1)).tolist()
        first = 0
        for start, stop in pairwise(bounds):
            if stop - start >= _TOGETHER:
                if first < start:
                    yield slice(first, start)
                yield slice(start, stop)
                first = stop
            elif stop - first >= _TOGETHER:
                yield slice(first, stop)
                first = stop
        if first < self.label.size:
            yield slice(first, self.label.size)

    def _rows(self, rows: slice, group: slice) -> FloatArray:
        left: FloatArray = self.right[rows] * self.powers
        block: FloatArray = left @ self.right[group].T
        block += self.within[rows, None]
        if self.label[group.start] != self.label[group.stop - 1]:
            block *= self.label[rows, None] == self.label[None, group]
        np.maximum(block, 1.0, out=block)
        np.log(block, out=block)
        return block


def _normalised(graph: Graph) -> tuple[Any, Matrix]:
    """Return ``D^-1/2 A D^-1/2`` and the diagonal of ``D^-1/2``, 0 for isolated vertices."""
    A = adjacency_matrix(graph)
    degrees = np.asarray(A.sum(axis=1)).ravel()
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    A.data *= np.repeat(root, graph.degrees)
    A.data *= root[A.indices]
    return A, root


def _volume(root: Matrix) -> float:
    """Return the sum of all degrees."""
    return float((1.0 / root[root > 0] ** 2).sum())
