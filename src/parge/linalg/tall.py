"""Algebra of tall matrices, memory-mapped ones among them: a block of rows at a time, always the same blocks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.blocks import release_pages, row_blocks, rows_at_once

Matrix = NDArray[np.float64]
Block = Callable[[slice], Matrix]
"""Returns some rows of a matrix in float64."""


def gram(n_rows: int, block: Block, other: Block | None = None, *, dim: int) -> Matrix:
    """Return ``X^T Y`` (or ``X^T X``) of matrices that are given by their blocks."""
    total: Matrix = np.zeros((dim, dim))
    for rows in row_blocks(n_rows, rows_at_once(dim)):
        X = block(rows)
        total += X.T @ (X if other is None else other(rows))
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


def orthonormalise(matrix: NDArray[Any]) -> None:
    """Replace the columns of a matrix by an orthonormal basis of their span; those beyond its rank become 0.

    By the Gram matrix, twice, because once loses half of the digits.
    """
    block, dim = rows_of(matrix), matrix.shape[1]
    for _ in range(2):
        squares, rotation = np.linalg.eigh(gram(len(matrix), block, dim=dim))
        kept = squares > 1e-14 * squares.max(initial=0.0)
        scale = np.divide(1.0, np.sqrt(np.where(kept, squares, 1.0)), where=kept, out=np.zeros_like(squares))
        turn = rotation[:, ::-1] * scale[::-1]
        overwrite(matrix, lambda rows, turn=turn: block(rows) @ turn)  # type: ignore[misc]  # a default binds it now


def unit(rows: Matrix) -> Matrix:
    """Return rows scaled to length 1; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def mean_length(vectors: NDArray[Any]) -> float:
    """Return the mean length of the rows that are not 0; 1 where there is none."""
    block, total, count = rows_of(vectors), 0.0, 0
    for rows in row_blocks(len(vectors), rows_at_once(vectors.shape[1])):
        lengths = np.linalg.norm(block(rows), axis=1)
        total, count = total + float(lengths.sum()), count + int((lengths > 0).sum())
    return total / count if count else 1.0
