"""Drawing from a fixed distribution in constant time (Walker's alias method, built as Vose does)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.kernels.splitmix import GOLDEN, START, Bits, KeyArray, Number, below, high, low, mix, open_stream


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
