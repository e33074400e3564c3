"""Subgraph: what one worker receives: its part and the anchors, and the rest of the graph as context, if any."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.storage import storage_like
from parge.typing import FloatArray, IntArray, NeighbourArray


@dataclass(frozen=True, eq=False)
class Context:
    """What a subgraph with a context knows about the rest of the graph: every other vertex is part of it in some form.

    Its vertices are the part's own, then the anchors, then a halo of foreign vertices, then foreign super-vertices.
    These are groups of vertices merged into one, whose edges are the sums of their members' edges. Only own vertices
    are trained.

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

    Own vertices come first, then the anchors, each in ascending order of their number in the parent. So the anchors are
    in the same order at the end of every subgraph, and their vectors are ``vectors[n_own:]``. A subgraph with a context
    (see `Context`) holds more, and its technique answers for own vertices and anchors alone.

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
        What it knows about the rest of the graph; None without a context.
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
        """Return the whole graph as one subgraph."""
        return Subgraph(graph, np.arange(graph.n_vertices), graph.n_vertices)


def induce(graph: Graph, own: IntArray, anchors: IntArray, *, index: int = 0) -> Subgraph:
    """Extract the subgraph on ascending `own` vertices and ascending `anchors` (disjoint)."""
    from parge.kernels import csr  # compiled code, loaded only where it is needed

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


def coarse_matrix(graph: Graph, landmark: IntArray, n_landmarks: int) -> NDArray[np.float64]:
    """Return the weights between and inside landmarks, (n_landmarks, n_landmarks); a row sums to its members' degrees.

    Dense, so that it takes as many bytes for any number of edges; where most pairs of landmarks touch, sparse rows and
    their copies would take more.
    """
    from parge.kernels import csr  # compiled code, loaded only where it is needed

    between = np.zeros((n_landmarks, n_landmarks))
    csr.quotient_matrix(graph.indptr, graph.indices, _weights(graph), landmark, between)
    return between


# Edges among landmarks that a worker keeps for each, about. Only walks that left the part pass there, and all of them
# would be up to two million for 2,000 landmarks. On BlogCatalog in 8 parts a worker then has 105,000 instead of 282,000
# edges; micro-F1 .419 and .422 refined instead of .419 and .421 (cora .818, .816 instead of .817, .811; 3 seeds).
LINKS = 32


def induce_with_context(
    graph: Graph,
    own: IntArray,
    anchors: IntArray,
    halo: IntArray,
    landmark: IntArray,
    *,
    index: int = 0,
    links: int = 0,
) -> Subgraph:
    """Merge all of the graph but the vertices that are named into super-vertices.

    Parameters
    ----------
    own, anchors, halo : ascending and disjoint
        Vertices that are kept as they are.
    landmark : (n_vertices,) int64
        The landmark of every vertex: of anchor j it is j, of the others a number after the anchors'. No landmark holds
        vertices of two parts, none is empty.
    links : int
        Edges among landmarks are thinned out to at most about so many per landmark, at random but always the same; what
        stays is heavier by as much. 0 keeps all.
    """
    from parge.kernels import csr  # compiled code, loaded only where it is needed

    label, foreign = _labels(graph, own, anchors, halo, landmark)
    o, a, h = own.size, anchors.size, halo.size
    n = o + a + h + foreign.size
    members, offsets = _grouped(label, n)
    size = csr.merged_size(graph.indptr, members, offsets, n)
    indptr, loops = np.zeros(n + 1, np.int64), np.zeros(n, np.float32)
    # Most of it is never touched, and takes no memory.
    indices, weights = np.empty(size, graph.indices.dtype), np.empty(size, np.float32)
    name = np.concatenate([landmark[own], np.arange(a), landmark[halo], foreign]).astype(np.int64)
    thin = _thinning(graph, landmark, name, (o, a, h), links)
    csr.quotient_rows(
        graph.indptr,
        graph.indices,
        _weights(graph),
        members,
        offsets,
        label,
        thin,
        name,
        indptr,
        indices,
        weights,
        loops,
    )
    used = int(indptr[-1])
    vertices = np.concatenate([own, anchors, halo, np.full(foreign.size, -1)]).astype(np.int64)
    context = Context(name, loops, a, h, int(landmark.max(initial=-1)) + 1)
    return Subgraph(Graph(indptr, indices[:used], weights[:used]), vertices, o, index, context)


def context_edges(
    graph: Graph, own: IntArray, anchors: IntArray, halo: IntArray, landmark: IntArray, *, links: int = 0
) -> int:
    """Return how many edges the subgraph has that `induce_with_context` would make."""
    from parge.kernels import csr  # compiled code, loaded only where it is needed

    label, foreign = _labels(graph, own, anchors, halo, landmark)
    o, a, h = own.size, anchors.size, halo.size
    members, offsets = _grouped(label, o + a + h + foreign.size)
    name = np.concatenate([landmark[own], np.arange(a), landmark[halo], foreign]).astype(np.int64)
    thin = _thinning(graph, landmark, name, (o, a, h), links)
    size = csr.quotient_size(graph.indptr, graph.indices, _weights(graph), members, offsets, label, thin, name)
    return int(size) // 2


def _thinning(
    graph: Graph, landmark: IntArray, name: IntArray, counts: tuple[int, int, int], links: int
) -> NDArray[np.float64]:
    """Return how much each vertex of a subgraph is thinned out: `links` over twice its weight; 0 of single vertices."""
    own, anchors, halo = counts
    thin = np.zeros(name.size)
    if links:
        weight = np.bincount(landmark, graph.strengths, minlength=int(name.max(initial=-1)) + 1)
        for some in (slice(own, own + anchors), slice(own + anchors + halo, name.size)):
            thin[some] = links / (2 * np.maximum(weight[name[some]], np.finfo(np.float32).tiny))
    return thin


def _labels(
    graph: Graph, own: IntArray, anchors: IntArray, halo: IntArray, landmark: IntArray
) -> tuple[NeighbourArray, IntArray]:
    """Return what each vertex is numbered in the subgraph with a context, and which landmarks are foreign."""
    o, a, h = own.size, anchors.size, halo.size
    n_landmarks = int(landmark.max(initial=-1)) + 1
    ours = np.zeros(n_landmarks, np.bool_)
    ours[landmark[own]] = True
    ours[:a] = True
    foreign = np.flatnonzero(~ours)
    place = np.full(n_landmarks, -1, graph.indices.dtype)
    place[:a] = o + np.arange(a)
    place[foreign] = o + a + h + np.arange(foreign.size)
    label = place[landmark]  # of own vertices it is overwritten here: no other part has their landmarks
    label[own], label[halo] = np.arange(o), o + a + np.arange(h)
    return label, foreign


def _grouped(group: NDArray[Any], n_groups: int) -> tuple[IntArray, IntArray]:
    """Return the vertices group by group, and where each group begins."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
    return np.argsort(group, kind="stable"), offsets


def _weights(graph: Graph) -> FloatArray:
    return np.empty(0, np.float32) if graph.weights is None else graph.weights
