"""Skip-gram over walks of which only some vertices learn: the rest are frozen, and pairs among them cost nothing."""

import numpy as np

from parge.kernels.alias import AliasTable, draw_item
from parge.kernels.jit import fast_kernel
from parge.kernels.skipgram import Tables
from parge.kernels.streams import GOLDEN, TRAIN, KeyArray, below, high, mix, open_stream
from parge.typing import FloatArray, IntArray, NeighbourArray


@fast_kernel
def learning_contexts(walk: NeighbourArray, i: int, reach: int, n_free: int, contexts: IntArray) -> int:
    """Write the vertices around step i whose pair with it has an end that learns; return how many.

    Vertices 0..n_free-1 learn.
    """
    n = 0
    for j in range(max(0, i - reach), min(walk.size, i + reach + 1)):
        if j != i and (walk[i] < n_free or walk[j] < n_free):
            contexts[n] = walk[j]
            n += 1
    return n


@fast_kernel
def update_free(  # noqa: PLR0912  a kernel is one loop nest
    tables: Tables,
    n_free: int,
    contexts: IntArray,
    n_contexts: int,
    targets: IntArray,
    rate: float,
    g: FloatArray,
    sums: FloatArray,
) -> None:
    """Do what `parge.kernels.skipgram.update_window` does, and write no row of a frozen vertex."""
    In, Out = tables.In, tables.Out
    n_targets, dim = targets.size, In.shape[1]
    for i in range(n_contexts):
        c = contexts[i]
        for k in range(n_targets):
            t = targets[k]
            logit = np.float32(0.0)
            for d in range(dim):
                logit += In[c, d] * Out[t, d]
            sigmoid = np.float32(1.0) / (np.float32(1.0) + np.exp(-logit))
            if k == 0:
                g[i, k] = rate * (np.float32(1.0) - sigmoid)
            else:
                g[i, k] = np.float32(0.0) if t == targets[0] else -rate * sigmoid
    sums[:n_targets] = 0
    for i in range(n_contexts):
        c = contexts[i]
        for d in range(dim):
            sums[n_targets, d] = 0
        for k in range(n_targets):
            t, slope = targets[k], g[i, k]
            if t < n_free:
                for d in range(dim):
                    sums[k, d] += slope * In[c, d]
            if c < n_free:
                for d in range(dim):
                    sums[n_targets, d] += slope * Out[t, d]
        if c < n_free:
            for d in range(dim):
                In[c, d] += sums[n_targets, d]
    for k in range(n_targets):
        t = targets[k]
        if t < n_free:
            for d in range(dim):
                Out[t, d] += sums[k, d]


@fast_kernel
def train_walks(
    tables: Tables,
    n_free: int,
    noise: AliasTable,
    walks: NeighbourArray,
    keys: KeyArray,
    rates: FloatArray,
    window: int,
    negatives: int,
) -> None:
    """Train every walk (row) in order, as `parge.kernels.skipgram.train_walks` does where all vertices learn.

    A window without a pair that learns draws no negatives.
    """
    targets = np.empty(negatives + 1, np.int64)
    contexts = np.empty(2 * window, np.int64)
    g = np.empty((2 * window, negatives + 1), np.float32)
    sums = np.empty((negatives + 2, tables.In.shape[1]), np.float32)
    for w in range(walks.shape[0]):
        state = open_stream(keys[w], TRAIN)
        for i in range(walks.shape[1]):
            state += GOLDEN
            reach = 1 + below(high(mix(state)), window)
            n_contexts = learning_contexts(walks[w], i, reach, n_free, contexts)
            if n_contexts == 0:
                continue
            targets[0] = walks[w, i]
            for k in range(1, targets.size):
                state += GOLDEN
                targets[k] = draw_item(noise, mix(state))
            update_free(tables, n_free, contexts, n_contexts, targets, rates[w], g, sums)
