"""SGC: features smoothed over the neighbourhood, nothing learnt."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.features import ROWS, projected_features, vertex_features
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.eigen import MATRIX_BYTES_PER_EDGE, MATRIX_BYTES_PER_VERTEX, adjacency_matrix
from parge.linalg.threads import one_blas_thread
from parge.memory import Footprint
from parge.techniques.base import WHITEN_20, Technique, check_counts
from parge.typing import FloatArray

# Columns smoothed at once, in float64.
_COLUMNS = 16

# Python, numpy and scipy.sparse; products with sparse matrices need no BLAS (measured: 50-55 MB, 70 of address space).
_BASE_BYTES = 78_000_000


@dataclass(frozen=True)
class SGC(Technique):
    """Features after K steps of neighbourhood averaging, ``S^K X``.

    Use it if vertices have features; nothing is trained. On the command line: ``--technique sgc``.

    Wu et al., "Simplifying graph convolutional networks" (ICML 2019): ``S = D~^-1/2 (A + I) D~^-1/2`` with the degrees
    D~ of A + I. X are the graph's features, projected at random to `dim` where there are more, filled with zeros where
    there are fewer. Without features they are normal draws. Both depend on vertex numbers in the whole graph, never on
    the subgraph. So all subgraphs share one space and need no reconciling.

    Self loops have weight 1. With much larger edge weights a vertex's own features hardly count; with much smaller ones
    its neighbours hardly count.

    Parameters
    ----------
    dim : int
        Length of a vector.
    hops : int
        K, the steps.
    seed : int
        Seed of the projection or the draws; the same in all subgraphs, independent of the seed of the run.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> SGC(dim=8).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng()).shape
    (20, 8)
    """

    name: ClassVar[str] = "sgc"
    leaves_nothing: ClassVar[bool] = True
    aligned: ClassVar[bool] = True
    refine: ClassVar[str] = WHITEN_20

    hops: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim")
        check_counts(self, 0, "hops", "seed")

    def refine_for(self, graph: Counted) -> str:
        """Return no pass where there are features: many rounds lose them (cora's words: .827 of .833, then .807)."""
        return self.refine if graph.features is None else "none"

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has its own features. The generator is not used."""
        with one_blas_thread():
            vectors = vertex_features(subgraph, self.dim, self.seed)
            A = adjacency_matrix(subgraph.graph)
            root = 1.0 / np.sqrt(1.0 + np.asarray(A.sum(axis=1)).reshape(-1, 1))
            for first in range(0, self.dim, _COLUMNS):
                block = slice(first, first + _COLUMNS)
                X = vectors[:, block].astype(np.float64)
                for _ in range(self.hops):
                    X *= root
                    X += A @ X
                    X *= root
                vectors[:, block] = X
                progress(min(1.0, (first + _COLUMNS) / self.dim))
            return vectors

    def footprint(self) -> Footprint:
        """Return the bound for a graph without features.

        The vectors, a few columns in float64, the graph and its matrix.
        """
        return Footprint(
            _BASE_BYTES + 8 * 8 * ROWS * self.dim,
            MATRIX_BYTES_PER_VERTEX + 4 * self.dim + 8 * (3 * _COLUMNS + 3),
            MATRIX_BYTES_PER_EDGE,
        )

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound with the graph's features, and what projecting them takes."""
        return projected_features(self.footprint(), graph, self.dim)
