"""Codes for integers in order of first appearance: a hash table of plain arrays."""

import numpy as np

from parge.kernels.jit import kernel
from parge.typing import IntArray, NeighbourArray

# 2^64 divided by the golden ratio: multiplying by it spreads neighbouring keys over the high bits.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@kernel
def _slot(table: IntArray, shift: int, key: np.int64) -> np.int64:
    """Return the slot that holds a key, or the free one where it belongs."""
    slot = np.int64((np.uint64(key) * _SPREAD) >> np.uint64(shift))
    while table[slot, 1] >= 0 and table[slot, 0] != key:
        slot = np.int64((slot + 1) & (table.shape[0] - 1))
    return slot


@kernel
def _grown(table: IntArray, shift: int) -> IntArray:
    """Return a table of twice the slots with the same entries."""
    out = np.full((2 * table.shape[0], 2), -1, np.int64)
    for i in range(table.shape[0]):
        if table[i, 1] >= 0:
            slot = _slot(out, shift - 1, table[i, 0])
            out[slot, 0] = table[i, 0]
            out[slot, 1] = table[i, 1]
    return out


@kernel
def encode(ids: NeighbourArray, codes: NeighbourArray, table: IntArray, known: int) -> tuple[IntArray, int]:
    """Write the code of every id and return the table and how many ids are known.

    `table` has 2^k slots of key and code (-1: free) and at most half of them are ever taken; start with one that is
    all free. A second call with what the first returned goes on where it ended.
    """
    shift = 64
    while 1 << (64 - shift) < table.shape[0]:
        shift -= 1
    for i in range(ids.size):
        key = np.int64(ids[i])
        slot = _slot(table, shift, key)
        if table[slot, 1] < 0:
            if 2 * known >= table.shape[0]:
                table = _grown(table, shift)
                shift -= 1
                slot = _slot(table, shift, key)
            table[slot, 0] = key
            table[slot, 1] = known
            known += 1
        codes[i] = table[slot, 1]
    return table, known


@kernel
def decode(table: IntArray, known: int) -> IntArray:
    """Return the ids in the order of their codes."""
    out = np.empty(known, np.int64)
    for i in range(table.shape[0]):
        if table[i, 1] >= 0:
            out[table[i, 1]] = table[i, 0]
    return out
