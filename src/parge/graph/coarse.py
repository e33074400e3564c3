"""Lumped subgraphs: a part's own vertices as they are, the rest of the graph merged into few vertices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.graph.subgraph import Context, Subgraph
from parge.typing import FloatArray, IntArray, NeighbourArray


def coarse_matrix(graph: Graph, landmark: IntArray, n_landmarks: int) -> NDArray[np.float64]:
    """Return the weights between and inside landmarks, (n_landmarks, n_landmarks); a row sums to its members' degrees.

    Dense, so that it takes as many bytes for any number of edges; where most pairs of landmarks touch, sparse rows and
    their copies would take more.
    """
    from parge.kernels import quotient  # compiled code, loaded only by who needs it

    between = np.zeros((n_landmarks, n_landmarks))
    quotient.quotient_matrix(graph.indptr, graph.indices, _weights(graph), landmark, between)
    return between


def induce_with_context(
    graph: Graph, own: IntArray, anchors: IntArray, halo: IntArray, landmark: IntArray, *, index: int = 0
) -> Subgraph:
    """Merge all of the graph but the vertices that are named into super-vertices.

    Parameters
    ----------
    own, anchors, halo : ascending and disjoint
        Vertices that stand for themselves.
    landmark : (n_vertices,) int64
        The landmark of every vertex: of anchor j it is j, of the others a number after the anchors'. No landmark holds
        vertices of two parts, none is empty.
    """
    from parge.kernels import quotient  # compiled code, loaded only by who needs it

    label, foreign = _labels(graph, own, anchors, halo, landmark)
    o, a, h = own.size, anchors.size, halo.size
    n = o + a + h + foreign.size
    members, offsets = _grouped(label, n)
    size = quotient.merged_size(graph.indptr, members, offsets, n)
    indptr, loops = np.zeros(n + 1, np.int64), np.zeros(n, np.float32)
    # Most of it is never touched, and takes no memory.
    indices, weights = np.empty(size, graph.indices.dtype), np.empty(size, np.float32)
    quotient.quotient_rows(
        graph.indptr, graph.indices, _weights(graph), members, offsets, label, indptr, indices, weights, loops
    )
    used = int(indptr[-1])
    vertices = np.concatenate([own, anchors, halo, np.full(foreign.size, -1)]).astype(np.int64)
    context = Context(
        np.concatenate([landmark[own], np.arange(a), landmark[halo], foreign]).astype(np.int64),
        loops,
        a,
        h,
        int(landmark.max(initial=-1)) + 1,
    )
    return Subgraph(Graph(indptr, indices[:used], weights[:used]), vertices, o, index, context)


def context_edges(graph: Graph, own: IntArray, anchors: IntArray, halo: IntArray, landmark: IntArray) -> int:
    """Return how many edges the subgraph has that `induce_with_context` would make."""
    from parge.kernels import quotient  # compiled code, loaded only by who needs it

    label, foreign = _labels(graph, own, anchors, halo, landmark)
    members, offsets = _grouped(label, own.size + anchors.size + halo.size + foreign.size)
    return int(quotient.quotient_size(graph.indptr, graph.indices, members, offsets, label)) // 2


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
