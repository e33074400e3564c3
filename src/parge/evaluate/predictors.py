"""What predicts a link: vectors by inner products, and what needs no vectors; for pairs, and for whole rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from parge.graph.graph import Graph
from parge.graph.holdout import all_edges, keys_of, non_edges
from parge.linalg import logistic
from parge.linalg.tall import unit
from parge.space.head import fit_head
from parge.storage import row_blocks
from parge.typing import FloatArray, IntArray, Matrix

# Pairs of each kind that the logistic regression learns from: twice the coefficients of any usual dimension
# many times over, and a matter of seconds.
_MOST_TRAINING_PAIRS = 20_000

_PAIRS_AT_ONCE = 16_384

Rows = Callable[[IntArray | slice], Matrix]
"""Returns the rows of some vertices, in float64."""


class Predictor(Protocol):
    """Scores of pairs of vertices: the higher, the likelier an edge."""

    def pairs(self, pairs: IntArray) -> Matrix:
        """Return the score of every pair."""

    def rows(self, vertices: IntArray) -> Matrix:
        """Return the scores of some vertices with all, (n_some, n_vertices)."""


@dataclass(frozen=True)
class Products:
    """Inner products of two rows, one for each side of a pair."""

    left: Rows
    right: Rows
    n_vertices: int

    def pairs(self, pairs: IntArray) -> Matrix:
        """Return the score of every pair, some at a time."""
        out = np.empty(len(pairs))
        for some in row_blocks(len(pairs), _PAIRS_AT_ONCE):
            u, v = pairs[some].T
            out[some] = np.einsum("ij,ij->i", self.left(u), self.right(v))
        return out

    def rows(self, vertices: IntArray) -> Matrix:
        """Return the scores of some vertices with all, some of all at a time."""
        left, out = self.left(vertices), np.empty((len(vertices), self.n_vertices))
        for some in row_blocks(self.n_vertices, _PAIRS_AT_ONCE):
            out[:, some] = left @ self.right(some).T
        return out


@dataclass(frozen=True)
class AdamicAdar:
    """The sum of ``1 / log(degree)`` over common neighbours."""

    graph: Graph

    def pairs(self, pairs: IntArray) -> Matrix:
        """Return the score of every pair, some at a time."""
        pattern, weight, out = _pattern(self.graph), _rarity(self.graph), np.zeros(len(pairs))
        for some in row_blocks(len(pairs), _PAIRS_AT_ONCE):
            common = pattern[pairs[some, 0]].multiply(pattern[pairs[some, 1]])
            out[some] = np.asarray(common @ weight)
        return out

    def rows(self, vertices: IntArray) -> Matrix:
        """Return the scores of some vertices with all."""
        pattern = _pattern(self.graph)
        return np.asarray((pattern[vertices].multiply(_rarity(self.graph)).tocsr() @ pattern).toarray())


@dataclass(frozen=True)
class LocalWalk:
    """Local random walk (Liu and Lü, 2010): ``d_u (P^2 + P^3)[u, v]``, walks of two and three steps; no weights."""

    graph: Graph

    def pairs(self, pairs: IntArray) -> Matrix:
        """Return the score of every pair, from the end that has fewer walks of two steps."""
        from parge.kernels.meetings import walk_meetings

        steps, out = self._steps, np.zeros(len(pairs))
        other = steps[pairs[:, 1]] < steps[pairs[:, 0]]
        turned = np.where(other[:, None], pairs[:, ::-1], pairs).astype(np.int64)
        walk_meetings(self.graph.indptr, self.graph.indices, turned, np.zeros(self.graph.n_vertices), out)
        return out

    def rows(self, vertices: IntArray) -> Matrix:
        """Return the scores of some vertices with all."""
        pattern = _pattern(self.graph)
        share = 1.0 / np.maximum(self.graph.degrees, 1)
        two = pattern @ (pattern[vertices].toarray() * share).T
        return np.asarray((two + pattern @ (share[:, None] * two)).T)

    def cost(self, pairs: IntArray) -> Matrix:
        """Return how many neighbours are looked at for each pair."""
        steps = self._steps
        return np.minimum(steps[pairs[:, 0]], steps[pairs[:, 1]])

    @property
    def _steps(self) -> Matrix:
        return np.asarray(_pattern(self.graph) @ self.graph.degrees.astype(np.float64))


def degree_product(graph: Graph) -> Products:
    """Return the predictor that knows nothing but degrees: ``d_u d_v``."""
    rows: Rows = lambda some: graph.degrees[some, None].astype(np.float64)  # noqa: E731
    return Products(rows, rows, graph.n_vertices)


def of_vectors(
    vectors: FloatArray, train: Graph, avoid: IntArray, rng: np.random.Generator, seed: int
) -> dict[str, Predictor]:
    """Return the predictors by cosine, dot product, logistic regression and the degree head.

    A vertex without an edge in `train` was never seen: its vector is noise, and counts as the origin (unless the graph
    has features, which may say something of it). `avoid` are keys of pairs that nothing may be learned from.
    """
    unseen = np.zeros(train.n_vertices, np.bool_) if train.features is not None else train.degrees == 0
    n = train.n_vertices

    def plain(some: IntArray | slice) -> Matrix:
        return np.where(unseen[some, None], 0.0, vectors[some].astype(np.float64))

    def directions(some: IntArray | slice) -> Matrix:
        return unit(plain(some))

    learned = _learned(plain, train, avoid, rng)
    head = fit_head(vectors, train, seed)

    def side(which: int) -> Rows:
        return lambda some: head.sides(directions(some), train.degrees[some])[which]

    return {
        "cosine": Products(directions, directions, n),
        "dot": Products(plain, plain, n),
        "logistic": Products(lambda some: plain(some) * learned, plain, n),
        "head": Products(side(0), side(1), n),
    }


def _learned(rows: Rows, train: Graph, avoid: IntArray, rng: np.random.Generator) -> Matrix:
    """Return the factor of every column by a regression on Hadamard products that has seen no pair to avoid."""
    edges = all_edges(train)
    n_pairs = min(len(edges), _MOST_TRAINING_PAIRS)
    known = np.union1d(keys_of(edges, train.n_vertices), avoid)
    others = non_edges(train.n_vertices, known, n_pairs, rng, at_most=True)
    if not len(others):
        return np.ones(1)
    edges = edges[np.sort(rng.choice(len(edges), n_pairs, replace=False))]
    X = np.concatenate([rows(pairs[:, 0]) * rows(pairs[:, 1]) for pairs in (edges, others)])
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1
    truth = (np.arange(len(X)) < len(edges))[:, None]
    w = logistic.fit(np.hstack([(X - mean) / deviation, np.ones((len(X), 1))]), truth)[:, 0]
    # The constant part of the score moves every pair alike, so it is left out.
    return np.asarray(w[:-1] / deviation)


def _pattern(graph: Graph) -> sp.csr_matrix:
    ones = np.ones(graph.indices.size)
    return sp.csr_matrix((ones, graph.indices, graph.indptr), shape=(graph.n_vertices, graph.n_vertices))


def _rarity(graph: Graph) -> Matrix:
    return 1 / np.log(np.maximum(graph.degrees, 2))
