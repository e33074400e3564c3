"""DeepWalk: vectors that predict which vertices meet on uniform random walks; and what walk techniques share."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from parge.events import Progress, silent
from parge.graph.graph import Counted
from parge.graph.subgraph import Subgraph
from parge.landmarks.backbone import MOST_LANDMARKS, BackboneTechnique
from parge.memory import Footprint
from parge.skipgram.settings import Mode, walk_footprint
from parge.storage import padded
from parge.techniques.base import MOST_RATE, WHITEN_20, Technique, check_counts, check_range, check_threads
from parge.typing import FloatArray

# Graphs with at least this many vertices per landmark, and a mean degree of at most this, are refined for longer. With
# more edges that helps as well (degree 12: .582 to .617 on 40,000 vertices), but every round passes over them all, on
# one machine.
_COARSE_LANDMARKS, _SPARSE_DEGREE = 16, 8


@dataclass(frozen=True)
class SkipGramWalks(Technique, BackboneTechnique):
    """Settings of a technique that trains skip-gram with negative sampling on random walks.

    Parameters
    ----------
    dim : int
        Length of a vector.
    walks : int
        Number of walks from each vertex.
    walk_length : int
        Number of vertices in a walk.
    window : int
        Most vertices on each side of a centre; the size of each window is drawn uniformly from 1..window.
    negatives : int
        Number of negative samples per window.
    learning_rate : float
        Step size at the start; it decreases linearly to 1 % at the end.
    threads : int
        Threads of the worker that embeds.
    mode : {'deterministic', 'hogwild'}
        With several threads. In ``deterministic`` mode one trains while the others draw walks: the same bits for any
        number of threads. In ``hogwild`` mode all train at once on shared tables, which is faster, but results differ
        from run to run.
    """

    on_walks: ClassVar[bool] = True
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = "whiten"
    link_refine: ClassVar[str] = "blend"

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
        check_range(self, "learning_rate", 0.0, MOST_RATE, above=True)
        check_threads(self)

    def footprint(self) -> Footprint:
        """Return the bound: both tables, the graph with its sampling tables, the walks of every thread."""
        return walk_footprint(2 * padded(self.dim), self.walk_length, self.threads)

    @property
    def relative_work(self) -> float:
        """Steps of walks by trained pairs, against 10 walks of 40 with window 5 and 5 negatives."""
        steps, pairs = self.walks * self.walk_length, (self.window + 1) * (self.negatives + 1)
        return super().relative_work * (steps * pairs / (10 * 40 * 6 * 6))

    @property
    def walker(self) -> Self:
        """The technique itself."""
        return self

    def landmark_count(self, graph: Counted) -> int:
        """Return a quarter of the vertices, or two per dimension where half of the vertices suffice."""
        least = 2 * self.dim
        return min(max(MOST_LANDMARKS, least), graph.n_vertices // 2, max(graph.n_vertices // 4, least))

    def refine_for(self, graph: Counted) -> str:
        """Return 20 rounds of `whiten` for large sparse graphs, and the usual ones for others.

        In large sparse graphs a landmark represents many vertices, and a vertex has few edges to learn from. Measured:
        8 parts of a planted graph of a million vertices, mean degree 6, half of its edges at random. It kept 79 % of
        the whole graph's score after the usual rounds, and more than 100 % after 20 (`make bench-pbg`;
        `benchmarks/settling_helps.py`).
        """
        coarse = graph.n_vertices >= _COARSE_LANDMARKS * self.landmark_count(graph)
        return WHITEN_20 if coarse and 2 * graph.n_edges <= _SPARSE_DEGREE * graph.n_vertices else self.refine

    def _train(
        self, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float = 1.0, q: float = 1.0
    ) -> FloatArray:
        """Return the In table after all walks."""
        if subgraph.context is None:
            from parge.skipgram.train import train  # compiled code: not needed to plan
        else:
            from parge.landmarks.train import train

        return train(self, subgraph, rng, progress, p, q)


@dataclass(frozen=True)
class DeepWalk(SkipGramWalks):
    """Skip-gram with negative sampling on first-order random walks, which follow the weights of edges.

    Use it if you do not know which technique suits a graph: it is the default, and keeps its scores in parts. On
    the command line: ``--technique deepwalk``.

    Perozzi, Al-Rfou and Skiena, "DeepWalk: online learning of social representations" (KDD 2014), with
    negative sampling instead of the hierarchical softmax. The parameters are those of `SkipGramWalks`.
    The default rate, 0.05, is twice word2vec's: at 0.025 one pass over the walks undertrains.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> subgraph = Subgraph.whole(ring_of_cliques(8, 10))
    >>> DeepWalk(dim=16).embed(subgraph, np.random.default_rng(1)).shape
    (80, 16)
    """

    name: ClassVar[str] = "deepwalk"

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has a tiny random one."""
        return self._train(subgraph, rng, progress)
