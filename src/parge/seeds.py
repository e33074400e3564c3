"""Random numbers keyed by what they are for, so that results do not depend on the order in which they are drawn."""

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from parge.numbers import check_whole

# Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014): splitmix64.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def keyed_rng(seed: int, *key: str | int) -> np.random.Generator:
    """Return the generator of one item: the same seed and key give the same numbers anywhere.

    >>> a, b = keyed_rng(7, "embed", 3), keyed_rng(7, "embed", 3)
    >>> bool(a.integers(1000) == b.integers(1000))
    True
    >>> bool(keyed_rng(7, "embed", 3).integers(10**9) == keyed_rng(7, "embed", 4).integers(10**9))
    False
    """
    words = [crc32(part.encode()) if isinstance(part, str) else part for part in key]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([check_whole("seed", seed), *words])))


def mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 bits that look random, each decided by its number."""
    z = (state ^ (state >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
