"""Leading eigenvectors and singular vectors, matrix-free, with a bounded memory and the same bits everywhere."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.linalg.signs import best_first, fix_signs
from parge.linalg.tall import unit
from parge.memory import GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Footprint
from parge.typing import FloatArray, Matrix

Product = Callable[[Matrix], Matrix]
"""Multiplies (n, b) columns by a symmetric (n, n) matrix that need not exist."""

# Rows of a tall matrix that are copied at once where it is overwritten in place.
ROWS = 256

# Python, numpy and scipy.sparse as a worker loads them, no compiled kernel among it: 50-60 MB of memory, 70 MB of
# address space that counts against a limit and 34 MB that OpenBLAS takes with its first product. (Modules of scipy
# that load its own BLAS would add 40 MB to that.)
LINEAR_ALGEBRA_BYTES = 110_000_000

# The float64 adjacency matrix besides the graph, both directions of an edge: 8 for weights (or for the ones in
# their place, while values are made of them), 16 for the values.
MATRIX_BYTES_PER_EDGE = GRAPH_BYTES_PER_EDGE + 26
MATRIX_BYTES_PER_VERTEX = GRAPH_BYTES_PER_VERTEX + 4


# What is left of a product after removing what the basis knows, over the size of the product: below the first, it
# is orthogonal to the basis only after another removal; below the second, it is rounding error altogether.
_WEAK, _SPENT, _TINY = 1e-6, 1e-13, 1e-300


def magnitude(values: Matrix) -> Matrix:
    """Rank eigenvalues by absolute value."""
    return np.abs(values)


def largest(values: Matrix) -> Matrix:
    """Rank eigenvalues by value."""
    return values


def top_eigenpairs(
    product: Product,
    n_vertices: int,
    k: int,
    rng: np.random.Generator,
    *,
    rank: Callable[[Matrix], Matrix] = magnitude,
    tolerance: float = 1e-8,
    cycles: int = 80,
    progress: Progress = silent,
) -> tuple[Matrix, Matrix]:
    """Return the min(k, n_vertices) eigenpairs of a symmetric matrix that `rank` highest, best first.

    Block Lanczos with thick restarts (Wu and Simon, 2000). A basis of 1.5 k vectors grows by a few columns at a time,
    and restarts from its k best Ritz vectors. When all residuals are under ``tolerance * |largest|``, one more cycle
    starts from fresh random columns. The result is accepted only if that cycle finds nothing better. A Krylov space
    alone holds few copies of a repeated eigenvalue, and graphs of many components repeat theirs. (ARPACK left out 14 of
    256 eigenvalues of cora's normalised adjacency and did not say so.) After `cycles` cycles the best found so far is
    returned: a long path converges for hours otherwise.

    `rank` gives each eigenvalue its rank; it must favour one end of the spectrum or both, not the middle. Vectors are
    orthonormal; for their signs, see `parge.linalg.signs`.
    """
    if n_vertices <= sum(basis_sizes(k)):
        values, vectors = np.linalg.eigh(product(np.eye(n_vertices)))
        best = best_first(values, rank)[:k]
        return values[best], fix_signs(vectors[:, best])
    space = _KrylovSpace(product, n_vertices, k, rng)
    converged = -np.inf
    for cycle in range(cycles):
        values, residual = space.cycle(rank)
        total, scale = float(rank(values).sum()), float(np.abs(values).max())
        if residual > tolerance * scale:
            space.resume()
        elif total > converged + k * tolerance * scale:
            converged = total
            space.explore()
        else:
            break
        progress((cycle + 1) / cycles)
    return values[:k], fix_signs(space.basis[:, :k])


def basis_sizes(k: int) -> tuple[int, int]:
    """Return how many vectors `top_eigenpairs` holds for k eigenpairs, and the columns of a product, held in addition.

    One column at a time misses repeated eigenvalues, many take more products, few make slow ones. For k = 128 four took
    three quarters of the time of eight; for k = 256 eight took two thirds of that of four (blogcatalog). A basis of 2k
    took as long as 1.5 k.
    """
    block = 4 if k <= 128 else 8
    kept, added = (block * -(-size // block) for size in (k, max(k // 2, 32)))  # a basis grows by whole blocks
    return kept + added, block


class _KrylovSpace:
    """An orthonormal basis V that grows, restarts and remembers ``V^T A V``."""

    def __init__(self, product: Product, n_vertices: int, k: int, rng: np.random.Generator) -> None:
        self.product, self.rng = product, rng
        self.width, self.block = basis_sizes(k)
        self.k = self.block * -(-k // self.block)
        self.basis: Matrix = np.empty((n_vertices, self.width + self.block), order="F")
        self.projected: Matrix = np.zeros((self.width, self.width))
        self.first = 0
        self.coupling: Matrix = np.zeros((self.block, self.k))
        self._append_random(0)

    def cycle(self, rank: Callable[[Matrix], Matrix]) -> tuple[Matrix, float]:
        """Fill the basis, keep its k best Ritz vectors; return their values and the largest residual."""
        for start in range(self.first, self.width, self.block):
            leftover = self._extend(start, start + self.block)
        values, rotation = np.linalg.eigh(self.projected)
        best = best_first(values, rank)[: self.k]
        values, rotation = values[best], rotation[:, best]
        self.coupling = leftover @ rotation[-self.block :]
        rotate_rows(self.basis, self.width, rotation)
        self.projected[:] = 0
        np.fill_diagonal(self.projected[: self.k, : self.k], values)
        self.first = self.k
        return values, float(np.linalg.norm(self.coupling, axis=0).max())

    def resume(self) -> None:
        """Go on from the residual of the last cycle."""
        end = self.k + self.block
        self.basis[:, self.k : end] = self.basis[:, self.width :]
        self.projected[self.k : end, : self.k] = self.coupling
        self.projected[: self.k, self.k : end] = self.coupling.T

    def explore(self) -> None:
        """Go on from random columns, as the residual has nothing left."""
        self._append_random(self.k)

    def _extend(self, start: int, end: int) -> Matrix:
        """Multiply the newest block, append what is new in it, return its coefficients in that."""
        image = self.product(self.basis[:, start:end])
        seen = self._remove_known(image, end)
        self.projected[:end, start:end] = seen
        self.projected[start:end, :end] = seen.T
        fresh, coefficients = np.linalg.qr(image)
        remaining = np.abs(np.diagonal(coefficients)) / max(np.abs(self.projected[:end, :end]).max(), _TINY)
        if remaining.min() < _WEAK:  # near an invariant subspace: what QR returned is rounding error in part
            spent = remaining < _SPENT
            fresh[:, spent] = self.rng.standard_normal((image.shape[0], int(spent.sum())))
            fresh = self._orthonormal_to(end, fresh)
            coefficients = fresh.T @ image
        self.basis[:, end : end + self.block] = fresh
        return coefficients

    def _append_random(self, end: int) -> None:
        columns = self.rng.standard_normal((self.basis.shape[0], self.block))
        self.basis[:, end : end + self.block] = self._orthonormal_to(end, columns)

    def _orthonormal_to(self, end: int, columns: Matrix) -> Matrix:
        self._remove_known(columns, end)
        fresh: Matrix = np.linalg.qr(columns)[0]
        # Once more: what was nearly known is mostly rounding error after the first removal.
        self._remove_known(fresh, end)
        return np.asarray(np.linalg.qr(fresh)[0])

    def _remove_known(self, columns: Matrix, end: int) -> Matrix:
        """Make columns orthogonal to the basis up to `end`, twice (once leaves rounding errors); return V^T columns."""
        known = self.basis[:, :end]
        seen = known.T @ columns
        columns -= known @ seen
        again = known.T @ columns
        columns -= known @ again
        return np.asarray(seen + again)


def rotate_rows(tall: Matrix, width: int, rotation: Matrix) -> None:
    """Overwrite the first columns of `tall` with ``tall[:, :width] @ rotation``, a few rows at a time."""
    for start in range(0, tall.shape[0], ROWS):
        rows = tall[start : start + ROWS]
        rows[:, : rotation.shape[1]] = rows[:, :width] @ rotation


def orthonormalise(columns: Matrix) -> Matrix:
    """Replace columns in place by an orthonormal basis of their span; columns beyond their rank become 0.

    By the eigenvectors of the Gram matrix, which needs no second tall matrix; twice, because one round loses
    half of the digits. Directions under 1e-7 of the strongest are not resolved by a Gram matrix, and dropped.
    """
    for _ in range(2):
        strengths, rotation = principal_axes(columns)
        factors = np.divide(1.0, strengths, out=np.zeros_like(strengths), where=strengths > 0)
        rotate_rows(columns, columns.shape[1], rotation * factors)
    return columns


def principal_axes(columns: Matrix) -> tuple[Matrix, Matrix]:
    """Return the singular values of a tall matrix, descending, and its right singular vectors, by its Gram matrix.

    Values under 1e-7 of the first are rounding errors there, and returned as 0.
    """
    squares, rotation = np.linalg.eigh(columns.T @ columns)
    squares = squares[::-1]
    kept = squares > 1e-14 * squares.max(initial=0.0)
    return np.sqrt(np.where(kept, squares, 0.0)), rotation[:, ::-1]


def randomised_svd(
    matrix: Any,
    k: int,
    rng: np.random.Generator,
    *,
    iterations: int = 5,
    oversampling: int = 10,
    progress: Progress = silent,
) -> tuple[Matrix, Matrix]:
    """Return the left singular vectors and the singular values of the best rank-k approximation, nearly.

    Subspace iteration from a random start (Halko, Martinsson and Tropp, 2011, algorithms 4.4 and 5.1), with an
    orthonormal basis after each product.
    """
    n_rows = matrix.shape[0]
    k, width = min(k, n_rows), min(k + oversampling, n_rows)
    transposed = matrix.T
    columns = matrix @ rng.standard_normal((n_rows, width))
    for i in range(iterations):
        columns = transposed @ orthonormalise(columns)
        columns = matrix @ orthonormalise(columns)
        progress((i + 1) / (iterations + 1))
    basis = orthonormalise(columns)
    values, rotation = principal_axes(transposed @ basis)
    rotate_rows(basis, width, rotation[:, :k])
    return fix_signs(basis[:, :k]), values[:k]


def low_rank_eigenpairs(
    product: Product,
    n_vertices: int,
    k: int,
    rng: np.random.Generator,
    *,
    passes: int,
    oversampling: int,
    progress: Progress = silent,
) -> tuple[Matrix, Matrix]:
    """Return the k eigenpairs of largest magnitude, nearly, of a symmetric matrix whose product is dear.

    Subspace iteration: one product with all columns a pass, then Rayleigh and Ritz.
    """
    k, width = min(k, n_vertices), min(k + oversampling, n_vertices)
    basis = orthonormalise(rng.standard_normal((n_vertices, width)))
    for i in range(passes):
        image = product(basis)
        progress((i + 1) / passes)
        if i < passes - 1:
            basis = orthonormalise(image)
    values, rotation = np.linalg.eigh(basis.T @ image)
    best = best_first(values, magnitude)[:k]
    rotate_rows(basis, width, rotation[:, best])
    return values[best], fix_signs(basis[:, :k])


def principal_vectors(columns: Matrix, dim: int) -> FloatArray:
    """Return ``U S^1/2`` of the decomposition ``U S V^T``, rows scaled to length 1 (or 0), columns filled to `dim`."""
    strengths, rotation = principal_axes(columns)
    factors = np.divide(1.0, np.sqrt(strengths), out=np.zeros_like(strengths), where=strengths > 0)
    rotate_rows(columns, columns.shape[1], rotation * factors)
    fix_signs(columns)
    return padded_vectors(unit(columns, out=columns), (np.ones(columns.shape[1]),), dim)


def adjacency_matrix(graph: Graph) -> Any:
    """Return the symmetric adjacency matrix in float64, so that no product converts it again."""
    single = graph.to_scipy()
    return with_values(single, single.data.astype(np.float64))


def components(graph: Graph) -> tuple[int, NDArray[np.int64]]:
    """Return the number of connected components, and that of each vertex, in order of their first vertices.

    Every vertex takes the least label around it, and labels that of their label, until nothing changes: a few
    rounds. By hand, because `scipy.sparse.csgraph` loads a second BLAS, whose 40 MB count against a worker's limit.
    """
    label = np.arange(graph.n_vertices)
    connected = np.flatnonzero(graph.degrees)
    starts = graph.indptr[connected]
    while connected.size:
        least = np.minimum.reduceat(label[graph.indices], starts)
        if (least >= label[connected]).all():
            break
        # The least label reaches the vertex, and the vertex that its own label names: trees of labels merge whole.
        np.minimum.at(label, label[connected], least)
        label[connected] = np.minimum(label[connected], least)
        while (label[label] != label).any():
            label = label[label]
    firsts, number = np.unique(label, return_inverse=True)
    return firsts.size, number


def with_values(matrix: Any, values: Matrix) -> Any:
    """Return a sparse matrix with the same pattern, shared, and other values."""
    return sp.csr_matrix((values, matrix.indices, matrix.indptr), shape=matrix.shape, copy=False)


def eigen_footprint(n_pairs: int, dim: int) -> Footprint:
    """Return the bound for a technique that computes eigenpairs of a graph's matrix, and vectors from them."""
    width, block = basis_sizes(n_pairs)
    small = 8 * (3 * (width + block) ** 2 + 2 * ROWS * width)
    columns = 8 * block * 8  # products, projections and their copies, a block each
    return Footprint(
        LINEAR_ALGEBRA_BYTES + small,
        MATRIX_BYTES_PER_VERTEX + 8 * (width + block) + columns + 4 * dim,
        MATRIX_BYTES_PER_EDGE,
    )


def padded_vectors(vectors: Matrix, scales: Sequence[Matrix], dim: int) -> FloatArray:
    """Return the columns of `vectors` once by each row of scales, side by side, then zeros up to `dim`.

    float32, a few rows at a time; what overflows there would be infinite and becomes the largest float32.
    """
    out: FloatArray = np.zeros((vectors.shape[0], dim), np.float32)
    most = float(np.finfo(np.float32).max)
    for start in range(0, vectors.shape[0], ROWS):
        rows = slice(start, start + ROWS)
        first = 0
        for scale in scales:
            width = min(scale.size, dim - first)
            out[rows, first : first + width] = np.clip(vectors[rows, :width] * scale[:width], -most, most)
            first += dim // len(scales)
    return out
