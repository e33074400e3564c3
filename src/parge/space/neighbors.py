"""Nearest vertices by cosine."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.embedding import Embedding
from parge.linalg.tall import unit
from parge.numbers import check_whole
from parge.storage import BLOCK_ROWS, release_pages, row_blocks
from parge.typing import FloatArray, IdArray


def neighbors(
    embedding: Embedding,
    id: Any,  # noqa: A002 - the word of everybody who calls it
    k: int = 10,
    *,
    block_rows: int = BLOCK_ROWS,
) -> tuple[IdArray, FloatArray]:
    """Return the ids and cosines of the k nearest vertices of a vertex, nearest first, without the vertex itself.

    The rows are read one block at a time, so the embedding may be a memory map larger than memory. A zero vector has
    cosine 0 with every other; ties are in the order of rows.

    >>> embedding = Embedding(np.array([[1, 0], [2, 0.1], [0, 1]]), ["a", "b", "c"])
    >>> neighbors(embedding, "a", k=1)[0].tolist()
    ['b']
    """
    check_whole("the number of neighbours", k, 1)
    check_whole("block_rows", block_rows, 1)
    itself = int(embedding.row_numbers([id])[0])
    query = _unit(embedding.vectors[[itself]])[0]
    best, score = np.zeros(0, np.int64), np.zeros(0)
    for rows in row_blocks(len(embedding), block_rows):
        cosine = _unit(embedding.vectors[rows]) @ query
        number = np.arange(rows.start, rows.stop)
        others = number != itself
        best, score = np.concatenate([best, number[others]]), np.concatenate([score, cosine[others]])
        keep = np.argsort(-score, kind="stable")[:k]
        best, score = best[keep], score[keep]
        release_pages(embedding.vectors)
    return embedding.ids[best], score.astype(np.float32)


def _unit(vectors: FloatArray) -> NDArray[np.float64]:
    """Return the rows at length 1, in float64; rows of zeros stay."""
    rows = np.asarray(vectors, np.float64)
    # The largest entry first: squares of the very small or very large would vanish or overflow.
    rows = rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return unit(rows)
