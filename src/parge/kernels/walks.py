"""Random walks over compressed sparse rows: uniform, by weight (alias method), and of second order (node2vec)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.kernels.splitmix import GOLDEN, START, WALK, Bits, KeyArray, Number, below, high, low, mix, open_stream
from parge.typing import FloatArray, IntArray, NeighbourArray

# Walks that advance together: their reads of distant rows overlap instead of waiting for each other.
LANES = 32

# Rejected candidates after which a second-order step weighs its whole row instead.
TRIALS = 64


_NO_OFFSETS: IntArray = np.empty(0, np.int64)
_NO_SUMS: NDArray[np.float64] = np.empty(0, np.float64)


class WalkCSR(NamedTuple):
    """What a walk reads: the graph's rows and, where edges are weighted, the cumulated shares of each row.

    Shares of the entries that a row begins with need not be stored while each of them weighs 1: they follow from the
    sum of the row. Most entries of a part's rows are such ones, and take 4 bytes instead of 8. What is drawn is the
    same, bit for bit.
    """

    # The neighbours of every vertex.
    indptr: IntArray
    indices: NeighbourArray
    shares: NDArray[np.uint32]  # see `row_shares`; empty where no edge is weighted
    # (n_vertices + 1,): where in `shares` those of each row begin, which are of its last entries; empty where all
    # shares are stored.
    stored: IntArray = _NO_OFFSETS
    totals: NDArray[np.float64] = _NO_SUMS  # (n_vertices,): the weight of every row, where not all shares are stored


@kernel
def share_end(running: float, total: float) -> Number:
    """Return where a share ends, in units of 2^-32, from the weights up to it and those of the whole row."""
    return np.uint32(min(running / total * 4294967296.0, 4294967295.0))


@kernel
def row_shares(indptr: IntArray, weights: FloatArray) -> NDArray[np.uint32]:
    """Return per row the cumulated weights as shares of the row's sum, in units of 2^-32.

    Entry j is the end of j's share, so 32 random bits pick the first j whose entry exceeds them; a row's
    last entry stands for 2^32. Integers keep the resolution of 2^-32 along all of a hub's row, which float32
    (2^-24) would not, for the same 4 bytes.
    """
    shares = np.empty(weights.size, np.uint32)
    for v in range(indptr.size - 1):
        total = 0.0
        for j in range(indptr[v], indptr[v + 1]):
            total += weights[j]
        running = 0.0
        for j in range(indptr[v], indptr[v + 1]):
            running += weights[j]
            shares[j] = share_end(running, total)
    return shares


@kernel
def count_stored(indptr: IntArray, weights: FloatArray, loops: FloatArray, first: int, counts: IntArray) -> None:
    """Write how many shares of some rows have to be stored: all but those of leading entries of weight 1.

    Of a row with a loop all are stored. `counts` has one entry for each row; the rest is as in `fill_rows_with_loops`.
    """
    for v in range(first, first + indptr.size - 1):
        place, stop = indptr[v - first] - indptr[0], indptr[v - first + 1] - indptr[0]
        if loops[v] > 0:
            counts[v] = stop - place + 1
            continue
        while place < stop and weights[place] == 1.0:
            place += 1
        counts[v] = stop - place


@kernel
def fill_rows_with_loops(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    loops: FloatArray,
    first: int,
    rows: WalkCSR,
) -> None:
    """Write some sorted rows with an entry for every positive loop, still sorted, and their shares (see `row_shares`).

    `indptr` is the offsets of these rows, `first` the vertex of the first of them; `indices` and `weights` begin with
    that row. Offsets in `rows` are there already, of all rows.
    """
    for v in range(first, first + indptr.size - 1):
        place, stop = indptr[v - first] - indptr[0], indptr[v - first + 1] - indptr[0]
        total, running, is_open = np.float64(loops[v]), 0.0, loops[v] > 0
        for j in range(place, stop):
            total += weights[j]
        rows.totals[v] = total
        end = rows.indptr[v + 1]
        n_stored = rows.stored[v + 1] - rows.stored[v]
        for i in range(rows.indptr[v], end):
            if is_open and (place == stop or indices[place] > v):
                rows.indices[i] = v
                running += loops[v]
                is_open = False
            else:
                rows.indices[i] = indices[place]
                running += weights[place]
                place += 1
            if end - i <= n_stored:
                rows.shares[rows.stored[v + 1] - (end - i)] = share_end(running, total)


@kernel
def strengths(indptr: IntArray, weights: FloatArray) -> NDArray[np.float64]:
    """Return the sum of weights of every row."""
    out = np.zeros(indptr.size - 1, np.float64)
    for v in range(out.size):
        for j in range(indptr[v], indptr[v + 1]):
            out[v] += weights[j]
    return out


@kernel
def pick(rows: WalkCSR, v: int, bits: Bits) -> Number:
    """Return the place in `indices` of a neighbour of v, from 32 random bits."""
    first, last = rows.indptr[v], rows.indptr[v + 1] - 1
    if rows.stored.size == 0 and rows.shares.size == 0:
        return first + below(bits, last + 1 - first)
    ahead = 0  # places between an entry and its share
    if rows.stored.size > 0:
        n_even = last + 1 - first - (rows.stored[v + 1] - rows.stored[v])
        if n_even > 0:
            total = rows.totals[v]
            found = min(int(float(bits) * total / 4294967296.0), n_even)
            while found > 0 and bits < share_end(float(found), total):
                found -= 1
            while found < n_even and bits >= share_end(float(found + 1), total):
                found += 1
            if found < n_even or first + n_even > last:
                return min(first + found, last)
            first += n_even
        ahead = first - rows.stored[v]
    while first < last:
        middle = (first + last) >> 1
        if bits < rows.shares[middle - ahead]:
            last = middle
        else:
            first = middle + 1
    return first


@kernel
def find(rows: WalkCSR, v: int, wanted: int) -> Number:
    """Return the place in `indices` of the neighbour `wanted` of v, or -1."""
    first, last = rows.indptr[v], rows.indptr[v + 1]
    while first < last:
        middle = (first + last) >> 1
        if rows.indices[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    if first < rows.indptr[v + 1] and rows.indices[first] == wanted:
        return first
    return -1


@kernel
def end_of(rows: WalkCSR, v: int, j: int) -> Number:
    """Return where the share of place j of a weighted row ends, in units of 2^-32."""
    if rows.stored.size == 0:
        return float(rows.shares[j])
    left = rows.indptr[v + 1] - j
    if left <= rows.stored[v + 1] - rows.stored[v]:
        return float(rows.shares[rows.stored[v + 1] - left])
    return float(share_end(float(j + 1 - rows.indptr[v]), rows.totals[v]))


@kernel
def share_of(rows: WalkCSR, v: int, j: int) -> Number:
    """Return the probability that a first-order step from v takes place j of its row."""
    start, end = rows.indptr[v], rows.indptr[v + 1]
    if rows.stored.size == 0 and rows.shares.size == 0:
        return 1.0 / (end - start)
    before = 0.0 if j == start else end_of(rows, v, j - 1)
    after = 4294967296.0 if j == end - 1 else end_of(rows, v, j)
    return (after - before) / 4294967296.0


@kernel
def fill_walks(rows: WalkCSR, starts: NeighbourArray, keys: KeyArray, walks: NeighbourArray) -> None:
    """Write one first-order walk per row of `walks`; no start may be isolated.

    Each walk draws from the stream of its own key, one draw a step.
    """
    state = np.empty(LANES, np.uint64)
    place = np.empty(LANES, np.int64)
    for first in range(0, starts.size, LANES):
        n = min(LANES, starts.size - first)
        for i in range(n):
            walks[first + i, 0] = starts[first + i]
            state[i] = open_stream(keys[first + i], WALK)
        for s in range(1, walks.shape[1]):
            for i in range(n):
                state[i] += GOLDEN
                place[i] = pick(rows, walks[first + i, s - 1], high(mix(state[i])))
            for i in range(n):
                walks[first + i, s] = rows.indices[place[i]]


@kernel
def bias(rows: WalkCSR, before: int, candidate: int, p: float, q: float) -> float:
    """Return node2vec's factor alpha of Grover and Leskovec (KDD 2016), section 3.2.2."""
    if candidate == before:
        return 1.0 / p
    # Search the shorter of the two rows: the graph is symmetric.
    u, v = before, candidate
    if rows.indptr[u + 1] - rows.indptr[u] > rows.indptr[v + 1] - rows.indptr[v]:
        u, v = v, u
    return 1.0 if find(rows, u, v) >= 0 else 1.0 / q


