"""Eigenvectors of a graph that shards hold: the pass `subspace`, every shard with the rows of its part."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from parge.cluster.cutting import Held
from parge.cluster.mesh import Mesh, Message
from parge.cluster.refine import columns_at_a_time
from parge.graph.graph import Graph
from parge.linalg.adjacency import Adjacency
from parge.linalg.subspace import block_width, leading_eigenpairs
from parge.linalg.tall import rows_of
from parge.refine.subspace import Subspace
from parge.techniques.factorisation import Factorisation
from parge.typing import FloatArray, IntArray


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


def subspace_shared(
    mesh: Mesh, held: Held, vectors: FloatArray, technique: Factorisation, refiner: Subspace, n_vertices: int
) -> int:
    """Overwrite a part's vectors with the technique's own of the whole graph; return the number of steps.

    See `parge.refine.subspace`. Columns travel some at a time.
    """
    A = SharedAdjacency(mesh, held, n_vertices)
    operator, rows = technique.operator(A), held.rows
    most = max(int(found[0][0]) for found in mesh.share(np.array([rows.n_own + rows.ghosts.size])))
    step, width = columns_at_a_time(most), block_width(technique.n_pairs)
    pairs = leading_eigenpairs(
        operator,
        technique.n_pairs,
        rows_of(vectors),
        columns=[slice(first, min(first + step, width)) for first in range(0, width, step)],
        tolerance=refiner.tolerance,
        steps=refiner.steps,
    )
    technique.write(rows.degrees, operator, pairs, vectors)
    return pairs.steps
