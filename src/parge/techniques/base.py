"""Technique: the interface behind which any embedding technique rides along, and its laws."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parge.errors import Extra
from parge.events import Progress, silent
from parge.graph.features import with_features
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.typing import FloatArray, Shape


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
    def shared_shapes(self) -> Mapping[str, Shape]:
        """Names and shapes of the arrays that `prepare` returns; none by default.

        An axis is a number, or a name: axes of one name are equally long. ``{"centroids": ("k", 16), "mass": ("k",)}``
        declares a table of 16 columns and one number per row of it.
        """
        return {}

    def prepare(self, graph: Graph, decomposition: Any) -> Mapping[str, NDArray[Any]]:
        """Return small arrays that every worker receives as `Subgraph.shared`; nothing by default.

        Called once, by the coordinator, before any worker starts. `shared_shapes` declares what is returned.
        """
        del graph, decomposition
        return {}

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
