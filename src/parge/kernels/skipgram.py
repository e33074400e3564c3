"""Skip-gram with negative sampling over walks: the plain kernel, one window of a walk at a time.

After Mikolov et al. (NIPS 2013). Each vertex has a row of In (its vector) and a row of Out (how it is predicted). For
the centre of a window, In rows of the vertices around it meet T = 1 + negatives targets. These are Out of the centre
(label 1) and Out of drawn vertices (label 0), shared by that window and fresh for each centre.
"""

from typing import NamedTuple

import numpy as np

from parge.kernels.jit import fast_kernel
from parge.kernels.splitmix import GOLDEN, TRAIN, Bits, KeyArray, below, high, mix, open_stream
from parge.kernels.walks import AliasTable, draw_item
from parge.storage import padded
from parge.typing import FloatArray, IntArray, NeighbourArray

# More rows than any table has, and small enough to be multiplied by the width of one.
EVERY = 1 << 40


class Tables(NamedTuple):
    """The two tables that training changes, (n_vertices, padded dim) float32.

    Where a technique has one table (LINE of first order), both are that table and `is_one` is True. Rows from `n_free`
    on are frozen: they are read, never changed, and a pair of two frozen vertices trains nothing. Where there are
    such rows, the tables have one more than there are vertices, which is of no vertex (the fast kernel writes to it).
    """

    In: FloatArray
    Out: FloatArray
    is_one: bool
    n_free: int = EVERY


@fast_kernel
def update_window(  # noqa: PLR0912  a kernel is one loop nest
    tables: Tables, contexts: IntArray, n_contexts: int, targets: IntArray, rate: float, g: FloatArray, sums: FloatArray
) -> None:
    """Train the first `n_contexts` rows of In against the rows `targets` of Out, the first of them true.

    With old values throughout: all logits first, then ``g = rate * (label - sigmoid(logit))``, then
    ``In[c] += sum_k g[c,k] Out[k]`` and ``Out[k] += sum_c g[c,k] In[c]``, but of frozen rows. A target that equals the
    first one trains nothing. `g` (contexts, targets) and `sums` (targets + 1, dim) are scratch space.
    """
    In, Out, n_free = tables.In, tables.Out, tables.n_free
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
            for d in range(dim):
                sums[k, d] += slope * In[c, d]
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
def draw_targets(noise: AliasTable, centre: int, state: Bits, targets: IntArray) -> Bits:
    """Write the centre and its negatives into `targets`; return the state of the stream."""
    targets[0] = centre
    for k in range(1, targets.size):
        state += GOLDEN
        targets[k] = draw_item(noise, mix(state))
    return state


@fast_kernel
def window_around(walk: NeighbourArray, i: int, reach: int, frozen: int, contexts: IntArray) -> int:
    """Write the vertices at most `reach` steps from step i, without it, into `contexts`; return how many.

    Where step i is at a frozen vertex, at or above `frozen`, other such vertices are left out.
    """
    n, is_free = 0, walk[i] < frozen
    for j in range(max(0, i - reach), min(walk.size, i + reach + 1)):
        if j != i and (is_free or walk[j] < frozen):
            contexts[n] = walk[j]
            n += 1
    return n


@fast_kernel
def train_walks(
    tables: Tables,
    noise: AliasTable,
    walks: NeighbourArray,
    keys: KeyArray,
    rates: FloatArray,
    window: int,
    negatives: int,
) -> None:
    """Train every walk (row) in order, at its own rate, drawing from the stream of its own key.

    The window of each centre reaches 1..window steps, drawn uniformly.
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
            n_contexts = window_around(walks[w], i, reach, tables.n_free, contexts)
            state = draw_targets(noise, walks[w, i], state, targets)
            if n_contexts == 0:
                continue
            if tables.is_one:
                # Here a negative may be the context itself: treat it as one that equals the centre.
                for k in range(1, targets.size):
                    for j in range(n_contexts):
                        if targets[k] == contexts[j]:
                            targets[k] = targets[0]
            update_window(tables, contexts, n_contexts, targets, rates[w], g, sums)


def new_table(n_rows: int, dim: int) -> FloatArray:
    """Return a table of zeros, its `dim` columns padded to a multiple of 16 and every row on 64 bytes."""
    width = padded(dim)
    flat = np.zeros(n_rows * width + 16, np.float32)
    skip = -flat.ctypes.data % 64 // 4
    return flat[skip : skip + n_rows * width].reshape(n_rows, width)
