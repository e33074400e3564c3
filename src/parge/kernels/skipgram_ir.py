"""Skip-gram with negative sampling over walks: the fast kernel, whose plain twin is `parge.kernels.skipgram`."""

import logging
import os
from functools import cache

import numpy as np
from numba.core.errors import NumbaError

from parge.kernels import skipgram
from parge.kernels.jit import is_compiling, kernel
from parge.kernels.skipgram import Tables, window_around
from parge.kernels.splitmix import GOLDEN, TRAIN, KeyArray, below, high, mix, open_stream
from parge.kernels.walks import AliasTable, draw_item
from parge.kernels.window_ir import MOST_TARGETS, MOST_TILE, prefetch_row, update_window
from parge.typing import FloatArray, IntArray, NeighbourArray


@kernel
def draw_walk(
    noise: AliasTable, walk: NeighbourArray, key: int, window: int, width: int, reach: IntArray, targets: IntArray
) -> None:
    """Draw the reach and the targets of all centres of a walk; targets as offsets of rows, in floats."""
    state = open_stream(key, TRAIN)
    for i in range(walk.size):
        state += GOLDEN
        reach[i] = 1 + below(high(mix(state)), window)
        targets[i, 0] = walk[i] * width
        for k in range(1, targets.shape[1]):
            state += GOLDEN
            targets[i, k] = draw_item(noise, mix(state)) * width


@kernel
def train_walks(
    tables: Tables,
    noise: AliasTable,
    walks: NeighbourArray,
    keys: KeyArray,
    rates: FloatArray,
    window: int,
    slots: tuple[int, ...],
) -> None:
    """Train every walk as the plain kernel does; `slots` is any tuple of 1 + negatives integers, at most 8."""
    In, Out, n_free = tables.In, tables.Out, tables.n_free
    width, length, n_targets = In.shape[1], walks.shape[1], len(slots)
    reach = np.empty(length, np.int64)
    rows = np.empty(length, np.int64)
    targets = np.empty((length, n_targets), np.int64)
    contexts = np.zeros(2 * window + MOST_TILE, np.int64)
    g = np.empty((contexts.size, MOST_TARGETS), np.float32)
    for w in range(walks.shape[0]):
        if walks[w].min() >= n_free:
            continue  # nothing of it learns, and a walk draws from a stream of its own
        draw_walk(noise, walks[w], keys[w], window, width, reach, targets)
        for i in range(length):
            rows[i] = np.int64(walks[w, i]) * width
        for i in range(length):
            if i + window + 1 < length:
                prefetch_row(In, rows[i + window + 1])
            n_contexts = window_around(rows, i, reach[i], n_free * width, contexts)
            if n_contexts == 0:
                continue
            if tables.is_one:
                for k in range(1, n_targets):
                    for j in range(n_contexts):
                        if targets[i, k] == contexts[j]:
                            targets[i, k] = targets[i, 0]
            update_window(In, Out, n_free, contexts, n_contexts, targets, i, slots, rates[w], g)


@cache
def is_usable(negatives: int) -> bool:
    """Return whether the fast kernel takes that number of negatives and compiles here.

    Setting the environment variable PARGE_PLAIN_KERNEL says no, for doubts and comparisons; NUMBA_DISABLE_JIT as well,
    as Python cannot run what is written for LLVM.
    """
    if negatives >= MOST_TARGETS or not is_compiling() or os.environ.get("PARGE_PLAIN_KERNEL"):
        return False
    table = skipgram.new_table(1, 1)
    noise = AliasTable(np.zeros(1, np.uint32), np.zeros(1, np.int32))
    walks, keys, rates = np.zeros((0, 2), np.int32), np.zeros(0, np.uint64), np.zeros(0, np.float32)
    try:
        train_walks(Tables(table, table, True), noise, walks, keys, rates, 1, (0,) * (negatives + 1))
    except (NumbaError, NotImplementedError, RuntimeError) as problem:
        logging.getLogger(__name__).warning("the plain kernel trains instead of the fast one: %s", problem)
        return False
    return True


def train(
    tables: Tables,
    noise: AliasTable,
    walks: NeighbourArray,
    keys: KeyArray,
    rates: FloatArray,
    window: int,
    negatives: int,
) -> None:
    """Train every walk in order with the fastest kernel there is; see `parge.kernels.skipgram.train_walks`."""
    if is_usable(negatives):
        train_walks(tables, noise, walks, keys, rates, window, (0,) * (negatives + 1))
    else:
        skipgram.train_walks(tables, noise, walks, keys, rates, window, negatives)
