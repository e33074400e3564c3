"""Link prediction: separate edges that were held out before the embedding from pairs that are not edges."""

import numpy as np

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.predictors import AdamicAdar, LocalWalk, Predictor, degree_product, of_vectors
from parge.evaluate.scores import LinkScore, LinkScores, LinkTable, Recall
from parge.graph.graph import Graph
from parge.graph.holdout import keys_of
from parge.numbers import check_whole
from parge.seeds import keyed_rng
from parge.storage import all_finite
from parge.typing import FloatArray, IntArray, Matrix

# Neighbours that the local walk may look at, for all pairs together: some seconds. Of more pairs it takes a sample.
_MOST_STEPS = 2e9

# Vertices whose held-out neighbours are looked for among all vertices, and how many of them at once.
_RECALLED, _ROWS_AT_ONCE = 1000, 64


def score_links(
    vectors: Embedding | FloatArray,
    train: Graph,
    positives: IntArray,
    negatives: IntArray,
    *,
    by_degree: IntArray | None = None,
    hits_at: int = 100,
    recall_at: int = 10,
    seed: int = 0,
) -> LinkScores:
    """Return how well vectors of the training graph separate held-out edges from pairs that are not edges.

    Vectors score by cosine, by dot product, by a logistic regression on Hadamard products, and by the degree head
    (`parge.space.head`). The product of degrees, Adamic–Adar and the local random walk need no vectors. Regression and
    head learn from edges of the training graph and from pairs that are neither its edges nor test pairs.

    Parameters
    ----------
    vectors : Embedding, or (n_vertices, dim) array in vertex order
        Computed on `train` only. An embedding is matched with the graph by id. The vector of a vertex without any edge
        in `train` counts as the origin, unless the graph has features.
    train, positives, negatives
        As `hold_out` gave them.
    by_degree : (n_pairs, 2), optional
        Pairs that are not edges, drawn by degree (`parge.evaluate.by_degree`); the answer then has `degree_corrected`.
    hits_at : int
        ``hits`` is the share of held-out edges that score above all but ``hits_at - 1`` of the other pairs.
    recall_at : int
        ``recall`` is the share of a vertex's held-out neighbours among the `recall_at` best of all other vertices. It
        is the mean over at most 1,000 vertices that have one.
    seed : int
        Seed of the pairs that are learned from, and of samples.
    """
    check_whole("hits_at", hits_at, 1)
    check_whole("recall_at", recall_at, 1)
    kinds = {"uniform": negatives} if by_degree is None else {"uniform": negatives, "by degree": by_degree}
    for pairs in kinds.values():
        if not len(positives) or not len(pairs):
            raise InputError(f"both kinds of pairs are needed; got {len(positives)} edges and {len(pairs)} others")
    rows = _rows(vectors, train)
    test = np.unique(np.concatenate([keys_of(pairs, train.n_vertices) for pairs in (positives, *kinds.values())]))
    predictors: dict[str, Predictor] = {
        **of_vectors(rows, train, test, keyed_rng(seed, "link training"), seed),
        "degree_product": degree_product(train),
        "adamic_adar": AdamicAdar(train),
        "local_walk": LocalWalk(train),
    }
    found = {name: _of_kinds(predictor, positives, kinds, hits_at, seed) for name, predictor in predictors.items()}
    recall = _recall(predictors, train, positives, recall_at, keyed_rng(seed, "recall"))
    table = {kind: LinkTable(**{name: scores[kind] for name, scores in found.items()}) for kind in kinds}
    return LinkScores(**vars(table["uniform"]), degree_corrected=table.get("by degree"), recall=recall, hits_at=hits_at)


def adamic_adar(graph: Graph, pairs: IntArray) -> Matrix:
    """Return the sum of ``1 / log(degree)`` over the common neighbours of every pair."""
    return AdamicAdar(graph).pairs(pairs)


def _of_kinds(
    predictor: Predictor, positives: IntArray, kinds: dict[str, IntArray], hits_at: int, seed: int
) -> dict[str, LinkScore]:
    if isinstance(predictor, LocalWalk):
        positives, kinds = _affordable(predictor, positives, kinds, keyed_rng(seed, "local walk"))
    edges = predictor.pairs(positives)
    return {kind: _score(edges, predictor.pairs(pairs), hits_at) for kind, pairs in kinds.items()}


def _affordable(
    walk: LocalWalk, positives: IntArray, kinds: dict[str, IntArray], rng: np.random.Generator
) -> tuple[IntArray, dict[str, IntArray]]:
    """Return all pairs, or as large a sample of every kind as the walk may take."""
    cost = sum(float(walk.cost(pairs).sum()) for pairs in (positives, *kinds.values()))
    share = min(1.0, _MOST_STEPS / max(cost, 1.0))

    def some(pairs: IntArray) -> IntArray:
        count = max(1, int(share * len(pairs)))
        return pairs if share == 1 else pairs[np.sort(rng.choice(len(pairs), count, replace=False))]

    return some(positives), {kind: some(pairs) for kind, pairs in kinds.items()}


def _score(edges: Matrix, others: Matrix, hits_at: int) -> LinkScore:
    from sklearn.metrics import average_precision_score, roc_auc_score

    truth, scores = np.arange(edges.size + others.size) < edges.size, np.concatenate([edges, others])
    bar = np.partition(others, -hits_at)[-hits_at] if others.size >= hits_at else -np.inf
    return LinkScore(
        float(roc_auc_score(truth, scores)), float(average_precision_score(truth, scores)), float((edges > bar).mean())
    )


def _recall(
    predictors: dict[str, Predictor], train: Graph, positives: IntArray, at: int, rng: np.random.Generator
) -> Recall:
    """Return the mean share of held-out neighbours among the best of all others that are no neighbours yet."""
    ends = np.concatenate([positives, positives[:, ::-1]])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    vertices, first, counts = np.unique(ends[:, 0], return_index=True, return_counts=True)
    chosen = np.sort(rng.choice(vertices.size, min(_RECALLED, vertices.size), replace=False))
    order = rng.permutation(train.n_vertices)  # ties are broken at random
    totals = dict.fromkeys(predictors, 0.0)
    for start in range(0, chosen.size, _ROWS_AT_ONCE):
        some = chosen[start : start + _ROWS_AT_ONCE]
        held = [ends[first[i] : first[i] + counts[i], 1] for i in some]
        for name, predictor in predictors.items():
            scores = predictor.rows(vertices[some])
            for row, vertex, wanted in zip(scores, vertices[some], held, strict=True):
                row[train.indices[train.indptr[vertex] : train.indptr[vertex + 1]]] = -np.inf
                row[vertex] = -np.inf
                best = order[_best(row[order], at)]
                totals[name] += np.isin(wanted, best).sum() / min(at, wanted.size)
    means = {name: total / chosen.size for name, total in totals.items()}
    return Recall(at=at, vertices=int(chosen.size), **means)


def _best(scores: Matrix, count: int) -> IntArray:
    if scores.size <= count:
        return np.arange(scores.size)
    return np.argpartition(-scores, count - 1)[:count]


def _rows(vectors: Embedding | FloatArray, train: Graph) -> FloatArray:
    if isinstance(vectors, Embedding):
        return vectors.rows(train.outside_ids)
    if vectors.ndim != 2 or len(vectors) != train.n_vertices:
        raise InputError(f"one vector per vertex is needed, {train.n_vertices:,} in total; got shape {vectors.shape}")
    if not all_finite(vectors):
        raise InputError("vectors must be finite; some hold NaN or infinity")
    return vectors
