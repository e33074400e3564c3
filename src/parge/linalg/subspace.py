"""Leading eigenvectors of a graph's matrix, all at once: subspace iteration with Chebyshev filters, in float32.

A step filters the columns of a block by a polynomial of the matrix that is small on the eigenvalues not wanted. Then it
takes the best vectors within their span (Rayleigh and Ritz), in float64, which also makes them orthogonal again. Zhou,
Saad, Tiago and Chelikowsky, "Self-consistent-field calculations using Chebyshev-filtered subspace iteration" (2006);
here the degree of a filter follows from the residuals, and eigenvalues of both ends may be wanted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress, silent
from parge.linalg.adjacency import Adjacency
from parge.linalg.chebyshev import Factors, filter_degree, filter_factors
from parge.linalg.signs import best_first, fix_signs, signs, weighed_sums
from parge.linalg.tall import Block, inverse_roots, with_draws
from parge.linalg.threads import Threads, one_blas_thread
from parge.linalg.whitening import block_bytes, blocks_of, columns_of
from parge.storage import is_mapped, release_pages
from parge.typing import Matrix

NewMatrix = Callable[[tuple[int, int], Any], NDArray[Any]]
"""Returns a new matrix of a shape and a dtype, in memory or in a file."""

# Columns besides the wanted ones: the last wanted ones converge only if there are others after them.
_GUARD = 24

# Up to this number of vertices, or this multiple of the columns, matrices are decomposed densely: exact, and as fast.
_DENSE, _DENSE_TIMES = 512, 1.5

# Products of the first filter: plain ones while nothing is known of the eigenvalues; more, which damp what is negative,
# where the least eigenvalue is known.
_PLAIN, _FIRST_DEGREE = [(1.0, 0.0, 0.0)] * 2, 6

# Directions of float32 columns that are less than this, in squares and as a share of the strongest, are left out:
# products with them have two digits at most. (With 1e-8 HOPE's vectors of cora were 5 % wrong instead of .2 %.)
_LEAST = 1e-10

# The least half of a damped interval, as a share of the largest eigenvalue.
_NARROWEST = 1e-3


def at_zero(half: float) -> float:
    """Return the middle of the eigenvalues not wanted where magnitude counts: 0, however far they reach."""
    del half
    return 0.0


@dataclass(frozen=True)
class Operator:
    """A matrix of a graph, made of products with A, and which of its eigenvalues are wanted.

    ``M = R (S_m A ... S_1 A) R^-1`` is symmetric, with diagonal matrices S and R. Columns are held as ``R^-1 X``, so
    that a product scales rows once.
    """

    A: Adjacency  # the graph, and how many threads there are
    # What eigenvalues mean; those whose proximity is largest in magnitude are wanted.
    proximity: Callable[[Matrix], Matrix]
    # The least eigenvalue that there can be, where the largest by value are wanted; None where both ends are.
    lowest: float | None = None
    # Where both ends are wanted: the middle of the interval of those that are not, given half of its length.
    centre: Callable[[float], float] = at_zero
    scales: Sequence[Matrix | None] = (None,)  # each (n,): S_1, ..., S_m; None means ones
    root: Matrix | None = None  # (n,): R; None means ones

    @property
    def is_even(self) -> bool:
        """Whether magnitude counts, and no sign."""
        return self.lowest is None and self.centre is at_zero

    def rank(self, values: Matrix) -> Matrix:
        """Return how much eigenvalues are wanted."""
        return np.abs(self.proximity(values))

    def rows(self, held: NDArray[Any], where: slice) -> Matrix:
        """Return rows of X in float64, of a matrix that holds ``R^-1 X``."""
        found = np.array(held[where], np.float64)
        release_pages(held)
        return found if self.root is None else np.multiply(found, self.root[where, None], out=found)

    def recur(
        self, now: NDArray[Any], other: NDArray[Any], factors: Sequence[Factors], threads: Threads
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the last of ``(X, Z) <- (by M X + own X + old Z, X)`` for each of the factors, and the one before it.

        Begins with X = `now` and Z = `other`, and overwrites both.
        """
        scales = [np.empty(0, now.dtype) if scale is None else scale.astype(now.dtype) for scale in self.scales]
        between = [np.empty_like(now) for _ in scales[1:]]
        for last in factors:
            gathered = now
            for scale, product in zip(scales, between, strict=False):
                self._step(gathered, gathered, scale, (1.0, 0.0, 0.0), product, threads)
                gathered = product
            self._step(gathered, now, scales[-1], last, other, threads)
            now, other = other, now
        return now, other

    def _step(
        self,
        gathered: NDArray[Any],
        own: NDArray[Any],
        scale: NDArray[Any],
        factors: Factors,
        out: NDArray[Any],
        threads: Threads,
    ) -> None:
        near = self.A.near(gathered)

        def block(where: slice) -> None:
            self.A.step(near, own[where], scale, factors, where.start, out[where])

        threads.each(block, blocks_of(out))


