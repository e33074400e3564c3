"""Whitened propagation: vectors follow their neighbours, and no direction may drown the others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress, silent
from parge.linalg.adjacency import Adjacency
from parge.linalg.tall import inverse_roots
from parge.linalg.threads import WAITING, Threads, one_blas_thread
from parge.storage import is_mapped, release_pages, row_blocks, rows_at_once
from parge.typing import FloatArray, Matrix

# Numbers of a block of rows: 512 KB of float32, which stay near the core from the sums of neighbours to the Gram
# matrix. (Half of it took 1.15 times as long, for there are more small products; twice as much leaves threads idle.)
_BLOCK = 1 << 17

# Variances below this share of the largest, and below this square of the rows' length, are rounding.
_LEAST, _ROUNDING = 1e-10, 1e-12

# A Gram matrix of float32 has errors of some 1e-7 of the largest variance: where variances fall below this share of it,
# the matrix is computed again in float64.
_NARROW = 1e-4


@dataclass(frozen=True)
class Rounds:
    """How many rounds there were, and how much the rounds that were looked at changed the columns' subspace."""

    done: int
    changes: list[float]


def whitened_rounds(
    A: Adjacency,
    vectors: FloatArray,
    moved: FloatArray,
    columns: Sequence[slice],
    *,
    rounds: int,
    tolerance: float,
    every: int = 1,
    length: float = 1.0,
    progress: Progress = silent,
) -> Rounds:
    """Overwrite vectors after rounds of whitened propagation, all with the same length; return what was done.

    ``X <- unit rows of D~^-1 (A + I) X``, then ``X <- (X - mean) C^-1/2`` with the covariance C. Plain
    averaging ends with all vectors alike; whitening keeps the directions in which they differ.

    What is stored are the unit rows Y. A round is one pass: sums of neighbours, less the mean, times the ``C^-1/2`` of
    the round before, scaled to length 1. Mean and Gram matrix are those of the blocks, summed in their order. So the
    same bits come out for any number of threads, and in memory or in files. Between whitenings the sums alone are
    scaled: a round then takes half of its time or less.

    Parameters
    ----------
    A : Adjacency
        The graph, and how many threads there are.
    vectors, moved : (n, dim) float32
        What is overwritten, and scratch space of the same shape; memory maps are accepted.
    columns : sequence of slice
        Columns that are in memory at the same time, where vectors are in files.
    rounds : int
        The most rounds.
    tolerance : float
        Rounds end when the subspace changes by less: one minus the mean squared cosine of the principal angles
        between two whitenings. Later rounds are not all looked at.
    every : int
        Rounds from one whitening to the next; the last round is always followed by one.
    length : float
        Of the rows in the end.
    """
    in_memory = all(not is_mapped(matrix) and matrix.flags.c_contiguous for matrix in (vectors, moved))
    dim, changes, done = vectors.shape[1], [], 0
    here, turn = vectors, Turn.none(dim)
    with one_blas_thread(), Threads(A.threads) as threads:
        for done in range(1, rounds + 1):
            look = is_looked_at(done, every)
            whiten = done % every == 0 or done == rounds or is_looked_at(done + 1, every)
            if in_memory:
                there = moved if here is vectors else vectors
                sums = _sums_of(A, here, turn.mean)
            else:
                there = vectors
                _gather(A, vectors, moved, columns, turn.mean, threads)
                sums = read_from(moved)
            found = propagate(sums, here, there, turn, threads, whiten=whiten, look=look)
            before, here = turn, there
            turn = (
                _turn(here, found, threads, is_exact=before.is_narrow) if whiten else Turn.none(dim, before.is_narrow)
            )
            progress(done / rounds)
            if look:
                changes.append(change(found, before, turn, len(vectors)))
                if changes[-1] < tolerance:
                    break
        finish(here, vectors, turn, length, threads)
    return Rounds(done, changes)


def is_looked_at(done: int, every: int) -> bool:
    """Return whether the change of a round is measured, which takes as long as to whiten: later rounds change less."""
    if every > 1:  # the round before is whitened, too
        return done % (4 * every) == 0
    return 2 <= done <= 8 or (done > 8 and done % (2 if done <= 16 else 4) == 0)


@dataclass(frozen=True)
class Turn:
    """What whitens rows Y: ``(Y - mean) matrix``; its rank, and whether some variances are very small."""

    mean: Matrix
    matrix: Matrix | None
    rank: int
    is_narrow: bool

    @classmethod
    def none(cls, dim: int, is_narrow: bool = True) -> "Turn":
        """Return what leaves rows as they are."""
        return cls(np.zeros(dim), None, 0, is_narrow)

    def apply(self, rows: "Rows", where: slice, out: FloatArray) -> None:
        """Write some rows, which have the mean taken from them already, times the matrix."""
        if self.matrix is None:
            rows(where, out)
        else:
            found = np.empty(out.shape, np.float32)
            rows(where, found)
            np.matmul(found, self.matrix.astype(np.float32), out=out)


@dataclass(frozen=True)
class Moments:
    """Sums over rows: the rows, their products with each other, and with the rows of the round before."""

    rows: Matrix
    gram: Matrix
    across: Matrix


Rows = Callable[[slice, FloatArray], None]
"""Writes some rows of a matrix."""


def blocks_of(matrix: NDArray[Any]) -> Iterator[slice]:
    """Yield the blocks in which a matrix is passed over: they depend on its shape alone."""
    return row_blocks(len(matrix), _block_rows(matrix.shape[1]))


