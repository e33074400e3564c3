"""Which vertices every subgraph shares: alternating, top-cut (the paper's), random, degree."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parge.decompose.fennel import streamed
from parge.decompose.limits import Limits
from parge.decompose.partitioners import STREAMING, Problem, partition, work_of
from parge.decompose.repair import repair
from parge.events import OnStep
from parge.graph.graph import Graph
from parge.graph.subgraph import induce
from parge.kernels import cut
from parge.registry import Registry
from parge.seeds import stream
from parge.typing import IntArray, PartArray

NO_ANCHORS: IntArray = np.zeros(0, np.int64)

# Share of the vertices below which splitting anew without the anchors is not worth its time: on a planted graph of
# 1 M edges in 8 parts, with 772 anchors of 116 k vertices, .1789 of the edges are lost without and .1786 with two
# rounds (3 seeds), which take three times as long.
_FEW = 0.01


@dataclass(frozen=True, eq=False)
class Splitter:
    """Splits the graph into parts once the anchors are chosen, within the limits that the anchors leave."""

    graph: Graph
    limits: Limits
    partitioner: str
    seed: int
    on_step: OnStep

    def split(self, anchors: IntArray, *, loosely: bool = False) -> PartArray:
        """Return the part of every vertex; an anchor joins the part that holds most of its neighbours.

        `loosely` splits in proportion to the limits without keeping them: for choosing anchors, when the
        limits may only be kept thanks to the anchors.
        """
        self.on_step(f"partitioning {self.graph.n_vertices - anchors.size:,} vertices")
        if self.partitioner == STREAMING:
            return self._home(streamed(self.graph, self.limits, anchors, loosely=loosely), anchors)
        return self._home(self._split(anchors, loosely), anchors)

    def _home(self, part: PartArray, anchors: IntArray) -> PartArray:
        """Give every anchor, whose part is -1, a part."""
        part[anchors] = cut.majority_part(self.graph.indptr, self.graph.indices, part, anchors, self.limits.n_parts)
        return part

    def _split(self, anchors: IntArray, loosely: bool) -> PartArray:
        is_anchor = np.zeros(self.graph.n_vertices, np.bool_)
        is_anchor[anchors] = True
        rest = np.flatnonzero(~is_anchor)
        rows = self.graph if not anchors.size else induce(self.graph, rest, NO_ANCHORS).graph
        load = self.limits.load(self.graph, anchors)
        weights, room = load.weights[rest], load.room
        if loosely:
            weights = np.ones(rest.size, np.int64)
            room = np.ceil(np.maximum(room, 1) / np.maximum(room, 1).sum() * rest.size * 1.1).astype(np.int64)
        work = weights if self.limits.budgets is not None and not loosely else work_of(self.graph.degrees[rest])
        problem = Problem(rows.indptr, rows.indices, weights, room, work, self.seed)
        part = np.full(self.graph.n_vertices, -1, np.int32)
        part[rest] = partition(problem, self.partitioner)
        return part

    def repaired(self, part: PartArray, anchors: IntArray) -> PartArray:
        """Bring the parts under the room that the anchors leave."""
        if self.partitioner == STREAMING:
            self.on_step("partitioning once more")
            return self._home(streamed(self.graph, self.limits, anchors, start=part), anchors)
        load = self.limits.load(self.graph, anchors)
        return repair(self.graph.indptr, self.graph.indices, load.weights, load.room, part)

    def n_lost(self, part: PartArray, anchors: IntArray) -> int:
        """Return how many edges no subgraph would see."""
        is_anchor = np.zeros(self.graph.n_vertices, np.bool_)
        is_anchor[anchors] = True
        counts, _, _ = cut.count_edges(self.graph.indptr, self.graph.indices, part, is_anchor, self.limits.n_parts)
        return int(np.triu(counts, 1).sum())


Strategy = Callable[[Splitter, int], tuple[IntArray, PartArray | None]]
"""Returns anchors, best first, and the part of every vertex if the choice produced a good one."""

strategies: Registry[Strategy] = Registry("anchor strategy", group="parge.anchor_strategies")


def alternating(splitter: Splitter, n_anchors: int, *, rounds: int = 2) -> tuple[IntArray, PartArray | None]:
    """Alternate between splitting without the anchors and choosing anchors greedily by still-lost edges.

    The best of all states met is kept. BlogCatalog in 8 parts with 10 % anchors loses .055 of its edges after the first
    choice and .039 after two rounds; a third changes nothing. Few anchors hardly change a split: then the first split
    is kept and repaired.
    """
    rounds = rounds if n_anchors >= _FEW * splitter.graph.n_vertices else 0
    in_bytes = splitter.limits.budgets is not None  # then how many of these anchors fit is decided later
    part = splitter.split(NO_ANCHORS, loosely=True)
    anchors = _greedy(splitter, part, n_anchors)
    best: State | None = None
    for _ in range(rounds):
        part = splitter.split(anchors, loosely=in_bytes)
        best = _better(best, (splitter.n_lost(part, anchors), anchors, part))
        anchors = _greedy(splitter, part, n_anchors)
    if not in_bytes:
        part = splitter.repaired(part, anchors)
    _, anchors, part = _better(best, (splitter.n_lost(part, anchors), anchors, part))
    return anchors, part


State = tuple[int, IntArray, PartArray]
"""Lost edges, anchors, parts."""


def _better(one: State | None, other: State) -> State:
    """Return the state that loses fewer edges, of two equal ones the first; the other one is let go."""
    return one if one is not None and one[0] <= other[0] else other


def _greedy(splitter: Splitter, part: PartArray, n_anchors: int) -> IntArray:
    splitter.on_step(f"choosing {n_anchors:,} anchors")
    graph = splitter.graph
    return cut.greedy_cover(
        graph.indptr, graph.indices, part, cut.cut_degrees(graph.indptr, graph.indices, part), n_anchors
    )


def top_cut(splitter: Splitter, n_anchors: int) -> tuple[IntArray, PartArray | None]:
    """Choose the vertices with most edges between parts: the paper's Algorithm 1 (Recon-S)."""
    part = splitter.split(NO_ANCHORS, loosely=True)
    degrees = cut.cut_degrees(splitter.graph.indptr, splitter.graph.indices, part)
    return np.argsort(-degrees, kind="stable")[:n_anchors], part


def random(splitter: Splitter, n_anchors: int) -> tuple[IntArray, PartArray | None]:
    """Choose at random: the paper's Recon-R."""
    order = stream(splitter.seed, "random anchors").permutation(splitter.graph.n_vertices)
    return order[:n_anchors], None


def degree(splitter: Splitter, n_anchors: int) -> tuple[IntArray, PartArray | None]:
    """Choose the vertices with most neighbours."""
    return np.argsort(-splitter.graph.degrees, kind="stable")[:n_anchors], None


strategies.register("alternating", alternating)
strategies.register("top-cut", top_cut)
strategies.register("random", random)
strategies.register("degree", degree)
