"""Blend: spectral columns and columns of whitened propagation, side by side."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.features import projected_features
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.tall import unit_rows
from parge.memory import Footprint
from parge.techniques.base import Technique, check_counts, check_range
from parge.techniques.spectral import Spectral
from parge.techniques.whitened import Whitened
from parge.typing import FloatArray


@dataclass(frozen=True)
class Blend(Technique):
    """Half of the columns of `parge.Spectral`, half of `parge.Whitened`; each half of a row has length 1.

    Use it for links, for labels and links together, or if you do not know which of the two suits a graph. On the
    command line: ``--technique blend``.

    The two make different mistakes. Spectral vectors weigh directions by their eigenvalues and follow degrees; whitened
    ones weigh all directions alike. The cosine of a pair is the mean of both cosines. On nine generated graphs of
    different kinds, half of the edges held out, its ROC-AUC against pairs drawn by degree was the highest of the three
    on six. On the others it was at most .0084 below the best (`benchmarks/auto_chooses.py`).

    Parameters
    ----------
    dim : int
        Length of a vector. With an odd number the spectral half has one column more.
    regularisation : float
        As for `parge.Spectral`.
    rounds : int
        As for `parge.Whitened`.
    seed : int
        Seed of the random start of the whitened half; the same in all subgraphs.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> Blend(dim=8).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng(0)).shape
    (20, 8)
    """

    name: ClassVar[str] = "blend"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = "blend"
    refines_whole: ClassVar[bool] = False  # of the whole graph, its vectors are what the pass comes to

    regularisation: float = 0.125
    rounds: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "rounds")
        check_counts(self, 0, "seed")
        check_range(self, "regularisation", 0.0, 1e6)

    @property
    def spectral(self) -> Spectral:
        """The technique of the first columns."""
        return Spectral(dim=self.dim - self.dim // 2, regularisation=self.regularisation)

    @property
    def whitened(self) -> Whitened | None:
        """The technique of the other columns; None where there is only one column."""
        return Whitened(dim=self.dim // 2, rounds=self.rounds, seed=self.seed) if self.dim > 1 else None

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex, of length √2; that of an isolated vertex is arbitrary, and shorter."""
        vectors = np.empty((subgraph.n_vertices, self.dim), np.float32)
        width = self.spectral.dim
        vectors[:, :width] = self.spectral.embed(subgraph, rng, progress=lambda share: progress(share / 2))
        self._whiten(vectors[:, width:], subgraph, lambda share: progress((1 + share) / 2))
        progress(1.0)
        return vectors

    def with_spectral(self, spectral: FloatArray, subgraph: Subgraph, start: FloatArray | None = None) -> FloatArray:
        """Return nearly what `embed` does, with spectral vectors of more columns at hand: the first ones are taken.

        So are those of a start of `parge.Whitened` with the same seed, if there is one.
        """
        vectors = np.empty((subgraph.n_vertices, self.dim), np.float32)
        width = self.spectral.dim
        vectors[:, :width] = unit_rows(spectral[:, :width])
        if self.whitened is None or start is None:
            self._whiten(vectors[:, width:], subgraph, silent)
        else:
            vectors[:, width:] = self.whitened.embed_from(start[:, : self.dim // 2].copy(), subgraph)
        return vectors

    def _whiten(self, columns: FloatArray, subgraph: Subgraph, progress: Progress) -> None:
        if self.whitened is not None:
            columns[:] = self.whitened.embed(subgraph, np.random.default_rng(0), progress=progress)

    def footprint(self) -> Footprint:
        """Return the bound: all columns, and what one of the two halves takes at a time."""
        halves = [half.footprint() for half in (self.spectral, self.whitened) if half is not None]
        return Footprint(
            max(half.fixed for half in halves),
            max(half.per_vertex for half in halves) + 4 * self.dim,
            max(half.per_edge for half in halves),
        )

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound with the graph's features, and what projecting them takes."""
        return projected_features(self.footprint(), graph, max(1, self.dim // 2))
