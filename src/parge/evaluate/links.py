"""Link prediction: separate edges that were held out before the embedding from pairs that are not edges."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate import logistic
from parge.evaluate.scores import LinkScore, LinkScores
from parge.graph.graph import Graph
from parge.graph.pairs import contains, edges_once, pair_keys
from parge.numbers import check_number
from parge.seeds import stream
from parge.storage import all_finite, row_blocks
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

# Pairs of each kind that the logistic regression learns from: twice the coefficients of any usual dimension
# many times over, and a matter of seconds.
_MOST_TRAINING_PAIRS = 20_000

_PAIRS_AT_ONCE = 16_384


class HeldOut(NamedTuple):
    """A graph without its held-out edges, those edges, and as many pairs that are edges of neither graph.

    Pairs are vertex numbers, (n_pairs, 2), the lower one first; vertices of `train` are numbered as in the whole.
    """

    train: Graph
    positives: IntArray
    negatives: IntArray


def hold_out(graph: Graph, share: float = 0.5, seed: int = 0) -> HeldOut:
    """Remove a random share of the edges from a graph. Call it before decomposing or embedding.

    Every vertex stays, also those that lose their last edge; ids, features and remaining weights stay too.

    >>> ring = Graph.from_edges(range(6), [1, 2, 3, 4, 5, 0])
    >>> train, positives, negatives = hold_out(ring, share=0.5, seed=1)
    >>> train.n_vertices, train.n_edges, len(positives), len(negatives)
    (6, 3, 3, 3)
    """
    check_number("the share of edges to hold out", share, 0, 1, above=True, below=True)
    n_held = min(max(1, round(share * graph.n_edges)), graph.n_edges - 1)
    if n_held < 1:
        raise InputError(
            f"at least two edges are needed, one to hold out and one to keep; the graph has {graph.n_edges}"
        )
    rng = stream(seed, "hold out")
    edges = _edges(graph)
    held = np.zeros(len(edges), np.bool_)
    held[rng.choice(len(edges), n_held, replace=False)] = True
    keys = _keys(edges, graph.n_vertices)
    negatives = _non_edges(graph.n_vertices, keys, n_held, rng)
    return HeldOut(_without(graph, keys[held]), edges[held], negatives)


def score_links(
    vectors: Embedding | FloatArray, train: Graph, positives: IntArray, negatives: IntArray, *, seed: int = 0
) -> LinkScores:
    """Return how well vectors of the training graph separate held-out edges from pairs that are not edges.

    There are four scores: cosine, dot product, logistic regression on Hadamard products, and Adamic–Adar. The
    regression learns from edges of the training graph and from pairs that are neither its edges nor test pairs, with
    columns standardised. Adamic–Adar needs no vectors: it sums one over the logarithm of the degree over common
    neighbours in the training graph.

    Parameters
    ----------
    vectors : Embedding, or (n_vertices, dim) array in vertex order
        Computed on `train` only. An embedding is matched with the graph by id.
    train, positives, negatives
        As `hold_out` gave them.
    seed : int
        Seed of the pairs that the logistic regression learns from.
    """
    pairs, truth = _test_pairs(positives, negatives)
    rows = _rows(vectors, train)
    dots, lengths = _dots(rows, pairs), _lengths(rows)
    size = lengths[pairs[:, 0]] * lengths[pairs[:, 1]]
    return LinkScores(
        cosine=_score(truth, dots / np.where(size > 0, size, 1)),
        dot=_score(truth, dots),
        logistic=_score(truth, _logistic(rows, train, pairs, stream(seed, "link training"))),
        adamic_adar=_score(truth, adamic_adar(train, pairs)),
    )


def adamic_adar(graph: Graph, pairs: IntArray) -> Matrix:
    """Return the sum of ``1 / log(degree)`` over the common neighbours of every pair."""
    weight = 1 / np.log(np.maximum(graph.degrees, 2))
    ones = np.ones(graph.indices.size)
    pattern = sp.csr_matrix((ones, graph.indices, graph.indptr), shape=(graph.n_vertices, graph.n_vertices))
    out = np.zeros(len(pairs))
    for rows in row_blocks(len(pairs), _PAIRS_AT_ONCE):
        common = pattern[pairs[rows, 0]].multiply(pattern[pairs[rows, 1]])
        out[rows] = np.asarray(common @ weight)
    return out


def _test_pairs(positives: IntArray, negatives: IntArray) -> tuple[IntArray, BoolArray]:
    if not len(positives) or not len(negatives):
        raise InputError(f"both kinds of pairs are needed; got {len(positives)} edges and {len(negatives)} others")
    truth = np.zeros(len(positives) + len(negatives), np.bool_)
    truth[: len(positives)] = True
    return np.concatenate([positives, negatives]), truth


def _rows(vectors: Embedding | FloatArray, train: Graph) -> FloatArray:
    if isinstance(vectors, Embedding):
        return vectors.rows(train.outside_ids)
    if vectors.ndim != 2 or len(vectors) != train.n_vertices:
        raise InputError(f"one vector per vertex is needed, {train.n_vertices:,} in total; got shape {vectors.shape}")
    if not all_finite(vectors):
        raise InputError("vectors must be finite; some hold NaN or infinity")
    return vectors


def _hadamard(rows: FloatArray, pairs: IntArray) -> Matrix:
    return np.multiply(rows[pairs[:, 0]], rows[pairs[:, 1]], dtype=np.float64)


def _dots(rows: FloatArray, pairs: IntArray) -> Matrix:
    out = np.empty(len(pairs))
    for some in row_blocks(len(pairs), _PAIRS_AT_ONCE):
        out[some] = _hadamard(rows, pairs[some]).sum(axis=1)
    return out


def _lengths(rows: FloatArray) -> Matrix:
    out = np.empty(len(rows))
    for some in row_blocks(len(rows)):
        out[some] = np.linalg.norm(rows[some].astype(np.float64), axis=1)
    return out


def _logistic(rows: FloatArray, train: Graph, pairs: IntArray, rng: np.random.Generator) -> Matrix:
    """Return the scores of test pairs by a regression that has seen none of them, whatever they are."""
    edges = _edges(train)
    n_pairs = min(len(edges), _MOST_TRAINING_PAIRS)
    avoid = np.union1d(_keys(edges, train.n_vertices), _keys(pairs, train.n_vertices))
    others = _non_edges(train.n_vertices, avoid, n_pairs, rng, at_most=True)
    if not len(others):
        return _dots(rows, pairs)
    edges = edges[np.sort(rng.choice(len(edges), n_pairs, replace=False))]
    X = np.concatenate([_hadamard(rows, edges), _hadamard(rows, others)])
    mean, sd = X.mean(axis=0), X.std(axis=0)
    sd[sd == 0] = 1
    learned = (np.arange(len(X)) < len(edges))[:, None]
    w = logistic.fit(np.hstack([(X - mean) / sd, np.ones((len(X), 1))]), learned)[:, 0]
    # The constant part of the score moves every pair alike, so it is left out.
    turned = w[:-1] / sd
    out = np.empty(len(pairs))
    for some in row_blocks(len(pairs), _PAIRS_AT_ONCE):
        out[some] = _hadamard(rows, pairs[some]) @ turned
    return out


def _score(truth: BoolArray, scores: Matrix) -> LinkScore:
    from sklearn.metrics import average_precision_score, roc_auc_score

    return LinkScore(float(roc_auc_score(truth, scores)), float(average_precision_score(truth, scores)))


def _edges(graph: Graph) -> IntArray:
    """Return every edge once, lower end first, ascending."""
    source, target, _ = edges_once(graph)
    return np.stack([source, target], axis=1).astype(np.int64)


def _keys(pairs: IntArray, n_vertices: int) -> IntArray:
    return pair_keys(pairs[:, 0], pairs[:, 1], n_vertices)


def _pairs(keys: IntArray, n_vertices: int) -> IntArray:
    return np.stack(np.divmod(keys, n_vertices), axis=1).astype(np.int64)


def _without(graph: Graph, held: IntArray) -> Graph:
    """Return the graph less the edges of those keys."""
    source = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    arcs = np.stack([source, graph.indices.astype(np.int64)], axis=1)
    keep = ~contains(held, _keys(arcs, graph.n_vertices)) if len(arcs) else np.zeros(0, np.bool_)
    degrees = np.bincount(source[keep], minlength=graph.n_vertices)
    weights = None if graph.weights is None else graph.weights[keep]
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return Graph(indptr, graph.indices[keep], weights, graph.ids, graph.features)


def _non_edges(
    n_vertices: int, avoid: IntArray, wanted: int, rng: np.random.Generator, *, at_most: bool = False
) -> IntArray:
    """Draw distinct pairs that are not among the ascending keys to avoid; fewer, if allowed, where there are fewer."""
    n_free = n_vertices * (n_vertices - 1) // 2 - avoid.size
    if n_free < wanted and not at_most:
        raise InputError(
            f"{wanted:,} pairs that are not edges are needed, but a graph of {n_vertices:,} vertices and "
            f"{avoid.size:,} edges has {n_free:,}. Hold out fewer edges."
        )
    wanted = min(wanted, n_free)
    if n_free <= 4 * wanted or n_free <= 1024:
        # Little room: look at every pair once. There are at most four times as many pairs as keys, or hardly any.
        u, v = np.triu_indices(n_vertices, 1)
        free = np.setdiff1d(u * n_vertices + v, avoid, assume_unique=True)
        return _pairs(np.sort(rng.choice(free, wanted, replace=False)), n_vertices)
    drawn = np.zeros(0, np.int64)
    while drawn.size < wanted:
        ends = rng.integers(n_vertices, size=(wanted + 64, 2))
        keys = _keys(ends[ends[:, 0] != ends[:, 1]], n_vertices)
        fresh = keys[~contains(avoid, keys)]
        # In the order drawn, so that cutting to size prefers no pair.
        both = np.concatenate([drawn, fresh])
        drawn = both[np.sort(np.unique(both, return_index=True)[1])]
    return _pairs(np.sort(drawn[:wanted]), n_vertices)
