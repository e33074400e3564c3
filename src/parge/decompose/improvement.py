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

# The numbers of parts fit a byte, and the histogram of wishes, which grows with their square, takes 58 MB.
MOST_PARTS = 127

# Neighbours read between two times that pages of files are let go.
_BLOCK = 1 << 22


def improve(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: IntArray,
    limits: IntArray,
    part: PartArray,
    *,
    rounds: int = ROUNDS,
    block: int = _BLOCK,
) -> PartArray:
    """Return parts that cut fewer edges; those over their limit come under it where moves can do that.

    Prefer it to a partitioner where parts are nearly good, as after a choice of anchors: it takes a small share of the
    time. It begins with what it is given, so it does not find what takes a new start.

    Laws: a part within its limit stays within it, and one over its limit takes no more; a vertex in part -1 is in all
    parts and stays so; the same arrays give the same answer, however the rows are divided into blocks.

    Parameters
    ----------
    indptr, indices : CSR rows
        The graph.
    weights : (n_vertices,) int64
        What the limits count; of vertices in part -1 nothing.
    limits : (n_parts,) int64
        The most weight of each part; at most `MOST_PARTS`.
    part : (n_vertices,) int32
        The parts to begin with.
    rounds : int
        The most rounds.
    block : int
        Neighbours that are read at a time.
    """
    if indices.size == 0 or limits.size < 2:
        return part.copy()
    market = Market(indptr, indices, weights, limits, part.astype(np.int8), block)
    best, found, idle = market.state, market.part.copy(), 0
    for turn in range(rounds):
        if not market.trade(turn) or idle == PATIENCE:
            break
        (over, n_cut), (least_over, least_cut) = market.state, best
        idle = 0 if over < least_over or n_cut < (1 - _LEAST) * least_cut else idle + 1
        if market.state < best:
            best, found = market.state, market.part.copy()
    return found.astype(np.int32)


class Market:
    """The parts, where every vertex would go, and what the parts cost: changed by one round of moves after the other.

    Each round reads only what was there before it, adds up whole numbers, and moves whole bins of vertices: so loads
    after it are known before it, and no part exceeds its limit in between.
    """

    def __init__(
        self,
        indptr: IntArray,
        indices: NeighbourArray,
        weights: IntArray,
        limits: IntArray,
        part: kernels.LabelArray,
        block: int,
    ) -> None:
        n_vertices, own = part.size, part >= 0
        self.indptr, self.indices, self.weights, self.limits, self.part = indptr, indices, weights, limits, part
        self.rows = list(arc_blocks(indptr, block))
        self.loads: IntArray = np.bincount(part[own], weights[own], minlength=limits.size).astype(np.int64)
        self.scale = _FINE * max(1, int(self.loads.sum()) // max(1, int(np.count_nonzero(own))))
        self.prices = self.looked_at = np.zeros(limits.size, np.int64)
        self.awake, self.locked = np.ones(n_vertices, np.bool_), np.zeros(n_vertices, np.bool_)
        self.wish, self.kept, self.gain, self.cut = (np.zeros(n_vertices, np.int32) for _ in range(4))
        self.profit, self.bins = (np.zeros(n_vertices, np.int64) for _ in range(2))
        self.n_cut = 0
        self._look()

    @property
    def state(self) -> tuple[int, int]:
        """What lies over the limits, and the arcs between parts: the less the better, in this order."""
        return int(np.maximum(self.loads - self.limits, 0).sum()), self.n_cut

    def trade(self, turn: int) -> int:
        """Let vertices move once; return how many did."""
        n_parts = self.loads.size
        wishes = np.zeros((n_parts, n_parts, 2 * kernels.LEVELS), np.int64)
        for rows in self.rows:
            kernels.wishes_by_gain(rows, self.part, self.weights, self.scale, self.locked, self.wish, self.gain, wishes)
        self.prices = kernels.clear_prices(wishes, self.loads, self.limits)
        for rows in self.rows:
            kernels.claim_rows(
                rows,
                self.part,
                self.weights,
                self.scale,
                self.prices,
                self.locked,
                self.wish,
                self.kept,
                self.gain,
                self.profit,
            )
        for rows in self.rows:
            kernels.confirm_rows(
                self.indptr,
                self.indices,
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
        self.part[movers] = self.wish[movers]
        self.locked[:] = False
        self.locked[movers] = True
        self._wake(movers)
        self._look()
        return movers.size

    def _admitted(self) -> IntArray:
        """Return the vertices whose claims are granted, and count what they weigh where they go."""
        n_parts = self.loads.size
        claimants = np.flatnonzero(self.bins >= 0)
        bins, bin_of = np.unique(self.bins[claimants], return_inverse=True)
        weight = np.bincount(bin_of, self.weights[claimants], minlength=bins.size).astype(np.int64)
        source, target = kernels.ends_of_bins(bins, n_parts)
        admitted = kernels.admit_bins(source, target, weight, self.loads, self.limits)
        np.subtract.at(self.loads, source[admitted], weight[admitted])
        np.add.at(self.loads, target[admitted], weight[admitted])
        return claimants[admitted[bin_of]]

    def _wake(self, movers: IntArray) -> None:
        """Wake the neighbours of those that moved; all, where a price has changed by an eighth since all were awake."""
        change = np.abs(self.prices - self.looked_at)
        if (8 * change > np.maximum(np.maximum(self.prices, self.looked_at), self.scale)).any():
            self.looked_at = self.prices
            self.awake[:] = True
        else:
            kernels.wake_neighbours(self.indptr, self.indices, movers, self.awake)

    def _look(self) -> None:
        """Let vertices that are awake look around, and count the arcs between parts."""
        for rows in self.rows:
            self.n_cut += kernels.look_rows(
                self.indptr,
                self.indices,
                self.part,
                rows,
                self.weights,
                self.scale,
                self.prices,
                self.awake,
                self.wish,
                self.kept,
                self.gain,
                self.cut,
            )
            release_pages(self.indptr, self.indices)
