"""Decomposer: the interface, its laws, and the decomposer that shares anchors."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from parge.decompose.anchors import NO_ANCHORS, Splitter, strategies
from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import Limits, check_feasible
from parge.decompose.partitioners import substitution
from parge.errors import InfeasibleError
from parge.events import OnStep, ignore_step
from parge.graph.graph import Graph
from parge.memory import format_bytes
from parge.typing import IntArray, PartArray


@dataclass(frozen=True)
class Decomposer(ABC):
    """Base class of decomposers: split a graph into subgraphs within the limits of workers.

    Laws (held by `parge.testing.DecomposerContract`):

    * every vertex is in exactly one part, every anchor in every subgraph;
    * no subgraph is over its limit, ever; limits that cannot be kept raise `InfeasibleError`, all others do not
      (exactly so for limits in vertices; in bytes, up to the edges that are lost);
    * the same graph, limits and settings give the same decomposition.
    """

    @abstractmethod
    def decompose(self, graph: Graph, limits: Limits, *, on_step: OnStep = ignore_step) -> Decomposition:
        """Return a decomposition within the limits."""


@dataclass(frozen=True)
class AnchorDecomposer(Decomposer):
    """Choose the anchors A by a strategy, and split the rest of the graph with a partitioner.

    Parameters
    ----------
    n_anchors : int
        How many anchors.
    at_most : bool
        Whether fewer anchors are accepted where budgets in bytes have no room for all.
    strategy : str
        alternating, top-cut, random or degree.
    partitioner : str
        kaminpar, metis or random.
    seed : int
        Seed of all random choices.
    """

    n_anchors: int
    strategy: str = "alternating"
    partitioner: str = "kaminpar"
    seed: int = 0
    at_most: bool = False

    def decompose(self, graph: Graph, limits: Limits, *, on_step: OnStep = ignore_step) -> Decomposition:
        """Choose the anchors, split the rest, and repair what the split leaves over a limit."""
        found, notices = self._decomposed(graph, limits, on_step), substitution(self.partitioner)
        return replace(found, notices=notices) if notices else found

    def _decomposed(self, graph: Graph, limits: Limits, on_step: OnStep) -> Decomposition:
        check_feasible(limits, graph, self.n_anchors)
        splitter = Splitter(graph, limits, self.partitioner, self.seed, on_step)
        choose = strategies.get(self.strategy)
        if self.n_anchors == 0 or limits.n_parts == 1:
            return _decomposition(graph, limits, splitter.split(NO_ANCHORS), NO_ANCHORS)
        anchors, part = choose(splitter, min(self.n_anchors, graph.n_vertices))
        if limits.budgets is not None:
            return _within_bytes(splitter, anchors, at_most=self.at_most)
        part = splitter.split(np.sort(anchors)) if part is None else splitter.repaired(part, anchors)
        return _decomposition(graph, limits, part, np.sort(anchors))


def _within_bytes(splitter: Splitter, anchors: IntArray, *, at_most: bool) -> Decomposition:
    """Use all of the anchors or, if fewer will do, as many, best first, as the budgets leave room for.

    Anchors and the edges among them are in every subgraph, so room falls with every anchor: the largest prefix
    that leaves room is found by bisection, and shortened where the parts cannot be packed within it.
    """
    n_anchors = _most_anchors(splitter, anchors)
    while at_most or n_anchors == anchors.size:
        chosen = np.sort(anchors[:n_anchors])
        try:
            return _decomposition(splitter.graph, splitter.limits, splitter.split(chosen), chosen)
        except InfeasibleError as error:
            if n_anchors == 0 or not at_most:
                raise InfeasibleError(f"{_heaviest(splitter, chosen)}: {error}") from None
            n_anchors = n_anchors * 3 // 4
    raise InfeasibleError(
        f"{anchors.size:,} anchors are requested; the budgets have room for {n_anchors:,}, because every worker holds "
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
        f"with {anchors.size:,} anchors the vertices do not fit the budgets (vertex {splitter.graph.outside_ids[v]!r} "
        f"and its edges alone need {format_bytes(int(load.weights[v]))}; the worker with most space has "
        f"{format_bytes(int(load.room.max()))} left). Give more memory or more anchors"
    )


def _decomposition(graph: Graph, limits: Limits, part: PartArray, anchors: IntArray) -> Decomposition:
    return Decomposition(graph, part, anchors, limits.capacities, limits.budgets, limits.footprint)
