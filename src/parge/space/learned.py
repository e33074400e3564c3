r"""The learned round: how a vertex follows from its neighbours, fitted once on the vertices of a finished embedding.

With unit rows ``u`` of the embedding, the direction of a vertex is predicted by ridge regression,

    u_v ≈ unit(M unit(Σ_w a_vw u_w) + m),

and its length from its degree and the lengths of its neighbours. The ridge draws M toward the multiple of the identity
that fits best, not toward 0: where there is little to learn from, a vertex is placed at the mean of its neighbours. How
much it draws is found for each space on rows that the map was not fitted on (`parge.space.ridge`). A
whitening pass, a factorisation and a trained technique all leave vertices where such a map finds them: no trace of how
they were computed is needed.

A vertex of the graph has had a part in where its neighbours are, and a new one has not. So what a vertex gave to each
neighbour is taken out of it before the fit, to first order: with the neighbour's sum S and a first, plain fit N, ``u_w
+ N unit(S_w - a_vw u_v) - N unit(S_w)``. ``make bench-space ONLY=choices`` shows on generated graphs what that and the
ridge are worth.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.linalg.tall import unit
from parge.linalg.threads import one_blas_thread
from parge.seeds import keyed_rng
from parge.space.ridge import chosen_ridge, ridge
from parge.storage import MEMORY, Storage, arc_blocks, release_pages, row_blocks
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

# Vertices that the map is fitted on, and their neighbours in all, at most: 268 MB of sums at 128 columns.
_SAMPLED, _PAIRS = 12_000, 1 << 19

# Neighbours that are looked at together.
_AT_ONCE = 1 << 13

# Cosines nearer to 1 than this count as this.
_NEAREST = 0.999

# The square of what is left of a neighbour's mean, of its own square, that is nothing but rounding.
_NOTHING = 1e-12

# Of the first, plain fit, of the mean of the squares.
_RIDGE = 0.3


@dataclass(frozen=True, eq=False)
class LearnedRound:
    """A map from sums of neighbours to vectors.

    Laws: rows are placed one by one, so that no row depends on those beside it, but for rounding; a sum of zeros, which
    says nothing, gives zeros.
    """

    matrix: FloatArray  # (dim, dim): M, to be multiplied from the right
    offset: FloatArray  # (dim,): m
    # (5,); what the logarithm of a length is: a constant, and factors of ``log(1 + weight of the edges)`` and of the
    # logarithm of the neighbours' mean length; then the smallest and the largest length.
    lengths: Matrix
    # (3,); what the inverse hyperbolic tangent of the cosine with the vector of an embedded vertex is expected to be
    # where only some of its edges are known: a constant, and factors of ``log(1 + known edges)`` and of the agreement
    # of these neighbours.
    confidence: Matrix

    @property
    def dim(self) -> int:
        """Columns of a vector."""
        return int(self.offset.size)

    def directions(self, sums: FloatArray) -> FloatArray:
        """Return unit rows for sums of the neighbours' unit rows; zeros stay."""
        found = unit(sums) @ self.matrix + self.offset
        found[~sums.any(axis=1)] = 0
        return np.asarray(unit(found, out=found))

    def length(self, weight: NDArray[np.float64], around: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the lengths of vertices with edges of that weight, and neighbours of that mean length."""
        a, b, c, low, high = self.lengths
        return np.asarray(np.clip(np.exp(a + b * np.log1p(weight) + c * _logs(around)), low, high))

    def cosine(self, edges: NDArray[np.float64], agreement: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the expected cosine of a vector placed by that many edges with the one that all edges would give."""
        a, b, c = self.confidence
        return np.asarray(np.clip(np.tanh(a + b * np.log1p(edges) + c * agreement), 0.0, 1.0))


def _logs(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(values, np.finfo(np.float64).tiny)))


def row_lengths(vectors: FloatArray) -> NDArray[np.float64]:
    """Return the length of every row, a block at a time."""
    found = np.empty(len(vectors))
    for rows in row_blocks(len(vectors)):
        found[rows] = np.linalg.norm(vectors[rows].astype(np.float64), axis=1)
        release_pages(vectors)
    return found


