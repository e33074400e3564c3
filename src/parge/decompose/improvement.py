"""Better parts from given ones, within exact limits: all vertices may move at a time, and each part has its price."""

import numpy as np

from parge.kernels import prices as kernels
from parge.storage import arc_blocks, release_pages
from parge.typing import IntArray, NeighbourArray, PartArray

# The most rounds, and how many may gain less than a thousandth of the cut one after the other.
ROUNDS, PATIENCE = 24, 4
_LEAST = 0.001

# Prices are whole numbers: eighths of an edge for a vertex of mean weight.
_FINE = 8

# Votes take four bytes per vertex and part: for more parts, more memory than splitting does.
MOST_PARTS = 32

# Neighbours read between two times that pages of files are let go.
_BLOCK = 1 << 22


def improve(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: IntArray,
    limits: IntArray,
    part: PartArray,
    *,
    block: int = _BLOCK,
) -> PartArray:
    """Return parts that cut fewer edges; those over their limit come under it where moves can do that.

    Prefer it to a partitioner where parts are nearly good, as after a choice of anchors: it takes a small share of the
    time. It begins with what it is given, so it does not find what takes a new start.

    Laws: a part within its limit stays within it, and one over its limit takes no more. A vertex in part -1 is in all
    parts and stays so. The same arrays give the same answer, however the rows are divided into blocks.

    `weights` are what the limits count, 0 of vertices in part -1. There are at most `MOST_PARTS` limits.
    """
    if indices.size == 0 or limits.size < 2:
        return part.copy()
    return best_met(Market(indptr, indices, weights, limits, part.astype(np.int8), block))


def best_met(market: "Market", rounds: int = ROUNDS, patience: int = PATIENCE) -> PartArray:
    """Trade while that helps, or until this many rounds brought little; return the parts of the best state met."""
    best, found, idle = market.wished(), market.part[: market.n_own].copy(), 0
    for turn in range(rounds):
        if not market.trade(turn):
            break
        state = over, n_cut = market.wished()
        least_over, least_cut = best
        idle = 0 if over < least_over or n_cut < (1 - _LEAST) * least_cut else idle + 1
        if state < best:
            best, found = state, market.part[: market.n_own].copy()
        if idle == patience:
            break
    return found.astype(np.int32)


_NONE = np.zeros(0, np.int32)


