"""The rows of a table with the largest inner products, for many questions at once; blocks of the table at a time."""

from collections.abc import Callable

import numpy as np

from parge.storage import row_blocks
from parge.typing import FloatArray, IntArray, Matrix

# Scores held at a time: 64 MB of float64.
_SCORES = 8 << 20
_QUESTIONS = 1024


def nearest(
    rows_of: Callable[[slice], Matrix],
    n_rows: int,
    questions: Matrix,
    k: int,
    *,
    without: IntArray | None = None,
    block_rows: int,
) -> tuple[IntArray, FloatArray]:
    """Return the places and the scores of the k best rows for each question, best first; ties in the order of rows.

    `rows_of` returns a block of the table, `n_rows` long, in float64. A question may not be answered with the row that
    `without` names: itself.

    >>> table = np.array([[1.0, 0], [0, 1], [1, 1]])
    >>> nearest(lambda rows: table[rows], 3, np.array([[1.0, 0.5]]), 2, block_rows=2)[0].tolist()
    [[2, 0]]
    """
    count = max(0, min(k, n_rows - (without is not None)))
    places = np.zeros((len(questions), count), np.int64)
    scores = np.zeros((len(questions), count))
    for some in row_blocks(len(questions), _QUESTIONS):
        itself = None if without is None else without[some]
        for j, (place, score) in enumerate(_answers(rows_of, n_rows, questions[some], count, itself, block_rows)):
            places[some.start + j], scores[some.start + j] = place, score
    return places, scores.astype(np.float32)


def _answers(
    rows_of: Callable[[slice], Matrix],
    n_rows: int,
    questions: Matrix,
    count: int,
    without: IntArray | None,
    block_rows: int,
) -> list[tuple[IntArray, Matrix]]:
    best: list[tuple[IntArray, Matrix]] = [(np.zeros(0, np.int64), np.zeros(0))] * len(questions)
    for rows in row_blocks(n_rows, max(1, min(block_rows, _SCORES // max(1, len(questions))))):
        scores = questions @ rows_of(rows).T
        if without is not None:
            inside = np.flatnonzero((without >= rows.start) & (without < rows.stop))
            scores[inside, without[inside] - rows.start] = -np.inf
        number = np.arange(rows.start, rows.stop)
        best = [_best(*found, number, new, count) for found, new in zip(best, scores, strict=True)]
    return best


def _best(places: IntArray, scores: Matrix, number: IntArray, new: Matrix, count: int) -> tuple[IntArray, Matrix]:
    """Return the best of those found so far and a new block; of equal ones the first."""
    places, scores = np.concatenate([places, number]), np.concatenate([scores, new])
    if count < scores.size:
        least = np.partition(scores, scores.size - count)[scores.size - count] if count else np.inf
        above = np.flatnonzero(scores > least)
        level = np.flatnonzero(scores == least)[: count - above.size]
        kept = np.sort(np.concatenate([above, level]))
        places, scores = places[kept], scores[kept]
    order = np.argsort(-scores, kind="stable")
    return places[order], scores[order]
