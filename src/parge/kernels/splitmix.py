"""Random streams keyed by item: splitmix64, so that no draw depends on which thread or worker asks for it.

Draw i of the stream that opens at state s is ``mix(s + i * GOLDEN)``. A kernel holds the state itself::

    state = open_stream(key, purpose)
    state += GOLDEN
    draw = mix(state)          # 64 fresh bits
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel

Bits = Any
"""32 or 64 random bits inside a kernel: uint64, which Python's checkers cannot follow through its arithmetic."""

Number = Any
"""An int64 or float64 inside a kernel; numba decides which when it compiles."""

KeyArray = NDArray[np.uint64]
"""Keys of items, each naming the streams that belong to that item."""

# Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): increment and mixer.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)

# What a stream is for; the streams of one key never meet.
START, WALK, TRAIN, FILL = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@kernel
def mix(state: Bits) -> Bits:
    """Return 64 bits that depend on all 64 bits of the state."""
    z = (state ^ (state >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@kernel
def open_stream(key: Bits, purpose: Bits) -> Bits:
    """Return the state at which the stream of that key and purpose opens."""
    return mix(key + purpose * _FIRST)


@kernel
def item_keys(seed: Bits, group: int, items: NDArray[Any]) -> KeyArray:
    """Return the keys of items within a group, such as the walks from these vertices in one repetition."""
    keys = np.empty(items.size, np.uint64)
    base = mix(seed + mix(np.uint64(group) + GOLDEN))
    for i in range(items.size):
        keys[i] = mix(base + mix(np.uint64(items[i]) + GOLDEN))
    return keys


@kernel
def high(draw: Bits) -> Bits:
    """Return the upper 32 bits of a draw."""
    return draw >> _32


@kernel
def low(draw: Bits) -> Bits:
    """Return the lower 32 bits of a draw."""
    return draw & _LOW


@kernel
def below(bits: Bits, bound: int) -> Number:
    """Return a number in 0..bound-1 from 32 random bits, by multiplying and shifting (bound at most 2^32)."""
    return np.int64((bits * np.uint64(bound)) >> _32)


@kernel
def fill_uniform(seed: Bits, scale: float, dim: int, out: NDArray[np.float32]) -> None:
    """Fill the first `dim` columns of every row with uniform(-scale, scale), from a stream for each row.

    Columns beyond `dim` are padding and become 0.
    """
    step = np.float32(2.0 * scale / 2.0**32)
    shift = np.float32(scale)
    for v in range(out.shape[0]):
        state = open_stream(mix(seed + np.uint64(v)), FILL)
        for d in range(out.shape[1]):
            state += GOLDEN
            out[v, d] = np.float32(high(mix(state))) * step - shift if d < dim else np.float32(0.0)
