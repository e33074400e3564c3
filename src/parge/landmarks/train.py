"""Training around the backbone: a worker walks from its own vertices, and all that is foreign stays frozen.

`DeepWalk.embed` and `Node2Vec.embed` call `train` for a subgraph with a context. The loop over batches of walks is that
of `parge.skipgram.train`.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress
from parge.graph.subgraph import Context, Subgraph
from parge.kernels import splitmix, walks
from parge.kernels.skipgram import Tables
from parge.kernels.walks import AliasTable, alias_table, draw_items
from parge.landmarks.extension import CSR, extension_bytes, opened, start
from parge.linalg.threads import one_blas_thread
from parge.memory import trim_heap
from parge.skipgram.settings import NOISE_POWER, WalkSettings
from parge.skipgram.train import (
    Drawn,
    batch_walks,
    falling_rates,
    run_batches,
    train_batches,
    trained_vectors,
    walk_steps,
)
from parge.typing import FloatArray, IntArray, NeighbourArray

# Of the technique's walks from own vertices, and of its rate: the start has done most of the work. In 8 parts of five
# generated graphs, one seed each, shares of .1 and .3 scored within .003 of each other, and within .001 of walks that
# began at every vertex and landmark of the graph, which take a worker as long however many there are.
_WALK_SHARE = 0.1
_RATE_SHARE = 0.2

# Batches that one of `parge.skipgram.settings.BATCH_STEPS` is cut into: parts are small, and so is what they hold of
# walks (66 kB). It changes no vector.
_BATCHES = 4

# Vertices that two bytes can number.
_SMALL = 2**16

Draw = Callable[[range], NeighbourArray]
"""Returns some of all walks: those of these numbers."""


def train(
    settings: WalkSettings, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float, q: float
) -> FloatArray:
    """Return the vectors of own vertices, trained around the frozen rest, and of the anchors.

    Walks depend on their keys alone, so it is the same when they are drawn. In dense parts they take less memory than
    what they are drawn from: there all of them are drawn before the tables are made, which then take that place.
    """
    context, rows = opened(subgraph)
    seed = rng.integers(2**64, dtype=np.uint64)
    starts = np.flatnonzero(rows.strength[: subgraph.n_own] > 0).astype(rows.indices.dtype)
    plan = _Walks(settings, starts, seed, p, q)
    offsets = _offsets(rows, context.loops)
    drawn: Draw | None = None
    if plan.bytes_kept(rows) + extension_bytes(rows, subgraph.shared) < offsets.n_bytes(rows):
        drawn = plan.kept(rows, plan.drawn_from(_walkable(rows, context.loops, offsets)))
        trim_heap()  # what they were drawn from
    with one_blas_thread():
        tables = start(settings, subgraph, context, rows, seed)
    trim_heap()
    if starts.size:
        noise = alias_table(_noise(subgraph, context, rows.strength), rows.indices.dtype)
        drawn = drawn or plan.drawn_from(_walkable(rows, context.loops, offsets))
        plan.train(tables, noise, drawn, progress)
    return trained_vectors(tables.In[: subgraph.n_embedded], settings.dim, settings.learning_rate)


class _Offsets(NamedTuple):
    """Where rows begin that have their loops, and where their shares do that have to be stored."""

    indptr: IntArray
    stored: IntArray

    def n_bytes(self, rows: CSR) -> int:
        """Return what neighbours and shares take in memory."""
        return int(self.indptr[-1]) * rows.indices.itemsize + 4 * int(self.stored[-1])


def _offsets(rows: CSR, loops: FloatArray) -> _Offsets:
    indptr, stored = rows.indptr.copy(), np.zeros(rows.indptr.size, np.int64)
    indptr[1:] += np.cumsum(loops > 0)
    for first, piece in rows.pieces(slice(0, indptr.size - 1)):
        walks.count_stored(piece.indptr, piece.weights, loops, first, stored[1:])
    np.cumsum(stored, out=stored)
    return _Offsets(indptr, stored)


def _walkable(rows: CSR, loops: FloatArray, offsets: _Offsets) -> walks.WalkCSR:
    """Return what walks read: the rows with a loop at every landmark that has edges inside, and shares of weights.

    The rows, which may be in a file, are read a few at a time.
    """
    indptr, stored = offsets
    neighbours, shares = np.empty(indptr[-1], rows.indices.dtype), np.empty(stored[-1], np.uint32)
    found = walks.WalkCSR(indptr, neighbours, shares, stored, np.empty(indptr.size - 1, np.float64))
    for first, piece in rows.pieces(slice(0, indptr.size - 1)):
        walks.fill_rows_with_loops(piece.indptr, piece.indices, piece.weights, loops, first, found)
    return found


class _Walks(NamedTuple):
    """Walks from own vertices that have an edge, all as often, over the coarse graph."""

    settings: WalkSettings
    starts: NeighbourArray
    seed: Any
    p: float
    q: float

    @property
    def total(self) -> int:
        """How many walks there are."""
        return round(_WALK_SHARE * self.settings.walks * self.starts.size)

    def batches(self) -> Iterator[range]:
        """Yield the numbers of the walks of each batch."""
        size = max(walks.LANES, batch_walks(self.settings.walk_length) // _BATCHES)
        return (range(first, min(first + size, self.total)) for first in range(0, self.total, size))

    def drawn_from(self, walkable: walks.WalkCSR) -> Draw:
        """Return a function that draws walks over these rows."""
        even = alias_table(np.ones(self.starts.size), self.starts.dtype)

        def draw(some: range) -> NeighbourArray:
            keys = self._keys(some)
            first = self.starts[draw_items(even, keys)]
            return walk_steps(walkable, first, keys, self.settings.walk_length, self.p, self.q)

        return draw

    def bytes_kept(self, rows: CSR) -> int:
        """Return what all walks take in memory, where they are kept."""
        return self.total * self.settings.walk_length * _kept_type(rows).itemsize

    def kept(self, rows: CSR, draw: Draw) -> Draw:
        """Draw all walks now; return a function that looks them up."""
        steps = np.empty((self.total, self.settings.walk_length), _kept_type(rows))

        def keep(drawn: tuple[range, NeighbourArray]) -> None:
            some, walked = drawn
            steps[some.start : some.stop] = walked

        threads = self.settings.threads
        for _ in run_batches(
            self.batches(), lambda some: (some, draw(some)), keep, threads=threads, mode="deterministic"
        ):
            pass
        return lambda some: steps[some.start : some.stop].astype(self.starts.dtype)

    def train(self, tables: Tables, noise: AliasTable, draw: Draw, progress: Progress) -> None:
        """Train the pairs that touch an own vertex, in place."""
        rate, total = _RATE_SHARE * self.settings.learning_rate, self.total

        def drawn(some: range) -> Drawn:
            return Drawn(draw(some), self._keys(some), falling_rates(rate, some.start, len(some), total))

        train_batches(self.settings, tables, noise, self.batches(), drawn, lambda done: progress(done / total))

    def _keys(self, some: range) -> splitmix.KeyArray:
        return splitmix.item_keys(self.seed, 0, np.asarray(some))


def _kept_type(rows: CSR) -> np.dtype[Any]:
    return np.dtype(np.uint16) if rows.strength.size <= _SMALL else rows.indices.dtype


def _noise(subgraph: Subgraph, context: Context, strength: NDArray[Any]) -> NDArray[Any]:
    """Return how often each vertex is drawn as a negative: a landmark for the members that are not in the halo."""
    n_single = subgraph.n_embedded + context.n_halo
    noise, whole = strength**NOISE_POWER, subgraph.shared["mass"].astype(np.float64)
    halo = slice(subgraph.n_embedded, n_single)
    left = whole - np.bincount(context.landmark[halo], noise[halo], minlength=whole.size)
    noise[n_single:] = np.maximum(left, 0.0)[context.landmark[n_single:]]
    noise[strength == 0] = 0
    return noise
