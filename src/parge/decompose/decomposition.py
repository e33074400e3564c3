"""Decomposition: which vertices each subgraph owns and shares, and what it holds of the rest (its context)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.subgraph import (
    LINKS,
    LandmarkRows,
    Subgraph,
    context_edges,
    induce,
    induce_with_context,
    landmark_rows,
)
from parge.memory import Footprint
from parge.stage_reports import EdgeCounts
from parge.storage import row_blocks
from parge.typing import BoolArray, IntArray, PartArray


@dataclass(frozen=True, eq=False)
class Contexts:
    """What every subgraph holds of the rest: the landmark of each vertex, and how much of a halo each has."""

    landmark: IntArray  # (n_vertices,); the landmark of every vertex: of anchor j it is j
    n_landmarks: int  # how many landmarks there are, anchors included
    halos: IntArray  # (n_parts,): how many foreign vertices each subgraph holds one by one
    edges: IntArray  # (n_parts,): edges of each subgraph with a context
    # The foreign vertices that may be in each halo, nearest first, as `near` finds them; found again
    # where a decomposition was read from a file.
    nearest: list[IntArray] | None = None
    # The graph merged into its landmarks, as `landmark_rows` merges it; found again there, too.
    around: LandmarkRows | None = None

    @staticmethod
    def measured(
        decomposition: "Decomposition",
        landmark: IntArray,
        n_landmarks: int,
        halos: IntArray,
        nearest: list[IntArray],
        around: LandmarkRows,
    ) -> "Contexts":
        """Return the contexts, their edges counted."""
        graph, anchors = decomposition.graph, decomposition.anchors
        edges = [
            context_edges(graph, decomposition.own(i), anchors, halo, landmark, links=LINKS, around=around)
            for i, halo in enumerate(np.sort(found[:size]) for found, size in zip(nearest, halos, strict=True))
        ]
        return Contexts(landmark, n_landmarks, halos, np.array(edges, np.int64), nearest, around)


def near(decomposition: "Decomposition", i: int) -> IntArray:
    """Return the foreign vertices with an edge into part i, anchors left out; first those that bring most for a byte.

    A vertex brings its edges into the part, and costs its vectors and all of its edges.
    """
    graph = decomposition.graph
    inside = np.zeros(graph.n_vertices, np.bool_)
    inside[decomposition.own(i)] = True
    from parge.kernels.cut import marked_neighbours

    count = marked_neighbours(graph.indptr, graph.indices, inside)
    count[inside | decomposition.is_anchor] = 0
    found = np.flatnonzero(count)
    return found[nearest_first(count[found], graph.degrees[found])]


def nearest_first(count: NDArray[Any], degrees: NDArray[Any]) -> IntArray:
    """Return the order of foreign vertices by their edges into a part and their edges in all: best per byte first."""
    return np.argsort(-count / (_VERTEX_IN_EDGES + degrees), kind="stable")


def halo_of(decomposition: "Decomposition", i: int) -> IntArray:
    """Return the halo of part i, ascending: its nearest foreign vertices."""
    around = decomposition.contexts
    assert around is not None
    nearest = near(decomposition, i) if around.nearest is None else around.nearest[i]
    return np.sort(nearest[: around.halos[i]])


# Lost edges beyond this share are worth a warning.
_MUCH_LOST = 0.25


def much_lost(share: float) -> str | None:
    """Return a warning where a large share of the edges is lost.

    >>> much_lost(0.3)
    '30% of the edges are lost: they join two parts, and neither holds them. Use more anchors, fewer parts or larger \
capacities to keep more.'
    """
    if share <= _MUCH_LOST:
        return None
    return (
        f"{share:.0%} of the edges are lost: they join two parts, and neither holds them. Use more anchors, fewer "
        "parts or larger capacities to keep more."
    )


class CutEdges(NamedTuple):
    """What halos hold of the edges between two parts, edges of anchors left aside."""

    # (n_parts, n_parts), symmetric: edges between each two parts of which neither has the other's end in its halo; the
    # diagonal is 0.
    lost: IntArray
    to_halo: IntArray  # (n_parts,): edges between the own vertices of each part and its halo


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


# What a vertex costs besides its edges, in edges: two vectors of 128 numbers, and 16 bytes per edge.
_VERTEX_IN_EDGES = 64

# Vertices whose edges are looked at together.
_ROWS = 1 << 16

# Vertices looked at together.
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Disjoint parts V_1..V_n of a graph and its anchors A; subgraph P_i is induced on V_i ∪ A.

    Laws, checked here: every vertex is in exactly one part; no subgraph is larger than its capacity, ``|V_i ∪ A| <=
    k_i``. (The paper's Algorithm 1 adds anchors after splitting, and so breaks the second.)

    Parameters
    ----------
    graph : Graph
        The decomposed graph.
    part : (n_vertices,) int32
        The part of every vertex; of an anchor, the part that holds most of its neighbours.
    anchors : (n_anchors,) int64
        The shared vertices, ascending.
    capacities : (n_parts,) int64
        The most vertices each subgraph may have.
    budgets : (n_parts,) int64, optional
        The most bytes each worker may use, for a technique of `footprint`.
    notices : tuple of str
        What differs from the request, as text.
    contexts : Contexts, optional
        Where subgraphs hold the rest of the graph as landmarks and a halo; all of that counts against their limits.
    """

    graph: Graph = field(repr=False)
    part: PartArray = field(repr=False)
    anchors: IntArray = field(repr=False)
    capacities: IntArray
    budgets: IntArray | None = None
    footprint: Footprint | None = None
    notices: tuple[str, ...] = ()
    contexts: Contexts | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.part.shape != (self.graph.n_vertices,):
            raise InputError(f"{self.part.size} part numbers for {self.graph.n_vertices} vertices")
        if self.part.size and not 0 <= self.part.min() <= self.part.max() < self.n_parts:
            raise InputError(f"parts must lie in 0..{self.n_parts - 1}")
        if (np.diff(self.anchors) <= 0).any():
            raise InputError("anchors must be in ascending order")
        over = np.flatnonzero(self.held > self.capacities)
        if over.size:
            i = over[0]
            raise InputError(f"subgraph {i} has {self.held[i]:,} vertices, but its capacity is {self.capacities[i]:,}")
        if self.budgets is not None and self.footprint is not None:
            needed = self.projected(self.footprint)
            over = np.flatnonzero(needed > self.budgets)
            if over.size:
                i = over[0]
                raise InputError(f"subgraph {i} needs {needed[i]:,} bytes, but its budget is {self.budgets[i]:,}")
        for array in (self.part, self.anchors, self.capacities):
            array.flags.writeable = False

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return self.capacities.size

    @cached_property
    def is_anchor(self) -> BoolArray:
        """Whether each vertex is an anchor."""
        mask = np.zeros(self.graph.n_vertices, np.bool_)
        mask[self.anchors] = True
        return mask

    @cached_property
    def owned(self) -> IntArray:
        """Own vertices of each part: those that are not anchors."""
        blocks = row_blocks(self.part.size, _BLOCK)
        inside = sum((np.bincount(self.part[some], minlength=self.n_parts) for some in blocks), np.zeros(self.n_parts))
        return (inside - np.bincount(self.part[self.anchors], minlength=self.n_parts)).astype(np.int64)

    @property
    def sizes(self) -> IntArray:
        """Vertices that each subgraph embeds, |V_i ∪ A|: its own and the anchors."""
        return self.owned + self.anchors.size

    @property
    def halos(self) -> IntArray:
        """Foreign vertices that each subgraph holds one by one; none unless it has a context."""
        return np.zeros(self.n_parts, np.int64) if self.contexts is None else self.contexts.halos

    @cached_property
    def supervertices(self) -> IntArray:
        """Foreign super-vertices that each subgraph holds; none unless it has a context."""
        if self.contexts is None:
            return np.zeros(self.n_parts, np.int64)
        around = self.contexts
        ours = [np.unique(around.landmark[self.own(i)]).size for i in range(self.n_parts)]
        return around.n_landmarks - self.anchors.size - np.array(ours, np.int64)

    @cached_property
    def held(self) -> IntArray:
        """Vertices that each worker holds, against its capacity: own ones, anchors, halo and foreign super-vertices."""
        return self.sizes + self.halos + self.supervertices

    @cached_property
    def cut(self) -> IntArray:
        """Edges between non-anchors of part i and part j; the diagonal counts the edges inside, (n, n) int64."""
        return self._counts[0]

    @property
    def to_anchors(self) -> IntArray:
        """Edges between the non-anchors of each part and anchors."""
        return self._counts[1]

    @cached_property
    def edges(self) -> IntArray:
        """Edges of each subgraph."""
        if self.contexts is not None:
            return self.contexts.edges
        cut, to_anchors, among_anchors = self._counts
        return np.diagonal(cut) + to_anchors + among_anchors

    @property
    def lost(self) -> IntArray:
        """Edges between part i and part j that are lost, (n, n) int64 with 0 on the diagonal; see `EdgeCounts`."""
        return self._cut_edges.lost

    @property
    def n_lost(self) -> int:
        """Total number of lost edges."""
        return int(np.triu(self.lost).sum())

    @property
    def lost_edges(self) -> float:
        """Share of the edges that are lost: the main cause of a worse embedding."""
        return self.n_lost / max(1, self.graph.n_edges)

    @property
    def edge_counts(self) -> EdgeCounts:
        """Where the edges of the graph are, each counted once."""
        inside, between, lost = int(np.trace(self.cut)), int(np.triu(self.cut, 1).sum()), self.n_lost
        return EdgeCounts(inside, self.graph.n_edges - inside - between, between - lost, lost)

    @property
    def kept(self) -> NDArray[np.float64]:
        """Share of the edges at each part's own vertices that its subgraph holds as they are: 1 where it has none."""
        kept = np.diagonal(self.cut) + self.to_anchors + self._cut_edges.to_halo
        touched = self.cut.sum(axis=1) + self.to_anchors
        return np.where(touched > 0, kept / np.maximum(touched, 1), 1.0)

    @cached_property
    def _cut_edges(self) -> CutEdges:
        if self.contexts is not None:
            return cut_edges(self)
        return CutEdges(self.cut - np.diag(np.diagonal(self.cut)), np.zeros(self.n_parts, np.int64))

    @cached_property
    def _counts(self) -> tuple[IntArray, IntArray, int]:
        from parge.kernels.cut import count_edges

        return count_edges(self.graph.indptr, self.graph.indices, self.part, self.is_anchor, self.n_parts)

    def projected(self, footprint: Footprint) -> IntArray:
        """Return the most bytes that a worker needs for each subgraph."""
        sizes = zip(self.held.tolist(), self.edges.tolist(), strict=True)
        return np.array([footprint.bytes(n_vertices, n_edges) for n_vertices, n_edges in sizes], np.int64)

    def own(self, i: int) -> IntArray:
        """Return the vertices of part i that are not anchors, ascending."""
        return np.flatnonzero((self.part == i) & ~self.is_anchor)

    def subgraph(self, i: int) -> Subgraph:
        """Extract subgraph i; several take less time with `cutter`."""
        return self.cutter(1)(i)

    def cutter(self, n_wanted: int) -> Callable[[int], Subgraph]:
        """Return the function that extracts a subgraph, for that many of them; threads may share it."""
        context = self.contexts
        if context is None:
            return lambda i: induce(self.graph, self.own(i), self.anchors, index=i)
        around = context.around
        if around is None and n_wanted > 1:
            around = landmark_rows(self.graph, context.landmark)

        def cut(i: int) -> Subgraph:
            halo, own = halo_of(self, i), self.own(i)
            return induce_with_context(
                self.graph, own, self.anchors, halo, context.landmark, index=i, links=LINKS, around=around
            )

        return cut

    @cached_property
    def unanchored(self) -> tuple[int, int]:
        """Connected components of the graph without an anchor: how many, and how many vertices they hold.

        Nothing connects such a component to the rest, so its position in the common space is arbitrary, as it is in a
        centralised embedding.
        """
        from parge.kernels.cut import component_roots

        root = component_roots(self.graph.indptr, self.graph.indices)
        loose = np.ones(root.size, np.bool_)
        loose[root[self.anchors]] = False
        n_components = n_vertices = 0
        for some in row_blocks(root.size, _BLOCK):
            n_components += int((loose[some] & (root[some] == np.arange(some.start, some.stop))).sum())
            n_vertices += int(loose[root[some]].sum())
        return n_components, n_vertices
