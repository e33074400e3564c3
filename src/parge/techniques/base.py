"""Technique: the interface behind which any embedding technique rides along, and its laws."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from parge.errors import Extra, TechniqueError
from parge.events import Progress, silent
from parge.graph.features import with_features
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.typing import FloatArray, IntArray


class Counted(Protocol):
    """What decides a pass and a backbone: the counts of a `Graph`, or those of one that nobody has."""

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""

    @property
    def n_edges(self) -> int:
        """Number of edges."""

    @property
    def features(self) -> Any:
        """Features of the vertices, or None."""


@dataclass(frozen=True)
class Technique(ABC):
    """An embedding technique: frozen settings, and one method that turns a subgraph into vectors.

    Laws (held by `parge.testing.TechniqueContract`):

    * same subgraph, same generator state, same vectors, bit for bit;
    * every vector is finite, also of isolated vertices, of subgraphs smaller than `dim`, of no vertex at all;
    * the subgraph is not written to;
    * the technique can be pickled;
    * memory of a process that embeds stays under ``projected_bytes(n_vertices, n_edges)``.
    """

    dim: int = 128

    name: ClassVar[str] = ""
    aligned: ClassVar[bool] = False
    """True where the vectors of different subgraphs lie in one space by construction."""
    refine: ClassVar[str] = "none"
    """The pass over the whole graph that ``refine="auto"`` means after a merge (see `parge.refine`)."""

    needs_extra: ClassVar[Extra | None] = None
    """The optional package that it cannot embed without; a plan is refused where that is missing."""

    def refine_for(self, graph: Counted) -> str:
        """Return the pass that ``refine="auto"`` means for this graph."""
        del graph
        return self.refine

    @property
    def has_backbone(self) -> bool:
        """Whether the technique prepares a backbone and embeds lumped subgraphs."""
        return type(self).prepare is not Technique.prepare

    def backbone_size(self, graph: Counted) -> int:
        """Return how many lumps a graph is best seen as by every worker; 0 where the technique knows no backbone."""
        del graph
        return 0

    def prepare(self, graph: Graph, lump: IntArray, n_lumps: int) -> dict[str, NDArray[Any]]:
        """Return small arrays that every worker receives with its lumped subgraph, as `Subgraph.shared`.

        `lump` is the lump of every vertex, 0..n_lumps-1.
        """
        raise TechniqueError(f"{self.name} prepares no backbone")

    def prepared_bytes(self, n_vertices: int, n_lumps: int) -> int:
        """Return the most memory that `prepare` takes beside a graph of that size; 0 where that is not known."""
        del n_vertices, n_lumps
        return 0

    def lumped_footprint(self, n_lumps: int) -> Footprint:
        """Return the bound for lumped subgraphs, what was prepared included."""
        raise TechniqueError(f"{self.name} embeds no lumped subgraphs")

    @abstractmethod
    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex of the subgraph, (n_vertices, dim) float32."""

    @abstractmethod
    def footprint(self) -> Footprint:
        """Return the bound on the memory of a worker, linear in vertices and edges, for a graph without features."""

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound for subgraphs of this graph: their features, which every worker reads, come on top."""
        return with_features(self.footprint(), graph)

    def projected_bytes(self, n_vertices: int, n_edges: int) -> int:
        """Return the most memory that a worker needs for a subgraph of that size, in bytes."""
        return self.footprint().bytes(n_vertices, n_edges)
