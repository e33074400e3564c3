"""Base class of embedding techniques, and its laws."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from parge.errors import Extra, InputError
from parge.events import Progress, silent
from parge.graph.features import with_features
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.numbers import MOST, MOST_DIM, MOST_SETTING, check_number, check_whole, shown
from parge.skipgram.batches import Mode
from parge.typing import FloatArray, Shape


@dataclass(frozen=True)
class Technique(ABC):
    """Base class of embedding techniques: immutable settings, and a method that computes the vectors of a subgraph.

    Laws (held by `parge.testing.TechniqueContract`):

    * the same subgraph and generator state give the same vectors, bit for bit;
    * every vector is finite, also for isolated vertices, subgraphs smaller than `dim` and empty ones;
    * the subgraph is not changed;
    * the technique can be pickled;
    * memory of a process that embeds stays under ``projected_bytes(n_vertices, n_edges)``.
    """

    dim: int = 128

    name: ClassVar[str] = ""
    aligned: ClassVar[bool] = False
    """True where the vectors of different subgraphs lie in one space by construction."""
    refine: ClassVar[str] = "none"
    """The pass over the whole graph that ``refine="auto"`` means after a merge (see `parge.refine`)."""

    needs_extra: ClassVar[Extra | None] = None
    """The optional package that it cannot embed without; a plan is refused where that is missing."""

    def refine_for(self, graph: Counted) -> str:
        """Return the pass that ``refine="auto"`` means for this graph."""
        del graph
        return self.refine

    @property
    def shared_shapes(self) -> Mapping[str, Shape]:
        """Names and shapes of the arrays that `prepare` returns; none by default.

        An axis is a number, or a name: axes of one name are equally long. ``{"centroids": ("k", 16), "mass": ("k",)}``
        declares a table of 16 columns and one number per row of it.
        """
        return {}

    def prepare(self, graph: Graph, decomposition: Any) -> Mapping[str, NDArray[Any]]:
        """Return small arrays that every worker receives as `Subgraph.shared`; nothing by default.

        Called once, by the coordinator, before any worker starts. `shared_shapes` declares what is returned.
        """
        del graph, decomposition
        return {}

    @abstractmethod
    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex of the subgraph, (n_vertices, dim) float32."""

    @abstractmethod
    def footprint(self) -> Footprint:
        """Return the bound on the memory of a worker, linear in vertices and edges, for a graph without features."""

    def footprint_for(self, graph: Graph) -> Footprint:
        """Return the bound for subgraphs of this graph, including the features that every worker reads."""
        return with_features(self.footprint(), graph)

    def projected_bytes(self, n_vertices: int, n_edges: int) -> int:
        """Return the most memory that a worker needs for a subgraph of that size, in bytes."""
        return self.footprint().bytes(n_vertices, n_edges)


# Far more than anybody was better off with, so that no setting alone asks for years of work, or fills the memory; what
# is not listed counts what a kernel counts.
_MOST = {
    "dim": MOST_DIM,
    "seed": MOST,
    "threads": 1024,
    "walks": 100_000,
    "walk_length": 1_000_000,
    "window": 10_000,
    "negatives": 10_000,
    "samples": 10_000_000,
    "batch": 10_000_000,
    "hops": 100_000,
    "rounds": 100_000,
    "step": 100_000,
    "rank": MOST_DIM,
    "exact_up_to": MOST_DIM,
}

MOST_RATE = 1e6
"""Learning rates far below this one diverge already, which is said; over it float32 itself ends."""

# Whole numbers that are no amount of work.
_NO_WORK = {"seed", "threads", "batch", "exact_up_to"}


def check_counts(technique: Technique, least: int, *settings: str) -> None:
    """Raise `InputError` for settings that are not whole numbers of at least `least`."""
    for setting in settings:
        most = _MOST.get(setting, MOST_SETTING)
        check_whole(f"{setting} of {technique.name}", getattr(technique, setting), least, most)


def work(technique: Technique) -> float:
    """Estimate the work of a technique relative to its default settings, at least 1.

    It is the product of all counts, each divided by its default: walks, their length, windows and so on are nested
    loops.

    >>> from parge.techniques.deepwalk import DeepWalk
    >>> work(DeepWalk(walks=80, window=10, negatives=1))
    16.0
    """
    times = 1.0
    for field in fields(technique):
        if field.name not in _NO_WORK and type(field.default) is int and field.default > 0:
            times *= max(1.0, getattr(technique, field.name) / field.default)
    return times


def check_range(technique: Technique, setting: str, low: float, high: float = inf, *, above: bool = False) -> None:
    """Raise `InputError` unless a setting is a number from `low` to `high`, both included; `above` excludes `low`."""
    check_number(f"{setting} of {technique.name}", getattr(technique, setting), low, high, above=above)


def check_choice(technique: Technique, setting: str, choices: tuple[str, ...]) -> None:
    """Raise `InputError` for a setting that is not one of the choices."""
    value = getattr(technique, setting)
    if value not in choices:
        raise InputError(f"{setting} of {technique.name} must be one of {', '.join(choices)}; got {shown(value)}")


def check_threads(technique: Technique) -> None:
    """Raise `InputError` unless `threads` and `mode` are valid."""
    check_counts(technique, 1, "threads")
    check_choice(technique, "mode", get_args(Mode))