@kernel
def weigh_row(rows: WalkCSR, before: int, v: int, p: float, q: float, bits: Bits) -> Number:
    """Return the next vertex by weighing all of v's row: exact, and linear in the degree of v."""
    total = 0.0
    for j in range(rows.indptr[v], rows.indptr[v + 1]):
        total += share_of(rows, v, j) * bias(rows, before, rows.indices[j], p, q)
    height = total * (float(bits) / 4294967296.0)
    for j in range(rows.indptr[v], rows.indptr[v + 1]):
        height -= share_of(rows, v, j) * bias(rows, before, rows.indices[j], p, q)
        if height < 0.0:
            return np.int64(rows.indices[j])
    return np.int64(rows.indices[rows.indptr[v + 1] - 1])


@kernel
def second_order_step(rows: WalkCSR, before: int, v: int, p: float, q: float, state: Bits) -> tuple[Number, Bits]:
    """Return the vertex after `before`, v, and the state of the stream.

    Rejection sampling: a first-order candidate is kept with probability bias / ceiling. The ceiling is that of the
    candidates other than `before`. Where 1/p is above it, the excess is a strip of its own (as in KnightKing, SOSP
    2019), so a small p costs no rejections. After `TRIALS` failures the row is weighed: exact as well, because trials
    are independent, and it bounds the time at a dead end under a large p. What lies under the least bias of all is kept
    without a search of rows.
    """
    ceiling = max(1.0, 1.0 / q)
    least = min(1.0, 1.0 / p, 1.0 / q)
    excess = 0.0
    if 1.0 / p > ceiling:
        # Without weights all shares of a row are equal: no need to find the one of `before`.
        is_weighted = rows.shares.size > 0 or rows.stored.size > 0
        place = find(rows, v, before) if is_weighted else rows.indptr[v]
        excess = share_of(rows, v, place) * (1.0 / p - ceiling)
    for _ in range(TRIALS):
        state += GOLDEN
        draw = mix(state)
        height = (ceiling + excess) * (float(low(draw)) / 4294967296.0)
        if height >= ceiling:
            return np.int64(before), state
        candidate: Number = rows.indices[pick(rows, v, high(draw))]
        if height < least or height < bias(rows, before, candidate, p, q):
            return np.int64(candidate), state
    state += GOLDEN
    return weigh_row(rows, before, v, p, q, high(mix(state))), state


