r"""The closed-form backbone: one space for all workers of a walk technique, before any of them has trained.

The graph is merged into m vertices: anchors, and groups of a part's vertices. On so few the matrix that skip-gram with
negative sampling factorises (Levy and Goldberg, NIPS 2014; Qiu et al., WSDM 2018) can be written down and decomposed.
What it gives the landmarks are frozen vectors. A worker places its own vertices by regression on those, and trains them
with everything foreign frozen (`parge.landmarks.train`). Vectors of different workers then lie in one space by
construction.

With the transition matrix P of the coarse graph, window W and k negatives drawn from p ∝ Σ_members d^0.75:

    Q = Σ_r w_r P^r,  w_r = (W - r + 1) / (W (W + 1) / 2),   log max(Q / (k p), floor) ≈ U S V^T,
    In = U S^1/2,  Out = V S^1/2.

To place their own vertices (`parge.landmarks.extension`), workers get R = w_1 I + w_2 P + ... + w_W P^(W-1), for which
Q = P R, and R' = w_2 I + w_3 P + ... Both are stored transposed: a worker reads a few columns at a time, from a file.

With the degrees D, P = D^-1/2 N D^1/2 of a symmetric N, and polynomials of P are as symmetric in between: of a product
of two of them only one triangle is computed.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.landmarks.base import LandmarkTechnique
from parge.linalg.signs import signs, weighed_sums
from parge.linalg.threads import Threads, one_blas_thread
from parge.memory import Footprint, current_limit
from parge.skipgram.settings import NOISE_POWER, WalkSettings
from parge.storage import row_blocks, usable_cores
from parge.typing import FloatArray, IntArray, Matrix, Shape

# A backbone has a quarter of the vertices as landmarks, up to this many: its dense products take about a second, and
# its matrices 17 MB each. With overlapping communities few landmarks blur: 840 instead of 2,000 kept 95 instead of
# 101 % on 8,000 vertices; but 2,600 and 3,300 kept no more than 1,650 on 60,000 (8 parts, one seed, no pass).
MOST_LANDMARKS = 2048

# What walks read of an arc, neighbour and share, in memory; before, these bytes are free.
ARC_BYTES = 8

# Vertices are extended from as many landmarks at a time as take this many bytes more for all of a worker's vertices: at
# least a cache line for each, and no more than make a difference. (Tables are read and written once for each group: a
# worker of youtube-groups took 0.94 s of a core with 16 at a time, 0.55 with 32, 0.46 with 64, 0.42 with 128.)
EXTENSION_BYTES, EXTENSION_LANDMARKS = 500_000, (16, 32, 64)

# Graphs whose vertices have so much weight together, two for each edge where none is weighted: a worker of these takes
# at most the second number of landmarks at a time. From a million edges on its memory is to be near its share.
LARGE_WEIGHT = 2_000_000

# Columns beyond the dimensions with which the backbone's matrix is decomposed, and how many tables of that many columns
# are held meanwhile: bases, both factors, LAPACK's own.
DECOMPOSED_EXTRA, _DECOMPOSED_TABLES = 16, 12

# Bytes of a block of a product that is mirrored: one at a time where memory is limited.
_MIRRORED = 4 * 64 * 256

# Entries below this count as this: skip-gram never learns how unlikely an unlikely pair is.
FLOOR = 0.01

# Power steps of the decomposition.
_POWERS = 2

# Rows that are multiplied, rows and columns that are mirrored, and rows that are scaled in float64, at a time.
_ROWS, _SQUARE, _SCALED = 256, 64, 32


class BackboneTechnique(LandmarkTechnique):
    """A technique whose landmarks get the closed-form optimum of a walk technique, before any worker has trained."""

    @property
    @abstractmethod
    def walker(self) -> "Walker":
        """The walk technique."""

    @property
    def landmark_shapes(self) -> Mapping[str, Shape]:
        """Vectors, matrices over the landmarks, and one number per landmark."""
        return {
            **dict.fromkeys(("in", "out", "to_in", "to_out"), ("landmarks", "rank")),
            **dict.fromkeys(("reached", "reached_beyond"), ("landmarks", "landmarks")),
            **dict.fromkeys(("mass", "degree"), ("landmarks",)),
        }

    def embed_landmarks(self, graph: Graph, landmark: IntArray, n_landmarks: int) -> dict[str, NDArray[Any]]:
        """Return the closed-form backbone."""
        return prepare(self.walker, graph, landmark, n_landmarks)

    def noise(self, strengths: Matrix) -> Matrix:
        """Return how often each vertex is drawn as a negative."""
        return np.asarray(strengths**NOISE_POWER)

    def embed_merged(self, weights: Matrix, noise: Matrix) -> dict[str, NDArray[Any]]:
        """Return the closed-form backbone of merged vertices."""
        return prepare_merged(self.walker, weights, noise)

    def landmark_bytes(self, n_vertices: int, n_landmarks: int) -> int:
        """Return the bound: four matrices over landmarks, or three and what decomposes one; 24 bytes per vertex.

        It holds where memory is limited, so that one thread is at work.
        """
        matrix, table = 4 * n_landmarks**2, 4 * n_landmarks * (self.dim + DECOMPOSED_EXTRA)
        return max(4 * matrix + _MIRRORED, 3 * matrix + _DECOMPOSED_TABLES * table) + 24 * n_vertices

    def landmark_footprint(self, n_landmarks: int) -> Footprint:
        """Return the bound: the walker, its rows again with their loops, columns being extended, landmarks' vectors.

        The matrices over landmarks stay in files, of which some columns are read at a time.
        """
        plain, least, most = self.walker.footprint(), EXTENSION_LANDMARKS[0], EXTENSION_LANDMARKS[-1]
        fixed = plain.fixed + n_landmarks * (4 * self.dim + 3 * 4 * most) + 2 * EXTENSION_BYTES
        return Footprint(fixed, plain.per_vertex + 64 + 4 * least, plain.per_edge + ARC_BYTES)

    def worker_footprint(self, n_landmarks: int) -> Footprint:
        """Return the bound: of rows in files, a worker holds what walks read, or as much while vertices are extended.

        Of landmarks it holds their vectors, and later columns as they are read and transposed; never both.
        """
        none, columns = self.landmark_footprint(0), 2 * 4 * EXTENSION_LANDMARKS[-1]
        fixed = none.fixed + n_landmarks * (max(4 * self.dim, columns) + 2 * 4)
        return Footprint(fixed, none.per_vertex, min(none.per_edge, 2 * ARC_BYTES))


class Walker(WalkSettings, Protocol):
    """A technique that trains on walks."""

    def footprint(self) -> Footprint:
        """Return the bound on the memory of a worker that trains without a backbone."""


def prepare(settings: WalkSettings, graph: Graph, landmark: IntArray, n_landmarks: int) -> dict[str, NDArray[Any]]:
    """Return what every worker needs of the backbone, float32."""
    mass: Matrix = np.bincount(landmark, graph.strengths**NOISE_POWER, n_landmarks).astype(np.float64)
    return prepare_merged(settings, coarse_matrix(graph, landmark, n_landmarks), mass)


def coarse_matrix(graph: Graph, landmark: IntArray, n_landmarks: int) -> NDArray[np.float64]:
    """Return the weights between and inside landmarks, (n_landmarks, n_landmarks); a row sums to its members' degrees.

    Dense, so that it takes as many bytes for any number of edges; where most pairs of landmarks touch, sparse rows and
    their copies would take more.
    """
    from parge.kernels import csr  # compiled code, loaded only where it is needed

    weights = np.empty(0, np.float32) if graph.weights is None else graph.weights
    between = np.zeros((n_landmarks, n_landmarks))
    csr.quotient_matrix(graph.indptr, graph.indices, weights, landmark, between)
    return between


def prepare_merged(settings: WalkSettings, weights: Matrix, mass: Matrix) -> dict[str, NDArray[Any]]:
    """Return the same from the weights between and inside landmarks, which are overwritten, and their noise."""
    N, degree = _symmetric(weights)
    del weights
    root = np.sqrt(np.where(degree > 0, degree, 1.0))
    noise = settings.negatives * mass / max(mass.sum(), np.finfo(float).tiny)
    n_threads = usable_cores() if current_limit() is None else 1
    with one_blas_thread(), Threads(n_threads) as threads:
        beyond, reach, Q = _reach(N, settings.window, threads)
        del N
        for symmetric in (beyond, reach):  # transposed, they are D^1/2 S D^-1/2
            _scale(symmetric, root, 1 / root, threads)
        _scale(Q, 1 / root, root, threads)
        U, S, V = _decomposed(_logarithms(Q, noise), min(settings.dim, mass.size), threads)
    root_S = np.sqrt(S)
    inverse = np.divide(1.0, root_S, out=np.zeros_like(root_S), where=root_S > 1e-6 * root_S.max(initial=0.0))
    return {
        "in": _single(U * root_S),
        "out": _single(V * root_S),
        "to_in": _single(V * inverse),
        "to_out": _single(U * inverse),
        "reached": reach,
        "reached_beyond": beyond,
        "mass": _single(mass),
        "degree": _single(np.minimum(degree, np.finfo(np.float32).max)),  # heavy weights may sum to more
    }


def _single(array: NDArray[Any]) -> FloatArray:
    return np.ascontiguousarray(array, np.float32)


def _symmetric(weights: Matrix) -> tuple[FloatArray, Matrix]:
    """Return N = D^-1/2 W D^-1/2 and the weight of every landmark."""
    degree = weights.sum(axis=1)
    scale = 1.0 / np.sqrt(np.maximum(degree, np.finfo(float).tiny))
    weights *= scale[:, None]
    weights *= scale
    return weights.astype(np.float32), degree


def _scale(matrix: FloatArray, left: Matrix, right: Matrix, threads: Threads) -> None:
    """Multiply rows and columns in place, in float64: of heavy weights the scales alone may be beyond float32."""

    def multiply(rows: slice) -> None:
        matrix[rows] = matrix[rows] * left[rows, None] * right

    threads.each(multiply, row_blocks(len(matrix), _SCALED))


def _reach(N: FloatArray, window: int, threads: Threads) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return R', R and Q = P R, by Horner's scheme, as the polynomials of N that they are."""
    n = len(N)
    *first, last = step_shares(window)
    beyond: FloatArray = np.zeros((n, n), np.float32)
    R: FloatArray = last * np.eye(n, dtype=np.float32)
    for i, share in enumerate(reversed(first)):
        if i == 0:
            np.multiply(N, last, out=beyond)  # no product with a diagonal matrix
        else:
            _symmetric_product(N, R, beyond, threads)
        beyond, R = R, beyond
        R[np.diag_indices(n)] += share
    Q = np.empty_like(N)
    _symmetric_product(N, R, Q, threads)
    return beyond, R, Q


