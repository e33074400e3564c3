"""The market of `parge.decompose.improvement` on rows that several shards share."""

import numpy as np

from parge.cluster.mesh import Mesh
from parge.cluster.rows import BLOCK, Rows, label_type
from parge.decompose.improvement import PATIENCE, ROUNDS, Market, best_met
from parge.kernels import prices as kernels
from parge.typing import IntArray, PartArray

# Rows whose votes are counted at a time.
_ROWS = 1 << 12


class SharedMarket(Market):
    """A market of which every shard has its own vertices: prices and bins are decided from sums over all of them.

    Votes are counted again in every round, for some rows at a time: a table of all would grow with the parts.
    """

    def __init__(self, mesh: Mesh, rows: Rows, weights: IntArray, limits: IntArray, part: PartArray) -> None:
        self.mesh, self.shard = mesh, rows
        everywhere = rows.with_ghosts(mesh, part.astype(label_type(limits.size)))
        super().__init__(
            rows.indptr, rows.indices, weights, limits, everywhere, BLOCK, times=rows.times, names=rows.all_names
        )

    def total(self, counts: IntArray) -> IntArray:
        """Return the sum over all shards."""
        return self.mesh.total(counts)

    def _counted(self) -> PartArray:
        self.rows = [(start, min(start + _ROWS, end)) for first, end in self.rows for start in range(first, end, _ROWS)]
        most = max((end - first for first, end in self.rows), default=0)
        return np.zeros((most, self.limits.size), np.int32)

    def _votes_of(self, rows: tuple[int, int]) -> PartArray:
        kernels.count_votes(self.indptr, self.indices, self.times, self.part, rows, self.votes)
        return self.votes

    def synchronise(self) -> None:
        """Fill in the claims of the ghosts: most vertices make none, and nothing is sent for them."""
        self.profit[self.n_own :] = kernels.NOTHING
        claims = self.profit[: self.n_own] != kernels.NOTHING
        self.shard.update_ghosts(self.mesh, claims, self.wish, self.profit)

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
        self.shard.update_ghosts(self.mesh, moved, self.part)


def improve_shared(
    mesh: Mesh,
    rows: Rows,
    weights: IntArray,
    limits: IntArray,
    part: PartArray,
    *,
    rounds: int = ROUNDS,
    patience: int = PATIENCE,
) -> PartArray:
    """Return better parts of a shard's own vertices; see `parge.decompose.improvement.improve`.

    The same parts for any number of shards: every vertex is known by its number in the whole graph.
    """
    if limits.size < 2:
        return part.copy()
    return best_met(SharedMarket(mesh, rows, weights, limits, part), rounds, patience)
