"""Whitened propagation: vectors follow their neighbours, and no direction may drown the others."""

from collections.abc import Sequence

import numpy as np

from parge.events import Progress, silent
from parge.linalg.adjacency import Adjacency
from parge.linalg.tall import gram, inverse_roots, overwrite, rows_of, unit
from parge.storage import release_pages, row_blocks, rows_at_once
from parge.typing import FloatArray, Matrix


def whitened_rounds(
    A: Adjacency,
    vectors: FloatArray,
    moved: FloatArray,
    columns: Sequence[slice],
    *,
    rounds: int,
    tolerance: float,
    progress: Progress = silent,
) -> list[float]:
    """Overwrite vectors after rounds of whitened propagation; return how much each changed the columns' subspace.

    ``X <- unit rows of D~^-1 (A + I) X``, then ``X <- (X - mean) C^-1/2`` with the covariance C. Plain
    averaging ends with all vectors alike; whitening keeps the directions in which they differ.

    Parameters
    ----------
    A : Adjacency
        The graph.
    vectors, moved : (n, dim) float32
        What is overwritten, and room of the same shape; memory maps are accepted.
    columns : sequence of slice
        Columns that are in memory at the same time.
    rounds : int
        The most rounds.
    tolerance : float
        Rounds end when the subspace changes by less: one minus the mean squared cosine of the principal angles
        between two rounds.
    """
    changes: list[float] = []
    for done in range(1, rounds + 1):
        _propagate(A, vectors, moved, columns)
        changes.append(_whiten(vectors, moved))
        progress(done / rounds)
        if done > 1 and changes[-1] < tolerance:
            break
    return changes


def _propagate(A: Adjacency, vectors: FloatArray, moved: FloatArray, columns: Sequence[slice]) -> None:
    """Write ``D~^-1 (A + I) X`` into `moved`, some columns at a time: they alone must be in memory."""
    weight = (1.0 / (1.0 + A.sum())).astype(np.float32)[:, None]
    for some in columns:
        X = _columns(vectors, some)
        summed = A @ X
        summed += X
        summed *= weight
        for where in row_blocks(len(moved), rows_at_once(moved.shape[1])):
            moved[where, some] = summed[where]
            release_pages(moved)


def _columns(matrix: FloatArray, some: slice) -> FloatArray:
    """Return a copy of some columns; of a mapped file, no more than a block of rows is in memory beside it."""
    found = np.empty((len(matrix), matrix[:0, some].shape[1]), np.float32)
    for where in row_blocks(len(matrix), rows_at_once(matrix.shape[1])):
        found[where] = matrix[where, some]
        release_pages(matrix)
    return found


def _whiten(vectors: FloatArray, moved: FloatArray) -> float:
    """Overwrite `vectors` with the whitened unit rows of `moved`; return how much the columns' subspace changed."""
    (n, dim), raw, before = vectors.shape, rows_of(moved), rows_of(vectors)

    def rows(where: slice) -> Matrix:
        return unit(raw(where))

    mean = np.zeros(dim)
    for where in row_blocks(n, rows_at_once(dim)):
        mean += rows(where).sum(axis=0)
    mean /= n

    def centred(where: slice) -> Matrix:
        return rows(where) - mean

    turn, rank = _inverse_root(gram(n, centred, dim=dim) / n)
    seen: Matrix = np.zeros((dim, dim))

    def whitened(where: slice) -> Matrix:
        new = centred(where) @ turn
        seen[:] += new.T @ before(where)  # what stood there, before it is overwritten
        return new

    overwrite(vectors, whitened)
    return 1.0 - float((seen**2).sum()) / float(n**2 * max(1, rank))


def _inverse_root(covariance: Matrix) -> tuple[Matrix, int]:
    """Return C^-1/2 of a positive semidefinite C, and its rank; directions without variance stay without."""
    values, axes = np.linalg.eigh(covariance)
    scale = inverse_roots(values, 1e-10)
    return np.asarray((axes * scale) @ axes.T), int(np.count_nonzero(scale))
