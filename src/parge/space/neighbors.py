"""Nearest vertices: those that are alike, or those that are likely to have an edge."""

from typing import Any

import numpy as np

from parge.embedding import Embedding
from parge.errors import InputError
from parge.linalg.tall import unit
from parge.numbers import check_whole
from parge.storage import BLOCK_ROWS, release_pages, row_blocks
from parge.typing import FloatArray, IdArray, Matrix

TASKS = ("labels", "links")
"""What nearness is for."""


def neighbors(
    embedding: Embedding,
    id: Any,  # noqa: A002 - the word of everybody who calls it
    k: int = 10,
    *,
    task: str = "labels",
    block_rows: int = BLOCK_ROWS,
) -> tuple[IdArray, FloatArray]:
    """Return the ids and scores of the k nearest vertices of a vertex, nearest first, without the vertex itself.

    The rows are read one block at a time, so the embedding may be a memory map larger than memory. A zero vector has
    cosine 0 with every other; ties are in the order of rows.

    Parameters
    ----------
    embedding : Embedding
        Where to look.
    id : vertex id
        Whose neighbours.
    k : int
        How many.
    task : str
        What nearness means. ``labels``: the cosine, vertices that are alike. ``links``: the score of the degree head,
        vertices that are likely to have an edge with it, known edges included; many edges count.
    block_rows : int
        Rows held in memory at a time.

    Examples
    --------
    >>> embedding = Embedding(np.array([[1, 0], [2, 0.1], [0, 1]]), ["a", "b", "c"])
    >>> neighbors(embedding, "a", k=1)[0].tolist()
    ['b']
    """
    check_whole("the number of neighbours", k, 1)
    check_whole("block_rows", block_rows, 1)
    if task not in TASKS:
        raise InputError(f"there is no task {task!r}; known: {', '.join(TASKS)}")
    itself = int(embedding.row_numbers([id])[0])
    query = _side(embedding, slice(itself, itself + 1), task, 0)[0]
    best, score = np.zeros(0, np.int64), np.zeros(0)
    for rows in row_blocks(len(embedding), block_rows):
        scores = _side(embedding, rows, task, 1) @ query
        number = np.arange(rows.start, rows.stop)
        others = number != itself
        best, score = np.concatenate([best, number[others]]), np.concatenate([score, scores[others]])
        keep = np.argsort(-score, kind="stable")[:k]
        best, score = best[keep], score[keep]
        release_pages(embedding.vectors)
    return embedding.ids[best], score.astype(np.float32)


def _side(embedding: Embedding, rows: slice, task: str, which: int) -> Matrix:
    """Return some rows of either side of the inner product that is the score."""
    directions = _unit(embedding.vectors[rows])
    if task == "labels":
        return directions
    head, degrees = embedding.for_links()
    return head.sides(directions, degrees[rows])[which]


def _unit(vectors: FloatArray) -> Matrix:
    """Return the rows at length 1, in float64; rows of zeros stay."""
    rows = np.asarray(vectors, np.float64)
    # The largest entry first: squares of the very small or very large would vanish or overflow.
    rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return unit(rows)
