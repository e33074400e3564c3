"""Decomposer: the interface, its laws, the decomposer that shares anchors, and the rules that choose anchors.

Rules: alternating, top-cut (the paper's), random, degree.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.decompose.decomposition import Decomposition
from parge.decompose.improvement import MOST_PARTS, improve
from parge.decompose.limits import Limits, check_feasible, loosened, repair
from parge.decompose.partitioners import (
    IMBALANCE,
    Partitioner,
    Problem,
    partition,
    partitioner_named,
    substitution,
    work_of,
)
from parge.decompose.registry import strategies
from parge.errors import InfeasibleError
from parge.events import OnStep, ignore_step
from parge.graph.graph import Graph
from parge.graph.subgraph import induce
from parge.kernels import cut
from parge.memory import Footprint, format_bytes
from parge.seeds import keyed_rng
from parge.show.text import count
from parge.typing import BoolArray, IntArray, PartArray

NO_ANCHORS: IntArray = np.zeros(0, np.int64)

# Share of the vertices below which splitting again without the anchors is not worth its time: on a planted graph of
# 1 M edges in 8 parts, with 772 anchors of 116 k vertices, .1789 of the edges are lost without and .1786 with two
# rounds (3 seeds), which take three times as long.
_FEW = 0.01

# From this many edges on, the first split is improved instead of splitting again. In 8 parts with 10 % anchors that
# takes 0.1 to 0.3 of the time of one split. Lost edges against three splits: .97, .98, 1.00 and 1.02 x on generated
# graphs of 1 M edges (clustered, overlapping, hubs, sparse), .91 to .95 x in uneven parts with 3 % slack; cnr-2000 and
# ego-Twitter lose under .0001 of theirs. Smaller graphs lose up to three times as many (ca-AstroPh 1.2 x,
# youtube-groups 2.6 x), and splitting them takes seconds.
_MANY_EDGES = 1_000_000

# With less room than this share the parts are split again: with 1 % the sparse graph loses 1.13 x as many, without any
# 1.11 x, with 2 % and 3 % 1.00 and 1.02 x.
_LEAST_SLACK = 0.02

# Improving begins with KaMinPar's fast settings (0.4 to 0.6 of the time), unless they cut less than this share: what
# they cut too much, improving finds again where communities are blurred, but not where they are sharp (1.11 x as many
# edges are lost on a sparse graph). Lost edges against those after its default settings: .994 to 1.019 x on four
# generated graphs of 1 to 1.5 M edges (`python -m benchmarks.first_splits`), 1.00 to 1.01 x on four larger ones.
_MUCH = 0.2

# The most turns of choosing anchors and improving parts; one that saves under this share of the lost edges is the last
# (one that loses more is not: the next one often saves them).
_TURNS, _WORTH = 4, 0.03

# Rounds of choosing anchors and splitting without them.
_ROUNDS = 2


@dataclass(frozen=True, eq=False)
class Splitter:
    """Splits the graph into parts once the anchors are chosen, within the limits that the anchors leave."""

    graph: Graph
    limits: Limits
    partitioner: str
    seed: int
    on_step: OnStep
    balance: Footprint | None = None

    @property
    def _method(self) -> Partitioner:
        return partitioner_named(self.partitioner)

    def split(self, anchors: IntArray, *, loosely: bool = False) -> PartArray:
        """Return the part of every vertex; an anchor joins the part that holds most of its neighbours.

        `loosely` splits in proportion to the limits without keeping them: for choosing anchors, when the
        limits may only be kept thanks to the anchors.
        """
        self.on_step(f"partitioning {count(self.graph.n_vertices - anchors.size, 'vertex')}")
        if self._method.around_anchors is not None:
            part = self._method.around_anchors(self.graph, self.limits, anchors, loosely=loosely)
            return self._home(part, anchors)
        return self._home(self._split(anchors, loosely), anchors)

    def first_split(self, n_anchors: int, *, quick: bool) -> PartArray:
        """Return parts of all vertices, with sizes that leave space for that number of anchors."""
        self.on_step(f"partitioning {count(self.graph.n_vertices, 'vertex')}")
        graph, n_rest = self.graph, self.graph.n_vertices - n_anchors
        free, slack = self.limits.capacities, 0.1
        if self.limits.budgets is None:
            free = free - n_anchors
            slack = min(slack, max(IMBALANCE, int(free.sum()) / max(1, n_rest) - 1))
        ones = np.ones(graph.n_vertices, np.int64)
        free = loosened(free, graph.n_vertices, slack)
        work = work_of(graph.degrees, self.balance)
        problem = Problem(graph.indptr, graph.indices, ones, free, work, self.seed, quick)
        return partition(problem, self.partitioner)

    def _home(self, part: PartArray, anchors: IntArray) -> PartArray:
        """Give every anchor, whose part is -1, a part."""
        part[anchors] = cut.majority_part(self.graph.indptr, self.graph.indices, part, anchors, self.limits.n_parts)
        return part

    def _split(self, anchors: IntArray, loosely: bool) -> PartArray:
        rest = np.flatnonzero(self._is_in_one_part(anchors))
        rows = self.graph if not anchors.size else induce(self.graph, rest, NO_ANCHORS).graph
        load = self.limits.load(self.graph, anchors)
        weights, free = load.weights[rest], load.free
        if loosely:
            weights, free = np.ones(rest.size, np.int64), loosened(free, rest.size)
        if self.limits.budgets is not None and not loosely:
            work = weights
        else:
            work = work_of(self.graph.degrees[rest], self.balance)
        problem = Problem(rows.indptr, rows.indices, weights, free, work, self.seed)
        part = np.full(self.graph.n_vertices, -1, np.int32)
        part[rest] = partition(problem, self.partitioner)
        return part

    def improved(self, part: PartArray, anchors: IntArray, *, loosely: bool = False) -> PartArray:
        """Return better parts than these, without the anchors, within the limits; `loosely` is as in `split`."""
        self.on_step(f"moving vertices between parts, without {count(anchors.size, 'anchor')}")
        graph, load = self.graph, self.limits.load(self.graph, anchors)
        alone = self._is_in_one_part(anchors)
        weights, free = load.weights, load.free
        if loosely:
            weights, free = alone.astype(np.int64), loosened(free, graph.n_vertices - anchors.size)
        work = weights
        if self.limits.budgets is None or loosely:
            work = np.zeros(graph.n_vertices, np.int64)
            work[alone] = work_of(graph.degrees[alone], self.balance)
        problem = Problem(graph.indptr, graph.indices, weights, free, work, self.seed)
        begin = np.where(alone, part, np.int32(-1))
        better = improve(graph.indptr, graph.indices, problem.balanced, problem.targets, begin)
        better = self._home(better, anchors)
        return repair(graph.indptr, graph.indices, weights, free, better)

    def improves(self, n_anchors: int) -> bool:
        """Whether the first split is improved where anchors change what is cut, instead of splitting again."""
        n_rest = self.graph.n_vertices - n_anchors
        slack = int((self.limits.capacities - n_anchors).sum()) - n_rest
        has_slack = self.limits.budgets is not None or slack >= _LEAST_SLACK * n_rest
        is_possible = self._method.is_improvable and self.limits.n_parts <= MOST_PARTS
        return is_possible and has_slack and self.graph.n_edges >= _MANY_EDGES

    @property
    def has_quick(self) -> bool:
        """Whether a rough split takes less time."""
        return self._method.has_quick

    def _is_in_one_part(self, anchors: IntArray) -> BoolArray:
        alone = np.ones(self.graph.n_vertices, np.bool_)
        alone[anchors] = False
        return alone

    def repaired(self, part: PartArray, anchors: IntArray) -> PartArray:
        """Bring the parts under the room that the anchors leave."""
        if self._method.around_anchors is not None:
            self.on_step("partitioning once more")
            return self._home(self._method.around_anchors(self.graph, self.limits, anchors, start=part), anchors)
        load = self.limits.load(self.graph, anchors)
        return repair(self.graph.indptr, self.graph.indices, load.weights, load.free, part)

    def n_lost(self, part: PartArray, anchors: IntArray) -> int:
        """Return how many edges no subgraph would see."""
        return int(cut.count_lost(self.graph.indptr, self.graph.indices, self.labels(part, anchors)))

    def labels(self, part: PartArray, anchors: IntArray = NO_ANCHORS) -> NDArray[Any]:
        """Return the parts in as few bytes as will do, so that more of them stay in the cache; -1 for anchors."""
        labels = part.astype(np.int8 if self.limits.n_parts <= np.iinfo(np.int8).max else np.int32)
        labels[anchors] = -1
        return labels


Strategy = Callable[[Splitter, int], tuple[IntArray, PartArray | None]]
"""Returns anchors, best first, and the part of every vertex if the choice produced a good one."""


def alternating(splitter: Splitter, n_anchors: int) -> tuple[IntArray, PartArray | None]:
    """Alternate between splitting without the anchors and choosing anchors greedily by still-lost edges.

    The best of all states met is kept. BlogCatalog in 8 parts with 10 % anchors loses .055 of its edges after the first
    choice and .039 after two rounds; a third changes nothing. Few anchors hardly change a split: then the first split
    is kept and repaired. Large graphs are split once, and the split improved.
    """
    is_few = n_anchors < _FEW * splitter.graph.n_vertices
    in_bytes = splitter.limits.budgets is not None  # then how many of these anchors fit is decided later
    if splitter.improves(n_anchors):
        return _improving(splitter, n_anchors, 1 if is_few else _TURNS, loosely=in_bytes)
    part = splitter.split(NO_ANCHORS, loosely=True)
    anchors = _greedy(splitter, part, n_anchors)
    best: State | None = None
    for _ in range(0 if is_few else _ROUNDS):
        part = splitter.split(anchors, loosely=in_bytes)
        best = _better(best, (splitter.n_lost(part, anchors), anchors, part))
        anchors = _greedy(splitter, part, n_anchors)
    if not in_bytes:
        part = splitter.repaired(part, anchors)
    _, anchors, part = _better(best, (splitter.n_lost(part, anchors), anchors, part))
    return anchors, part


def _improving(splitter: Splitter, n_anchors: int, turns: int, *, loosely: bool) -> tuple[IntArray, PartArray]:
    """Split once, then alternate between choosing anchors and improving the parts without them, while that helps."""
    part = _first_split(splitter, n_anchors)
    best: State | None = None
    for _ in range(turns):
        anchors = _greedy(splitter, part, n_anchors)
        part = splitter.improved(part, anchors, loosely=loosely)
        n_lost = splitter.n_lost(part, anchors)
        is_settled = best is not None and (1 - _WORTH) * best[0] < n_lost <= best[0]
        best = _better(best, (n_lost, anchors, part))
        if is_settled or n_lost == 0:
            break
    assert best is not None
    return best[1], best[2]


def _first_split(splitter: Splitter, n_anchors: int) -> PartArray:
    """Return the parts to begin with: of a graph of which much is cut, roughly."""
    graph = splitter.graph
    if splitter.has_quick:
        part = splitter.first_split(n_anchors, quick=True)
        if splitter.n_lost(part, NO_ANCHORS) >= _MUCH * graph.n_edges:
            return part
    return splitter.first_split(n_anchors, quick=False)


State = tuple[int, IntArray, PartArray]
"""Lost edges, anchors, parts."""


def _better(one: State | None, other: State) -> State:
    """Return the state that loses fewer edges, of two equal ones the first; the other one is let go."""
    return one if one is not None and one[0] <= other[0] else other


def _greedy(splitter: Splitter, part: PartArray, n_anchors: int) -> IntArray:
    splitter.on_step(f"choosing {count(n_anchors, 'anchor')}")
    graph, labels = splitter.graph, splitter.labels(part)
    degrees = cut.cut_degrees(graph.indptr, graph.indices, labels)
    return cut.greedy_cover(graph.indptr, graph.indices, labels, degrees, n_anchors)


def top_cut(splitter: Splitter, n_anchors: int) -> tuple[IntArray, PartArray | None]:
    """Choose the vertices with most edges between parts: the paper's Algorithm 1 (Recon-S)."""
    part = splitter.split(NO_ANCHORS, loosely=True)
    degrees = cut.cut_degrees(splitter.graph.indptr, splitter.graph.indices, part)
    return np.argsort(-degrees, kind="stable")[:n_anchors], part


