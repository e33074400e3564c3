"""Decompositions whose subgraphs hold the whole graph: near vertices as they are, the rest as super-vertices."""

from dataclasses import dataclass, replace

import numpy as np

from parge.decompose.anchors import AnchorDecomposer, Decomposer
from parge.decompose.decomposition import Contexts, Decomposition, near
from parge.decompose.limits import Limits
from parge.decompose.partitioners import Problem, partition, work_of
from parge.events import OnStep, ignore_step
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import LINKS, induce, landmark_rows
from parge.memory import Footprint
from parge.show.text import count
from parge.typing import IntArray

# Anchors and halo together, as a share of the vertices: at most what the paper's setting spends on anchors.
NEAR_SHARE = 0.10

# What a worker's context may take, as a share of what its own vertices take: so much from `LARGE` edges on. Smaller
# graphs fit any machine, and quality is worth more there: the share grows with the third power of what they are
# smaller by, up to most of what a part saves against the whole graph.
CONTEXT_SHARE, LARGE = 0.08, 1_000_000
_MOST_OF_SAVED = 0.8

# Of a context's bytes, those that landmarks may take; the rest is for the halo.
_LANDMARKS_SHARE = 0.6


def context_budget(graph: Counted, n_parts: int, footprint: Footprint) -> int:
    """Return the bytes that the context of each part may take: landmarks, halo, and their edges.

    >>> from parge.graph.generate import ring_of_cliques
    >>> context_budget(ring_of_cliques(40, 5), 8, Footprint(0, 1000, 32))
    149856
    """
    whole = footprint.per_vertex * graph.n_vertices + footprint.per_edge * graph.n_edges
    times = max(1.0, LARGE / max(1, graph.n_edges)) ** 3
    return int(min(CONTEXT_SHARE * times * whole / n_parts, _MOST_OF_SAVED * whole * (n_parts - 1) / n_parts))


def landmarks_within(budget: int, footprint: Footprint) -> int:
    """Return how many landmarks a context of that many bytes has room for, besides a halo."""
    return int(_LANDMARKS_SHARE * budget / _landmark_bytes(footprint))


def halo_within(budget: int, n_landmarks: int, footprint: Footprint) -> int:
    """Return how many vertices of a halo a context has room for besides that many landmarks, if they had no edges."""
    return max(0, int((budget - n_landmarks * _landmark_bytes(footprint)) / footprint.per_vertex))


def _landmark_bytes(footprint: Footprint) -> float:
    """Return the most bytes that a landmark takes in a worker, its edges to other landmarks included."""
    return footprint.per_vertex + footprint.per_edge * LINKS / 2


