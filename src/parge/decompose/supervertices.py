"""Decompositions whose subgraphs hold the whole graph: near vertices as they are, the rest as super-vertices."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parge.decompose.anchors import AnchorDecomposer, Decomposer
from parge.decompose.decomposition import Contexts, Decomposition, near
from parge.decompose.limits import Limits
from parge.decompose.partitioners import Problem, partition, work_of
from parge.events import OnStep, ignore_step
from parge.graph.graph import Graph
from parge.graph.subgraph import induce
from parge.memory import Footprint
from parge.typing import IntArray

# Anchors and halo together, as a share of the vertices: what the paper's setting spends on anchors.
NEAR_SHARE = 0.10


@dataclass(frozen=True)
class LandmarkDecomposer(Decomposer):
    """Parts and anchors of another decomposer, each part cut into super-vertices, and a halo for each within its limit.

    Parameters
    ----------
    parts : AnchorDecomposer
        Chooses anchors and parts.
    n_supervertices : int
        Context beside the anchors, over all parts.
    footprint : Footprint, optional
        What a subgraph with a context needs, for limits in bytes.
    """

    parts: AnchorDecomposer
    n_supervertices: int
    footprint: Footprint | None = None

    def decompose(self, graph: Graph, limits: Limits, *, on_step: OnStep = ignore_step) -> Decomposition:
        """Split within what super-vertices leave of the limits, form them, then spend the rest on halos."""
        plain = self.parts.decompose(graph, self.room(limits), on_step=on_step)
        on_step(f"forming {self.n_supervertices:,} super-vertices")
        landmark, n_landmarks = _landmarks(plain, self.n_supervertices, self.parts.partitioner, self.parts.seed)
        on_step("choosing halos")
        wanted = max(0, int(NEAR_SHARE * graph.n_vertices) - plain.anchors.size)
        nearest = [near(plain, i)[:wanted].copy() for i in range(plain.n_parts)]
        halos = np.array(
            [_halo(plain, limits, landmark, n_landmarks, i, nearest[i].size) for i in range(plain.n_parts)]
        )
        while True:
            contexts = Contexts.measured(plain, landmark, n_landmarks, halos, nearest)
            found = replace(plain, capacities=limits.capacities, budgets=None, footprint=None, contexts=contexts)
            if limits.budgets is None or self.footprint is None:
                return found
            over = found.projected(self.footprint) > limits.budgets
            if not (over & (halos > 0)).any():
                return replace(found, budgets=limits.budgets, footprint=self.footprint)
            halos = np.where(over, halos // 2, halos)

    @property
    def n_landmarks(self) -> int:
        """How many landmarks there are, anchors included."""
        return self.n_supervertices + self.parts.n_anchors

    def room(self, limits: Limits) -> Limits:
        """Return what the limits leave when every worker holds all landmarks and the edges to and among them."""
        if limits.budgets is None or self.footprint is None:
            return Limits.of_vertices(limits.capacities - self.n_supervertices)
        one = self.footprint
        fixed = one.fixed + one.per_vertex * self.n_supervertices + one.per_edge * self.n_landmarks**2 / 2
        # Twice an edge: the linear bound counts an edge between parts half at each end, and here each end holds it.
        return Limits.of_bytes(limits.budgets, Footprint(int(fixed), one.per_vertex, 2 * one.per_edge))


def _halo(plain: Decomposition, limits: Limits, landmark: IntArray, n_landmarks: int, i: int, wanted: int) -> int:
    """Return how many foreign vertices part i may hold beside its own, its anchors and the foreign super-vertices."""
    n_foreign = n_landmarks - plain.anchors.size - np.unique(landmark[plain.own(i)]).size
    room = int(limits.capacities[i] - plain.sizes[i]) - n_foreign
    return max(0, min(room, wanted))


def _landmarks(plain: Decomposition, n_supervertices: int, partitioner: str, seed: int) -> tuple[IntArray, int]:
    """Return the landmark of every vertex: j of anchor j, then super-vertices of each part, as many as its share."""
    graph, anchors = plain.graph, plain.anchors
    landmark = np.empty(graph.n_vertices, np.int64)
    landmark[anchors] = np.arange(anchors.size)
    used = int(anchors.size)
    n_rest = max(1, graph.n_vertices - anchors.size)
    for i in range(plain.n_parts):
        own = plain.own(i)
        count = min(own.size, n_supervertices * own.size // n_rest)
        group = _groups(graph, own, max(1, count), partitioner, seed)
        _, group = np.unique(group, return_inverse=True)
        landmark[own] = used + group
        used += int(group.max(initial=-1)) + 1
    return landmark, used


def _groups(graph: Graph, own: IntArray, count: int, partitioner: str, seed: int) -> Any:
    """Split a part into that many groups of similar size."""
    if count == 1 or not own.size:
        return np.zeros(own.size, np.int64)
    rows = induce(graph, own, np.zeros(0, np.int64)).graph
    limits = np.full(count, -(-3 * own.size // (2 * count)) + 1, np.int64)
    ones = np.ones(own.size, np.int64)
    problem = Problem(rows.indptr, rows.indices, ones, limits, work_of(rows.degrees), seed, quick=True)
    return partition(problem, partitioner)