class Step(NamedTuple):
    """Where an iteration is: the step that is next, its columns, and what the last step found of the eigenvalues."""

    next: int
    basis: NDArray[Any]
    before: float
    interval: tuple[float, float]


class Eigenpairs(NamedTuple):
    """Eigenvalues, the most wanted first; rows of their orthonormal eigenvectors; and how many filters there were."""

    values: Matrix
    vectors: Block
    steps: int


def leading_eigenpairs(
    operator: Operator,
    n_pairs: int,
    start: Block | None = None,
    *,
    matrix: NewMatrix = np.empty,
    columns: Sequence[slice] = (),
    tolerance: float = 0.01,
    steps: int = 20,
    seed: int = 0,
    progress: Progress = silent,
    resumed: Step | None = None,
    keep: Callable[[Step], None] = lambda _step: None,
) -> Eigenpairs:
    """Return the eigenpairs that are wanted most, as many as asked for, or as there are; those of 0 may be missing.

    Bits depend on neither threads, columns nor where matrices are kept.

    Parameters
    ----------
    start : Block, optional
        Rows of vectors to begin with, as many columns as there are; draws fill the rest.
    matrix : callable
        Makes the two matrices of float32 that are held.
    columns : sequence of slice
        Columns that are in memory at the same time, where matrices are in files.
    tolerance : float
        Steps end when the sum of the wanted proximities grows by less, as a share of it.
    steps : int
        The most filters.
    seed : int
        Of draws.
    resumed : Step, optional
        Where an earlier call of the same matrix was when it ended; its columns are overwritten.
    keep : callable
        Called with where this one is after each step but the last.
    """
    A = operator.A
    if A.n_vertices <= densely_up_to(n_pairs) and not A.is_shared:
        progress(1.0)
        return _densely(operator, n_pairs)
    shape = (A.shape[0], block_width(n_pairs))
    with one_blas_thread(), Threads(A.threads) as threads:
        space = _Space(operator, threads, columns)
        basis = matrix(shape, np.float32) if resumed is None else resumed.basis
        image = matrix(shape, np.float32)
        if resumed is None:
            space.overwrite(basis, with_draws(start, shape[1], seed, A.numbers))
        if resumed is None and steps:
            lowest = operator.lowest or 0.0
            first = filter_factors(lowest, 0.0, _FIRST_DEGREE) if lowest < 0 else _PLAIN
            basis, image = space.recur(basis, image, first)
        next_step, before, interval = (
            (min(1, steps), 0.0, (0.0, 0.0)) if resumed is None else (resumed[0], *resumed[2:])
        )
        for done in range(next_step, steps + 1):
            image, basis = space.recur(basis, image, [(1.0, 0.0, 0.0)])
            found = space.best(basis, image, n_pairs, interval)
            total = float(operator.rank(found.values[:n_pairs]).sum())
            if done == steps or (done > 1 and total <= (1 + tolerance) * before):
                break
            space.turn(basis, found.turn, seed + done)
            basis, image = space.recur(basis, image, filter_factors(*found.interval, found.degree))
            before, interval = total, found.interval
            keep(Step(done + 1, basis, before, interval))
            progress(done / steps)
        del image
        turn = found.turn[:, :n_pairs]
        rows = partial(operator.rows, basis)
        (sums,) = A.total(weighed_sums(shape[0], rows, dim=shape[1], numbers=A.numbers))
        turn = turn * signs(sums @ turn)
    progress(1.0)
    return Eigenpairs(found.values[:n_pairs], lambda where: operator.rows(basis, where) @ turn, done)


