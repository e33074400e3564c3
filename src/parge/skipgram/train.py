"""What the walk techniques share: tables, and training in batches of walks."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from parge.errors import TechniqueError
from parge.events import Progress
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.kernels import skipgram, skipgram_ir, splitmix, walks
from parge.kernels.skipgram import Tables
from parge.kernels.walks import AliasTable, alias_table
from parge.skipgram.settings import BATCH_STEPS, NOISE_POWER, Mode, WalkSettings
from parge.storage import all_finite
from parge.typing import FloatArray, NeighbourArray

# The rate never falls below this share of its start, as in word2vec's default settings.
_LAST_RATE = 0.01

B = TypeVar("B")
D = TypeVar("D")
R = TypeVar("R")


class Batch(NamedTuple):
    """Walks to draw: where they start, in which repetition, and how many come before them."""

    starts: NeighbourArray
    repetition: int
    done: int


class Drawn(NamedTuple):
    """Walks to train: their steps, the keys of their streams, and their rates."""

    steps: NeighbourArray
    keys: splitmix.KeyArray
    rates: FloatArray


def train(
    settings: WalkSettings, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float, q: float
) -> FloatArray:
    """Return the In table after all walks."""
    seed = rng.integers(2**64, dtype=np.uint64)
    table = first_table(subgraph.n_vertices, settings.dim, seed)
    if subgraph.graph.n_edges:
        _train_table(settings, subgraph.graph, table, seed, rng, progress, p, q)
    return trained_vectors(table, settings.dim, settings.learning_rate)


def _train_table(
    settings: WalkSettings,
    graph: Graph,
    table: FloatArray,
    seed: Any,
    rng: np.random.Generator,
    progress: Progress,
    p: float,
    q: float,
) -> None:
    """Train the In table on all walks, in place; Out and the sampling tables are gone afterwards."""
    starts = connected_vertices(graph)
    total = settings.walks * starts.size
    rows, noise = walk_rows(graph), vertex_table(graph, NOISE_POWER)
    tables = Tables(table, skipgram.new_table(graph.n_vertices, settings.dim), False)

    def draw(batch: Batch) -> Drawn:
        keys = splitmix.item_keys(seed, batch.repetition, batch.starts)
        steps = walk_steps(rows, batch.starts, keys, settings.walk_length, p, q)
        return Drawn(steps, keys, falling_rates(settings.learning_rate, batch.done, keys.size, total))

    batches = walk_batches(starts, settings.walks, settings.walk_length, rng)
    train_batches(settings, tables, noise, batches, draw, lambda done: progress(done / total))


def walk_steps(
    rows: walks.WalkCSR, starts: NeighbourArray, keys: splitmix.KeyArray, length: int, p: float, q: float
) -> NeighbourArray:
    """Return a walk of that length from each start, drawn by its key: uniform where p and q are 1, else node2vec's."""
    steps = np.empty((starts.size, length), starts.dtype)
    if p == q == 1.0:
        walks.fill_walks(rows, starts, keys, steps)
    else:
        walks.fill_biased_walks(rows, starts, keys, p, q, steps)
    return steps


def train_batches(
    settings: WalkSettings,
    tables: Tables,
    noise: AliasTable,
    batches: Iterable[B],
    draw: Callable[[B], Drawn],
    on_done: Callable[[int], None],
) -> None:
    """Draw the walks of each batch and train the tables on them, in place; `on_done` gets the number of walks so far.

    With several threads as `parge.skipgram.train.run_batches` says.
    """

    def train_drawn(drawn: Drawn) -> int:
        skipgram_ir.train(tables, noise, *drawn, settings.window, settings.negatives)
        return drawn.keys.size

    done = 0
    for count in run_batches(batches, draw, train_drawn, threads=settings.threads, mode=settings.mode):
        done += count
        on_done(done)