def step_shares(window: int) -> FloatArray:
    """Return w_1 ... w_W: how often a word2vec window reaches that far.

    >>> step_shares(2)
    array([0.6666667 , 0.33333334], dtype=float32)
    """
    shares: FloatArray = np.arange(window, 0, -1, dtype=np.float32)
    shares /= shares.sum()
    return shares


def _symmetric_product(A: FloatArray, B: FloatArray, found: FloatArray, threads: Threads) -> None:
    """Find A B, which is symmetric, from its upper triangle; the same for any number of threads."""

    def multiply(rows: slice) -> None:
        np.matmul(A[rows], B[:, rows.start :], out=found[rows, rows.start :])
        for right in row_blocks(len(A) - rows.stop, _SQUARE):
            columns = slice(rows.stop + right.start, rows.stop + right.stop)
            found[columns, rows] = found[rows, columns].T

    threads.each(multiply, row_blocks(len(A), _ROWS))


def _product(A: FloatArray, B: FloatArray, threads: Threads) -> FloatArray:
    """Return A B, some rows at a time, which are the same for any number of threads."""
    found = np.empty((len(A), B.shape[1]), np.float32)

    def multiply(rows: slice) -> None:
        np.matmul(A[rows], B, out=found[rows])

    threads.each(multiply, row_blocks(len(A), _ROWS))
    return found


