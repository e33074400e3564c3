"""The signs of eigenvectors and singular vectors, and which of them come first: by rules, not by rounding.

An eigenvector times -1 is one, too. Which of the two a solver returns depends on the order of its sums, and so on the
processor. Here a column points where its sum over the rows, each weighed by a fixed draw between 0 and 1, is positive.
Other rules are decided by rounding on ordinary graphs. Where two communities are alike, the largest and the smallest
entry of an eigenvector are opposite numbers, and plain sums, of its cubes as well, are 0. Sums with draws of a column
of length 1 are as large as 0.3 in the mean. So two processors whose vectors differ by 1e-8 disagree on one column in
ten million. A column without negative entries stays so.

This decides eigenvectors of simple eigenvalues. Those of a repeated one are any basis of their space.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.linalg.tall import Block
from parge.seeds import mixed
from parge.storage import row_blocks, rows_at_once
from parge.typing import IntArray, Matrix

# Ranks that differ by less, as a share of the largest, are equal but for rounding.
_TIE = 1e-9


def fix_signs(vectors: NDArray[Any]) -> NDArray[Any]:
    """Flip columns in place to the signs of the rule.

    >>> fix_signs(np.array([[-0.6, 0.0], [-0.8, 0.0]])).tolist()
    [[0.6, 0.0], [0.8, 0.0]]
    """
    vectors *= column_signs(vectors).astype(vectors.dtype)
    return vectors


def column_signs(vectors: NDArray[Any]) -> Matrix:
    """Return 1 or -1 for each column: what to multiply it by."""
    return signs(_draws(0, len(vectors)) @ vectors)


def signs(sums: Matrix) -> Matrix:
    """Return 1 or -1 for each column, given its weighed sum; a column of zeros has 1."""
    return np.where(sums < 0, -1.0, 1.0)


def weighed_sums(n_rows: int, block: Block, *, dim: int, numbers: Callable[[slice], IntArray] | None = None) -> Matrix:
    """Return the sums that decide, of a matrix given by its blocks; those of ``X W`` are these times W.

    `numbers` are those of the rows, where they are not counted from 0.
    """
    total: Matrix = np.zeros(dim)
    for rows in row_blocks(n_rows, rows_at_once(dim)):
        total += (_draws(rows.start, rows.stop) if numbers is None else _draws_of(numbers(rows))) @ block(rows)
    return total


def best_first(values: Matrix, rank: Callable[[Matrix], Matrix]) -> NDArray[np.intp]:
    """Return the order of eigenvalues by rank, the highest first; equal but for rounding, by value.

    Graphs without odd cycles have eigenvalues in pairs of opposite sign, whose magnitudes differ by rounding alone.

    >>> best_first(np.array([-2.0, 1.0, 2.0 - 1e-15]), np.abs).tolist()
    [2, 0, 1]
    """
    score = rank(values)
    order = np.argsort(-score, kind="stable")
    falls = -np.diff(score[order], prepend=score[order[:1]]) > _TIE * np.abs(score).max(initial=0.0)
    return order[np.lexsort((-values[order], np.cumsum(falls)))]


def _draws(start: int, stop: int) -> Matrix:
    """Return the weights of some rows, each decided by its number (counted from 1, as 0 mixes to 0)."""
    return _draws_of(np.arange(start, stop))


def _draws_of(numbers: IntArray) -> Matrix:
    return (mixed(numbers.astype(np.uint64) + np.uint64(1)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
