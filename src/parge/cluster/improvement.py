"""The market of `parge.decompose.improvement` on rows that several shards share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.cluster.mesh import Mesh
from parge.cluster.rows import Rows
from parge.decompose.improvement import ROUNDS, Market, best_met
from parge.typing import IntArray, PartArray


class SharedMarket(Market):
    """A market of which every shard has its own vertices: prices and bins are decided from sums over all of them."""

    def __init__(self, mesh: Mesh, rows: Rows, weights: IntArray, limits: IntArray, part: PartArray) -> None:
        self.mesh, self.shard = mesh, rows
        everywhere = rows.with_ghosts(mesh, part.astype(np.int8))
        super().__init__(rows.indptr, rows.indices, weights, limits, everywhere, times=rows.times, names=rows.all_names)

    def total(self, counts: IntArray) -> IntArray:
        """Return the sum over all shards."""
        return self.mesh.total(counts)

    def synchronise(self, *values: NDArray[Any]) -> None:
        """Fill in the values of the ghosts."""
        for array in values:
            array[self.n_own :] = self.shard.ghost_values(self.mesh, array[: self.n_own])

    def merged(self, bins: IntArray, weight: IntArray) -> tuple[IntArray, IntArray]:
        """Return the bins of all shards, ascending, and what they weigh together."""
        found = self.mesh.share(bins, weight)
        every, place = np.unique(np.concatenate([message[0] for message in found]), return_inverse=True)
        total = np.zeros(every.size, np.int64)
        np.add.at(total, place, np.concatenate([message[1] for message in found]))
        return every, total

    def _move(self, movers: IntArray) -> None:
        moved = np.zeros(self.n_own, np.bool_)
        moved[movers] = True
        self.part[movers] = self.wish[movers]
        self.shard.update_ghosts(self.mesh, self.part, moved)
        self._count()


def improve_shared(
    mesh: Mesh, rows: Rows, weights: IntArray, limits: IntArray, part: PartArray, *, rounds: int = ROUNDS
) -> PartArray:
    """Return better parts of a shard's own vertices; see `parge.decompose.improvement.improve`.

    The same parts for any number of shards: every vertex is known by its number in the whole graph.
    """
    if limits.size < 2:
        return part.copy()
    return best_met(SharedMarket(mesh, rows, weights, limits, part), rounds)