@kernel
def fill_biased_walks(
    rows: WalkCSR, starts: NeighbourArray, keys: KeyArray, p: float, q: float, walks: NeighbourArray
) -> None:
    """Write one second-order walk per row of `walks`; no start may be isolated.

    The first step is of first order. Each walk draws from the stream of its own key.
    """
    for i in range(starts.size):
        state = open_stream(keys[i], WALK) + GOLDEN
        walks[i, 0] = starts[i]
        walks[i, 1] = rows.indices[pick(rows, starts[i], high(mix(state)))]
        for s in range(2, walks.shape[1]):
            walks[i, s], state = second_order_step(rows, walks[i, s - 2], walks[i, s - 1], p, q, state)


class AliasTable(NamedTuple):
    """One slot per item: keep it with probability ``threshold / 2^32``, else take its alias.

    8 bytes an item where the item numbers are int32.
    """

    threshold: NDArray[np.uint32]
    alias: NDArray[Any]


@kernel
def draw_item(table: AliasTable, draw: Bits) -> Number:
    """Return an item, from 64 random bits."""
    slot = below(high(draw), table.threshold.size)
    if low(draw) < table.threshold[slot]:
        return np.int64(slot)
    return np.int64(table.alias[slot])


@kernel
def draw_items(table: AliasTable, keys: KeyArray) -> NDArray[Any]:
    """Return one item a key, from the START stream of that key."""
    items = np.empty(keys.size, table.alias.dtype)
    for i in range(keys.size):
        items[i] = draw_item(table, mix(open_stream(keys[i], START) + GOLDEN))
    return items


def alias_table(mass: NDArray[np.float64], dtype: Any = np.int32) -> AliasTable:
    """Build the table for items drawn in proportion to `mass`, of which at least one is positive.

    An item of mass 0 is never drawn.

    >>> table = alias_table(np.array([3.0, 0.0, 1.0]))
    >>> [round(int(t) / 2**32, 3) for t in table.threshold], table.alias.tolist()
    ([1.0, 0.0, 0.75], [0, 0, 0])
    """
    threshold, alias = np.empty(mass.size, np.uint32), np.empty(mass.size, dtype)
    _fill(mass * (mass.size / mass.sum()), threshold, alias)
    return AliasTable(threshold, alias)


@kernel
def _fill(share: NDArray[np.float64], threshold: NDArray[np.uint32], alias: NDArray[Any]) -> None:
    """Pair every slot that has less than its share with an item that has more; uses up `share`.

    The two lists of open slots grow from the two ends of one array.
    """
    n = share.size
    open_slots = np.empty(n, alias.dtype)
    n_small, n_large = 0, 0
    heaviest = 0
    for i in range(n):
        if share[i] > share[heaviest]:
            heaviest = i
        if share[i] < 1.0:
            open_slots[n_small] = i
            n_small += 1
        else:
            n_large += 1
            open_slots[n - n_large] = i
    while n_small > 0 and n_large > 0:
        n_small -= 1
        small, large = open_slots[n_small], open_slots[n - n_large]
        threshold[small] = np.uint32(share[small] * 4294967296.0)
        alias[small] = large
        share[large] -= 1.0 - share[small]
        if share[large] < 1.0:
            n_large -= 1
            open_slots[n_small] = large
            n_small += 1
    for i in range(n_large):
        slot = open_slots[n - 1 - i]
        threshold[slot] = np.uint32(0xFFFFFFFF)
        alias[slot] = slot
    # Rounding alone leaves slots here; one of an item with mass keeps itself, one without must not.
    for i in range(n_small):
        slot = open_slots[i]
        alone = share[slot] > 0.5
        threshold[slot] = np.uint32(0xFFFFFFFF) if alone else np.uint32(0)
        alias[slot] = slot if alone else heaviest
