"""Better parts by moves that a price per part keeps within exact limits.

Every function reads the state from before a step and sums integers only, so that rows may be shared out in any way
and the answer has the same bits. A vertex is known by its number: ties are decided by a hash of it.

A *level* is a number on a scale of eight steps an octave, the same below and above 0: histograms of levels are small
and add up.
"""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.kernels.splitmix import GOLDEN, mix
from parge.typing import BoolArray, IntArray, NeighbourArray, PartArray

LabelArray = NDArray[np.int8]
"""The part of every vertex, in a byte: neighbours are met in any order, and four times as many fit the cache."""

# Levels on either side of 0; what lies beyond counts as the last.
LEVELS = 224
_LARGEST = (1 << 30) - 1

# Vertices of one level are divided by hash, so that not all of them have to move together.
SLICES = 64

# A vertex that would lose by its move makes a claim all the same if it loses less than this share (1 / 4) of its kept
# edges: neighbours that move with it may turn the loss into a gain (Gilbert et al., "Jet", 2023).
_HOPE = 4

# The profit of a vertex that makes no claim.
NOTHING = np.iinfo(np.int64).min


@kernel
def level_of(value: int) -> int:
    """Return the level of a whole number, -LEVELS + 1 to LEVELS - 1; larger numbers have no smaller levels."""
    rest, octave = min(abs(value), _LARGEST), 0
    while rest >= 16:
        rest >>= 1
        octave += 1
    level = rest + 8 * octave
    return level if value >= 0 else -level


@kernel
def value_of(level: int) -> int:
    """Return the smallest number that has a level, 0 or more."""
    if level < 16:
        return level
    octave = (level - 8) // 8
    return (level - 8 * octave) << octave


@kernel
def look_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    part: LabelArray,
    rows: tuple[int, int],
    weights: IntArray,
    scale: int,
    prices: IntArray,
    awake: BoolArray,
    wish: PartArray,
    kept: PartArray,
    gain: PartArray,
    cut: PartArray,
) -> int:
    """Find where vertices ``rows[0]..rows[1]-1`` would go at these prices; return by how much their cut arcs change.

    Vertex v of part p wishes for the part q with most ``scale * neighbours - price * weight``, and its gain is the
    neighbours there less those in p, also where that is negative: for the right price it leaves. Only a vertex that is
    awake looks at its neighbours; one that has all of them in its own part wishes for the cheapest other one.

    Parameters
    ----------
    part : (n_vertices,) int8
        The part of every vertex; -1 where it is in all of them, so that its edges are never lost.
    weights : (n_vertices,) int64
        What the limits count.
    scale : int
        Prices are in edges per weight, times this.
    awake : (n_vertices,) bool
        Vertices that have moved, or have a neighbour that has, since they looked last.
    wish, kept, gain, cut : (n_vertices,) int32
        Updated: the part wished for (-1 of those in all parts), neighbours in the own part, what the wish gains, and
        neighbours in other parts.
    """
    n_parts = prices.size
    votes = np.zeros(n_parts + 1, np.int64)  # the first for neighbours in all parts
    change = 0
    for v in range(rows[0], rows[1]):
        p = part[v]
        if p < 0:
            wish[v], cut[v] = -1, 0
            continue
        if not awake[v] and cut[v] > 0:
            continue
        votes[:] = 0
        if awake[v]:
            for j in range(indptr[v], indptr[v + 1]):
                votes[part[indices[j]] + 1] += 1
            kept[v] = votes[p + 1]
            before, cut[v] = cut[v], votes[1:].sum() - kept[v]
            change += cut[v] - before
        best, highest = np.int64(-1), np.int64(0)
        first = np.int64(mix(np.uint64(v) + GOLDEN) % np.uint64(n_parts))
        for i in range(n_parts):  # of equal parts the first, beginning anywhere
            q = first + i if first + i < n_parts else first + i - n_parts
            score = votes[q + 1] * scale - prices[q] * weights[v]
            if q != p and (best < 0 or score > highest):
                best, highest = q, score
        wish[v] = best
        gain[v] = votes[best + 1] - kept[v]
    return change


@kernel
def wake_neighbours(indptr: IntArray, indices: NeighbourArray, movers: IntArray, awake: BoolArray) -> None:
    """Wake those that moved and their neighbours, and nobody else."""
    awake[:] = False
    for v in movers:
        awake[v] = True
        for j in range(indptr[v], indptr[v + 1]):
            awake[indices[j]] = True