def _logarithms(q: FloatArray, noise: NDArray[Any]) -> FloatArray:
    """Return ``log max(q / noise, FLOOR)``, in place of q; a landmark that is never drawn does not count."""
    q *= np.divide(1.0, noise, out=np.zeros_like(noise), where=noise > 0).astype(np.float32)
    np.maximum(q, np.float32(FLOOR), out=q)
    return np.log(q, out=q)


def _decomposed(matrix: FloatArray, k: int, threads: Threads) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U, S, V of the best approximation of rank k, nearly (Halko, Martinsson and Tropp, 2011).

    Not `parge.linalg.eigen.randomised_svd`: that one is for a large sparse matrix in float64 and returns no V. Here a
    small dense one in float32 affords QR, and the bits of every backbone hang on the order of these sums.
    """
    n = len(matrix)
    drawn = np.random.default_rng(0).standard_normal((n, min(n, k + DECOMPOSED_EXTRA)), np.float32)
    basis = _product(matrix, drawn, threads)
    for _ in range(_POWERS):
        basis = _product(matrix, _product(matrix.T, np.linalg.qr(basis)[0], threads), threads)
    basis = np.linalg.qr(basis)[0]
    U, S, Vt = np.linalg.svd(_product(matrix.T, basis, threads).T, full_matrices=False)
    left, right = basis @ U[:, :k], Vt[:k].T
    turned = signs(weighed_sums(n, left.__getitem__, dim=left.shape[1])).astype(left.dtype)
    return left * turned, S[:k], right * turned
