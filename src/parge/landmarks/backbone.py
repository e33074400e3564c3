r"""The closed-form backbone: one space for all workers of a walk technique, before any of them has trained.

The graph is merged into m vertices: anchors, and groups of a part's vertices. On so few the matrix that skip-gram with
negative sampling factorises (Levy and Goldberg, NIPS 2014; Qiu et al., WSDM 2018) can be written down and decomposed.
What it gives the landmarks are frozen vectors. A worker places its own vertices by regression on those, and trains them
with everything foreign frozen. Vectors of different workers then lie in one space by construction.

With the transition matrix P of the coarse graph, window W and k negatives drawn from p ∝ Σ_members d^0.75:

    Q = Σ_r w_r P^r,  w_r = (W - r + 1) / (W (W + 1) / 2),   log max(Q / (k p), floor) ≈ U S V^T,
    In = U S^1/2,  Out = V S^1/2.

To place their own vertices (`parge.landmarks.extension`), workers get R = w_1 I + w_2 P + ... + w_W P^(W-1), for which
Q = P R, and R' = w_2 I + w_3 P + ... Both are stored transposed: a worker reads a few columns at a time, from a file.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress
from parge.graph.graph import Graph
from parge.graph.subgraph import Context, Subgraph, coarse_matrix
from parge.kernels import skipgram_ir, splitmix, walks
from parge.kernels.skipgram import Tables
from parge.kernels.walks import alias_table, draw_items
from parge.landmarks.base import DECOMPOSED_EXTRA
from parge.landmarks.extension import CSR, logarithms, opened, start, step_shares
from parge.linalg.signs import signs, weighed_sums
from parge.linalg.threads import Threads, one_blas_thread
from parge.memory import current_limit
from parge.skipgram.batches import run_batches
from parge.skipgram.settings import BATCH_STEPS, WalkSettings
from parge.skipgram.train import NOISE_POWER, Drawn, falling_rates, trained_vectors
from parge.storage import row_blocks, usable_cores
from parge.typing import FloatArray, IntArray, Matrix

# Of the technique's walks from own vertices, and of its rate: the start has done most of the work. In 8 parts of five
# generated graphs, one seed each, shares of .1 and .3 scored within .003 of each other, and within .001 of walks that
# began at every vertex and landmark of the graph, which take a worker as long however many there are.
WALK_SHARE = 0.1
RATE_SHARE = 0.2

# Power steps of the decomposition.
_POWERS = 2

# Rows and columns that are transposed, and rows that are multiplied, at a time.
_SQUARE = 256


def prepare(settings: WalkSettings, graph: Graph, landmark: IntArray, n_landmarks: int) -> dict[str, NDArray[Any]]:
    """Return what every worker needs of the backbone, float32."""
    mass: Matrix = np.bincount(landmark, graph.strengths**NOISE_POWER, n_landmarks).astype(np.float64)
    return prepare_merged(settings, coarse_matrix(graph, landmark, n_landmarks), mass)


def prepare_merged(settings: WalkSettings, weights: Matrix, mass: Matrix) -> dict[str, NDArray[Any]]:
    """Return the same from the weights between and inside landmarks, which are overwritten, and their noise."""
    P, degree = _transitions(weights)
    del weights
    with one_blas_thread():
        beyond, reach, Q = _reach(P, settings.window)
        del P
        logs = logarithms(Q, settings.negatives * mass / max(mass.sum(), np.finfo(float).tiny))
        U, S, V = _decomposed(logs, min(settings.dim, mass.size))
    root = np.sqrt(S)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 1e-6 * root.max(initial=0.0))
    return {
        "in": _single(U * root),
        "out": _single(V * root),
        "to_in": _single(V * inverse),
        "to_out": _single(U * inverse),
        "reached": _transposed(reach),
        "reached_beyond": _transposed(beyond),
        "mass": _single(mass),
        "degree": _single(np.minimum(degree, np.finfo(np.float32).max)),  # heavy weights may sum to more
    }


def _single(array: NDArray[Any]) -> FloatArray:
    return np.ascontiguousarray(array, np.float32)


def _transposed(matrix: FloatArray) -> FloatArray:
    """Transpose a square matrix in place: another one of this size would count."""
    for rows in row_blocks(len(matrix), _SQUARE):
        for columns in row_blocks(rows.stop, _SQUARE):
            above = matrix[columns, rows].copy()
            matrix[columns, rows] = matrix[rows, columns].T
            matrix[rows, columns] = above.T
    return matrix


def _transitions(weights: Matrix) -> tuple[FloatArray, Matrix]:
    """Return P and the weight of every landmark."""
    degree = weights.sum(axis=1)
    weights *= (1.0 / np.maximum(degree, np.finfo(float).tiny))[:, None]
    return weights.astype(np.float32), degree


def _reach(P: FloatArray, window: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R', R and Q = P R, by Horner's scheme."""
    n = len(P)
    *first, last = step_shares(window)
    beyond: FloatArray = np.zeros((n, n), np.float32)
    R: FloatArray = last * np.eye(n, dtype=np.float32)
    with Threads(usable_cores() if current_limit() is None else 1) as threads:
        for i, share in enumerate(reversed(first)):
            beyond, R = R, _product(P, R, threads) if i else last * P  # no product with a diagonal matrix
            R[np.diag_indices(n)] += share
        return beyond, R, _product(P, R, threads)


