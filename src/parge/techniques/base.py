"""Technique: the interface behind which any embedding technique rides along, and its laws."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.typing import FloatArray

Progress = Callable[[float], None]
"""Called now and then with the share of the work that is done, 0 to 1."""


def silent(_share: float) -> None:
    """Ignore progress."""


# What Python, numpy, scipy and the compiled kernels hold before a vertex is looked at (measured: 190-240 MB).
BASE_BYTES = 260_000_000

# A subgraph as the worker holds it: offset, id and parent number of a vertex; two stored neighbours an edge.
GRAPH_BYTES_PER_VERTEX = 24
GRAPH_BYTES_PER_EDGE = 8


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

    @abstractmethod
    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex of the subgraph, (n_vertices, dim) float32."""

    @abstractmethod
    def footprint(self) -> Footprint:
        """Return the bound on the memory of a worker, linear in vertices and edges."""

    def projected_bytes(self, n_vertices: int, n_edges: int) -> int:
        """Return the most memory that a worker needs for a subgraph of that size, in bytes."""
        return self.footprint().bytes(n_vertices, n_edges)
