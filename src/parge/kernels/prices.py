"""Better parts by moves that a price per part keeps within exact limits.

Every function reads the state from before a step and sums integers only, so that rows may be shared out in any way
and the answer has the same bits. A vertex is known by its number: ties are decided by a hash of it.

A *level* is a number on a scale of eight steps per octave, the same below and above 0: histograms of levels are small
and add up.
"""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.kernels.splitmix import GOLDEN, Bits, mix
from parge.typing import BoolArray, IntArray, NeighbourArray, PartArray

LabelArray = NDArray[np.int8] | NDArray[np.int16]
"""The part of every vertex, in a byte where that will do: neighbours are met in any order, and more fit the cache."""

ProfitArray = NDArray[np.float32]
"""What claims bring, rounded: it is only compared."""

# Levels on either side of 0; what lies beyond counts as the last.
LEVELS = 224
_LARGEST = (1 << 30) - 1

# Vertices of one level are divided by hash, so that not all of them have to move together.
SLICES = 64

# A vertex that would lose by its move makes a claim all the same if it loses less than this share (1 / 4) of its kept
# edges: neighbours that move with it may turn the loss into a gain (Gilbert et al., "Jet", 2023).
_HOPE = 4

# The profit of a vertex that makes no claim.
NOTHING = np.float32(-np.inf)

_LEAST = np.iinfo(np.int64).min


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
def count_votes(
    indptr: IntArray,
    indices: NeighbourArray,
    times: PartArray,
    part: LabelArray,
    rows: tuple[int, int],
    votes: PartArray,
) -> None:
    """Fill in how many neighbours vertices ``rows[0]..rows[1]-1`` have in each part; those in all parts have no votes.

    `part` has -1 for a vertex that is in all parts, so that its edges are never lost; `votes` is (rows, n_parts).
    `times` is how often each neighbour counts, as an edge of merged vertices does; of size 0 it means once.
    """
    here = np.zeros(votes.shape[1] + 1, np.int32)  # the first for neighbours in all parts
    for v in range(rows[0], rows[1]):
        if part[v] >= 0:
            for i in range(here.size):
                here[i] = 0
            for j in range(indptr[v], indptr[v + 1]):
                here[part[indices[j]] + 1] += 1 if times.size == 0 else times[j]
            for q in range(votes.shape[1]):
                votes[v - rows[0], q] = here[q + 1]