def random(splitter: Splitter, n_anchors: int) -> tuple[IntArray, PartArray | None]:
    """Choose at random: the paper's Recon-R."""
    order = keyed_rng(splitter.seed, "random anchors").permutation(splitter.graph.n_vertices)
    return order[:n_anchors], None


def degree(splitter: Splitter, n_anchors: int) -> tuple[IntArray, PartArray | None]:
    """Choose the vertices with most neighbours."""
    return np.argsort(-splitter.graph.degrees, kind="stable")[:n_anchors], None


@dataclass(frozen=True)
class Decomposer(ABC):
    """Base class of decomposers: split a graph into subgraphs within the limits of workers.

    Laws (held by `parge.testing.DecomposerContract`):

    * every vertex is in exactly one part, every anchor in every subgraph;
    * no subgraph is over its limit, ever;
    * limits that cannot be kept raise `InfeasibleError`, and all others do not. In vertices this is exact; in bytes, it
      holds up to the edges that are lost;
    * the same graph, limits and settings give the same decomposition.
    """

    @abstractmethod
    def decompose(self, graph: Graph, limits: Limits, *, on_step: OnStep = ignore_step) -> Decomposition:
        """Return a decomposition within the limits."""


@dataclass(frozen=True)
class AnchorDecomposer(Decomposer):
    """Choose the anchors A by a strategy, and split the rest of the graph with a partitioner."""

    n_anchors: int
    strategy: str = "alternating"  # alternating, top-cut, random or degree
    partitioner: str = "kaminpar"  # kaminpar, metis or random
    seed: int = 0  # seed of all random choices
    at_most: bool = False  # whether fewer anchors are accepted where budgets in bytes have no room for all
    # What is balanced within limits in vertices: the bytes of this bound; without it, vertices and edges alike.
    balance: Footprint | None = None

    def decompose(self, graph: Graph, limits: Limits, *, on_step: OnStep = ignore_step) -> Decomposition:
        """Choose the anchors, split the rest, and repair what the split leaves over a limit."""
        found, notices = self._decomposed(graph, limits, on_step), substitution(self.partitioner)
        return replace(found, notices=notices) if notices else found

    def _decomposed(self, graph: Graph, limits: Limits, on_step: OnStep) -> Decomposition:
        check_feasible(limits, graph, self.n_anchors)
        splitter = Splitter(graph, limits, self.partitioner, self.seed, on_step, self.balance)
        choose = strategies.get(self.strategy)
        if self.n_anchors == 0 or limits.n_parts == 1:
            return _decomposition(graph, limits, splitter.split(NO_ANCHORS), NO_ANCHORS)
        anchors, part = choose(splitter, min(self.n_anchors, graph.n_vertices))
        if limits.budgets is not None:
            return _within_bytes(splitter, anchors, part, at_most=self.at_most)
        part = splitter.split(np.sort(anchors)) if part is None else splitter.repaired(part, anchors)
        return _decomposition(graph, limits, part, np.sort(anchors))


