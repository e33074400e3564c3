"""Whitened propagation from drawn vectors: a technique without a model, linear in the edges."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.features import ROWS, normal_rows, projected_features, vertex_features
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.adjacency import Adjacency
from parge.linalg.threads import Threads
from parge.linalg.whitening import block_bytes, whitened_rounds
from parge.memory import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, THREAD_BYTES, Footprint
from parge.storage import row_blocks
from parge.techniques.base import WHITEN_20, Technique, check_counts, check_range
from parge.typing import FloatArray

# Rounds from one whitening to the next. With four, one of five generated graphs lost .010.
_EVERY = 2


@dataclass(frozen=True)
class Whitened(Technique):
    """Whitened propagation: vectors are averaged over neighbours for some rounds, and whitened after every second.

    Use it for quick vectors of large graphs; nothing is trained. On the command line: ``--technique whitened``.

    The start is that of `parge.SGC`: the graph's features, or normal draws for each vertex, both keyed by numbers in
    the whole graph. Whitening is symmetric: subgraphs start in one space and drift apart slowly, so a rotation aligns
    them. After many rounds the vectors approach the leading eigenvectors of the walk matrix, all with equal weight.
    pycleora uses a similar method.

    Parameters
    ----------
    dim : int
        Length of a vector.
    rounds : int
        The most rounds. On five generated graphs (communities easy or hard to tell apart, few edges, several labels, a
        tree) 40 rounds scored within .002 of 20. Whitening after every round scored within .001 of every second.
    tolerance : float
        Rounds end when the subspace of the columns changes by less.
    seed : int
        Seed of the random start; the same in all subgraphs, independent of the seed of the run.
    threads : int
        Threads of a worker; they change no bit of the vectors.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> Whitened(dim=8).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng()).shape
    (20, 8)
    """

    name: ClassVar[str] = "whitened"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = WHITEN_20
    refines_whole: ClassVar[bool] = False  # of the whole graph, its vectors are what the pass comes to

    rounds: int = 20
    tolerance: float = 0.0005
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "rounds", "threads")
        check_counts(self, 0, "seed")
        check_range(self, "tolerance", 0.0)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex, of length 1. The generator is not used."""
        return self.embed_from(self.start(subgraph), subgraph, progress=progress)

    def embed_from(self, vectors: FloatArray, subgraph: Subgraph, *, progress: Progress = silent) -> FloatArray:
        """Return what `embed` does with that start, which is overwritten."""
        whitened_rounds(
            Adjacency(subgraph.graph, self.threads),
            vectors,
            np.empty_like(vectors),
            [slice(None)],
            rounds=self.rounds if subgraph.n_edges else 0,
            tolerance=self.tolerance,
            every=_EVERY,
            progress=progress,
        )
        progress(1.0)
        return vectors

    def start(self, subgraph: Subgraph) -> FloatArray:
        """Return what `vertex_features` does; drawn by all threads, as each row is decided by its vertex alone.

        Without features it has the first columns of a wider start of the same seed.
        """
        if subgraph.graph.features is not None:
            return vertex_features(subgraph, self.dim, self.seed)
        vectors = np.empty((subgraph.n_vertices, self.dim), np.float32)

        def draw(where: slice) -> None:
            vectors[where] = normal_rows(subgraph.vertices[where], self.dim, self.seed)

        with Threads(self.threads) as threads:
            threads.each(draw, row_blocks(len(vectors), ROWS))
        return vectors

    def footprint(self) -> Footprint:
        """Return the bound for a graph without features: the vectors twice, and blocks of rows for each thread."""
        drawn, blocks = 8 * 8 * ROWS * self.dim, block_bytes(self.dim)
        each = max(drawn, blocks)
        return Footprint(
            BASE_BYTES + 8 * 12 * self.dim**2 + self.threads * each + THREAD_BYTES * (self.threads - 1),
            GRAPH_BYTES_PER_VERTEX + 2 * 4 * self.dim + 24,
            GRAPH_BYTES_PER_EDGE + 8,
        )

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound with the graph's features, and what projecting them takes."""
        return projected_features(self.footprint(), graph, self.dim)