def _product(A: FloatArray, B: FloatArray, threads: Threads) -> FloatArray:
    """Return A B, some rows at a time, which are the same for any number of threads."""
    found = np.empty((len(A), B.shape[1]), np.float32)

    def multiply(rows: slice) -> None:
        np.matmul(A[rows], B, out=found[rows])

    threads.each(multiply, row_blocks(len(A), _SQUARE))
    return found


def _decomposed(matrix: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U, S, V of the best approximation of rank k, nearly (Halko, Martinsson and Tropp, 2011).

    Not `parge.linalg.eigen.randomised_svd`: that one is for a large sparse matrix in float64 and returns no V. Here a
    small dense one in float32 affords QR, and the bits of every backbone hang on the order of these sums.
    """
    n = len(matrix)
    basis = matrix @ np.random.default_rng(0).standard_normal((n, min(n, k + DECOMPOSED_EXTRA)), np.float32)
    for _ in range(_POWERS):
        basis = matrix @ (matrix.T @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    U, S, Vt = np.linalg.svd(basis.T @ matrix, full_matrices=False)
    left, right = basis @ U[:, :k], Vt[:k].T
    turned = signs(weighed_sums(n, left.__getitem__, dim=left.shape[1])).astype(left.dtype)
    return left * turned, S[:k], right * turned


def train(
    settings: WalkSettings, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float, q: float
) -> FloatArray:
    """Return the vectors of own vertices, trained around the frozen rest, and of the anchors."""
    context, rows = opened(subgraph)
    seed = rng.integers(2**64, dtype=np.uint64)
    with one_blas_thread():
        tables = start(settings, subgraph, context, rows, seed)
    walkable, strength = _walkable(rows, context.loops), rows.strength
    del rows
    _train_own(settings, subgraph, context, walkable, strength, tables, seed, progress, p, q)
    return trained_vectors(tables.In[: subgraph.n_embedded], settings.dim, settings.learning_rate)


def _walkable(rows: CSR, loops: FloatArray) -> walks.WalkCSR:
    """Return what walks read: the rows with a loop at every landmark that has edges inside, and shares of weights.

    The rows, which may be in a file, are read a few at a time.
    """
    indptr = rows.indptr + np.concatenate([[0], np.cumsum(loops > 0)])
    found = walks.WalkCSR(indptr, np.empty(indptr[-1], rows.indices.dtype), np.empty(indptr[-1], np.uint32))
    for first, piece in rows.pieces(slice(0, indptr.size - 1)):
        walks.fill_rows_with_loops(piece.indptr, piece.indices, piece.weights, loops, first, *found)
    return found


def _train_own(
    settings: WalkSettings,
    subgraph: Subgraph,
    context: Context,
    walkable: walks.WalkCSR,
    strength: NDArray[Any],
    tables: Tables,
    seed: Any,
    progress: Progress,
    p: float,
    q: float,
) -> None:
    """Walk from own vertices over the coarse graph and train the pairs that touch an own vertex."""
    starts = np.flatnonzero(strength[: subgraph.n_own] > 0).astype(subgraph.graph.indices.dtype)
    total = round(WALK_SHARE * settings.walks * starts.size)
    if not total:
        return
    dtype = subgraph.graph.indices.dtype
    noise = alias_table(_noise(subgraph, context, strength), dtype)
    even = alias_table(np.ones(starts.size), dtype)

    def draw(firsts: range) -> Drawn:
        keys = splitmix.item_keys(seed, 0, np.asarray(firsts))
        begins = starts[draw_items(even, keys)]
        steps = np.empty((begins.size, settings.walk_length), dtype)
        if p == q == 1.0:
            walks.fill_walks(walkable, begins, keys, steps)
        else:
            walks.fill_biased_walks(walkable, begins, keys, p, q, steps)
        return Drawn(steps, keys, falling_rates(RATE_SHARE * settings.learning_rate, firsts.start, len(firsts), total))

    def train_drawn(drawn: Drawn) -> int:
        skipgram_ir.train(tables, noise, *drawn, settings.window, settings.negatives)
        return drawn.keys.size

    size, done = max(walks.LANES, BATCH_STEPS // settings.walk_length), 0
    todo = (range(first, min(first + size, total)) for first in range(0, total, size))
    for count in run_batches(todo, draw, train_drawn, threads=settings.threads, mode=settings.mode):
        done += count
        progress(done / total)


def _noise(subgraph: Subgraph, context: Context, strength: NDArray[Any]) -> NDArray[Any]:
    """Return how often each vertex is drawn as a negative: a landmark for the members that are not in the halo."""
    n_single = subgraph.n_embedded + context.n_halo
    noise, whole = strength**NOISE_POWER, subgraph.shared["mass"].astype(np.float64)
    halo = slice(subgraph.n_embedded, n_single)
    left = whole - np.bincount(context.landmark[halo], noise[halo], minlength=whole.size)
    noise[n_single:] = np.maximum(left, 0.0)[context.landmark[n_single:]]
    noise[strength == 0] = 0
    return noise