@kernel
def wish_rows(
    rows: tuple[int, int],
    part: LabelArray,
    weights: IntArray,
    scale: int,
    prices: IntArray,
    votes: PartArray,
    locked: BoolArray,
    wish: LabelArray,
    kept: PartArray,
    there: PartArray,
    histogram: IntArray,
) -> int:
    """Find where vertices ``rows[0]..rows[1]-1`` would go at these prices; return how many of their arcs are cut.

    Vertex v of part p wishes for the part q with most ``scale * votes - price * weight``, the first of equal ones. Its
    gain is the votes for q less those for p, also where that is negative: for the right price it leaves.

    Parameters
    ----------
    weights : (n_vertices,) int64
        What the limits count.
    scale : int
        Prices are in edges per weight, times this.
    votes : (rows, n_parts) int32
        Of these rows alone.
    locked : (n_vertices,) bool
        Vertices that stay this time.
    wish : (n_vertices,) int8
        Filled in; -1 of those that stay, or are in all parts.
    kept, there : (n_vertices,) int32
        Filled in: the votes for the own part, and for the one that is wished for.
    histogram : (n_parts, n_parts, 2 * LEVELS) int64
        The weight of all wishes, by the parts they lead from and to and the level of the gain per weight; added to.
    """
    n_parts, n_cut = prices.size, np.int64(0)
    for v in range(rows[0], rows[1]):
        wish[v] = -1
        p = part[v]
        if p < 0:
            continue
        best, highest, weight = 0, np.int64(_LEAST), weights[v]
        for q in range(n_parts):
            if q != p:
                here = np.int64(votes[v - rows[0], q])
                n_cut += here
                score = here * scale - prices[q] * weight
                if score > highest:
                    best, highest = q, score
        if not locked[v]:
            wish[v] = best
            kept[v], there[v] = votes[v - rows[0], p], votes[v - rows[0], best]
            gain = np.int64(there[v]) - kept[v]
            histogram[p, best, level_of(gain * scale // max(1, weights[v])) + LEVELS] += weights[v]
    return int(n_cut)


@kernel
def move_vertices(
    indptr: IntArray, indices: NeighbourArray, movers: IntArray, wish: LabelArray, part: LabelArray, votes: PartArray
) -> None:
    """Move vertices to where they wish, and count their votes there."""
    for v in movers:
        p, q = part[v], wish[v]
        part[v] = q
        for j in range(indptr[v], indptr[v + 1]):
            u = indices[j]
            if part[u] >= 0:
                votes[u, p] -= 1
                votes[u, q] += 1


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
    kept: PartArray,
    there: PartArray,
    wish: LabelArray,
    profit: ProfitArray,
) -> None:
    """Fill in what every wish brings at these prices; `NOTHING` where that is too little for a claim."""
    for v in range(rows[0], rows[1]):
        profit[v] = NOTHING
        p, q = part[v], wish[v]
        if q >= 0:
            here = np.int64(kept[v])
            brings = (there[v] - here) * scale - (prices[q] - prices[p]) * weights[v]
            if brings > 0 or -brings * _HOPE < here * scale:
                profit[v] = np.float32(brings)


@kernel
def _hashed(v: int, names: NeighbourArray, salt: Bits) -> Bits:
    """Return a hash of the vertex, by its name where vertices have one."""
    name = v if names.size == 0 else names[v]
    return mix((np.uint64(name) + GOLDEN) ^ salt)


@kernel
def _before(u: int, v: int, profit: ProfitArray, names: NeighbourArray) -> bool:
    """Return whether the claim of u goes before that of v: it brings more, or its hash is larger."""
    if profit[u] != profit[v]:
        return bool(profit[u] > profit[v])
    return bool(_hashed(u, names, np.uint64(0)) > _hashed(v, names, np.uint64(0)))


@kernel
def confirm_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    times: PartArray,
    names: NeighbourArray,
    part: LabelArray,
    rows: tuple[int, int],
    weights: IntArray,
    scale: int,
    prices: IntArray,
    wish: LabelArray,
    profit: ProfitArray,
    turn: int,
    bins: IntArray,
) -> None:
    """Reckon every claim again as if all that go before it were granted; fill in its bin, or -1 if it brings a loss.

    (The afterburner of Jet: without it, two neighbours change places for ever.) Bins ascend by the part that is
    claimed, then from the least profit per weight to the largest. `times` is as in `count_votes`; `names` are the
    numbers of vertices in the whole graph where only some of its rows are here, and of size 0 otherwise.
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
            if profit[u] != NOTHING and _before(u, v, profit, names):
                there = wish[u]
            count = np.int64(1) if times.size == 0 else np.int64(times[j])
            better += count * (np.int64(there == q) - np.int64(there == p))
        brings = better * scale - (prices[q] - prices[p]) * weights[v]
        if brings >= 0:
            slot = np.int64(_hashed(v, names, salt) % np.uint64(SLICES))
            bins[v] = ((np.int64(q) * LEVELS + level_of(brings // max(1, weights[v]))) * SLICES + slot) * n_parts + p


def ends_of_bins(bins: IntArray, n_parts: int) -> tuple[IntArray, IntArray]:
    """Return the parts that bins lead from and to."""
    return bins % n_parts, bins // (n_parts * SLICES * LEVELS)


@kernel
def admit_bins(source: IntArray, target: IntArray, weight: IntArray, loads: IntArray, limits: IntArray) -> BoolArray:
    """Return which bins may move, whole, so that no part ends over its limit (or over its load, where that is more).

    `target` ascends, and the bins of a target are in the order in which they are given up. At first all bins move;
    then the part that is most over its limit gives up claims on it until it is not. That leaves other parts with more,
    but each time with fewer claims on others: without any, loads are what they are now.
    """
    n_parts = loads.size
    after, following = loads.copy(), np.zeros(n_parts, np.int64)
    for b in range(source.size - 1, -1, -1):
        after[source[b]] -= weight[b]
        after[target[b]] += weight[b]
        following[target[b]] = b
    admitted = np.ones(source.size, np.bool_)
    while True:
        worst, most = 0, np.int64(0)
        for p in range(n_parts):
            over = after[p] - max(loads[p], limits[p])
            if over > most:
                worst, most = p, over
        if most <= 0:
            return admitted
        b = following[worst]
        following[worst] += 1
        admitted[b] = False
        after[worst] -= weight[b]
        after[source[b]] += weight[b]