@dataclass(frozen=True)
class LandmarkDecomposer(Decomposer):
    """Parts and anchors of another decomposer; each part cut into super-vertices, with a halo within its limit."""

    parts: AnchorDecomposer  # chooses anchors and parts
    n_supervertices: int  # context besides the anchors, over all parts
    footprint: Footprint  # what a subgraph with a context needs: for limits in bytes, and for the bytes of its context
    kept_free: int = 0  # what limits in vertices have for the halo alone: own vertices do not use it

    def decompose(self, graph: Graph, limits: Limits, *, on_step: OnStep = ignore_step) -> Decomposition:
        """Split within what super-vertices leave of the limits, form them, then spend the rest on halos."""
        plain = self.parts.decompose(graph, self.limits_for_own(limits), on_step=on_step)
        on_step(f"forming {count(self.n_supervertices, 'super-vertex')}")
        landmark, n_landmarks = _landmarks(plain, self.n_supervertices, self.parts.partitioner, self.parts.seed)
        on_step("choosing halos")
        nearest = [self._nearest(plain, i) for i in range(plain.n_parts)]
        halos = np.array(
            [_halo(plain, limits, landmark, n_landmarks, i, nearest[i].size) for i in range(plain.n_parts)]
        )
        around = landmark_rows(graph, landmark)
        while True:
            contexts = Contexts.measured(plain, landmark, n_landmarks, halos, nearest, around)
            found = replace(plain, capacities=limits.capacities, budgets=None, footprint=None, contexts=contexts)
            if limits.budgets is None:
                return found
            over = found.projected(self.footprint) > limits.budgets
            if not (over & (halos > 0)).any():
                return replace(found, budgets=limits.budgets, footprint=self.footprint)
            halos = np.where(over, halos // 2, halos)

    def _nearest(self, plain: Decomposition, i: int) -> IntArray:
        """Return the halo that the budget of a context has room for, best first."""
        graph, found = plain.graph, near(plain, i)
        return found[: self.most_near(graph, plain.n_parts, plain.anchors.size, graph.degrees[found])].copy()

    def most_near(self, graph: Counted, n_parts: int, n_anchors: int, degrees: IntArray) -> int:
        """Return how many of the nearest foreign vertices, with these degrees, the budget of a context has room for."""
        one = self.footprint
        wanted = max(0, int(NEAR_SHARE * graph.n_vertices) - n_anchors)
        free = context_budget(graph, n_parts, one) - self.n_landmarks * _landmark_bytes(one)
        taken = np.cumsum(one.per_vertex + one.per_edge * degrees[:wanted])
        return int(np.searchsorted(taken, free, side="right"))

    @property
    def n_landmarks(self) -> int:
        """How many landmarks there are, anchors included."""
        return self.n_supervertices + self.parts.n_anchors

    def limits_for_own(self, limits: Limits) -> Limits:
        """Return what the limits leave when every worker holds all landmarks and the edges to and among them."""
        if limits.budgets is None:
            return Limits.of_vertices(limits.capacities - self.n_supervertices - self.kept_free)
        one = self.footprint
        fixed = one.fixed + one.per_vertex * self.n_supervertices + one.per_edge * self.n_landmarks**2 / 2
        # Twice an edge: the linear bound counts an edge between parts half at each end, and here each end holds it.
        return Limits.of_bytes(limits.budgets, Footprint(int(fixed), one.per_vertex, 2 * one.per_edge))


def _halo(plain: Decomposition, limits: Limits, landmark: IntArray, n_landmarks: int, i: int, wanted: int) -> int:
    """Return how many foreign vertices part i may hold besides its own, its anchors and the foreign super-vertices."""
    n_foreign = n_landmarks - plain.anchors.size - np.unique(landmark[plain.own(i)]).size
    free = int(limits.capacities[i] - plain.sizes[i]) - n_foreign
    return max(0, min(free, wanted))


def _landmarks(plain: Decomposition, n_supervertices: int, partitioner: str, seed: int) -> tuple[IntArray, int]:
    """Return the landmark of every vertex: j of anchor j, then super-vertices of each part, as many as its share."""
    graph, anchors = plain.graph, plain.anchors
    landmark = np.empty(graph.n_vertices, np.int64)
    landmark[anchors] = np.arange(anchors.size)
    used = int(anchors.size)
    n_rest = max(1, graph.n_vertices - anchors.size)
    for i in range(plain.n_parts):
        own = plain.own(i)
        rows = induce(graph, own, np.zeros(0, np.int64)).graph if own.size else graph
        group = supervertices(rows, own.size, n_supervertices * own.size // n_rest, partitioner, seed)
        landmark[own] = used + group
        used += int(group.max(initial=-1)) + 1
    return landmark, used


def supervertices(rows: Graph, n_own: int, wanted: int, partitioner: str, seed: int, *, quick: bool = True) -> IntArray:
    """Split a part, given as the rows among its own vertices, into groups of similar size, numbered from 0."""
    number = max(1, min(n_own, wanted))
    if number == 1 or not n_own:
        return np.zeros(n_own, np.int64)
    limits = np.full(number, -(-3 * n_own // (2 * number)) + 1, np.int64)
    ones = np.ones(n_own, np.int64)
    problem = Problem(rows.indptr, rows.indices, ones, limits, work_of(rows.degrees), seed, quick)
    return np.unique(partition(problem, partitioner), return_inverse=True)[1].astype(np.int64)
