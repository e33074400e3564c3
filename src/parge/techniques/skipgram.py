"""What the walk techniques share: settings and their checks, tables, and training in batches of walks."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from parge.errors import InputError, TechniqueError
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.kernels import skipgram, skipgram_ir, streams, walks
from parge.kernels.alias import AliasTable, alias_table
from parge.kernels.skipgram import Tables, padded
from parge.memory import Footprint
from parge.techniques.base import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Progress, Technique
from parge.typing import FloatArray, NeighbourArray

# Steps of walk trained by one call of the kernel: large enough that the calls cost nothing, small enough that
# the walks (256 kB) stay in the cache between walking and training, and that progress is smooth.
BATCH_STEPS = 65_536

# Mikolov et al. (2013): negatives are drawn in proportion to the 3/4th power of the frequency.
NOISE_POWER = 0.75

# The rate never falls below this share of its start, as in word2vec's default settings.
LAST_RATE = 0.01

# Two alias entries, a place in the order of starts, and a float64 mass while the alias table is built.
SAMPLING_BYTES_PER_VERTEX = 28
# Cumulated shares of the two directions of a weighted edge; and the weights themselves.
WEIGHT_BYTES_PER_EDGE = 16


@dataclass(frozen=True)
class SkipGramWalks(Technique):
    """Settings of a technique that trains skip-gram with negative sampling on random walks.

    Parameters
    ----------
    dim : int
        Length of a vector.
    walks : int
        Walks from each vertex.
    walk_length : int
        Vertices of a walk.
    window : int
        Vertices on each side of a centre, at most: the reach of each window is uniform in 1..window.
    negatives : int
        Drawn vertices that a window is trained against.
    learning_rate : float
        Step size at the start; it falls linearly with the walks done, to 1 %.
    """

    walks: int = 10
    walk_length: int = 40
    window: int = 5
    negatives: int = 5
    learning_rate: float = 0.05

    def __post_init__(self) -> None:
        for field, least in (("dim", 1), ("walks", 1), ("walk_length", 2), ("window", 1), ("negatives", 1)):
            check_count(self, field, least)
        check_positive(self, "learning_rate")

    def footprint(self) -> Footprint:
        """Return the bound: both tables, the graph with its sampling tables, one batch of walks."""
        return walk_footprint(2 * padded(self.dim), self.walk_length)

    def _train(
        self, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float = 1.0, q: float = 1.0
    ) -> FloatArray:
        """Return the In table after all walks."""
        graph = subgraph.graph
        seed = rng.integers(2**64, dtype=np.uint64)
        starts = connected_vertices(graph)
        total = self.walks * starts.size
        table = first_table(graph.n_vertices, self.dim, seed)
        if not total:
            return trained_vectors(table, self.dim, self.learning_rate)
        rows, noise = walk_rows(graph), vertex_table(graph, NOISE_POWER)
        tables = Tables(table, skipgram.new_table(graph.n_vertices, self.dim), False)
        done = 0
        for repetition in range(self.walks):
            rng.shuffle(starts)
            for batch in batches(starts, self.walk_length):
                keys = streams.item_keys(seed, repetition, batch)
                steps = np.empty((batch.size, self.walk_length), starts.dtype)
                if p == q == 1.0:
                    walks.fill_walks(rows, batch, keys, steps)
                else:
                    walks.fill_biased_walks(rows, batch, keys, p, q, steps)
                rates = falling_rates(self.learning_rate, done, batch.size, total)
                skipgram_ir.train(tables, noise, steps, keys, rates, self.window, self.negatives)
                done += batch.size
                progress(done / total)
        del tables  # Out, before padding is cut off In
        return trained_vectors(table, self.dim, self.learning_rate)


def walk_footprint(columns: int, walk_length: int) -> Footprint:
    """Return the bound for a technique that holds that many float32 columns a vertex."""
    batch = 4 * max(BATCH_STEPS, 32 * walk_length) * 2
    return Footprint(
        BASE_BYTES + batch,
        GRAPH_BYTES_PER_VERTEX + SAMPLING_BYTES_PER_VERTEX + 4 * columns,
        GRAPH_BYTES_PER_EDGE + WEIGHT_BYTES_PER_EDGE,
    )


def connected_vertices(graph: Graph) -> NeighbourArray:
    """Return the vertices that have a neighbour, ascending."""
    return np.flatnonzero(np.diff(graph.indptr)).astype(graph.indices.dtype)


def walk_rows(graph: Graph) -> walks.Rows:
    """Return the graph as walks read it."""
    if graph.weights is None:
        return walks.Rows(graph.indptr, graph.indices, np.empty(0, np.uint32))
    return walks.Rows(graph.indptr, graph.indices, walks.row_shares(graph.indptr, graph.weights))


def vertex_table(graph: Graph, power: float) -> AliasTable:
    """Return the table that draws vertices in proportion to a power of their degree, weights counted."""
    plain = graph.weights is None
    mass = np.diff(graph.indptr).astype(np.float64) if plain else walks.strengths(graph.indptr, graph.weights)
    return alias_table(mass**power, graph.indices.dtype)


def first_table(n_vertices: int, dim: int, seed: Any) -> FloatArray:
    """Return the table that training starts from: uniform(±0.5) / dim, as in word2vec.

    An isolated vertex keeps this tiny vector, for no walk meets it.
    """
    table = skipgram.new_table(n_vertices, dim)
    streams.fill_uniform(seed, 0.5 / dim, dim, table)
    return table


def batches(starts: NeighbourArray, walk_length: int) -> Iterator[NeighbourArray]:
    """Cut the starts of walks into batches of about `BATCH_STEPS` steps."""
    size = max(walks.LANES, BATCH_STEPS // walk_length)
    for first in range(0, starts.size, size):
        yield starts[first : first + size]


def falling_rates(rate: float, done: int, count: int, total: int) -> FloatArray:
    """Return the rates of walks done..done+count-1 of `total`: linear from `rate` down to 1 % of it.

    >>> falling_rates(0.5, 0, 4, 4).tolist()
    [0.5, 0.375, 0.25, 0.125]
    """
    share = 1.0 - np.arange(done, done + count) / total
    return (rate * np.maximum(share, LAST_RATE)).astype(np.float32)


def trained_vectors(table: FloatArray, dim: int, rate: float) -> FloatArray:
    """Return the table without its padding (itself where it has none), or raise where training diverged."""
    if not np.isfinite(table).all():
        raise TechniqueError(
            f"training diverged at learning_rate={rate:g}: vectors grew beyond float32; lower the learning rate "
            "(the default is 0.05)"
        )
    return table if table.shape[1] == dim else np.ascontiguousarray(table[:, :dim])


def check_count(technique: Technique, field: str, least: int) -> None:
    """Raise unless the setting is an integer of at least `least`."""
    value = getattr(technique, field)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{field} of {technique.name} must be an integer of at least {least}; got {value!r}")


def check_positive(technique: Technique, field: str, least: float = 0.0, most: float = float("inf")) -> None:
    """Raise unless the setting is a positive, finite number within the limits."""
    value = getattr(technique, field)
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not value > 0 or not least <= value <= most:
        limits = "" if most == float("inf") else f" between {least:g} and {most:g}"
        raise InputError(f"{field} of {technique.name} must be a positive number{limits}; got {value!r}")