class Market:
    """The parts, where every vertex would go, and what the parts cost: changed by one round of moves after the other.

    Each round reads only what was there before it, adds up whole numbers, and moves whole bins of vertices. So loads
    after it are known before it, and no part exceeds its limit in between.

    One process holds all rows here. Where several share them (`parge.cluster.improvement`), each has its own vertices
    first, and then those of others that its rows name. `total`, `synchronise`, `merged`, `_move` and `_votes_of` are
    what they do otherwise.

    `indptr` and `indices` are the rows of the own vertices, and `block` of their neighbours are read at a time.
    `weights` are what the limits count, `times` how often each neighbour counts (of size 0, once), `names` the numbers
    of all vertices in the whole graph (of size 0, their places).
    """

    def __init__(
        self,
        indptr: IntArray,
        indices: NeighbourArray,
        weights: IntArray,
        limits: IntArray,
        part: kernels.LabelArray,
        block: int = _BLOCK,
        *,
        times: PartArray = _NONE,
        names: PartArray = _NONE,
    ) -> None:
        self.n_own = n_own = indptr.size - 1
        own = part[:n_own] >= 0
        self.indptr, self.indices, self.weights, self.limits, self.part = indptr, indices, weights, limits, part
        self.times, self.names = times, names
        self.rows = list(arc_blocks(indptr, block))
        self.loads: IntArray = np.zeros(limits.size, np.int64)
        np.add.at(self.loads, part[:n_own][own], weights[own])
        self.loads = self.total(self.loads)
        n_all = int(self.total(np.array([np.count_nonzero(own)]))[0])
        self.scale = _FINE * max(1, int(self.loads.sum()) // max(1, n_all))
        self.prices: IntArray = np.zeros(limits.size, np.int64)
        self.locked = np.zeros(n_own, np.bool_)
        self.wish = np.zeros(part.size, part.dtype)
        self.kept, self.there = np.zeros((2, n_own), np.int32)
        self.profit, self.bins = np.full(part.size, kernels.NOTHING), np.zeros(n_own, np.int64)
        self.wishes = np.zeros((limits.size, limits.size, 2 * kernels.LEVELS), np.int64)
        self.votes = self._counted()

    def total(self, counts: IntArray) -> IntArray:
        """Return the sum over all processes that share the rows: here the counts themselves."""
        return counts

    def synchronise(self) -> None:
        """Fill in the claims of vertices that other processes hold: here there are none."""

    def merged(self, bins: IntArray, weight: IntArray) -> tuple[IntArray, IntArray]:
        """Return the bins of all processes, ascending, and their weights: here those given."""
        return bins, weight

    def _counted(self) -> PartArray:
        """Return the votes for each part; moves change them."""
        votes = np.zeros((self.n_own, self.limits.size), np.int32)
        for rows in self.rows:
            kernels.count_votes(self.indptr, self.indices, self.times, self.part, rows, votes[slice(*rows)])
            release_pages(self.indptr, self.indices)
        return votes

    def _votes_of(self, rows: tuple[int, int]) -> PartArray:
        """Return the votes of some vertices."""
        return self.votes[slice(*rows)]

    def wished(self) -> tuple[int, int]:
        """Find where everybody would go. Return the weight over the limits and the arcs between parts: less is better.

        The first counts before the second.
        """
        n_cut = 0
        self.wishes[:] = 0
        for rows in self.rows:
            n_cut += kernels.wish_rows(
                rows,
                self.part,
                self.weights,
                self.scale,
                self.prices,
                self._votes_of(rows),
                self.locked,
                self.wish,
                self.kept,
                self.there,
                self.wishes,
            )
        self.wishes, n_cut = self.total(self.wishes), int(self.total(np.array([n_cut]))[0])
        return int(np.maximum(self.loads - self.limits, 0).sum()), n_cut

    def trade(self, turn: int) -> int:
        """Let vertices move to where they wish, as far as that pays and fits; return how many did."""
        self.prices = kernels.clear_prices(self.wishes, self.loads, self.limits)
        for rows in self.rows:
            kernels.claim_rows(
                rows, self.part, self.weights, self.scale, self.prices, self.kept, self.there, self.wish, self.profit
            )
        self.synchronise()
        for rows in self.rows:
            kernels.confirm_rows(
                self.indptr,
                self.indices,
                self.times,
                self.names,
                self.part,
                rows,
                self.weights,
                self.scale,
                self.prices,
                self.wish,
                self.profit,
                turn,
                self.bins,
            )
            release_pages(self.indptr, self.indices)
        movers = self._admitted()
        self._move(movers)
        self.locked[:] = False
        self.locked[movers] = True
        return int(self.total(np.array([movers.size]))[0])

    def _move(self, movers: IntArray) -> None:
        """Move these vertices, and count the votes for their parts."""
        kernels.move_vertices(self.indptr, self.indices, movers, self.wish, self.part, self.votes)
        release_pages(self.indptr, self.indices)

    def _admitted(self) -> IntArray:
        """Return the vertices whose claims are granted, and count what they weigh where they go."""
        claimants = np.flatnonzero(self.bins >= 0)
        bins, bin_of = np.unique(self.bins[claimants], return_inverse=True)
        weight = np.zeros(bins.size, np.int64)
        np.add.at(weight, bin_of, self.weights[claimants])
        every, weight = self.merged(bins, weight)
        source, target = kernels.ends_of_bins(every, self.loads.size)
        admitted = kernels.admit_bins(source, target, weight, self.loads, self.limits)
        np.subtract.at(self.loads, source[admitted], weight[admitted])
        np.add.at(self.loads, target[admitted], weight[admitted])
        return claimants[admitted[np.searchsorted(every, bins)][bin_of]]
