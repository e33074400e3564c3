"""Nearest vertices of many vertices: exact by blocks of products, or through an index where that takes less time."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from parge.embedding import Embedding, Metric, Task
from parge.errors import Extra, InputError
from parge.graph.graph import Graph
from parge.ids import positions
from parge.linalg.tall import unit_rows
from parge.numbers import check_whole
from parge.storage import release_pages, row_blocks
from parge.typing import FloatArray, IdArray, IntArray, Matrix

Method = Literal["auto", "exact", "approximate"]
"""Whether all rows are looked at, or those that an index leads to."""

USEARCH = Extra("usearch", "usearch", "vectors")

# An index of 100,000 rows took as long to build as 16,290 questions take without one
# (`benchmarks/neighbors_through_an_index.py`); both grow with the rows.
_QUESTIONS, _ROWS = 20_000, 100_000

# Vertices whose unknown neighbours are looked for at once: each is asked for as many more as the busiest has edges.
_ASKED_AT_ONCE = 1024

# An index is asked for more than is wanted: the best of these are nearly always the best of all.
_MORE = 2


class Neighbors(NamedTuple):
    """The nearest vertices of some vertices, a row for each: their ids and scores; and how they were found.

    A place that nobody is left for, at the end of a row, has the score -inf (`search_unknown`).
    """

    ids: IdArray
    scores: FloatArray
    is_exact: bool = True


def search(
    embedding: Embedding,
    ids: Any,
    k: int = 10,
    *,
    task: Task = "labels",
    metric: Metric = "cosine",
    method: Method = "auto",
) -> Neighbors:
    """Return the k nearest vertices of each vertex, nearest first, without the vertex itself.

    On the command line: ``parge neighbors``.

    Parameters
    ----------
    embedding : Embedding
        Where to look.
    ids : sequence of ids
        Whose neighbours.
    k : int
        How many of each.
    task : "labels" or "links"
        As for `Embedding.neighbors`.
    metric : "cosine" or "ip"
        What makes vertices alike; links have a score of their own, and are always compared exactly.
    method : "auto", "exact" or "approximate"
        ``approximate`` asks an HNSW index of usearch, which is built first, and scores what it finds exactly. ``auto``
        takes it for 20,000 questions or more on 100,000 rows or more, if usearch is installed.

    Examples
    --------
    >>> embedding = Embedding(np.array([[1, 0], [2, 0.1], [0, 3]]), ["a", "b", "c"])
    >>> search(embedding, ["a", "c"], 1).ids.tolist(), search(embedding, ["b"], 1, metric="ip").ids.tolist()
    ([['b'], ['b']], [['a']])
    """
    check_whole("the number of neighbours", k, 1)
    for name, value, known in (("metric", metric, Metric), ("method", method, Method), ("task", task, Task)):
        if value not in get_args(known):
            raise InputError(f"{name} must be one of {', '.join(get_args(known))}; got {value!r}")
    if task == "links" and (metric != "cosine" or method == "approximate"):
        raise InputError("links have a score of their own, which is compared exactly. Omit the metric and the method.")
    rows = embedding.row_numbers(ids)
    if task == "labels" and _by_index(method, len(rows), len(embedding)):
        return _approximate(embedding, rows, k, by_cosine=metric == "cosine")
    return Neighbors(*embedding.neighbors(embedding.ids[rows], k, task=task, metric=metric))


def search_unknown(find: Callable[[IdArray, int], Neighbors], ids: IdArray, k: int, known: Graph) -> Neighbors:
    """Return the k nearest vertices of each vertex that have no edge with it in a graph.

    `find` answers for ids and a number of neighbours. Edges of `known` are left out, matched by id; a vertex that it
    does not have has no edge there.

    >>> embedding = Embedding(np.array([[1, 0], [2, 0.1], [0, 3]]), ["a", "b", "c"])
    >>> edge = Graph.from_edges(["a"], ["b"])
    >>> search_unknown(lambda ids, k: search(embedding, ids, k), embedding.ids[:1], 1, edge).ids.tolist()
    [['c']]
    """
    places = positions(known.outside_ids, ids)
    if (places < 0).all():
        raise InputError("the graph of known edges has none of these vertices. Check its ids.")
    degrees = np.where(places < 0, 0, known.degrees[places])
    blocks = [
        _unknown(find(ids[some], k + int(degrees[some].max())), places[some], k, known)
        for some in row_blocks(len(ids), _ASKED_AT_ONCE)
    ]
    # Every block has min(k, all others) columns.
    return Neighbors(np.concatenate([each.ids for each in blocks]), np.concatenate([each.scores for each in blocks]))


def _unknown(found: Neighbors, places: IntArray, k: int, known: Graph) -> Neighbors:
    """Return the first k of each row that are no neighbours in a graph; of its rows, in which -1 is none."""
    near = positions(known.outside_ids, found.ids.ravel()).reshape(found.ids.shape)
    scores = found.scores.copy()
    for row, place in enumerate(places):
        if place >= 0:
            scores[row, np.isin(near[row], known.indices[known.indptr[place] : known.indptr[place + 1]])] = -np.inf
    order = np.argsort(np.isneginf(scores), axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(found.ids, order, axis=1), np.take_along_axis(scores, order, axis=1))


def _by_index(method: str, n_questions: int, n_rows: int) -> bool:
    if method == "approximate":
        USEARCH.check("an approximate search")
        return n_rows > 1
    return method == "auto" and n_questions >= _QUESTIONS and n_rows >= _ROWS and USEARCH.is_there


def _approximate(embedding: Embedding, rows: IntArray, k: int, *, by_cosine: bool) -> Neighbors:
    from usearch.index import Index

    table = embedding.vectors
    index = Index(ndim=embedding.dim, metric="cos" if by_cosine else "ip", dtype="f32")
    for some in row_blocks(len(table)):
        # One thread: the same index every time.
        index.add(np.arange(some.start, some.stop), np.asarray(table[some], np.float32), threads=1)
        release_pages(table)
    count = min(k, len(embedding) - 1)
    places = np.zeros((len(rows), count), np.int64)
    scores = np.zeros((len(rows), count), np.float32)
    for some in row_blocks(len(rows)):
        question = np.asarray(table[rows[some]], np.float32)
        found = index.search(question, min(_MORE * count + 1, len(table)), threads=0)
        keys, counts = np.atleast_2d(found.keys), np.atleast_1d(found.counts)
        for j, (itself, near, n_found) in enumerate(zip(rows[some], keys, counts, strict=True)):
            others = near[:n_found][near[:n_found] != itself].astype(np.int64)
            if others.size < count:  # the graph of the index did not lead further
                others = _all_rows(question[j], table, int(itself), count, by_cosine=by_cosine)
            score = _scores(question[j], table[others], by_cosine=by_cosine)
            order = np.argsort(-score, kind="stable")[:count]
            places[some.start + j], scores[some.start + j] = others[order], score[order]
    return Neighbors(embedding.ids[places], scores, is_exact=False)


def _all_rows(question: FloatArray, table: FloatArray, itself: int, count: int, *, by_cosine: bool) -> IntArray:
    score = np.concatenate([_scores(question, table[some], by_cosine=by_cosine) for some in row_blocks(len(table))])
    score[itself] = -np.inf
    return np.argsort(-score, kind="stable")[:count]


def _scores(question: FloatArray, rows: FloatArray, *, by_cosine: bool) -> Matrix:
    table, one = np.asarray(rows, np.float64), np.asarray(question, np.float64)[None]
    return np.asarray((unit_rows(table) @ unit_rows(one)[0]) if by_cosine else table @ one[0])
