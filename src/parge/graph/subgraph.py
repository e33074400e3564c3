"""Subgraph: what one worker receives: its part and the anchors, and the rest of the graph as context, if any."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.storage import storage_like
from parge.typing import BoolArray, FloatArray, IntArray, Matrix, NeighbourArray


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


# Edges among landmarks that a worker keeps for each, about. Only walks that left the part pass there, and all of them
# would be up to two million for 2,000 landmarks. On BlogCatalog in 8 parts a worker then has 105,000 instead of 282,000
# edges; micro-F1 .419 and .422 refined instead of .419 and .421 (cora .818, .816 instead of .817, .811; 3 seeds).
LINKS = 32


class LandmarkRows(NamedTuple):
    """Weights between landmarks, in rows, and inside each; and the weight of all edges at each."""

    indptr: IntArray
    indices: NeighbourArray
    weights: Matrix
    inside: Matrix
    strength: Matrix


def landmark_rows(graph: Graph, landmark: IntArray, *, without: IntArray | None = None) -> LandmarkRows:
    """Merge the graph into its landmarks, once for the contexts of all parts.

    Rows of the landmarks of the vertices `without` are left empty: for one part that owns these.
    """
    from parge.kernels import csr  # compiled code, loaded only where it is needed

    n = int(landmark.max(initial=-1)) + 1
    label = landmark.astype(graph.indices.dtype)
    members, offsets = _grouped(label, n)
    if without is not None:
        is_kept = np.ones(n, np.bool_)
        is_kept[landmark[without]] = False
        members = members[is_kept[landmark[members]]]
        offsets = np.concatenate([[0], np.cumsum(np.where(is_kept, np.diff(offsets), 0))])
    size = csr.merged_size(graph.indptr, members, offsets, n)
    # Most of it is never touched, and takes no memory.
    indptr, indices, weights = np.zeros(n + 1, np.int64), np.empty(size, graph.indices.dtype), np.empty(size)
    inside = np.zeros(n)
    every = np.arange(n)
    csr.quotient_rows(
        graph.indptr,
        graph.indices,
        _weights(graph),
        members,
        offsets,
        label,
        every,
        n,
        indptr,
        indices,
        weights,
        inside,
    )
    at = np.bincount(landmark, graph.strengths, minlength=n).astype(np.float64)
    return LandmarkRows(indptr, indices[: indptr[-1]], weights[: indptr[-1]], inside, at)


@dataclass(frozen=True, eq=False)
class _Cut:
    """A subgraph with a context before its rows are joined.

    `name` is the landmark of each of its vertices, and `counts` are own vertices, anchors and halo. `single` are the
    rows of own vertices and halo to all; `merged` those of anchors and foreign super-vertices among each other.
    """

    name: IntArray
    counts: tuple[int, int, int]
    single: tuple[IntArray, NeighbourArray, FloatArray]
    merged: tuple[IntArray, NeighbourArray, FloatArray]
    loops: FloatArray

    @cached_property
    def is_merged(self) -> BoolArray:
        """Whether each vertex is an anchor or a foreign super-vertex."""
        own, anchors, halo = self.counts
        place = np.arange(self.name.size)
        return ((place >= own) & (place < own + anchors)) | (place >= own + anchors + halo)

    @property
    def size(self) -> int:
        """Entries of all rows: those between the two kinds are in two rows."""
        between = int(np.count_nonzero(self.is_merged[self.single[1]]))
        return self.single[1].size + self.merged[1].size + between


def induce_with_context(
    graph: Graph,
    own: IntArray,
    anchors: IntArray,
    halo: IntArray,
    landmark: IntArray,
    *,
    index: int = 0,
    links: int = 0,
    around: LandmarkRows | None = None,
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
        Edges among landmarks are thinned out to at most about this many per landmark, at random but always the same.
        What stays is heavier by as much. 0 keeps all.
    around : LandmarkRows, optional
        What `landmark_rows` returns: for several parts of one graph it is computed once.
    """
    from parge.kernels import csr  # compiled code, loaded only where it is needed

    cut = _cut(graph, own, anchors, halo, landmark, links, around)
    n = cut.name.size
    indptr, indices = np.zeros(n + 1, np.int64), np.empty(cut.size, graph.indices.dtype)
    weights = np.empty(cut.size, np.float32)
    csr.joined_rows(*cut.single, *cut.merged, *cut.counts, indptr, indices, weights)
    loops = np.zeros(n, np.float32)
    loops[cut.is_merged] = cut.loops
    n_foreign = n - sum(cut.counts)
    vertices = np.concatenate([own, anchors, halo, np.full(n_foreign, -1)]).astype(np.int64)
    context = Context(cut.name, loops, anchors.size, halo.size, int(landmark.max(initial=-1)) + 1)
    return Subgraph(Graph(indptr, indices, weights), vertices, own.size, index, context)


