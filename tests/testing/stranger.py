"""Components that another package would add, one of each kind: only what is documented is imported."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parge.decompose.partitioners import Problem
from parge.engine.base import Engine, Task, Watch
from parge.engine.processes import Processes
from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.reconcile.base import IdentityMap, LinearMap, Map, Reconciler, check_anchors, nothing_to_map
from parge.refine.base import Refiner, Workspace
from parge.refine.shards import ShardWorkspace
from parge.techniques.base import Technique


@dataclass(frozen=True)
class Averages(Technique):
    """Random features, averaged over neighbours; the draws come from a table that all workers receive."""

    name: ClassVar[str] = "averages"

    rounds: int = 3

    @property
    def shared_shapes(self) -> Mapping[str, tuple[int | str, ...]]:
        """A table of one row for each class of degrees, and how many vertices have it."""
        return {"centroids": ("k", self.dim), "mass": ("k",)}

    def prepare(self, graph: Graph, decomposition: Any) -> Mapping[str, NDArray[Any]]:
        """Return the tables."""
        mass = np.bincount(_classes(graph), minlength=1).astype(np.int64)
        table = np.random.default_rng(0).standard_normal((mass.size, self.dim)).astype(np.float32)
        return {"centroids": table, "mass": mass}

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> NDArray[Any]:
        """Return the averages."""
        graph = subgraph.graph
        vectors = rng.standard_normal((graph.n_vertices, self.dim)).astype(np.float32)
        table = subgraph.shared["centroids"]
        vectors += 0.1 * table[np.minimum(_classes(graph), len(table) - 1)]
        rows = np.repeat(np.arange(graph.n_vertices), graph.degrees)
        weights = np.ones(rows.size, np.float32) if graph.weights is None else graph.weights
        total = np.bincount(rows, weights, minlength=graph.n_vertices).astype(np.float32)[:, None]
        for step in range(self.rounds):
            sums = np.zeros_like(vectors)
            for first in range(0, rows.size, 4096):  # a few edges at a time, so that little memory is needed
                some = slice(first, first + 4096)
                np.add.at(sums, rows[some], weights[some, None] * vectors[graph.indices[some]])
            vectors = 0.1 * vectors + sums / np.maximum(total, np.float32(1e-30))
            progress((step + 1) / self.rounds)
        return vectors

    def footprint(self) -> Footprint:
        """Return the bound."""
        return Footprint(90_000_000 + 4096 * 16 * self.dim, 40 + 20 * self.dim, 40)


def _classes(graph: Graph) -> NDArray[np.int64]:
    return np.log2(1 + graph.degrees).astype(np.int64)


@dataclass(frozen=True)
class Centred(Refiner):
    """Subtracts a share of the mean of all vectors, which shards add up together."""

    name: ClassVar[str] = "centred"
    in_shards: ClassVar[bool] = True

    def refine(self, graph: Graph, vectors: NDArray[Any], technique: Technique, work: Workspace) -> dict[str, Any]:
        """Subtract half of the mean."""
        if not graph.n_edges:
            return {"moved": 0}
        mean = np.zeros(vectors.shape[1])
        for first in range(0, len(vectors), 64):
            mean += vectors[first : first + 64].sum(axis=0, dtype=np.float64)
        for first in range(0, len(vectors), 64):
            vectors[first : first + 64] -= (mean / (2 * len(vectors))).astype(np.float32)
        work.progress(1.0)
        return {"moved": len(vectors)}

    def refine_shard(self, vectors: NDArray[Any], technique: Technique, work: ShardWorkspace) -> dict[str, Any]:
        """Subtract half of the mean of all parts."""
        n = work.adjacency.n_vertices
        (total,) = work.adjacency.total(vectors.sum(axis=0, dtype=np.float64))
        vectors -= (total / (2 * n)).astype(np.float32)
        return {"moved": n}


@dataclass(frozen=True)
class ToLongest(Reconciler):
    """Turns each space to the one with the longest anchors, by the nearest rotation."""

    name: ClassVar[str] = "to-longest"

    def maps(self, anchors: Sequence[NDArray[Any]]) -> tuple[Map, ...]:
        """Return rotations."""
        check_anchors(anchors)
        if nothing_to_map(anchors):
            return (IdentityMap(),) * len(anchors)
        longest = max((np.asarray(rows, np.float64) for rows in anchors), key=np.linalg.norm)
        turned = [np.linalg.svd(np.asarray(rows, np.float64).T @ longest) for rows in anchors]
        return tuple(LinearMap(U @ V) for U, _, V in turned)


class Twice(Engine):
    """Runs tasks in processes, two at a time; it is no dataclass, and has no field `jobs`."""

    name: ClassVar[str] = "twice"
    joins_cluster: ClassVar[bool] = False

    def __init__(self, jobs: int | None = None) -> None:
        self.__dict__["inner"] = Processes(jobs=jobs or 2)

    def at_once(self, n_tasks: int) -> Engine:
        """Return room for more tasks."""
        return Twice(n_tasks)

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result."""
        yield from self.__dict__["inner"].run(tasks, watch)


def by_number(problem: Problem) -> NDArray[np.int32]:
    """Split by the number of the vertex; parge moves what is over a limit."""
    return (np.arange(problem.n_vertices) % problem.limits.size).astype(np.int32)
