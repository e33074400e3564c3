r"""The closed-form backbone: one space for all workers of a walk technique, before any of them has trained.

The graph is lumped into m vertices: anchors, and groups of a part's vertices. On so few the matrix that skip-gram
with negative sampling factorises (Levy and Goldberg, NIPS 2014; Qiu et al., WSDM 2018) can be written down and
decomposed; what it gives the lumps are frozen vectors. A worker places its own vertices by regression on those,
and trains them with everything foreign frozen. Vectors of different workers then lie in one space by construction.

With the transition matrix P of the lumped graph, window W and k negatives drawn from p ∝ Σ_members d^0.75:

    Q = Σ_r w_r P^r,  w_r = (W - r + 1) / (W (W + 1) / 2),   log max(Q / (k p), floor) ≈ U S V^T,
    In = U S^1/2,  Out = V S^1/2.

A vertex v whose steps lead to lumps with probability P_v has q_v = P_v R, R = w_1 I + w_2 P + ... + w_W P^(W-1), and
``In_v = log max(q_v / (k p), floor) V S^-1/2``; Out_v likewise.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parge.errors import TechniqueError
from parge.graph.graph import Graph
from parge.graph.lumped import between_lumps
from parge.graph.subgraph import Lumps, Subgraph
from parge.kernels import csr, products, skipgram, skipgram_ir, streams, walks
from parge.kernels.alias import alias_table, draw_items
from parge.kernels.skipgram import Tables
from parge.rows import forget
from parge.techniques.base import Progress
from parge.techniques.batches import run_batches
from parge.techniques.skipgram import NOISE_POWER, Drawn, falling_rates, trained_vectors
from parge.techniques.walk_settings import BATCH_STEPS, SkipGramWalks
from parge.typing import FloatArray, IntArray, NeighbourArray

Arrays = Mapping[str, NDArray[Any]]

# Entries below this count as this: skip-gram never learns how unlikely an unlikely pair is.
FLOOR = 0.01

# A vertex with few edges is placed by few numbers, so it borrows from its neighbours: their mean has the weight of so
# many edges beside its own. Chosen on planted graphs and trees: there the start alone scored .95 to .97 of centralised
# DeepWalk without, and .98 to 1.01 with it; on dense graphs it changes little.
BORROWED_EDGES = 4.0
BORROWING_ROUNDS = 3

# Of the technique's walks and its rate: the start has done most of the work. In 8 parts on two planted graphs and a
# tree, one seed each, shares of 0, .05, .1, .2 and .4 scored within .002 of each other, .1 never more than .001 under
# the best.
WALK_SHARE = 0.1
RATE_SHARE = 0.2

# Rows that are placed at a time; columns that are mixed at a time, all of a copy that is held of a table.
_ROWS = 256
_COLUMNS = 32

# The least positive float32, nearly.
_TINY = float(np.finfo(np.float32).tiny)

# Oversampling and power steps of the decomposition.
_EXTRA, _POWERS = 16, 2


def prepare(technique: SkipGramWalks, graph: Graph, lump: IntArray, n_lumps: int) -> dict[str, NDArray[Any]]:
    """Return what every worker needs of the backbone, float32."""
    weights = between_lumps(graph, lump, n_lumps)
    strength = (
        graph.degrees.astype(np.float64) if graph.weights is None else walks.strengths(graph.indptr, graph.weights)
    )
    mass = np.bincount(lump, strength**NOISE_POWER, minlength=n_lumps)
    degree = np.asarray(weights.sum(axis=1)).ravel()
    with threadpool_limits(1, "blas"):
        reach, Q = _reach(weights, degree, technique.window)
        logs = _logs(Q, technique.negatives * mass / max(mass.sum(), np.finfo(float).tiny))
        U, S, V = _decomposed(logs, min(technique.dim, n_lumps))
    root = np.sqrt(S)
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 1e-6 * root.max(initial=0.0))
    return {
        "in": _single(U * root),
        "out": _single(V * root),
        "to_in": _single(V * inverse),
        "to_out": _single(U * inverse),
        "reach": _single(reach),
        "mass": _single(mass),
        "degree": _single(degree),
        "members": _single(np.bincount(lump, minlength=n_lumps)),
    }


def _single(array: NDArray[Any]) -> FloatArray:
    return np.ascontiguousarray(array, np.float32)


def _reach(weights: Any, degree: NDArray[Any], window: int) -> tuple[FloatArray, FloatArray]:
    """Return R and Q = P R, by Horner's scheme."""
    n = degree.size
    P = (sp.diags_array(1.0 / np.maximum(degree, np.finfo(float).tiny)) @ weights).toarray().astype(np.float32)
    shares = np.arange(window, 0, -1, dtype=np.float32)
    shares /= shares.sum()
    R: FloatArray = np.zeros((n, n), np.float32)
    np.fill_diagonal(R, shares[-1])
    for share in shares[-2::-1]:
        R = P @ R
        R[np.diag_indices(n)] += share
    return R, P @ R


