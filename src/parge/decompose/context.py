"""What a subgraph holds of the rest of the graph, landmarks and a halo."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parge.graph.subgraph import context_edges
from parge.typing import IntArray

if TYPE_CHECKING:
    from parge.decompose.decomposition import Decomposition


@dataclass(frozen=True, eq=False)
class Contexts:
    """What every subgraph holds of the rest: the landmark of each vertex, and how much of a halo each has.

    Parameters
    ----------
    landmark : (n_vertices,) int64
        The landmark of every vertex: of anchor j it is j.
    n_landmarks : int
        How many landmarks there are, anchors included.
    halos : (n_parts,) int64
        How many foreign vertices each subgraph holds one by one.
    edges : (n_parts,) int64
        Edges of each subgraph with a context.
    nearest : list of int64 arrays, optional
        The foreign vertices that may be in each halo, nearest first, as `near` finds them; found again where a
        decomposition was read from a file.
    """

    landmark: IntArray
    n_landmarks: int
    halos: IntArray
    edges: IntArray
    nearest: list[IntArray] | None = None

    @staticmethod
    def measured(
        decomposition: "Decomposition", landmark: IntArray, n_landmarks: int, halos: IntArray, nearest: list[IntArray]
    ) -> "Contexts":
        """Return the contexts, their edges counted."""
        graph, anchors = decomposition.graph, decomposition.anchors
        edges = [
            context_edges(graph, decomposition.own(i), anchors, np.sort(nearest[i][: halos[i]]), landmark)
            for i in range(decomposition.n_parts)
        ]
        return Contexts(landmark, n_landmarks, halos, np.array(edges, np.int64), nearest)


def near(decomposition: "Decomposition", i: int) -> IntArray:
    """Return the foreign vertices with an edge into part i, anchors left out; those with most edges first."""
    graph = decomposition.graph
    inside = np.zeros(graph.n_vertices, np.bool_)
    inside[decomposition.own(i)] = True
    from parge.kernels.cut import marked_neighbours

    count = marked_neighbours(graph.indptr, graph.indices, inside)
    count[inside | decomposition.is_anchor] = 0
    found = np.flatnonzero(count)
    return found[np.argsort(-count[found], kind="stable")]


def halo_of(decomposition: "Decomposition", i: int) -> IntArray:
    """Return the halo of part i, ascending: its nearest foreign vertices."""
    around = decomposition.contexts
    assert around is not None
    nearest = near(decomposition, i) if around.nearest is None else around.nearest[i]
    return np.sort(nearest[: around.halos[i]])


class CutEdges(NamedTuple):
    """What halos hold of the edges between two parts, edges of anchors left aside.

    Parameters
    ----------
    lost : (n_parts, n_parts) int64, symmetric
        Edges between each two parts of which neither has the other's end in its halo; the diagonal is 0.
    to_halo : (n_parts,) int64
        Edges between the own vertices of each part and its halo.
    """

    lost: IntArray
    to_halo: IntArray


def cut_edges(decomposition: "Decomposition") -> CutEdges:
    """Count which edges between the parts halos hold, and which nothing holds."""
    graph, part, n_parts = decomposition.graph, decomposition.part, decomposition.n_parts
    in_halo = np.zeros((graph.n_vertices, n_parts), np.bool_)
    for i in range(n_parts):
        in_halo[halo_of(decomposition, i), i] = True
    lost, to_halo = np.zeros(n_parts * n_parts, np.int64), np.zeros(n_parts, np.int64)
    for first in range(0, graph.n_vertices, _ROWS):
        u = np.repeat(np.arange(graph.n_vertices)[first : first + _ROWS], graph.degrees[first : first + _ROWS])
        w = graph.indices[graph.indptr[first] : graph.indptr[min(first + _ROWS, graph.n_vertices)]]
        between = (part[u] != part[w]) & ~decomposition.is_anchor[u] & ~decomposition.is_anchor[w]
        u, w = u[between], w[between]
        here, there = part[u], part[w]
        held = in_halo[w, here]
        to_halo += np.bincount(here[held], minlength=n_parts)
        unseen = ~held & ~in_halo[u, there]
        pair = here[unseen].astype(np.int64) * n_parts + there[unseen]
        lost += np.bincount(pair, minlength=n_parts * n_parts)
    return CutEdges(lost.reshape(n_parts, n_parts), to_halo)


# Vertices whose edges are looked at together.
_ROWS = 1 << 16