def context_edges(
    graph: Graph,
    own: IntArray,
    anchors: IntArray,
    halo: IntArray,
    landmark: IntArray,
    *,
    links: int = 0,
    around: LandmarkRows | None = None,
) -> int:
    """Return how many edges the subgraph has that `induce_with_context` would make."""
    return _cut(graph, own, anchors, halo, landmark, links, around).size // 2


def _cut(
    graph: Graph,
    own: IntArray,
    anchors: IntArray,
    halo: IntArray,
    landmark: IntArray,
    links: int,
    around: LandmarkRows | None,
) -> _Cut:
    """Return the rows of own vertices and halo, and of anchors and foreign super-vertices without the halo."""
    from parge.kernels import csr  # compiled code, loaded only where it is needed

    if around is None:
        around = landmark_rows(graph, landmark, without=own)
    label, foreign, place = _labels(graph, own, anchors, halo, landmark)
    counts = own.size, anchors.size, halo.size
    name = np.concatenate([landmark[own], np.arange(anchors.size), landmark[halo], foreign]).astype(np.int64)
    rows = np.concatenate([own, halo]).astype(np.int64)
    label_of = label[rows].astype(np.int64)
    one_each = np.arange(rows.size + 1)
    size = csr.merged_size(graph.indptr, rows, one_each, name.size)
    single = np.zeros(rows.size + 1, np.int64), np.empty(size, graph.indices.dtype), np.empty(size, np.float32)
    no_loops = np.empty(rows.size, np.float32)
    whole = graph.indptr, graph.indices, _weights(graph)
    csr.quotient_rows(*whole, rows, one_each, label, label_of, name.size, *single, no_loops)
    single = single[0], single[1][: single[0][-1]], single[2][: single[0][-1]]
    groups = np.concatenate([np.arange(anchors.size), foreign]).astype(np.int64)
    thin = links / (2 * np.maximum(around.strength, np.finfo(np.float32).tiny))
    size = int((around.indptr[groups + 1] - around.indptr[groups]).sum())
    merged = np.zeros(groups.size + 1, np.int64), np.empty(size, graph.indices.dtype), np.empty(size, np.float32)
    loops = np.zeros(groups.size, np.float32)
    taken = _taken(single, name, counts, around.inside.size)
    csr.thinned_rows(*around[:4], *taken, groups, place, thin, *merged, loops)
    return _Cut(name, counts, single, (merged[0], merged[1][: merged[0][-1]], merged[2][: merged[0][-1]]), loops)


def _taken(
    single: tuple[IntArray, NeighbourArray, FloatArray], name: IntArray, counts: tuple[int, int, int], n_landmarks: int
) -> tuple[IntArray, IntArray, Matrix]:
    """Return, in rows, what the edges of the halo are of the weights between landmarks."""
    own, anchors, halo = counts
    indptr, indices, weights = single
    some = slice(indptr[own], indptr[-1])
    column, weight = indices[some], weights[some].astype(np.float64)
    here = np.repeat(name[own + anchors : own + anchors + halo], np.diff(indptr[own:]))
    there = name[column]
    outside = column >= own
    back = outside & ((column < own + anchors) | (column >= own + anchors + halo))  # a halo's vertex has a row itself
    row = np.concatenate([here[outside], there[back]])
    order = np.argsort(row, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_landmarks))]).astype(np.int64)
    columns = np.concatenate([there[outside], here[back]])[order]
    return offsets, columns, np.concatenate([weight[outside], weight[back]])[order]


def _labels(
    graph: Graph, own: IntArray, anchors: IntArray, halo: IntArray, landmark: IntArray
) -> tuple[NeighbourArray, IntArray, NeighbourArray]:
    """Return what each vertex is numbered in a subgraph with a context, and which landmarks are foreign.

    Also return what each landmark is numbered, -1 if it is of this part.
    """
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
    return label, foreign, place


def _grouped(group: NDArray[Any], n_groups: int) -> tuple[IntArray, IntArray]:
    """Return the vertices group by group, and where each group begins."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
    return np.argsort(group, kind="stable"), offsets


def _weights(graph: Graph) -> FloatArray:
    return np.empty(0, np.float32) if graph.weights is None else graph.weights
