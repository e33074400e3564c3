"""Nearest vertices: those that are alike, or those that are likely to have an edge."""

from typing import Any, get_args

from parge.embedding import Embedding, Metric, Task
from parge.storage import BLOCK_ROWS
from parge.typing import FloatArray, IdArray

TASKS = get_args(Task)
"""What nearness is for."""


def neighbors(
    embedding: Embedding,
    id: Any,  # noqa: A002 - the word that callers use
    k: int = 10,
    *,
    task: Task = "labels",
    metric: Metric = "cosine",
    block_rows: int = BLOCK_ROWS,
) -> tuple[IdArray, FloatArray]:
    """Return the ids and scores of the k nearest vertices of a vertex; as `Embedding.neighbors`, which takes many.

    Examples
    --------
    >>> import numpy as np
    >>> embedding = Embedding(np.array([[1, 0], [2, 0.1], [0, 1]]), ["a", "b", "c"])
    >>> neighbors(embedding, "a", k=1)[0].tolist()
    ['b']
    """
    return embedding.neighbors(id, k, task=task, metric=metric, block_rows=block_rows)