def batch_walks(walk_length: int) -> int:
    """Return how many walks of that length a batch has: about `BATCH_STEPS` steps."""
    return max(walks.LANES, BATCH_STEPS // walk_length)


def connected_vertices(graph: Graph) -> NeighbourArray:
    """Return the vertices that have a neighbour, ascending."""
    return np.flatnonzero(np.diff(graph.indptr)).astype(graph.indices.dtype)


def walk_rows(graph: Graph) -> walks.WalkCSR:
    """Return the graph as walks read it."""
    if graph.weights is None:
        return walks.WalkCSR(graph.indptr, graph.indices, np.empty(0, np.uint32))
    return walks.WalkCSR(graph.indptr, graph.indices, walks.row_shares(graph.indptr, graph.weights))


def vertex_table(graph: Graph, power: float) -> AliasTable:
    """Return the table that draws vertices in proportion to a power of their degree, weights counted."""
    return alias_table(graph.strengths**power, graph.indices.dtype)


def first_table(n_vertices: int, dim: int, seed: Any) -> FloatArray:
    """Return the table that training starts from: uniform(±1) / dim, as in gensim 4.

    An isolated vertex keeps this tiny vector, for no walk meets it.
    """
    table = skipgram.new_table(n_vertices, dim)
    splitmix.fill_uniform(seed, 1.0 / dim, dim, table)
    return table


def walk_batches(
    starts: NeighbourArray, repetitions: int, walk_length: int, rng: np.random.Generator
) -> Iterator[Batch]:
    """Cut the walks of every repetition, in a new random order for each, into batches of about `BATCH_STEPS` steps."""
    size = batch_walks(walk_length)
    for repetition in range(repetitions):
        rng.shuffle(starts)
        for first in range(0, starts.size, size):
            # Copied: other threads may still draw from this batch when the starts are shuffled again.
            yield Batch(starts[first : first + size].copy(), repetition, repetition * starts.size + first)


def falling_rates(rate: float, done: int, count: int, total: int) -> FloatArray:
    """Return the rates of walks done..done+count-1 of `total`: linear from `rate` down to 1 % of it.

    >>> falling_rates(0.5, 0, 4, 4).tolist()
    [0.5, 0.375, 0.25, 0.125]
    """
    share = 1.0 - np.arange(done, done + count) / total
    return (rate * np.maximum(share, _LAST_RATE)).astype(np.float32)


def trained_vectors(table: FloatArray, dim: int, rate: float) -> FloatArray:
    """Return the table without its padding (itself where it has none), or raise where training diverged."""
    if not all_finite(table):
        raise TechniqueError(
            f"training diverged at learning_rate={rate:g}: vectors grew beyond float32. Lower the learning rate (the "
            "default is 0.05)."
        )
    return table if table.shape[1] == dim else np.ascontiguousarray(table[:, :dim])


def run_batches(
    batches: Iterable[B], draw: Callable[[B], D], train: Callable[[D], R], *, threads: int, mode: Mode
) -> Iterator[R]:
    """Draw and train every batch; yield what training returned, in the order of the batches.

    * ``deterministic``: this thread trains, batch after batch, while the others draw the batches to come. A draw
      depends on its batch alone, so the number of threads changes nothing but the time.
    * ``hogwild``: every thread draws and trains its own batches, without locks (Niu et al., NIPS 2011). Two threads
      that change one row at the same moment may lose a change, so no two runs are alike.

    >>> list(run_batches([1, 2, 3], lambda b: 10 * b, lambda d: d + 1, threads=2, mode="deterministic"))
    [11, 21, 31]
    """
    if threads == 1:
        for batch in batches:
            yield train(draw(batch))
    elif mode == "deterministic":
        with _Pool(threads - 1) as pool:
            for drawn in _ahead(pool, draw, batches, threads - 1):
                yield train(drawn)
    else:
        with _Pool(threads) as pool:
            yield from _ahead(pool, lambda batch: train(draw(batch)), batches, 2 * threads)


class _Pool(ThreadPoolExecutor):
    """Threads that drop what they have not started when the work is left early, by an error or an interrupt."""

    def __exit__(self, *raised: object) -> None:
        self.shutdown(wait=True, cancel_futures=True)


def _ahead(pool: Executor, function: Callable[[B], R], batches: Iterable[B], depth: int) -> Iterator[R]:
    """Yield ``function(batch)`` in order, holding at most `depth` batches."""
    waiting = iter(batches)
    running: deque[Future[R]] = deque(pool.submit(function, batch) for batch in islice(waiting, depth))
    while running:
        result = running.popleft().result()
        running.extend(pool.submit(function, batch) for batch in islice(waiting, 1))
        yield result