def block_width(n_pairs: int) -> int:
    """Return how many columns are filtered for that number of pairs."""
    return n_pairs + _GUARD


def densely_up_to(n_pairs: int) -> int:
    """Return how many vertices a graph may have to be decomposed densely."""
    return max(_DENSE, int(_DENSE_TIMES * block_width(n_pairs)))


def fixed_bytes(n_pairs: int) -> int:
    """Return the memory that pairs take whatever the graph: blocks of rows, small matrices, dense graphs."""
    width = block_width(n_pairs)
    return max(8 * 20 * width**2 + 2 * block_bytes(width), 8 * 6 * densely_up_to(n_pairs) ** 2)


def _densely(operator: Operator, n_pairs: int) -> Eigenpairs:
    n = operator.A.shape[0]
    with one_blas_thread(), Threads(1) as threads:
        M, _ = operator.recur(np.eye(n), np.empty((n, n)), [(1.0, 0.0, 0.0)], threads)
        if operator.root is not None:
            M *= operator.root[:, None] / operator.root
        values, vectors = np.linalg.eigh((M + M.T) / 2)
    best = best_first(values, operator.rank)[:n_pairs]
    found = fix_signs(vectors[:, best])
    return Eigenpairs(values[best], lambda where: found[where], 0)


@dataclass(frozen=True)
class _Space:
    """Passes over tall matrices that hold columns of an operator."""

    operator: Operator
    threads: Threads
    columns: Sequence[slice]

    def recur(
        self, basis: NDArray[Any], image: NDArray[Any], factors: Sequence[Factors]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return what `Operator.recur` does; of matrices in files, some columns at a time are in memory."""
        if not is_mapped(basis) and not self.operator.A.is_shared:
            return self.operator.recur(basis, image, factors, self.threads)
        for some in self.columns or [slice(0, basis.shape[1])]:
            self._recur_some(basis, image, factors, some)
        return image, basis

    def _recur_some(self, basis: NDArray[Any], image: NDArray[Any], factors: Sequence[Factors], some: slice) -> None:
        now = columns_of(basis, some)
        found, _ = self.operator.recur(now, np.empty_like(now), factors, self.threads)
        for where in blocks_of(image):
            image[where, some] = found[where]
            release_pages(image)

    def overwrite(self, held: NDArray[Any], rows: Block) -> None:
        """Write X, given by its rows, into a matrix that holds ``R^-1 X``."""
        root = self.operator.root

        def block(where: slice) -> None:
            held[where] = rows(where) if root is None else rows(where) / root[where, None]
            release_pages(held)

        self.threads.each(block, blocks_of(held))

    def turn(self, held: NDArray[Any], turn: Matrix, seed: int) -> None:
        """Multiply the columns by a matrix; draws fill what it leaves out."""
        narrow, left = turn.astype(np.float32), held.shape[1] - turn.shape[1]
        drawn = with_draws(None, left, seed, self.operator.A.numbers)
        scale, root = 1.0 / np.sqrt(self.operator.A.n_vertices), self.operator.root

        def block(where: slice) -> None:
            found = held[where] @ narrow
            if left:
                fresh = scale * drawn(where)
                found = np.hstack([found, fresh if root is None else fresh / root[where, None]])
            held[where] = found
            release_pages(held)

        self.threads.each(block, blocks_of(held))

    def moments(self, basis: NDArray[Any], image: NDArray[Any]) -> tuple[Matrix, Matrix, Matrix]:
        """Return ``X^T X``, ``X^T M X`` and ``(M X)^T M X``, summed in the order of the blocks."""

        def block(where: slice) -> tuple[Matrix, Matrix, Matrix]:
            X, Y = self.operator.rows(basis, where), self.operator.rows(image, where)
            return X.T @ X, X.T @ Y, Y.T @ Y

        width = basis.shape[1]
        G, H, K = np.zeros((3, width, width))
        for parts in self.threads.map(block, blocks_of(basis)):
            for total, part in zip((G, H, K), parts, strict=True):
                np.add(total, part, out=total)
        G, H, K = self.operator.A.total(G, H, K)
        return G, H, K

    def best(self, basis: NDArray[Any], image: NDArray[Any], n_pairs: int, before: tuple[float, float]) -> "_Ritz":
        """Return the best vectors within the span of the columns, and the next filter."""
        moments = self.moments(basis, image)

        def decide() -> tuple[NDArray[Any], ...]:
            found = _ritz(self.operator, moments, n_pairs, before)
            return found.values, found.turn, np.array(found.interval), np.array([found.degree])

        values, turn, interval, degree = self.operator.A.decided(decide)
        return _Ritz(values, turn, (float(interval[0]), float(interval[1])), int(degree[0]))


@dataclass(frozen=True)
class _Ritz:
    """Values of a space, the most wanted first, what turns its columns into their vectors, and the next filter."""

    values: Matrix
    turn: Matrix
    interval: tuple[float, float]
    degree: int


def _ritz(
    operator: Operator, moments: tuple[Matrix, Matrix, Matrix], n_pairs: int, before: tuple[float, float]
) -> _Ritz:
    """Return the Ritz vectors of columns that need not be orthonormal; directions without a digit are left out."""
    G, H, K = moments
    scale = inverse_roots(np.diagonal(G), 0.0)
    squares, axes = np.linalg.eigh(G * scale[:, None] * scale)
    kept = squares > _LEAST * squares.max(initial=0.0)
    basis = scale[:, None] * axes[:, kept] / np.sqrt(squares[kept])
    H, K = (basis.T @ some @ basis for some in (H, K))
    H = (H + H.T) / 2
    if operator.is_even:
        values, turn = _by_squares(H, K, n_pairs)
    else:
        values, turn = np.linalg.eigh(H)
        best = best_first(values, operator.rank)
        values, turn = values[best], turn[:, best]
    reach = _NARROWEST * float(np.abs(values).max(initial=0.0)) or 1.0
    is_all = values.size <= n_pairs  # then the least of these is wanted, too
    if operator.lowest is not None:
        interval = operator.lowest, max(0.0 if is_all else float(values.min()), operator.lowest + reach, 0.0)
    elif is_all:
        interval = operator.centre(reach) - reach, operator.centre(reach) + reach
    else:
        interval = _nearest(H, K, operator, sum(before) / 2, reach)
    lengths, along = (np.einsum("ij,ij->j", turn, some @ turn) for some in (K, H))
    residuals = np.sqrt(np.maximum(lengths - along**2, 0.0))
    return _Ritz(values, basis @ turn, interval, filter_degree(values, residuals, interval))


def _by_squares(H: Matrix, K: Matrix, n_pairs: int) -> tuple[Matrix, Matrix]:
    """Return the vectors of a space that M makes longest, and by how much, with the signs of its values.

    Two ends that lie equally far are one space to the square of M; among the wanted vectors M separates them.
    """
    turn = np.linalg.eigh(K)[1][:, ::-1].copy()
    values, apart = np.linalg.eigh(turn[:, :n_pairs].T @ H @ turn[:, :n_pairs])
    turn[:, :n_pairs] = turn[:, :n_pairs] @ apart[:, best_first(values, np.abs)]
    lengths, along = (np.einsum("ij,ij->j", turn, some @ turn) for some in (K, H))
    return np.copysign(np.sqrt(np.maximum(lengths, 0.0)), along), turn


def _nearest(H: Matrix, K: Matrix, operator: Operator, centre: float, least: float) -> tuple[float, float]:
    """Return the interval about the middle that all of a space lies outside of: eigenvalues not wanted are in it.

    By ``(M - c)^2``: values of M itself mix both ends near the middle, and rise and fall from step to step there.
    """
    for _ in range(4):
        squares = np.linalg.eigvalsh(K - 2 * centre * H + centre**2 * np.eye(len(H)))
        half = max(least, float(np.sqrt(max(squares[0], 0.0))))
        middle = operator.centre(half)
        if abs(middle - centre) <= 1e-3 * half:
            break
        centre = (centre + middle) / 2
    return middle - half, middle + half
