"""Subgraph: what one worker receives, and nothing else of the graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.storage import storage_like
from parge.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Context:
    """What a subgraph with a context says of the rest of the graph, all of which it holds in some form.

    Its vertices are the part's own, then the anchors, then a halo of foreign vertices, then foreign super-vertices:
    groups of vertices merged into one, whose edges are the sums of their members' edges. Only own vertices learn.

    Parameters
    ----------
    landmark : (n_vertices,) int64
        The landmark of every vertex in a numbering that all subgraphs share; of a landmark itself, its own number.
    loops : (n_vertices,) float32
        Weight of the edges inside each landmark, both directions counted; 0 of single vertices.
    n_anchors, n_halo : int
        How many vertices after the own ones are anchors, and how many after those are the halo.
    n_landmarks : int
        How many landmarks the whole graph has, those of this part included.
    """

    landmark: IntArray
    loops: FloatArray
    n_anchors: int
    n_halo: int
    n_landmarks: int


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The graph induced on a part's own vertices and the anchors, renumbered from 0.

    Own vertices come first, then the anchors, each in ascending order of their number in the parent; so the
    anchors stand in the same order at the end of every subgraph, and their vectors are ``vectors[n_own:]``.
    A subgraph with a context (see `Context`) holds more, and its technique answers for own vertices and anchors alone.

    Parameters
    ----------
    graph : Graph
        The induced graph, with weights, ids and features of its vertices.
    vertices : (n_vertices,) int64
        Number of each vertex in the parent graph.
    n_own : int
        How many vertices belong to the part alone; the rest are anchors.
    index : int
        Number of the subgraph within its decomposition.
    context : Context, optional
        What it holds of the rest of the graph, where it holds that.
    shared : mapping of arrays
        What the technique prepared for every subgraph (see `Technique.prepare`).
    """

    graph: Graph
    vertices: IntArray
    n_own: int
    index: int = 0
    context: Context | None = None
    shared: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def n_embedded(self) -> int:
        """Vertices that a technique answers for: the own ones and the anchors."""
        return self.n_vertices if self.context is None else self.n_own + self.context.n_anchors

    @property
    def n_vertices(self) -> int:
        """All vertices that a worker holds: own ones and anchors, and with a context halo and super-vertices."""
        return self.graph.n_vertices

    @property
    def n_anchors(self) -> int:
        """How many of the vertices are anchors."""
        return self.n_embedded - self.n_own

    @property
    def n_halo(self) -> int:
        """How many foreign vertices it holds one by one; none unless it has a context."""
        return 0 if self.context is None else self.context.n_halo

    @property
    def n_supervertices(self) -> int:
        """How many foreign super-vertices it holds; none unless it has a context."""
        return self.n_vertices - self.n_embedded - self.n_halo

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return self.graph.n_edges

    @staticmethod
    def whole(graph: Graph) -> "Subgraph":
        """Return the graph as its own only subgraph, as a centralised embedding sees it."""
        return Subgraph(graph, np.arange(graph.n_vertices), graph.n_vertices)


def induce(graph: Graph, own: IntArray, anchors: IntArray, *, index: int = 0) -> Subgraph:
    """Cut out the subgraph on ascending `own` vertices and ascending `anchors` (disjoint)."""
    from parge.kernels import csr  # compiled code, loaded only by who needs it

    vertices = np.concatenate([own, anchors]).astype(np.int64)
    position = np.full(graph.n_vertices, -1, graph.indices.dtype)
    position[vertices] = np.arange(vertices.size)
    indptr = csr.induced_offsets(graph.indptr, graph.indices, vertices, position)
    storage = storage_like(graph.indices)  # what is cut out of files goes to files
    indices = storage.zeros(int(indptr[-1]), graph.indices.dtype)
    nothing: FloatArray = np.empty(0, np.float32)
    weights = None if graph.weights is None else storage.zeros(int(indptr[-1]), np.float32)
    csr.induced_rows(
        graph.indptr,
        graph.indices,
        nothing if graph.weights is None else graph.weights,
        vertices,
        position,
        own.size,
        indices,
        nothing if weights is None else weights,
    )
    features = None if graph.features is None else graph.features[vertices]
    ids = vertices if graph.ids is None else graph.ids[vertices]
    part = Graph(indptr, indices, weights, ids, features)
    return Subgraph(part, vertices, own.size, index)
