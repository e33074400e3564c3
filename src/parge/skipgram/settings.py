"""Settings of the walk techniques, their checks and their memory; apart from training, whose code is compiled."""

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.kernels.padding import padded
from parge.memory import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Footprint
from parge.skipgram.batches import Mode
from parge.techniques.base import Counted, Technique
from parge.techniques.settings import check_choice, check_counts, check_range
from parge.typing import FloatArray, IntArray

# Steps of walk trained by one call of the kernel: large enough that the calls cost nothing, small enough that
# the walks (256 kB) stay in the cache between walking and training, and that progress is smooth.
BATCH_STEPS = 65_536

# Two alias entries, a place in the order of starts, and a float64 mass while the alias table is built.
SAMPLING_BYTES_PER_VERTEX = 28
# Cumulated shares of the two directions of a weighted edge; and the weights themselves.
WEIGHT_BYTES_PER_EDGE = 16

# Stack of a further thread (8 MiB, counted whole by a limit on private memory) and the allocator's own for it.
THREAD_BYTES = 12_000_000

# A backbone has a quarter of the vertices as lumps, up to so many: its dense products take about a second, and its
# matrices 17 MB each. With overlapping communities few lumps blur: 840 instead of 2,000 kept 95 instead of 101 % on
# 8,000 vertices; but 2,600 and 3,300 kept no more than 1,650 on 60,000 (8 parts, one seed, no pass).
MOST_LUMPS = 2048

# Graphs with at least so many vertices a lump, and a mean degree of at most this, are refined for longer. With more
# edges that helps as well (degree 12: .582 to .617 on 40,000 vertices), but every round passes over them all, on one
# machine.
COARSE_LUMPS, SPARSE_DEGREE = 16, 8

# Vertices are placed against so many lumps at a time as take these bytes for all of a worker's vertices, and no fewer.
PLACING_BYTES, PLACING_LUMPS = 16_000_000, 64


# Columns beyond the dimensions with which the backbone's matrix is decomposed, and how many tables of so many columns
# are held meanwhile: bases, both factors, LAPACK's own.
DECOMPOSED_EXTRA, _DECOMPOSED_TABLES = 16, 12


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
    threads : int
        Threads of the worker that embeds.
    mode : {'deterministic', 'hogwild'}
        With several threads: one trains while the others draw its walks, and the result is the same bit for bit
        for any number of them; or all train at once on shared tables, which is faster and never the same twice.
    """

    refine: ClassVar[str] = "whiten"

    walks: int = 10
    walk_length: int = 40
    window: int = 5
    negatives: int = 5
    learning_rate: float = 0.05
    threads: int = 1
    mode: Mode = "deterministic"

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "walks", "window", "negatives")
        check_counts(self, 2, "walk_length")
        check_range(self, "learning_rate", 0.0, above=True)
        check_threads(self)

    def footprint(self) -> Footprint:
        """Return the bound: both tables, the graph with its sampling tables, the walks of every thread."""
        return walk_footprint(2 * padded(self.dim), self.walk_length, self.threads)

    def backbone_size(self, graph: Counted) -> int:
        """Return how many lumps to form: a quarter of the vertices, or two a dimension where half of them suffice."""
        least = 2 * self.dim
        return min(max(MOST_LUMPS, least), graph.n_vertices // 2, max(graph.n_vertices // 4, least))

    def refine_for(self, graph: Counted) -> str:
        """Return `settle` for large sparse graphs, `whiten` for others.

        There lumps are many vertices, and a vertex has too few edges to tell its place by: 8 parts of a planted graph
        of a million vertices and mean degree 6, half of its edges at random, kept 79 % of the centralised score after
        `whiten`, and more than all of it after `settle` (`make bench-pbg`; `benchmarks/settling_helps.py`).
        """
        coarse = graph.n_vertices >= COARSE_LUMPS * self.backbone_size(graph)
        return "settle" if coarse and 2 * graph.n_edges <= SPARSE_DEGREE * graph.n_vertices else self.refine

    def prepare(self, graph: Graph, lump: IntArray, n_lumps: int) -> dict[str, NDArray[Any]]:
        """Return the closed-form backbone (see `parge.landmarks.backbone`)."""
        from parge.landmarks.backbone import prepare  # compiled code: not needed to plan

        return prepare(self, graph, lump, n_lumps)

    def prepared_bytes(self, n_vertices: int, n_lumps: int) -> int:
        """Return the bound: four matrices over lumps, or three and what decomposes one; three numbers a vertex."""
        matrix, table = 4 * n_lumps**2, 4 * n_lumps * (self.dim + DECOMPOSED_EXTRA)
        return max(4 * matrix, 3 * matrix + _DECOMPOSED_TABLES * table) + 24 * n_vertices

    def lumped_footprint(self, n_lumps: int) -> Footprint:
        """Return the bound: that of a graph, its rows again with their loops, columns being placed, the backbone."""
        plain = self.footprint()
        backbone = 4 * (3 * n_lumps**2 + 4 * n_lumps * self.dim)
        columns = 4 * PLACING_LUMPS
        return Footprint(plain.fixed + backbone + PLACING_BYTES, plain.per_vertex + 64 + columns, plain.per_edge + 8)

    def _train(
        self, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float = 1.0, q: float = 1.0
    ) -> FloatArray:
        """Return the In table after all walks."""
        if subgraph.lumps is None:
            from parge.skipgram.train import train  # compiled code: not needed to plan
        else:
            from parge.landmarks.backbone import train

        return train(self, subgraph, rng, progress, p, q)


def walk_footprint(columns: int, walk_length: int, threads: int) -> Footprint:
    """Return the bound for a technique that holds that many float32 columns a vertex."""
    batch = 4 * max(BATCH_STEPS, 32 * walk_length) * 2
    return Footprint(
        BASE_BYTES + batch * threads + THREAD_BYTES * (threads - 1),
        GRAPH_BYTES_PER_VERTEX + SAMPLING_BYTES_PER_VERTEX + 4 * columns,
        GRAPH_BYTES_PER_EDGE + WEIGHT_BYTES_PER_EDGE,
    )


def check_threads(technique: Any) -> None:
    """Raise unless `threads` and `mode` say how to run."""
    check_counts(technique, 1, "threads")
    check_choice(technique, "mode", get_args(Mode))
