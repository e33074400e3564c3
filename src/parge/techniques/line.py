"""LINE: vectors that predict edges (first order) and neighbourhoods (second order)."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from parge.errors import InputError
from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.kernels import skipgram, skipgram_ir, splitmix, walks
from parge.kernels.skipgram import Tables
from parge.kernels.walks import AliasTable, draw_items
from parge.linalg.tall import unit
from parge.memory import Footprint
from parge.skipgram.settings import BATCH_STEPS, NOISE_POWER, Mode, walk_footprint
from parge.skipgram.train import (
    Drawn,
    falling_rates,
    first_table,
    run_batches,
    trained_vectors,
    vertex_table,
    walk_rows,
)
from parge.storage import padded
from parge.techniques.base import MOST_RATE, WHITEN_20, Technique, check_counts, check_range, check_threads
from parge.typing import FloatArray, IntArray, NeighbourArray


@dataclass(frozen=True)
class LINE(Technique):
    """Training on edges drawn in proportion to their weight, in both directions, with negative sampling.

    Use it if direct neighbours matter and longer paths do not. On the command line: ``--technique line``.

    Tang et al., "LINE: large-scale information network embedding" (WWW 2015). First order: an edge's ends have
    similar vectors. Second order: vertices with the same neighbours have similar vectors. Both: half of the
    columns each, every half scaled to unit length, as the authors' program does.

    A drawn edge is a walk of two vertices that starts in proportion to degree. It uses the training kernel of the walk
    techniques with a window of 1, so no table over edges is needed.

    Parameters
    ----------
    dim : int
        Length of a vector; even where `order` is both.
    order : {'both', 'first', 'second'}
        Which proximity the vectors keep.
    samples : int
        Edges drawn per vertex and order; an edge trains two pairs.
    negatives : int
        Number of negative samples per pair.
    learning_rate : float
        Step size at the start; it decreases linearly to 1 % at the end.
    threads, mode
        As for `parge.techniques.deepwalk.SkipGramWalks`.
    """

    order: Literal["both", "first", "second"] = "both"
    samples: int = 1000
    negatives: int = 5
    learning_rate: float = 0.05
    threads: int = 1
    mode: Mode = "deterministic"

    name: ClassVar[str] = "line"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = WHITEN_20
    link_refine: ClassVar[str] = "blend"

    def __post_init__(self) -> None:
        if self.order not in {"both", "first", "second"}:
            raise InputError(f"order of line must be 'both', 'first' or 'second'; got {self.order!r}")
        check_counts(self, 1, "dim", "samples", "negatives")
        check_range(self, "learning_rate", 0.0, MOST_RATE, above=True)
        check_threads(self)
        if self.order == "both" and self.dim % 2:
            raise InputError(
                f"dim of line must be even for order=both, which gives each order half of the columns; got {self.dim}"
            )

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has a tiny random one."""
        if self.order != "both":
            return self._train(subgraph.graph, rng, progress)
        half = self.dim // 2
        vectors = np.empty((subgraph.n_vertices, self.dim), np.float32)
        connected = np.diff(subgraph.graph.indptr) > 0
        orders = replace(self, dim=half, order="first"), replace(self, dim=half, order="second")
        for i, single in enumerate(orders):
            columns = single._train(subgraph.graph, rng, partial(_half_done, progress, i))
            vectors[:, i * half : (i + 1) * half] = unit(columns, columns, some=connected)
            del columns  # before the second order's tables exist
        return vectors

    def footprint(self) -> Footprint:
        """Return the bound: the tables of one order, the joined vectors, the graph with its sampling tables."""
        columns = {
            "first": 2 * padded(self.dim) if self.dim % 16 else padded(self.dim),
            "second": 2 * padded(self.dim),
            "both": self.dim + 2 * padded(self.dim // 2),
        }[self.order]
        return walk_footprint(columns, 2, self.threads)

    def _train(self, graph: Graph, rng: np.random.Generator, progress: Progress) -> FloatArray:
        """Return the vectors of one order."""
        seed = rng.integers(2**64, dtype=np.uint64)
        table = first_table(graph.n_vertices, self.dim, seed)
        if graph.n_edges:
            self._train_table(graph, table, seed, progress)
        return trained_vectors(table, self.dim, self.learning_rate)

    def _train_table(self, graph: Graph, table: FloatArray, seed: Any, progress: Progress) -> None:
        """Train the In table of one order, in place; Out and the sampling tables are gone afterwards."""
        rows, noise, ends = walk_rows(graph), vertex_table(graph, NOISE_POWER), vertex_table(graph, 1.0)
        one = self.order == "first"
        tables = Tables(table, table if one else skipgram.new_table(graph.n_vertices, self.dim), one)
        total = self.samples * graph.n_vertices

        def draw(numbers: IntArray) -> Drawn:
            keys = splitmix.item_keys(seed, 0, numbers)
            rates = falling_rates(self.learning_rate, int(numbers[0]), numbers.size, total)
            return Drawn(_draw_edges(rows, ends, keys), keys, rates)

        def train_drawn(drawn: Drawn) -> int:
            skipgram_ir.train(tables, noise, *drawn, 1, self.negatives)
            return drawn.keys.size

        done = 0
        size = BATCH_STEPS // 2
        todo = (np.arange(first, min(first + size, total)) for first in range(0, total, size))
        for count in run_batches(todo, draw, train_drawn, threads=self.threads, mode=self.mode):
            done += count
            progress(done / total)


def _half_done(progress: Progress, i: int, share: float) -> None:
    """Report the share of one of two orders as a share of both."""
    progress((i + share) / 2)


def _draw_edges(rows: walks.WalkCSR, ends: AliasTable, keys: splitmix.KeyArray) -> NeighbourArray:
    """Return one edge per key, drawn in proportion to weight: an end by its degree, then a step from it."""
    edges = np.empty((keys.size, 2), rows.indices.dtype)
    walks.fill_walks(rows, draw_items(ends, keys), keys, edges)
    return edges