def _block_rows(dim: int) -> int:
    return min(rows_at_once(dim), max(64, _BLOCK // max(1, dim)))


def block_bytes(dim: int) -> int:
    """Return the memory that one thread takes: a block in float32 and in float64, and results that wait."""
    return 4 * 4 * _block_rows(dim) * dim + 8 * 2 * WAITING * dim**2


def _sums_of(A: Adjacency, X: FloatArray, mean: Matrix) -> Rows:
    """Return rows of ``(A + I) (X - mean)``, computed when they are asked for."""
    middle = mean.astype(np.float32)

    def rows(where: slice, out: FloatArray) -> None:
        A.sum_around(X, middle, where.start, out)

    return rows


def read_from(matrix: FloatArray) -> Rows:
    """Return the rows of a matrix."""

    def rows(where: slice, out: FloatArray) -> None:
        out[:] = matrix[where]
        release_pages(matrix)

    return rows


def _gather(
    A: Adjacency, X: FloatArray, out: FloatArray, columns: Sequence[slice], mean: Matrix, threads: Threads
) -> None:
    """Write all rows of ``(A + I) (X - mean)`` into `out`, some columns at a time: they alone must be in memory."""
    for some in columns:
        few = columns_of(X, some)
        rows = _sums_of(A, few, mean[some])

        def block(where: slice, some: slice = some, rows: Rows = rows, width: int = few.shape[1]) -> None:
            found = np.empty((where.stop - where.start, width), np.float32)
            rows(where, found)
            out[where, some] = found
            release_pages(out)

        threads.each(block, blocks_of(out))


def columns_of(matrix: FloatArray, some: slice) -> FloatArray:
    """Return a copy of some columns; of a mapped file, no more than a block of rows is in memory at a time."""
    found = np.empty((len(matrix), matrix[:0, some].shape[1]), np.float32)
    for where in blocks_of(matrix):
        found[where] = matrix[where, some]
        release_pages(matrix)
    return found


def propagate(
    sums: Rows, here: FloatArray, there: FloatArray, turn: Turn, threads: Threads, *, whiten: bool, look: bool
) -> Moments:
    """Write the unit rows of a round into `there`, which may be `here`; return the moments that were asked for."""
    from parge.kernels.products import unit_rows

    dim = here.shape[1]

    def block(where: slice) -> tuple[NDArray[Any], ...]:
        before = (np.array(here[where]) if here is there else here[where]) if look else None
        new, total = there[where], np.zeros(dim)
        turn.apply(sums, where, new)
        unit_rows(new, 1.0, total)
        wide: NDArray[Any] = new.astype(np.float64) if turn.is_narrow else new
        found = [total]
        if whiten:
            found.append(wide.T @ wide)
        if before is not None:
            found.append(wide.T @ before)
        release_pages(here, there)
        return tuple(found)

    moments = Moments(*(np.zeros(shape) for shape in [(dim,), (dim, dim), (dim, dim)]))
    for found in threads.map(block, blocks_of(here)):
        for total, some in zip((moments.rows, moments.gram, moments.across), found, strict=False):
            np.add(total, some, out=total)
    return moments


def _turn(rows: FloatArray, found: Moments, threads: Threads, *, is_exact: bool) -> Turn:
    return turn_of(found, len(rows), None if is_exact else lambda: _exact_gram(rows, threads))


def turn_of(found: Moments, n_rows: int, exact_gram: Callable[[], Matrix] | None = None) -> Turn:
    """Return what whitens unit rows: C^-1/2 of their covariance C; directions without variance stay without.

    `exact_gram` computes the products of the rows in float64, where `found` has them in float32.
    """
    n = max(1, n_rows)
    mean = found.rows / n

    def decomposed(gram: Matrix) -> tuple[Matrix, Matrix, bool]:
        values, axes = np.linalg.eigh(gram / n - np.outer(mean, mean))
        return values, axes, bool(values.min() < _NARROW * max(values.max(), float(mean @ mean)))

    values, axes, is_narrow = decomposed(found.gram)
    if is_narrow and exact_gram is not None:
        values, axes, is_narrow = decomposed(exact_gram())
    scale = inverse_roots(np.where(values > _ROUNDING, values, 0.0), _LEAST)
    return Turn(mean, np.asarray((axes * scale) @ axes.T), int(np.count_nonzero(scale)), is_narrow)


def _exact_gram(matrix: FloatArray, threads: Threads) -> Matrix:
    def block(where: slice) -> Matrix:
        rows = matrix[where].astype(np.float64)
        release_pages(matrix)
        return np.asarray(rows.T @ rows)

    total = np.zeros((matrix.shape[1], matrix.shape[1]))
    for square in threads.map(block, blocks_of(matrix)):
        total += square
    return total


def change(found: Moments, before: Turn, now: Turn, n: int) -> float:
    """Return one minus the mean squared cosine between the whitened columns of two rounds."""
    if now.matrix is None or before.matrix is None:
        return 1.0
    seen = now.matrix @ (found.across / n - np.outer(now.mean, before.mean)) @ before.matrix
    return 1.0 - float((seen**2).sum()) / max(1, now.rank)


def finish(rows: FloatArray, out: FloatArray, turn: Turn, length: float, threads: Threads) -> None:
    """Write whitened rows of one length into `out`, which may be `rows`."""
    from parge.kernels.products import unit_rows

    middle = turn.mean.astype(np.float32)

    def centred(where: slice, found: FloatArray) -> None:
        np.subtract(rows[where], middle, out=found)

    def block(where: slice) -> None:
        new = np.empty((where.stop - where.start, rows.shape[1]), np.float32)
        turn.apply(centred, where, new)
        unit_rows(new, length, np.zeros(rows.shape[1]))
        out[where] = new
        release_pages(rows, out)

    threads.each(block, blocks_of(rows))
