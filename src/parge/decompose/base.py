"""Decomposer: the interface, its laws, and the decomposer that shares anchors."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from parge.decompose.anchors import NO_ANCHORS, Splitter, strategies
from parge.decompose.capacity import Limits, check_feasible
from parge.decompose.decomposition import Decomposition
from parge.errors import InfeasibleError
from parge.events import Tell, quiet
from parge.graph.graph import Graph
from parge.typing import IntArray, PartArray


@dataclass(frozen=True)
class Decomposer(ABC):
    """A way to cut a graph into subgraphs for workers of given limits.

    Laws (held by `parge.testing.DecomposerContract`):

    * every vertex is in exactly one part, every anchor in every subgraph;
    * no subgraph is over its limit, ever; limits that cannot be kept raise `InfeasibleError`, all others do not
      (exactly so for limits in vertices; in bytes, up to the edges that are lost);
    * same graph, limits and settings, same decomposition.
    """

    @abstractmethod
    def decompose(self, graph: Graph, limits: Limits, *, tell: Tell = quiet) -> Decomposition:
        """Return a decomposition within the limits."""


@dataclass(frozen=True)
class AnchorDecomposer(Decomposer):
    """Parts of G - A by a partitioner, and the anchors A by a strategy.

    Parameters
    ----------
    n_anchors : int
        How many anchors; where limits are in bytes, at most so many.
    strategy : str
        alternating, top-cut, random or degree.
    partitioner : str
        kaminpar, metis or random.
    seed : int
        Seeds all choices.
    """

    n_anchors: int
    strategy: str = "alternating"
    partitioner: str = "kaminpar"
    seed: int = 0

    def decompose(self, graph: Graph, limits: Limits, *, tell: Tell = quiet) -> Decomposition:
        """Choose the anchors, split the rest, and repair what the split leaves over a limit."""
        check_feasible(limits, graph, self.n_anchors)
        splitter = Splitter(graph, limits, self.partitioner, self.seed, tell)
        choose = strategies.get(self.strategy)
        if self.n_anchors == 0 or limits.n_parts == 1:
            return _decomposition(graph, limits, splitter.split(NO_ANCHORS), NO_ANCHORS)
        anchors, part = choose(splitter, min(self.n_anchors, graph.n_vertices))
        if limits.budgets is not None:
            return _within_bytes(splitter, anchors)
        part = splitter.split(np.sort(anchors)) if part is None else splitter.repaired(part, anchors)
        return _decomposition(graph, limits, part, np.sort(anchors))


def _within_bytes(splitter: Splitter, anchors: IntArray) -> Decomposition:
    """Use as many of the anchors, best first, as the budgets leave room for.

    Anchors and the edges among them are in every subgraph, so room falls with every anchor: the largest prefix
    that leaves room is found by bisection, and shortened where the parts cannot be packed within it.
    """
    graph, limits = splitter.graph, splitter.limits
    low, high = 0, anchors.size
    while low < high:
        middle = (low + high + 1) // 2
        if _roomy(splitter, anchors[:middle]):
            low = middle
        else:
            high = middle - 1
    while True:
        chosen = np.sort(anchors[:low])
        try:
            return _decomposition(graph, limits, splitter.split(chosen), chosen)
        except InfeasibleError:
            if low == 0:
                raise
            low = low * 3 // 4


def _roomy(splitter: Splitter, anchors: IntArray) -> bool:
    load = splitter.limits.load(splitter.graph, anchors)
    return load.fits and load.room.sum() >= 1.02 * load.weights.sum()


def _decomposition(graph: Graph, limits: Limits, part: PartArray, anchors: IntArray) -> Decomposition:
    return Decomposition(graph, part, anchors, limits.capacities, limits.budgets, limits.footprint)
