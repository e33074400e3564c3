"""Whitened propagation from drawn vectors: a technique without a model, linear in the edges."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.features import ROWS, projected_features, vertex_features
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.adjacency import Adjacency
from parge.linalg.tall import overwrite, rows_of, unit
from parge.linalg.threads import one_blas_thread
from parge.linalg.whitening import whitened_rounds
from parge.memory import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Footprint
from parge.storage import rows_at_once
from parge.techniques.base import Technique, check_counts, check_range
from parge.typing import FloatArray

# Columns that are propagated at once: 16 of float32 fill a cache line.
_COLUMNS = 32


@dataclass(frozen=True)
class Whitened(Technique):
    """Whitened propagation: vectors are averaged over neighbours for some rounds, and whitened after each.

    The start is that of `parge.SGC`: the graph's features, or normal draws for each vertex, both keyed by numbers in
    the whole graph. Whitening is symmetric: subgraphs start in one space and drift apart slowly, so a rotation aligns
    them. After many rounds the vectors approach the leading eigenvectors of the walk matrix, all with equal weight.
    pycleora uses a similar method.

    Parameters
    ----------
    dim : int
        Length of a vector.
    rounds : int
        The most rounds.
    tolerance : float
        Rounds end when the subspace of the columns changes by less.
    seed : int
        Seed of the random start; the same in all subgraphs, independent of the seed of the run.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> Whitened(dim=8).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng()).shape
    (20, 8)
    """

    name: ClassVar[str] = "whitened"
    refine: ClassVar[str] = "settle"

    rounds: int = 40
    tolerance: float = 0.0005
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "rounds")
        check_counts(self, 0, "seed")
        check_range(self, "tolerance", 0.0)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex, of length 1. The generator is not used."""
        vectors = vertex_features(subgraph, self.dim, self.seed)
        if subgraph.n_edges:
            with one_blas_thread():
                A, room = Adjacency(subgraph.graph), np.empty_like(vectors)
                every = [slice(first, first + _COLUMNS) for first in range(0, self.dim, _COLUMNS)]
                whitened_rounds(
                    A, vectors, room, every, rounds=self.rounds, tolerance=self.tolerance, progress=progress
                )
        rows = rows_of(vectors)
        overwrite(vectors, lambda where: unit(rows(where)))
        progress(1.0)
        return vectors

    def footprint(self) -> Footprint:
        """Return the bound for a graph without features: the vectors twice, some columns, blocks in float64."""
        blocks = 8 * 8 * rows_at_once(self.dim) * self.dim + 8 * 6 * self.dim**2
        return Footprint(
            BASE_BYTES + max(blocks, 8 * 8 * ROWS * self.dim),
            GRAPH_BYTES_PER_VERTEX + 2 * 4 * self.dim + 3 * 4 * _COLUMNS + 24,
            GRAPH_BYTES_PER_EDGE + 8,
        )

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound with the graph's features, and what projecting them takes."""
        return projected_features(self.footprint(), graph, self.dim)