def _within_bytes(splitter: Splitter, anchors: IntArray, part: PartArray | None, *, at_most: bool) -> Decomposition:
    """Use all of the anchors or, if fewer will do, as many, best first, as the budgets leave room for.

    Anchors and the edges among them are in every subgraph, so less is left with every anchor. The largest prefix that
    leaves enough is found by bisection, and shortened where the parts cannot be packed within it.
    """
    n_anchors = _most_anchors(splitter, anchors)
    while at_most or n_anchors == anchors.size:
        chosen = np.sort(anchors[:n_anchors])
        try:
            if part is not None and splitter.improves(n_anchors):
                found = splitter.improved(part, chosen)
            else:
                found = splitter.split(chosen)
            return _decomposition(splitter.graph, splitter.limits, found, chosen)
        except InfeasibleError as error:
            if n_anchors == 0 or not at_most:
                raise InfeasibleError(f"{_heaviest(splitter, chosen)}: {error}") from None
            n_anchors = n_anchors * 3 // 4
    raise InfeasibleError(
        f"{anchors.size:,} anchors are requested; the budgets allow {n_anchors:,}, because every worker holds "
        f"all anchors and the edges among them. Request at most {n_anchors:,}, use auto, or give the workers more "
        "memory."
    )


def _most_anchors(splitter: Splitter, anchors: IntArray) -> int:
    """Return the largest number of the anchors, best first, that leaves room for everything else."""
    low, high = 0, anchors.size
    while low < high:
        middle = (low + high + 1) // 2
        if splitter.limits.load(splitter.graph, anchors[:middle]).fits:
            low = middle
        else:
            high = middle - 1
    return low


def _heaviest(splitter: Splitter, anchors: IntArray) -> str:
    """Say which vertex is hardest to place within budgets in bytes."""
    load = splitter.limits.load(splitter.graph, anchors)
    v = int(np.argmax(load.weights))
    return (
        f"with {anchors.size:,} anchors the vertices do not fit the budgets. Vertex {splitter.graph.outside_ids[v]!r} "
        f"and its edges alone need {format_bytes(int(load.weights[v]))}; the worker with most space has "
        f"{format_bytes(int(load.free.max()))} left. Give more memory or more anchors"
    )


def _decomposition(graph: Graph, limits: Limits, part: PartArray, anchors: IntArray) -> Decomposition:
    return Decomposition(graph, part, anchors, limits.capacities, limits.budgets, limits.footprint)
