"""Whitened propagation: vectors follow their neighbours, and no direction may drown the others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress, silent
from parge.linalg.adjacency import Adjacency
from parge.linalg.tall import inverse_roots
from parge.linalg.threads import WAITING, Threads
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
    length: float = 1.0,
    progress: Progress = silent,
) -> Rounds:
    """Overwrite vectors after rounds of whitened propagation, all with the same length; return what was done.

    ``X <- unit rows of D~^-1 (A + I) X``, then ``X <- (X - mean) C^-1/2`` with the covariance C. Plain
    averaging ends with all vectors alike; whitening keeps the directions in which they differ.

    What is stored are the unit rows Y. A round is one pass: sums of neighbours, less the mean, times the ``C^-1/2`` of
    the round before, scaled to length 1; mean and Gram matrix are those of the blocks, summed in their order. So the
    same bits come out for any number of threads, and in memory or in files.

    Parameters
    ----------
    A : Adjacency
        The graph, and how many threads there are.
    vectors, moved : (n, dim) float32
        What is overwritten, and room of the same shape; memory maps are accepted.
    columns : sequence of slice
        Columns that are in memory at the same time, where vectors are in files.
    rounds : int
        The most rounds.
    tolerance : float
        Rounds end when the subspace changes by less: one minus the mean squared cosine of the principal angles
        between two rounds. Later rounds are not all looked at.
    length : float
        Of the rows in the end.
    """
    in_memory = all(not is_mapped(matrix) and matrix.flags.c_contiguous for matrix in (vectors, moved))
    dim, changes, done = vectors.shape[1], [], 0
    here, turn = vectors, Turn(np.zeros(dim), np.eye(dim), 0, is_narrow=True)
    with Threads(A.threads) as threads:
        for done in range(1, rounds + 1):
            look = done > 1 and _is_looked_at(done)
            if in_memory:
                there = moved if here is vectors else vectors
                sums = _sums_of(A, here, turn.mean)
            else:
                there = vectors
                _gather(A, vectors, moved, columns, turn.mean, threads)
                sums = moved.__getitem__
            found = _propagate(sums, here, there, turn, threads, is_first=done == 1, look=look)
            before, here = turn, there
            turn = _turn(here, found, threads, is_exact=before.is_narrow)
            progress(done / rounds)
            if look:
                changes.append(_change(found, before, turn, len(vectors)))
                if changes[-1] < tolerance:
                    break
        _finish(here, vectors, turn, length, threads)
    return Rounds(done, changes)


def _is_looked_at(done: int) -> bool:
    """Return whether the change of a round is measured, which takes a quarter of its time: later rounds change less."""
    return done <= 8 or done % (2 if done <= 16 else 4) == 0


@dataclass(frozen=True)
class Turn:
    """What whitens rows Y: ``(Y - mean) matrix``; its rank, and whether some variances are very small."""

    mean: Matrix
    matrix: Matrix
    rank: int
    is_narrow: bool


@dataclass(frozen=True)
class Moments:
    """Sums over rows: the rows, their products with each other, and with the rows of the round before."""

    rows: Matrix
    gram: Matrix
    across: Matrix | None


Rows = Callable[[slice], FloatArray]


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

    def rows(where: slice) -> FloatArray:
        out = np.empty((where.stop - where.start, X.shape[1]), np.float32)
        A.sum_around(X, middle, where.start, out)
        return out

    return rows


def _gather(
    A: Adjacency, X: FloatArray, out: FloatArray, columns: Sequence[slice], mean: Matrix, threads: Threads
) -> None:
    """Write all rows of ``(A + I) (X - mean)`` into `out`, some columns at a time: they alone must be in memory."""
    for some in columns:
        rows = _sums_of(A, _columns(X, some), mean[some])

        def block(where: slice, some: slice = some, rows: Rows = rows) -> None:
            out[where, some] = rows(where)
            release_pages(out)

        for _ in threads.map(block, blocks_of(out)):
            pass


def _columns(matrix: FloatArray, some: slice) -> FloatArray:
    """Return a copy of some columns; of a mapped file, no more than a block of rows is in memory beside it."""
    found = np.empty((len(matrix), matrix[:0, some].shape[1]), np.float32)
    for where in blocks_of(matrix):
        found[where] = matrix[where, some]
        release_pages(matrix)
    return found


def _propagate(
    sums: Rows, here: FloatArray, there: FloatArray, turn: Turn, threads: Threads, *, is_first: bool, look: bool
) -> Moments:
    """Write the unit rows of a round into `there`, which may be `here`; return their moments."""
    from parge.kernels.products import unit_rows

    dim, matrix = here.shape[1], turn.matrix.astype(np.float32)

    def block(where: slice) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        before = (np.array(here[where]) if here is there else here[where]) if look else None
        new, total = there[where], np.zeros(dim)
        if is_first:
            new[:] = sums(where)
        else:
            np.matmul(sums(where), matrix, out=new)
        unit_rows(new, 1.0, total)
        wide: NDArray[Any] = new.astype(np.float64) if turn.is_narrow else new
        found = total, wide.T @ wide, None if before is None else wide.T @ before
        release_pages(here, there)
        return found

    rows, gram, across = np.zeros(dim), np.zeros((dim, dim)), np.zeros((dim, dim))
    for total, square, product in threads.map(block, blocks_of(here)):
        rows += total
        gram += square
        if product is not None:
            across += product
    return Moments(rows, gram, across if look else None)


def _turn(rows: FloatArray, found: Moments, threads: Threads, *, is_exact: bool) -> Turn:
    """Return what whitens unit rows: C^-1/2 of their covariance C; directions without variance stay without."""
    n = max(1, len(rows))
    mean = found.rows / n

    def decomposed(gram: Matrix) -> tuple[Matrix, Matrix, bool]:
        values, axes = np.linalg.eigh(gram / n - np.outer(mean, mean))
        return values, axes, bool(values.min() < _NARROW * max(values.max(), float(mean @ mean)))

    values, axes, is_narrow = decomposed(found.gram)
    if is_narrow and not is_exact:
        values, axes, is_narrow = decomposed(_exact_gram(rows, threads))
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


def _change(found: Moments, before: Turn, now: Turn, n: int) -> float:
    """Return one minus the mean squared cosine between the whitened columns of two rounds."""
    if found.across is None:
        return 1.0
    seen = now.matrix @ (found.across / n - np.outer(now.mean, before.mean)) @ before.matrix
    return 1.0 - float((seen**2).sum()) / max(1, now.rank)


def _finish(rows: FloatArray, out: FloatArray, turn: Turn, length: float, threads: Threads) -> None:
    """Write whitened rows of one length into `out`, which may be `rows`."""
    from parge.kernels.products import unit_rows

    middle, matrix = turn.mean.astype(np.float32), turn.matrix.astype(np.float32)

    def block(where: slice) -> None:
        new: FloatArray = np.matmul(rows[where] - middle, matrix)
        unit_rows(new, length, np.zeros(rows.shape[1]))
        out[where] = new
        release_pages(rows, out)

    for _ in threads.map(block, blocks_of(rows)):
        pass
