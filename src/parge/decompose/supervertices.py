"""Decompositions whose subgraphs hold the whole graph: near vertices as they are, the rest in lumps."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from parge.decompose.base import AnchorDecomposer, Decomposer
from parge.decompose.context import Surroundings, near
from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import Limits
from parge.decompose.partitioners import Problem, partition
from parge.events import Tell, quiet
from parge.graph.graph import Graph
from parge.graph.subgraph import induce
from parge.memory import Footprint
from parge.typing import IntArray

# Anchors and halo together, as a share of the vertices: what the paper's setting spends on anchors.
NEAR_SHARE = 0.10


@dataclass(frozen=True)
class LumpDecomposer(Decomposer):
    """Parts and anchors of another decomposer, each part cut into lumps, and a halo for each within its limit.

    Parameters
    ----------
    parts : AnchorDecomposer
        Chooses anchors and parts.
    n_groups : int
        Lumps beside the anchors, over all parts.
    footprint : Footprint, optional
        What a lumped subgraph needs, for limits in bytes.
    """

    parts: AnchorDecomposer
    n_groups: int
    footprint: Footprint | None = None

    def decompose(self, graph: Graph, limits: Limits, *, tell: Tell = quiet) -> Decomposition:
        """Split within what lumps leave of the limits, form the lumps, then spend the rest on halos."""
        plain = self.parts.decompose(graph, self.room(limits), tell=tell)
        tell(f"forming {self.n_groups:,} lumps")
        lump, n_lumps = _lumps(plain, self.n_groups, self.parts.partitioner, self.parts.seed)
        tell("choosing halos")
        wanted = max(0, int(NEAR_SHARE * graph.n_vertices) - plain.anchors.size)
        nearest = [near(plain, i)[:wanted].copy() for i in range(plain.n_parts)]
        halos = np.array([_halo(plain, limits, lump, n_lumps, i, nearest[i].size) for i in range(plain.n_parts)])
        while True:
            surroundings = Surroundings.measured(plain, lump, n_lumps, halos, nearest)
            found = replace(
                plain, capacities=limits.capacities, budgets=None, footprint=None, surroundings=surroundings
            )
            if limits.budgets is None or self.footprint is None:
                return found
            over = found.projected(self.footprint) > limits.budgets
            if not (over & (halos > 0)).any():
                return replace(found, budgets=limits.budgets, footprint=self.footprint)
            halos = np.where(over, halos // 2, halos)

    @property
    def n_lumps(self) -> int:
        """How many lumps there are, anchors included."""
        return self.n_groups + self.parts.n_anchors

    def room(self, limits: Limits) -> Limits:
        """Return what the limits leave when every worker holds all lumps and the edges to and among them."""
        if limits.budgets is None or self.footprint is None:
            return Limits.of_vertices(limits.capacities - self.n_groups)
        one = self.footprint
        fixed = one.fixed + one.per_vertex * self.n_groups + one.per_edge * self.n_lumps**2 / 2
        # Twice an edge: the linear bound counts an edge between parts half at each end, and here each end holds it.
        return Limits.of_bytes(limits.budgets, Footprint(int(fixed), one.per_vertex, 2 * one.per_edge))


def _halo(plain: Decomposition, limits: Limits, lump: IntArray, n_lumps: int, i: int, wanted: int) -> int:
    """Return how many foreign vertices part i may hold beside its own, its anchors and the foreign lumps."""
    n_foreign = n_lumps - plain.anchors.size - np.unique(lump[plain.own(i)]).size
    room = int(limits.capacities[i] - plain.sizes[i]) - n_foreign
    return max(0, min(room, wanted))


def _lumps(plain: Decomposition, n_groups: int, partitioner: str, seed: int) -> tuple[IntArray, int]:
    """Return the lump of every vertex: anchor j in lump j, then groups of each part, in proportion to its size."""
    graph, anchors = plain.graph, plain.anchors
    lump = np.empty(graph.n_vertices, np.int64)
    lump[anchors] = np.arange(anchors.size)
    used = int(anchors.size)
    n_rest = max(1, graph.n_vertices - anchors.size)
    for i in range(plain.n_parts):
        own = plain.own(i)
        count = min(own.size, n_groups * own.size // n_rest)
        group = _groups(graph, own, max(1, count), partitioner, seed)
        _, group = np.unique(group, return_inverse=True)
        lump[own] = used + group
        used += int(group.max(initial=-1)) + 1
    return lump, used


def _groups(graph: Graph, own: IntArray, count: int, partitioner: str, seed: int) -> Any:
    """Split a part into that many groups of similar size."""
    if count == 1 or not own.size:
        return np.zeros(own.size, np.int64)
    rows = induce(graph, own, np.zeros(0, np.int64)).graph
    limits = np.full(count, -(-3 * own.size // (2 * count)) + 1, np.int64)
    ones = np.ones(own.size, np.int64)
    mean = max(1.0, float(rows.degrees.mean()))
    work = np.rint(16 * (1 + rows.degrees / mean)).astype(np.int64)
    return partition(Problem(rows.indptr, rows.indices, ones, limits, work, seed, quick=True), partitioner)