@kernel
def wishes_by_gain(
    rows: tuple[int, int],
    part: LabelArray,
    weights: IntArray,
    scale: int,
    locked: BoolArray,
    wish: PartArray,
    gain: PartArray,
    histogram: IntArray,
) -> None:
    """Add the weight of all wishes to a histogram, by the parts they lead from and to and the level of their gain.

    The histogram has shape (n_parts, n_parts, 2 * LEVELS); the gain is per weight. A locked vertex has no wish.
    """
    for v in range(rows[0], rows[1]):
        if wish[v] >= 0 and not locked[v]:
            histogram[part[v], wish[v], level_of(np.int64(gain[v]) * scale // max(1, weights[v])) + LEVELS] += weights[
                v
            ]


@kernel
def clear_prices(histogram: IntArray, loads: IntArray, limits: IntArray) -> IntArray:
    """Return the least prices at which what everybody wishes for fits the limits, or nearly so.

    A wish from p to q counts if its gain per weight has a higher level than what q costs more than p. One part after
    the other finds its least price given those of the others, until none changes.
    """
    n_parts = loads.size
    above = histogram.copy()  # the weight of wishes above each level
    for p in range(n_parts):
        for q in range(n_parts):
            total = np.int64(0)
            for i in range(2 * LEVELS - 1, -1, -1):
                here = above[p, q, i]
                above[p, q, i] = total
                total += here
    prices = np.zeros(n_parts, np.int64)
    for _ in range(20):
        changed = False
        for q in range(n_parts):
            low, high = 0, LEVELS - 1
            while low < high:
                middle = (low + high) // 2
                load, price = loads[q], value_of(middle)
                for p in range(n_parts):
                    if p != q:
                        load += above[p, q, level_of(price - prices[p]) + LEVELS]
                        load -= above[q, p, level_of(prices[p] - price) + LEVELS]
                if load <= limits[q]:
                    high = middle
                else:
                    low = middle + 1
            if prices[q] != value_of(low):
                prices[q] = value_of(low)
                changed = True
        if not changed:
            break
    return prices


@kernel
def claim_rows(
    rows: tuple[int, int],
    part: LabelArray,
    weights: IntArray,
    scale: int,
    prices: IntArray,
    locked: BoolArray,
    wish: PartArray,
    kept: PartArray,
    gain: PartArray,
    profit: IntArray,
) -> None:
    """Fill in what every wish brings at these prices; `NOTHING` where that is too little for a claim, or locked."""
    for v in range(rows[0], rows[1]):
        profit[v] = NOTHING
        if wish[v] >= 0 and not locked[v]:
            brings = np.int64(gain[v]) * scale - (prices[wish[v]] - prices[part[v]]) * weights[v]
            if brings > 0 or -brings * _HOPE < np.int64(kept[v]) * scale:
                profit[v] = brings


@kernel
def _before(u: int, v: int, profit: IntArray) -> bool:
    """Return whether the claim of u goes before that of v: it brings more, or its hash is larger."""
    if profit[u] != profit[v]:
        return bool(profit[u] > profit[v])
    return bool(mix(np.uint64(u) + GOLDEN) > mix(np.uint64(v) + GOLDEN))


@kernel
def confirm_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    part: LabelArray,
    rows: tuple[int, int],
    weights: IntArray,
    scale: int,
    prices: IntArray,
    wish: PartArray,
    profit: IntArray,
    turn: int,
    bins: IntArray,
) -> None:
    """Reckon every claim again as if all that go before it were granted; fill in its bin, or -1 if it brings a loss.

    (The afterburner of Jet: without it, two neighbours change places for ever.) Bins ascend by the part that is
    claimed, then from the least profit per weight to the largest.
    """
    n_parts = prices.size
    salt = mix(np.uint64(turn))
    for v in range(rows[0], rows[1]):
        bins[v] = -1
        q, p = wish[v], part[v]
        if profit[v] == NOTHING:
            continue
        better = np.int64(0)
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            there = part[u]
            if profit[u] != NOTHING and _before(u, v, profit):
                there = wish[u]
            better += np.int64(there == q) - np.int64(there == p)
        brings = better * scale - (prices[q] - prices[p]) * weights[v]
        if brings >= 0:
            slot = np.int64(mix((np.uint64(v) + GOLDEN) ^ salt) % np.uint64(SLICES))
            bins[v] = ((np.int64(q) * LEVELS + level_of(brings // max(1, weights[v]))) * SLICES + slot) * n_parts + p


def ends_of_bins(bins: IntArray, n_parts: int) -> tuple[IntArray, IntArray]:
    """Return the parts that bins lead from and to."""
    return bins % n_parts, bins // (n_parts * SLICES * LEVELS)


@kernel
def admit_bins(source: IntArray, target: IntArray, weight: IntArray, loads: IntArray, limits: IntArray) -> BoolArray:
    """Return which bins may move, whole, so that no part ends over its limit (or over its load, where that is more).

    `target` ascends, and the bins of a target stand in the order in which they are given up. All moves are begun with;
    then the part that is most over its limit gives up claims on it until it is not. That leaves other parts with more,
    but each time with fewer claims on somebody: without any, loads are what they are now.
    """
    n_parts = loads.size
    after, most = loads.copy(), np.maximum(loads, limits)
    following = np.searchsorted(target, np.arange(n_parts))
    for b in range(source.size):
        after[source[b]] -= weight[b]
        after[target[b]] += weight[b]
    admitted = np.ones(source.size, np.bool_)
    while True:
        worst = np.argmax(after - most)
        if after[worst] <= most[worst]:
            return admitted
        b = following[worst]
        following[worst] += 1
        admitted[b] = False
        after[worst] -= weight[b]
        after[source[b]] += weight[b]
