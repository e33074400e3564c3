"""Labels of vertices that spread along edges, and hashes of text: what makes small groups of a graph in shards."""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.kernels.splitmix import GOLDEN, Bits, KeyArray, mix
from parge.typing import BoolArray, IntArray, NeighbourArray, PartArray

_FNV_START, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@kernel
def favourite_labels(
    indptr: IntArray,
    indices: NeighbourArray,
    times: PartArray,
    label: PartArray,
    active: BoolArray,
    avoid: PartArray,
    salt: Bits,
    any_will_do: bool,
    wish: PartArray,
    strength: IntArray,
) -> None:
    """Fill in the label that most of a vertex's edges lead to, and how many; -1 where its own has as many.

    Of labels with as many edges, that with the largest hash counts.

    Parameters
    ----------
    times : int32
        How often each edge counts; of size 0, once.
    label : int32
        Of all vertices that the rows name.
    active : (n_rows,) bool
        Vertices that are asked; the others have -1.
    avoid : (n_rows,) int32
        A label that does not count, or -1.
    salt : uint64
        Of the hashes.
    any_will_do : bool
        Whether the own label counts for nothing.
    """
    most = 1
    for v in range(active.size):
        most = max(most, indptr[v + 1] - indptr[v])
    size = 4
    while size < 2 * most:
        size *= 2
    keys, sums = np.empty(size, np.int64), np.empty(size, np.int64)
    for v in range(active.size):
        wish[v], strength[v] = -1, 0
        if not active[v] or indptr[v] == indptr[v + 1]:
            continue
        size = 4
        while size < 2 * (indptr[v + 1] - indptr[v]):
            size *= 2
        keys[:size] = -1
        own = np.int64(0)
        for j in range(indptr[v], indptr[v + 1]):
            here = np.int64(label[indices[j]])
            count = np.int64(1) if times.size == 0 else np.int64(times[j])
            if here == label[v]:
                own += count
                continue
            slot = np.int64(mix(np.uint64(here)) & np.uint64(size - 1))
            while keys[slot] >= 0 and keys[slot] != here:
                slot = (slot + 1) & (size - 1)
            if keys[slot] < 0:
                keys[slot], sums[slot] = here, 0
            sums[slot] += count
        best, highest, hashed = np.int64(-1), np.int64(0) if any_will_do else own, np.uint64(0)
        for i in range(size):
            if keys[i] >= 0 and keys[i] != avoid[v] and sums[i] >= highest:
                draw = mix((np.uint64(keys[i]) + GOLDEN) ^ salt)
                if sums[i] > highest or (best >= 0 and draw > hashed):
                    best, highest, hashed = keys[i], sums[i], draw
        wish[v] = best
        strength[v] = highest if best >= 0 else 0


@kernel
def packed(group: NDArray[np.int64], weights: IntArray, most: int) -> IntArray:
    """Return the first member of the pack of each item: items of a group follow each other, packs weigh at most `most`.

    A new pack begins where the next item does not fit.
    """
    first = np.empty(group.size, np.int64)
    load = np.int64(0)
    for i in range(group.size):
        if i == 0 or group[i] != group[i - 1] or load + weights[i] > most:
            first[i], load = np.int64(i), weights[i]
        else:
            first[i] = first[i - 1]
            load = load + weights[i]
    return first


@kernel
def hash_texts(data: NDArray[np.uint8], ends: IntArray) -> KeyArray:
    """Return 64 bits for each text of UTF-8 bytes that end at `ends` (FNV-1a, mixed)."""
    keys, start = np.empty(ends.size, np.uint64), np.int64(0)
    for i in range(ends.size):
        state = _FNV_START
        for j in range(start, ends[i]):
            state = (state ^ np.uint64(data[j])) * _FNV_PRIME
        keys[i] = mix(state)
        start = ends[i]
    return keys