def inverse(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 over each length; 0 for 0.

    >>> inverse(np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def neighbour_means(
    graph: Graph, vectors: FloatArray, scale: NDArray[np.float64], some: IntArray, storage: Storage = MEMORY
) -> tuple[FloatArray, NDArray[np.float64]]:
    """Return the weighted means of the unit rows of some vertices' neighbours, and the weight of their edges.

    `scale` is 1 over the length of each row. A row is summed in the order of its neighbours. `storage` is where the
    means go.
    """
    from parge.kernels.products import sum_neighbours

    out: FloatArray = storage.zeros(some.size * vectors.shape[1], np.float32).reshape(some.size, vectors.shape[1])
    total = np.empty(some.size)
    for first, last in _rows_at_once(np.diff(graph.indptr)[some]):
        place, indptr = entries(graph, some[first:last])
        neighbours = graph.indices[place]
        plain = weights_at(graph, place)
        total[first:last] = row_sums(plain, indptr)
        weights = (shares(plain, indptr) * scale[neighbours]).astype(np.float32)
        if weights.size:
            sum_neighbours(indptr, neighbours, weights, vectors, 0, out[first:last])
        else:
            out[first:last] = 0
        release_pages(vectors, graph.indices, graph.weights, out)
    return out, total


def weights_at(graph: Graph, place: IntArray) -> NDArray[np.float64]:
    """Return the weights that stand at some places of the graph's rows."""
    return np.ones(place.size) if graph.weights is None else graph.weights[place].astype(np.float64)


def shares(weights: NDArray[np.float64], indptr: IntArray) -> NDArray[np.float64]:
    """Return each weight as a share of its row: sums of vectors then stay in the range of float32.

    >>> shares(np.array([1.0, 3.0, 5.0]), np.array([0, 2, 3])).tolist()
    [0.25, 0.75, 1.0]
    """
    total = np.maximum(row_sums(weights, indptr), np.finfo(np.float64).tiny)
    return np.asarray(weights / np.repeat(total, np.diff(indptr)))


def _rows_at_once(degrees: IntArray) -> list[tuple[int, int]]:
    """Return first and next row of groups with at most that many entries, or of one row."""
    return list(arc_blocks(np.concatenate([[0], np.cumsum(degrees)]), _AT_ONCE * 8))


def entries(graph: Graph, some: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the neighbours of some vertices stand in the graph's rows, and the offsets of these rows."""
    counts = np.diff(graph.indptr)[some] if some.size else np.zeros(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    place = np.arange(indptr[-1]) + np.repeat(graph.indptr[:-1][some] - indptr[:-1], counts)
    return place, indptr


def row_sums(values: NDArray[np.float64], indptr: IntArray) -> NDArray[np.float64]:
    """Return the sum of each row's values; 0 where a row has none.

    >>> row_sums(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    row = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    return np.bincount(row, values, minlength=indptr.size - 1).astype(np.float64)


def fit(vectors: FloatArray, graph: Graph, lengths: NDArray[np.float64], storage: Storage = MEMORY) -> LearnedRound:
    """Fit the round on some vertices of an embedding and their neighbours; the same for the same embedding.

    The means of the sampled vertices' neighbours, up to 268 MB at 128 columns, go to `storage`: memory, or files.
    """
    sampled, scale = _sample(graph, lengths), inverse(lengths)
    if not sampled.size:
        return _nothing(vectors.shape[1], lengths)
    with one_blas_thread():
        own = unit_of(vectors, scale, sampled)
        plain, weight = neighbour_means(graph, vectors, scale, sampled)
        first = ridge(unit(plain), own, _RIDGE)
        used, edges = _some_edges(np.diff(graph.indptr)[sampled])
        free, partial = _without_own_part(graph, vectors, scale, sampled, own, plain, first, used, storage)
        features = unit(free)
        matrix = ridge(features, own, chosen_ridge(features, own))
        found = LearnedRound(matrix[:-1].copy(), matrix[-1].copy(), np.zeros(5), np.zeros(3))
        alike = np.einsum("ij,ij->i", found.directions(partial).astype(np.float64), own)
    around = _mean_lengths(graph, lengths, sampled)
    agreement = np.linalg.norm(partial.astype(np.float64), axis=1)
    return LearnedRound(
        found.matrix,
        found.offset,
        _fit_lengths(lengths[sampled], weight, around),
        _least_squares([np.log1p(edges), agreement], np.arctanh(np.clip(alike, -_NEAREST, _NEAREST))),
    )


def _nothing(dim: int, lengths: NDArray[np.float64]) -> LearnedRound:
    """Return the round of a graph without edges: a vertex stands where its neighbours do."""
    length = float(lengths[lengths > 0].mean()) if (lengths > 0).any() else 1.0
    of_length = np.array([np.log(length), 0.0, 0.0, length, length])
    return LearnedRound(np.eye(dim, dtype=np.float32), np.zeros(dim, np.float32), of_length, np.zeros(3))


def _sample(graph: Graph, lengths: NDArray[np.float64]) -> IntArray:
    """Draw vertices with edges and a direction, ascending, until there are enough of them or of their neighbours."""
    degrees = np.diff(graph.indptr)
    known = np.flatnonzero((degrees > 0) & (lengths > 0))
    drawn = keyed_rng(0, "space").permutation(known)[:_SAMPLED]
    return np.sort(drawn[: max(1, int(np.searchsorted(np.cumsum(degrees[drawn]), _PAIRS)))])


def unit_of(vectors: FloatArray, scale: NDArray[np.float64], some: IntArray) -> FloatArray:
    """Return some rows at length 1; `scale` is 1 over the length of each."""
    found = np.asarray(vectors[some], np.float32) * scale[some, None].astype(np.float32)
    release_pages(vectors)
    return np.asarray(found, np.float32)


def _without_own_part(
    graph: Graph,
    vectors: FloatArray,
    scale: NDArray[np.float64],
    sampled: IntArray,
    own: FloatArray,
    plain: FloatArray,
    first: FloatArray,
    used: BoolArray,
    storage: Storage,
) -> tuple[FloatArray, FloatArray]:
    """Return the means of the sampled vertices' neighbours, each without what the vertex itself gave to it.

    And again, of those neighbours alone that are `used`. `plain` are the means as they are.
    """
    place, indptr = entries(graph, sampled)
    neighbours, weights = graph.indices[place], weights_at(graph, place)
    needed = np.flatnonzero(_marked(neighbours, graph.n_vertices))
    at = np.searchsorted(needed, neighbours).astype(neighbours.dtype)
    means, total = neighbour_means(graph, vectors, scale, needed, storage)
    part = weights / np.maximum(total[at], np.finfo(np.float64).tiny)
    row = np.repeat(np.arange(sampled.size), np.diff(indptr))
    with_it, without = _inverse_lengths(means, at, own, row, part)
    some = shares(weights * used, indptr)
    near = (plain, weighted_sums(indptr, neighbours, some * scale[neighbours], vectors))
    # All is linear but the length of a neighbour's mean. So what changes is a sum of means, less a part of the vertex.
    found: list[FloatArray] = []
    for sums, share in zip(near, (shares(weights, indptr), some), strict=True):
        more = weighted_sums(indptr, at, share * (without - with_it), means)
        less = row_sums(share * without * part, indptr).astype(np.float32)
        found.append(np.asarray(sums + (more - less[:, None] * own) @ first[:-1], np.float32))
    return found[0], found[1]


def _marked(some: NDArray[Any], count: int) -> BoolArray:
    found = np.zeros(count, np.bool_)
    found[some] = True
    return found


def _inverse_lengths(
    means: FloatArray, at: NDArray[Any], own: FloatArray, row: IntArray, part: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return 1 over the length of each pair's mean, and over that of ``mean - part own``; 0 where nothing is left."""
    all_means, all_own = np.arange(len(means)), np.arange(len(own))
    squares = _products(means, all_means, means, all_means)[at]
    left = squares - 2 * part * _products(means, at, own, row) + part**2 * _products(own, all_own, own, all_own)[row]
    left[left <= _NOTHING * squares] = 0.0
    return inverse(np.sqrt(squares)), inverse(np.sqrt(left))


def _products(left: FloatArray, at: NDArray[Any], right: FloatArray, row: IntArray) -> NDArray[np.float64]:
    """Return the products of rows of one table with rows of another, in float64."""
    out = np.empty(at.size)
    for some in row_blocks(at.size, _AT_ONCE // 4):
        np.einsum("ij,ij->i", left[at[some]].astype(np.float64), right[row[some]].astype(np.float64), out=out[some])
        release_pages(left, right)
    return out


def weighted_sums(
    indptr: IntArray, neighbours: NDArray[Any], weights: NDArray[np.float64], rows: FloatArray
) -> FloatArray:
    """Return the sum of each vertex's neighbours, which are rows of a table."""
    from parge.kernels.products import sum_neighbours

    out: FloatArray = np.zeros((indptr.size - 1, rows.shape[1]), np.float32)
    for first, last in arc_blocks(indptr, _AT_ONCE * 8):
        some = slice(int(indptr[first]), int(indptr[last]))
        if some.stop > some.start:
            each = weights[some].astype(np.float32)
            sum_neighbours(indptr[first : last + 1] - indptr[first], neighbours[some], each, rows, 0, out[first:last])
        release_pages(rows)
    return out


def _some_edges(degrees: IntArray) -> tuple[BoolArray, NDArray[np.float64]]:
    """Choose some of each vertex's edges, of any number from one to all; return which, and how many of each."""
    rng = keyed_rng(0, "some edges")
    count = rng.integers(1, degrees + 1)
    row, keys = np.repeat(np.arange(degrees.size), degrees), rng.random(int(degrees.sum()))
    order = np.argsort(row + keys, kind="stable")
    rank = np.arange(order.size) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    used = np.zeros(order.size, np.bool_)
    used[order] = rank < count[row]
    return used, count.astype(np.float64)


def _mean_lengths(graph: Graph, lengths: NDArray[np.float64], some: IntArray) -> NDArray[np.float64]:
    place, indptr = entries(graph, some)
    return row_sums(lengths[graph.indices[place]], indptr) / np.maximum(np.diff(indptr), 1)


def _fit_lengths(
    lengths: NDArray[np.float64], weight: NDArray[np.float64], around: NDArray[np.float64]
) -> NDArray[np.float64]:
    found = _least_squares([np.log1p(weight), _logs(around)], _logs(lengths))
    return np.concatenate([found, [lengths.min(), lengths.max()]])


def _least_squares(features: list[NDArray[np.float64]], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a constant and one factor per feature; features that hardly vary have none."""
    X = np.stack(features, axis=1)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    used = deviation > 1e-6 * np.maximum(1.0, np.abs(mean))
    centred = np.where(used, X - mean, 0.0)
    gram = centred.T @ centred
    gram[np.diag_indices(len(gram))] += 1e-9 * max(float(np.trace(gram)), 1.0)
    factors = np.linalg.solve(gram, centred.T @ (target - target.mean()))
    return np.concatenate([[target.mean() - factors @ mean], factors])