def _logs(q: FloatArray, noise: NDArray[Any]) -> FloatArray:
    """Return ``log max(q / noise, FLOOR)``, in place of q; a lump that is never drawn has no say."""
    q *= np.divide(1.0, noise, out=np.zeros_like(noise), where=noise > 0).astype(np.float32)
    np.maximum(q, np.float32(FLOOR), out=q)
    return np.log(q, out=q)


def _decomposed(matrix: FloatArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U, S, V of the best approximation of rank k, nearly (Halko, Martinsson and Tropp, 2011)."""
    n = len(matrix)
    basis = matrix @ np.random.default_rng(0).standard_normal((n, min(n, k + _EXTRA)), np.float32)
    for _ in range(_POWERS):
        basis = matrix @ (matrix.T @ np.linalg.qr(basis)[0])
    basis = np.linalg.qr(basis)[0]
    U, S, Vt = np.linalg.svd(basis.T @ matrix, full_matrices=False)
    return basis @ U[:, :k], S[:k], Vt[:k].T


class Rows(NamedTuple):
    """Rows of a lumped subgraph, with what lies inside of each lump, and their sums."""

    indptr: IntArray
    indices: NeighbourArray
    weights: FloatArray
    strength: NDArray[np.float64]

    def matrix(self) -> Any:
        """Return the rows as a sparse matrix, float32."""
        n = self.strength.size
        offsets = self.indptr.astype(np.int32) if self.indices.size < 2**31 else self.indptr
        return sp.csr_matrix((self.weights, self.indices, offsets), shape=(n, n), copy=False)


def train(
    technique: SkipGramWalks, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float, q: float
) -> FloatArray:
    """Return the vectors of own vertices, trained around the frozen rest, and of the anchors."""
    lumps, rows = _opened(subgraph)
    seed = rng.integers(2**64, dtype=np.uint64)
    with threadpool_limits(1, "blas"):
        tables = _start(technique, subgraph, lumps, rows, seed)
    walkable = walks.Rows(rows.indptr, rows.indices, walks.row_shares(rows.indptr, rows.weights))
    strength = rows.strength
    del rows  # walks read shares, and the weights are as large
    _train_own(technique, subgraph, lumps, walkable, strength, tables, seed, progress, p, q)
    return trained_vectors(tables.In[: subgraph.n_answers], technique.dim, technique.learning_rate)


def _opened(subgraph: Subgraph) -> tuple[Lumps, Rows]:
    """Return the lumps of a subgraph, and its rows; pages of its own are let go of."""
    lumps, graph = subgraph.lumps, subgraph.graph
    if lumps is None or "reach" not in subgraph.shared:
        raise TechniqueError(f"subgraph {subgraph.index} carries no backbone")
    weights = np.ones(graph.indices.size, np.float32) if graph.weights is None else graph.weights
    indptr, indices, together = csr.with_loops(graph.indptr, graph.indices, weights, lumps.loops)
    forget(graph.indices, weights)
    return lumps, Rows(indptr, indices, together, walks.strengths(indptr, together))


def _start(technique: SkipGramWalks, subgraph: Subgraph, lumps: Lumps, rows: Rows, seed: Any) -> Tables:
    """Place every vertex: lumps and anchors where the backbone has them, the others by regression on it."""
    shared, n, dim = subgraph.shared, subgraph.n_vertices, technique.dim
    o, a = subgraph.n_own, lumps.n_anchors
    single = np.concatenate([np.arange(o), np.arange(o + a, o + a + lumps.n_halo)])
    frozen_rows = np.concatenate([np.arange(o, o + a), np.arange(o + a + lumps.n_halo, n)])
    # One row more than vertices: see Tables.
    tables = Tables(skipgram.new_table(n + 1, dim), skipgram.new_table(n + 1, dim), False, o)
    width = shared["in"].shape[1]
    tables.In[frozen_rows, :width] = shared["in"][lumps.lump[frozen_rows]]
    tables.Out[frozen_rows, :width] = shared["out"][lumps.lump[frozen_rows]]
    edges, members = rows.matrix(), _members(lumps.lump, shared["mass"].size)
    for first in range(0, single.size, _ROWS):
        some = single[first : first + _ROWS]
        steps = edges[some].astype(np.float64) @ members
        _place(technique, shared, steps, rows.strength[some], some, tables)
    del edges, members
    forget(shared["reach"])
    _borrow(rows, single, tables)
    lone = single[rows.strength[single] == 0]
    fresh = skipgram.new_table(lone.size, dim)
    streams.fill_uniform(seed, 1.0 / dim, dim, fresh)
    tables.In[lone], tables.Out[lone] = fresh, 0
    return tables


def _members(lump: IntArray, n_lumps: int) -> Any:
    """Return which vertex is in which lump, as a matrix of ones."""
    return sp.csr_matrix((np.ones(lump.size), lump, np.arange(lump.size + 1)), shape=(lump.size, n_lumps))


def _place(
    technique: SkipGramWalks, shared: Arrays, steps: Any, strength: NDArray[Any], some: IntArray, tables: Tables
) -> None:
    """Write the start of some vertices, from the probabilities of meeting each lump on a walk from them."""
    k, width = technique.negatives, shared["in"].shape[1]
    total = max(float(shared["mass"].sum()), _TINY)
    scale = 1.0 / np.maximum(strength, np.finfo(float).tiny)
    met = np.asarray((sp.diags_array(scale) @ steps).astype(np.float32) @ shared["reach"])
    np.maximum(met, _TINY, out=met)
    met = np.log(met, out=met)
    # Out_v is how often v is met from lump c: by reversibility q_v(c) d_v / d_c, against v's own noise.
    own_noise = k * np.maximum(strength, np.finfo(float).tiny) ** NOISE_POWER / total
    from_lumps = met - _log(shared["degree"], np.inf)
    from_lumps += _log(strength / own_noise, -np.inf)[:, None]
    met -= _log(k * shared["mass"].astype(np.float64) / total, np.inf)
    for table, logs, to in ((tables.Out, from_lumps, shared["to_out"]), (tables.In, met, shared["to_in"])):
        np.maximum(logs, np.float32(np.log(FLOOR)), out=logs)
        table[some, :width] = logs @ to


def _log(values: NDArray[Any], of_zero: float) -> FloatArray:
    """Return logarithms, float32; those of zeros as given, which has the entry count as the floor."""
    logs = np.full(values.size, of_zero, np.float64)
    np.log(values, where=values > 0, out=logs)
    return logs.astype(np.float32)


def _borrow(rows: Rows, single: IntArray, tables: Tables) -> None:
    """Mix the start of vertices with the mean of their neighbours', the more the fewer edges they have."""
    weight = (BORROWED_EDGES / (BORROWED_EDGES + rows.strength[single])).astype(np.float32)
    for table in (tables.In, tables.Out):
        for first in range(0, table.shape[1], _COLUMNS):
            out = table[: rows.strength.size, first : first + _COLUMNS]
            for _ in range(BORROWING_ROUNDS):
                products.mix_neighbours(*rows, single, weight, out.copy(), out)


def _train_own(
    technique: SkipGramWalks,
    subgraph: Subgraph,
    lumps: Lumps,
    walkable: walks.Rows,
    strength: NDArray[Any],
    tables: Tables,
    seed: Any,
    progress: Progress,
    p: float,
    q: float,
) -> None:
    """Walk the lumped graph and train the pairs that touch an own vertex."""
    members, mass = _left(subgraph, lumps, strength)
    members[strength == 0] = 0
    total = round(WALK_SHARE * technique.walks * float(members.sum()))
    if not total or not subgraph.n_own:
        return
    dtype = subgraph.graph.indices.dtype
    noise, starts = alias_table(mass, dtype), alias_table(members, dtype)

    def draw(firsts: range) -> Drawn:
        keys = streams.item_keys(seed, 0, np.asarray(firsts))
        begins = draw_items(starts, keys)
        steps = np.empty((begins.size, technique.walk_length), dtype)
        if p == q == 1.0:
            walks.fill_walks(walkable, begins, keys, steps)
        else:
            walks.fill_biased_walks(walkable, begins, keys, p, q, steps)
        return Drawn(steps, keys, falling_rates(RATE_SHARE * technique.learning_rate, firsts.start, len(firsts), total))

    def train_drawn(drawn: Drawn) -> int:
        skipgram_ir.train(tables, noise, *drawn, technique.window, technique.negatives)
        return drawn.keys.size

    size, done = max(walks.LANES, BATCH_STEPS // technique.walk_length), 0
    todo = (range(first, min(first + size, total)) for first in range(0, total, size))
    for count in run_batches(todo, draw, train_drawn, threads=technique.threads, mode=technique.mode):
        done += count
        progress(done / total)


def _left(subgraph: Subgraph, lumps: Lumps, strength: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how many vertices each one stands for, and their noise: of a lump, what the halo has left of it."""
    n_single = subgraph.n_answers + lumps.n_halo
    members, mass = np.ones(subgraph.n_vertices), strength**NOISE_POWER
    halo = slice(subgraph.n_answers, n_single)
    for values, name in ((members, "members"), (mass, "mass")):
        whole = subgraph.shared[name].astype(np.float64)
        taken = np.bincount(lumps.lump[halo], values[halo], minlength=whole.size)
        values[n_single:] = np.maximum(whole - taken, 0.0)[lumps.lump[n_single:]]
    mass[strength == 0] = 0
    return members, mass


def place(technique: SkipGramWalks, subgraph: Subgraph, rng: np.random.Generator) -> FloatArray:
    """Return the vectors of own vertices and anchors as training would start from them."""
    lumps, rows = _opened(subgraph)
    with threadpool_limits(1, "blas"):
        tables = _start(technique, subgraph, lumps, rows, rng.integers(2**64, dtype=np.uint64))
    return np.ascontiguousarray(tables.In[: subgraph.n_answers, : technique.dim])
