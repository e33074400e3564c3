"""Refiner: the interface of a pass over the whole graph after the merge, and its laws."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError
from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.linalg.adjacency import Adjacency
from parge.refine.shards import ShardWorkspace
from parge.registry import Registry
from parge.stage_reports import Refined
from parge.storage import usable_cores
from parge.techniques.base import WHITEN_20, Technique
from parge.typing import FloatArray

# Columns that a pass holds in memory at once fit here, by default: 4 million vertices at 48 columns.
BUDGET = 1_000_000_000

Done = Refined | Mapping[str, Any]
"""What a pass returns; `Refined.of` reads both."""


def in_memory(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """Return a new matrix."""
    return np.empty(shape, dtype)


@dataclass(frozen=True)
class Workspace:
    """Resources of a pass: memory, threads and progress. They never change the result.

    Parameters
    ----------
    matrix : callable
        Returns a new (rows, columns) matrix of a dtype: in memory, or in a file.
    budget : int
        Bytes that the columns in memory may take.
    threads : int
        How many blocks of rows are processed at the same time.
    progress : callable
        Called with the share of the work that is done.
    """

    matrix: Callable[[tuple[int, int], Any], NDArray[Any]] = in_memory
    budget: int = BUDGET
    threads: int = field(default_factory=usable_cores)
    progress: Progress = silent

    def columns(self, n_vertices: int, dim: int, bytes_per_entry: int) -> list[slice]:
        """Return the columns in groups of as many as fit the budget, 4 at least.

        >>> Workspace(budget=64_000).columns(1000, 40, 4)
        [slice(0, 16, None), slice(16, 32, None), slice(32, 40, None)]
        """
        width = max(4, self.budget // max(1, bytes_per_entry * n_vertices) // 4 * 4)
        return [slice(first, min(first + width, dim)) for first in range(0, dim, width)]


@dataclass(frozen=True)
class Refiner(ABC):
    """Base class of refine passes: improve all merged vectors at once, using the whole graph.

    Laws (held by `parge.testing.RefinerContract`):

    * same graph, same vectors, same result, bit for bit, for any number of threads and any budget, in memory or in
      files;
    * every vector stays finite, also of isolated vertices; a graph without edges leaves all vectors as they are;
    * the vectors are overwritten in place, and nothing else is written to;
    * what is in memory besides files is the budget (or four columns) and a few blocks of rows;
    * rotated vectors give the same inner products, up to rounding: it does not matter which of the separate spaces the
      others were mapped into.
    """

    name: ClassVar[str] = ""
    is_identity: ClassVar[bool] = False
    """True where the vectors stay unchanged: there is no pass to run, time or report."""
    parts_only: ClassVar[bool] = False
    """True where the pass mends what parts do: a plan with one part runs none instead."""
    uses_technique: ClassVar[bool] = True
    """False where the result depends only on graph and vectors: `parge reconcile` then needs no code of a technique."""
    in_shards: ClassVar[bool] = False
    """True where `refine_shard` computes the same pass on a graph of which every process holds one part."""

    @property
    def rounds_planned(self) -> int:
        """Rounds over all edges that `parge estimate` counts. `whiten` took 3 on graphs of 1 and 3.5 M edges."""
        return 3

    @property
    def rounds_usual(self) -> int:
        """Rounds that `parge plan` counts for a graph at hand: what was usual, not what may be needed."""
        return 3

    @property
    def recomputes(self) -> bool:
        """Whether what comes out hardly depends on the vectors that went in; a plan in parts says so."""
        return False

    def check(self, technique: Technique) -> None:  # noqa: B027  most passes are for all techniques
        """Raise `InputError`, before any work, for a technique that the pass does not support."""

    @abstractmethod
    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> Done:
        """Overwrite the vectors (an array or a memory map) in place; return what was done.

        That is a `parge.stage_reports.Refined` without the name, or a mapping of names to plain values.
        """

    def refine_shard(self, vectors: FloatArray, technique: Technique, work: ShardWorkspace) -> Done:
        """Overwrite the vectors of one part in place, while other shards do the same; return what was done.

        For ``parge embed --sharded``. Override it, and set `in_shards`; a plan in shards is refused otherwise. The
        vectors are those of the rows of `work.adjacency`. All shards return the same.
        """
        raise InputError(f"the pass {self.name} needs the whole graph in one process")

    def adjacency(self, graph: Graph, work: Workspace) -> Adjacency:
        """Return the graph as a matrix that multiplies columns with all threads."""
        return Adjacency(graph, work.threads)


@dataclass(frozen=True)
class Nothing(Refiner):
    """No pass: the vectors stay as they are.

    Use it as ``refine="none"`` (``--refine none``) for the technique's own vectors, or where time or memory is short.
    """

    name: ClassVar[str] = "none"
    is_identity: ClassVar[bool] = True
    uses_technique: ClassVar[bool] = False

    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> Refined:
        """Do nothing."""
        return Refined()


refiners: Registry[Callable[..., Refiner]] = Registry("refine pass", group="parge.refiners", also=("auto",))
refiners.register_at("whiten", "parge.refine.whiten:Whiten")
refiners.register_at(WHITEN_20, "parge.refine.whiten:whiten_20")
refiners.register_at("propagate", "parge.refine.propagate:Propagate")
refiners.register_at("subspace", "parge.refine.subspace:Subspace")
refiners.register_at("blend", "parge.refine.blend:Blended")
refiners.register_at("scale", "parge.refine.scale:Scale")
refiners.register_at("none", "parge.refine.base:Nothing")
