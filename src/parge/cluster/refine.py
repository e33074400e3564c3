"""A refine pass on a graph in shards: the rows of one part, and what a pass asks of the other shards.

`parge.cluster.stages.Finish` makes the workspace; the passes themselves are in `parge.refine`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from parge.cluster.cutting import Held
from parge.cluster.mesh import Mesh, Message
from parge.graph.graph import Graph
from parge.linalg.adjacency import Adjacency
from parge.refine.shards import Checkpoint, NoCheckpoint, ShardWorkspace
from parge.typing import FloatArray, IntArray

# Columns of neighbours' vectors that travel at a time: this many, or as few as take this many bytes.
_COLUMNS, _COLUMN_BYTES = 32, 1 << 26


def _columns_at_a_time(n_rows: int) -> int:
    """Return how many columns of that many rows travel at a time; no bit depends on it.

    >>> _columns_at_a_time(1000), _columns_at_a_time(10**7), _columns_at_a_time(10**10)
    (32, 1, 1)
    """
    return min(_COLUMNS, max(1, _COLUMN_BYTES // (4 * max(1, n_rows))))


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of a part as a matrix reads them; neighbours may be vertices of others."""

    indptr: IntArray
    indices: NDArray[np.int32]
    weights: FloatArray | None
    n_edges: int

    @property
    def n_vertices(self) -> int:
        return self.indptr.size - 1

    @property
    def degrees(self) -> IntArray:
        return np.diff(self.indptr)


class SharedAdjacency(Adjacency):
    """The rows of one part of the adjacency matrix; other shards have the others.

    Sums over the rows of a part are that part's, and are added in the order of parts on shard 0: so the bits do not
    depend on where parts are.
    """

    def __init__(self, mesh: Mesh, held: Held, n_vertices: int) -> None:
        rows = held.rows
        part = _Part(rows.indptr, rows.indices, held.part.weights, rows.indices.size // 2)
        super().__init__(cast("Graph", part))
        self._mesh, self._held, self._n_vertices = mesh, held, n_vertices

    @property
    def n_vertices(self) -> int:
        """Vertices of the whole graph."""
        return self._n_vertices

    @property
    def is_shared(self) -> bool:
        """Whether other processes hold other rows."""
        return True

    def numbers(self, where: slice) -> IntArray:
        """Return the numbers of some rows in the whole graph."""
        return self._held.part.names[where].astype(np.int64)

    def near(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the rows here, and after them those of the ghosts."""
        return self._held.rows.with_ghosts(self._mesh, X)

    def total(self, *sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the sums over all parts, added on shard 0."""

        def add(found: list[Message]) -> Message:
            return tuple(np.asarray(sum(one[i] for one in found[1:]) + found[0][i]) for i in range(len(sums)))

        return tuple(np.array(array) for array in self._mesh.lead(add, *sums))

    def decided(self, decide: Callable[[], tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
        """Return what shard 0 decides."""
        return tuple(np.array(array) for array in self._mesh.lead(lambda _found: decide()))

    def heaviest(self) -> float:
        """Return the largest weight of all shards."""
        return max(float(found[0][0]) for found in self._mesh.share(np.array([super().heaviest()])))


def shard_workspace(mesh: Mesh, held: Held, n_vertices: int, checkpoint: Checkpoint | None = None) -> ShardWorkspace:
    """Return what a pass gets in this shard, whose part is `held`, of a graph of that many vertices."""
    most = max(int(found[0][0]) for found in mesh.share(np.array([held.rows.n_own + held.rows.ghosts.size])))
    step = _columns_at_a_time(most)

    def columns(width: int) -> list[slice]:
        return [slice(first, min(first + step, width)) for first in range(0, width, step)]

    def gathered(array: NDArray[Any]) -> list[NDArray[Any]]:
        return [found[0] for found in mesh.share(array)]

    return ShardWorkspace(SharedAdjacency(mesh, held, n_vertices), gathered, columns, checkpoint or NoCheckpoint())
