"""The degree head: a score of links from any vectors, ``a cos(u, v) + b (log(1 + d_u) + log(1 + d_v)) + c``.

Vectors of labels say which vertices are alike, not how many edges a vertex has, and cosines hide the rest. Held-out
edges against pairs drawn evenly are told apart by degrees as much as by likeness, so three numbers, fitted on training
edges, are added to the vectors. The vectors themselves stay.
"""

import numpy as np

from parge.graph.graph import Graph
from parge.linalg import logistic
from parge.linalg.tall import cosines
from parge.linalg.threads import one_blas_thread
from parge.links import ONLY_COSINE, LinkHead
from parge.seeds import keyed_rng
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

PAIRS = 20_000
"""Edges, and as many pairs that are none, that three numbers are learned from."""

# Of them at once: two small blocks of rows are in memory.
_AT_ONCE = 2048


def fit_head(vectors: FloatArray, graph: Graph, seed: int = 0) -> LinkHead:
    """Fit the head by logistic regression on edges of the graph and on pairs that are none, drawn evenly.

    An edge counts at the degrees that its ends have without it, as a pair that is not yet an edge would. Where degrees
    then say nothing, or the contrary (trees), the head has only the cosine.
    """
    rng = keyed_rng(seed, "link head")
    edges, others = _some_edges(graph, rng), _some_others(graph, rng)
    if not len(edges) or not len(others):
        return ONLY_COSINE
    degrees = graph.degrees.astype(np.float64)
    return head_from(
        cosines(vectors, edges, _AT_ONCE), degrees[edges], cosines(vectors, others, _AT_ONCE), degrees[others]
    )


def head_from(alike: Matrix, degrees: Matrix, other_alike: Matrix, other_degrees: Matrix) -> LinkHead:
    """Return the head that tells edges from other pairs: the cosine of each, and the degrees of both its ends."""
    truth = np.arange(alike.size + other_alike.size) < alike.size
    large = np.concatenate([np.log(degrees).sum(axis=1), np.log1p(other_degrees).sum(axis=1)])
    alike = np.concatenate([alike, other_alike])
    with one_blas_thread():
        head = _fitted(truth, alike, large)
        if head.degree <= 0:
            head = _fitted(truth, alike, np.zeros(large.size))
    return head if head.cosine > 0 or head.degree > 0 else ONLY_COSINE


def _fitted(truth: BoolArray, alike: Matrix, large: Matrix) -> LinkHead:
    X = np.stack([alike, large], axis=1)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1
    w = logistic.fit(np.hstack([(X - mean) / deviation, np.ones((len(X), 1))]), truth[:, None])[:, 0]
    cosine, degree = w[:2] / deviation
    return LinkHead(max(float(cosine), 0.0), float(degree), float(w[2] - w[:2] / deviation @ mean))


def _some_edges(graph: Graph, rng: np.random.Generator) -> IntArray:
    """Draw edges: distinct places in the rows, at most twice an edge."""
    count = min(PAIRS, graph.indices.size)
    place = np.sort(rng.choice(graph.indices.size, count, replace=False, shuffle=False)) if count else np.zeros(0, int)
    source = np.searchsorted(graph.indptr, place, side="right") - 1
    return np.stack([source, graph.indices[place]], axis=1).astype(np.int64)


def _some_others(graph: Graph, rng: np.random.Generator) -> IntArray:
    pairs = rng.integers(max(1, graph.n_vertices), size=(2 * PAIRS, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.asarray(pairs[~graph.has_edges(pairs)][:PAIRS])
