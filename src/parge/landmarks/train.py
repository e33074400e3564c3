"""Training around the backbone: a worker walks from its own vertices, and all that is foreign stays frozen.

`DeepWalk.embed` and `Node2Vec.embed` call `train` for a subgraph with a context. The loop over batches of walks is that
of `parge.skipgram.train`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress
from parge.graph.subgraph import Context, Subgraph
from parge.kernels import splitmix, walks
from parge.kernels.skipgram import Tables
from parge.kernels.walks import AliasTable, alias_table, draw_items
from parge.landmarks.extension import CSR, opened, start
from parge.linalg.threads import one_blas_thread
from parge.skipgram.settings import NOISE_POWER, WalkSettings
from parge.skipgram.train import (
    Drawn,
    batch_walks,
    falling_rates,
    train_batches,
    trained_vectors,
    walk_steps,
)
from parge.typing import FloatArray, NeighbourArray

# Of the technique's walks from own vertices, and of its rate: the start has done most of the work. In 8 parts of five
# generated graphs, one seed each, shares of .1 and .3 scored within .003 of each other, and within .001 of walks that
# began at every vertex and landmark of the graph, which take a worker as long however many there are.
_WALK_SHARE = 0.1
_RATE_SHARE = 0.2


def train(
    settings: WalkSettings, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float, q: float
) -> FloatArray:
    """Return the vectors of own vertices, trained around the frozen rest, and of the anchors."""
    context, rows = opened(subgraph)
    seed = rng.integers(2**64, dtype=np.uint64)
    with one_blas_thread():
        tables = start(settings, subgraph, context, rows, seed)
    walkable = _walkable(rows, context.loops)
    drawing = _drawing(subgraph, context, rows.strength)
    del rows
    if drawing is not None:
        _train_own(settings, drawing, walkable, tables, seed, progress, p, q)
    return trained_vectors(tables.In[: subgraph.n_embedded], settings.dim, settings.learning_rate)


def _walkable(rows: CSR, loops: FloatArray) -> walks.WalkCSR:
    """Return what walks read: the rows with a loop at every landmark that has edges inside, and shares of weights.

    The rows, which may be in a file, are read a few at a time.
    """
    everything = slice(0, rows.indptr.size - 1)
    indptr, stored = rows.indptr.copy(), np.zeros(rows.indptr.size, np.int64)
    indptr[1:] += np.cumsum(loops > 0)
    for first, piece in rows.pieces(everything):
        walks.count_stored(piece.indptr, piece.weights, loops, first, stored[1:])
    np.cumsum(stored, out=stored)
    neighbours, shares = np.empty(indptr[-1], rows.indices.dtype), np.empty(stored[-1], np.uint32)
    found = walks.WalkCSR(indptr, neighbours, shares, stored, np.empty(indptr.size - 1, np.float64))
    for first, piece in rows.pieces(everything):
        walks.fill_rows_with_loops(piece.indptr, piece.indices, piece.weights, loops, first, found)
    return found


class _Drawing(NamedTuple):
    """Vertices that walks start from, all as often, and what negatives are drawn from."""

    starts: NeighbourArray
    even: AliasTable
    noise: AliasTable


def _drawing(subgraph: Subgraph, context: Context, strength: NDArray[Any]) -> _Drawing | None:
    """Return what is drawn from: own vertices with an edge, or None where there are none."""
    dtype = subgraph.graph.indices.dtype
    starts = np.flatnonzero(strength[: subgraph.n_own] > 0).astype(dtype)
    if not starts.size:
        return None
    noise = alias_table(_noise(subgraph, context, strength), dtype)
    return _Drawing(starts, alias_table(np.ones(starts.size), dtype), noise)


def _train_own(
    settings: WalkSettings,
    drawing: _Drawing,
    walkable: walks.WalkCSR,
    tables: Tables,
    seed: Any,
    progress: Progress,
    p: float,
    q: float,
) -> None:
    """Walk from own vertices over the coarse graph and train the pairs that touch an own vertex."""
    starts, even, noise = drawing
    total = round(_WALK_SHARE * settings.walks * starts.size)

    def draw(firsts: range) -> Drawn:
        keys = splitmix.item_keys(seed, 0, np.asarray(firsts))
        steps = walk_steps(walkable, starts[draw_items(even, keys)], keys, settings.walk_length, p, q)
        return Drawn(steps, keys, falling_rates(_RATE_SHARE * settings.learning_rate, firsts.start, len(firsts), total))

    size = batch_walks(settings.walk_length)
    batches = (range(first, min(first + size, total)) for first in range(0, total, size))
    train_batches(settings, tables, noise, batches, draw, lambda done: progress(done / total))


def _noise(subgraph: Subgraph, context: Context, strength: NDArray[Any]) -> NDArray[Any]:
    """Return how often each vertex is drawn as a negative: a landmark for the members that are not in the halo."""
    n_single = subgraph.n_embedded + context.n_halo
    noise, whole = strength**NOISE_POWER, subgraph.shared["mass"].astype(np.float64)
    halo = slice(subgraph.n_embedded, n_single)
    left = whole - np.bincount(context.landmark[halo], noise[halo], minlength=whole.size)
    noise[n_single:] = np.maximum(left, 0.0)[context.landmark[n_single:]]
    noise[strength == 0] = 0
    return noise
