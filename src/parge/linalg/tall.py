"""Algebra of tall matrices, memory-mapped ones among them: a block of rows at a time, always the same blocks."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from parge.graph.features import uniform_rows
from parge.linalg.threads import one_blas_thread
from parge.storage import release_pages, row_blocks, rows_at_once, usable_cores
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

Block = Callable[[slice], Matrix]
"""Returns some rows of a matrix in float64."""
_F = TypeVar("_F", np.float32, np.float64)

# Blocks that are decomposed at the same time; fixed, so that results do not depend on the machine.
_AT_ONCE = 8


def gram(n_rows: int, block: Block, *, dim: int) -> Matrix:
    """Return ``X^T X`` of a matrix that is given by its blocks."""
    total: Matrix = np.zeros((dim, dim))
    for rows in row_blocks(n_rows, rows_at_once(dim)):
        X = block(rows)
        total += X.T @ X
    return total


def rows_of(matrix: NDArray[Any]) -> Block:
    """Return the blocks of an array, whose pages are let go of again."""

    def block(rows: slice) -> Matrix:
        found = np.array(matrix[rows], np.float64)
        release_pages(matrix)
        return found

    return block


def overwrite(matrix: NDArray[Any], block: Block) -> None:
    """Replace the rows of a matrix by others, a block at a time; `block` may read the rows it replaces."""
    most = np.finfo(matrix.dtype).max
    for rows in row_blocks(len(matrix), rows_at_once(matrix.shape[1])):
        matrix[rows] = np.clip(block(rows), -most, most)
        release_pages(matrix)


def inverse_roots(values: Matrix, least: float) -> Matrix:
    """Return ``1 / sqrt`` of each value, and 0 for those that are at most `least` times the largest.

    >>> inverse_roots(np.array([4.0, 1.0, 1e-20]), 1e-14).tolist()
    [0.5, 1.0, 0.0]
    """
    kept = values > least * values.max(initial=0.0)
    return np.divide(1.0, np.sqrt(np.where(kept, values, 1.0)), where=kept, out=np.zeros_like(values))


def unit(rows: NDArray[_F], out: NDArray[_F] | None = None, *, some: BoolArray | None = None) -> NDArray[_F]:
    """Return rows scaled to length 1, in place where `out` is `rows`; a row of zeros stays, and one not in `some`."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    scaled = lengths > 0 if some is None else some & (lengths > 0)
    return np.divide(rows, np.where(scaled, lengths, 1.0)[:, None], out=out)


def mean_length(vectors: NDArray[Any]) -> float:
    """Return the mean length of the rows that are not 0; 1 where there is none."""
    total, count = lengths_of(vectors)
    return float(total[0] / count[0]) if count[0] else 1.0


def lengths_of(vectors: NDArray[Any]) -> tuple[Matrix, Matrix]:
    """Return the sum of the lengths of all rows, and how many are not 0."""
    block, total, count = rows_of(vectors), 0.0, 0
    for rows in row_blocks(len(vectors), rows_at_once(vectors.shape[1])):
        lengths = np.linalg.norm(block(rows), axis=1)
        total, count = total + float(lengths.sum()), count + int((lengths > 0).sum())
    return np.array([total]), np.array([float(count)])


def triangle(blocks: Iterable[NDArray[Any]], n_columns: int) -> NDArray[np.float64]:
    """Return R of the QR decomposition of all blocks stacked, holding a few blocks at a time, in float64.

    ``R^T R`` equals the product of the stacked matrix with itself, but R keeps the digits that forming the product
    would lose. Blocks are decomposed, their triangles stacked, and those decomposed again (TSQR). R has at most
    `n_columns` rows; fewer where there are fewer rows in all. The answer does not depend on the number of cores: the
    same blocks meet in the same order.
    """
    remaining, R = iter(blocks), np.zeros((0, n_columns))
    several = list(islice(remaining, _AT_ONCE))
    if len(several) <= 1:
        return _triangle(*several) if several else R
    with one_blas_thread(), ThreadPoolExecutor(usable_cores()) as pool:
        while several:
            R = _triangle(R, *pool.map(_triangle, several))
            several = list(islice(remaining, _AT_ONCE))
    return R


def _triangle(*stacked: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.qr(np.concatenate(stacked, dtype=np.float64), mode="r"))


def unit_rows(vectors: NDArray[Any]) -> Matrix:
    """Return the rows at length 1, in float64; rows of zeros stay."""
    rows = np.asarray(vectors, np.float64)
    # The largest entry first: squares of the very small or very large would vanish or overflow.
    rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0), np.finfo(np.float64).tiny)
    return unit(rows)


def with_draws(start: Block | None, width: int, seed: int, numbers: Callable[[slice], IntArray]) -> Block:
    """Return rows of a start with further columns, drawn for each vertex by its number; or without its last ones."""

    def rows(where: slice) -> Matrix:
        known = np.empty((where.stop - where.start, 0)) if start is None else start(where)[:, :width]
        drawn = uniform_rows(numbers(where), width - known.shape[1], seed)
        return np.hstack([known, drawn])

    return rows


def cosines(vectors: FloatArray, pairs: IntArray, at_once: int) -> Matrix:
    """Return the cosine of the two vectors of each pair (row), this many pairs at a time."""
    out = np.empty(len(pairs))
    for some in row_blocks(len(pairs), at_once):
        left, right = (unit(np.asarray(vectors[end], np.float64)) for end in pairs[some].T)
        out[some] = np.einsum("ij,ij->i", left, right)
    release_pages(vectors)
    return out
