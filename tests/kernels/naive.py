"""Slow, obvious twins of the kernels: plain Python over the same streams."""

import math
from collections.abc import Iterator

import numpy as np

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
START, WALK, TRAIN, FILL = 1, 2, 3, 4


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def stream(key, purpose) -> Iterator[int]:
    state = mix((key + purpose * 0xBF58476D1CE4E5B9) & MASK)
    while True:
        state = (state + GOLDEN) & MASK
        yield mix(state)


def item_key(seed, group, item):
    base = mix((seed + mix(group + GOLDEN & MASK)) & MASK)
    return mix((base + mix(item + GOLDEN & MASK)) & MASK)


def uniform_rows(seed, scale, dim, n_rows, width):
    out = np.zeros((n_rows, width), np.float32)
    for v in range(n_rows):
        draws = stream(mix(seed + v & MASK), FILL)
        for d in range(dim):
            out[v, d] = (next(draws) >> 32) / 2**32 * 2 * scale - scale
    return out


def neighbours(graph, v):
    return graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()


def shares(graph, v):
    """Return the probability of each neighbour of v."""
    if graph.weights is None:
        return np.full(len(neighbours(graph, v)), 1 / len(neighbours(graph, v)))
    weights = graph.weights[graph.indptr[v] : graph.indptr[v + 1]].astype(float)
    return weights / weights.sum()


def pick(graph, v, bits):
    if graph.weights is None:
        return neighbours(graph, v)[bits * len(neighbours(graph, v)) >> 32]
    weights = graph.weights[graph.indptr[v] : graph.indptr[v + 1]].tolist()
    total, running = sum_in_order(weights), 0.0
    for neighbour, weight in zip(neighbours(graph, v)[:-1], weights, strict=False):
        running += weight
        if bits < int(running / total * 2**32):
            return neighbour
    return neighbours(graph, v)[-1]


def sum_in_order(values):
    total = 0.0  # not the built-in sum, which compensates for rounding
    for value in values:
        total += value
    return total


def walk(graph, start, key, length):
    draws = stream(key, WALK)
    steps = [start]
    while len(steps) < length:
        steps.append(pick(graph, steps[-1], next(draws) >> 32))
    return steps


def second_order(graph, before, v, p, q):
    """Return node2vec's transition probabilities from v, by neighbour, after a step from `before`."""
    factor = [1 / p if x == before else 1.0 if x in neighbours(graph, before) else 1 / q for x in neighbours(graph, v)]
    mass = shares(graph, v) * factor
    return dict(zip(neighbours(graph, v), mass / mass.sum(), strict=True))


def share(graph, v, j):
    """Return the probability of neighbour j of v, in the 2^-32 that walks count in."""
    weights = None if graph.weights is None else graph.weights[graph.indptr[v] : graph.indptr[v + 1]].tolist()
    if weights is None:
        return 1 / len(neighbours(graph, v))
    total = sum_in_order(weights)
    before, after = (min(int(sum_in_order(weights[:i]) / total * 2**32), 2**32 - 1) for i in (j, j + 1))
    return ((2**32 if j == len(weights) - 1 else after) - before) / 2**32


def biased_walk(graph, start, key, length, p, q):
    """Walk as `fill_biased_walks` does, a candidate at a time."""
    draws = stream(key, WALK)
    steps = [start, pick(graph, start, next(draws) >> 32)]
    while len(steps) < length:
        steps.append(biased_step(graph, steps[-2], steps[-1], p, q, draws))
    return steps[:length]


def biased_step(graph, before, v, p, q, draws, trials=64):
    """Keep a candidate under its bias; a strip beside all of them goes back; weigh the row after many trials."""
    near = neighbours(graph, before)
    bias = [1 / p if x == before else 1.0 if x in near else 1 / q for x in neighbours(graph, v)]
    ceiling = max(1.0, 1 / q)
    back = neighbours(graph, v).index(before)
    excess = share(graph, v, back) * (1 / p - ceiling) if 1 / p > ceiling else 0.0
    for _ in range(trials):
        draw = next(draws)
        height = (ceiling + excess) * ((draw & 0xFFFFFFFF) / 2**32)
        if height >= ceiling:
            return before
        candidate = pick(graph, v, draw >> 32)
        if height < bias[neighbours(graph, v).index(candidate)]:
            return candidate
    mass = [share(graph, v, j) * factor for j, factor in enumerate(bias)]
    height = sum_in_order(mass) * ((next(draws) >> 32) / 2**32)
    for x, one in zip(neighbours(graph, v), mass, strict=True):
        height -= one
        if height < 0:
            return x
    return neighbours(graph, v)[-1]


def draw_item(table, draw):
    slot = (draw >> 32) * table.threshold.size >> 32
    return slot if (draw & 0xFFFFFFFF) < table.threshold[slot] else int(table.alias[slot])


def alias_probabilities(table):
    """Return the probability of every item, read off the table."""
    keep = table.threshold / 2**32
    out = keep.astype(float)
    np.add.at(out, table.alias, 1 - keep)
    return out / table.threshold.size


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def train(In, Out, noise, walks, keys, rates, window, negatives):
    """Train float64 copies of the tables as `train_walks` does; pass one array twice for one table."""
    for steps, key, rate in zip(walks.tolist(), keys.tolist(), rates.tolist(), strict=True):
        draws = stream(key, TRAIN)
        for i, centre in enumerate(steps):
            reach = 1 + ((next(draws) >> 32) * window >> 32)
            contexts = steps[max(0, i - reach) : i] + steps[i + 1 : i + reach + 1]
            drawn = [draw_item(noise, next(draws)) for _ in range(negatives)]
            if In is Out:
                drawn = [centre if t in contexts else t for t in drawn]
            update(In, Out, contexts, [centre, *drawn], rate)


def update(In, Out, contexts, targets, rate):
    old = Out[targets]
    g = np.zeros((len(contexts), len(targets)))
    for i, c in enumerate(contexts):
        for k, t in enumerate(targets):
            label = 1.0 if k == 0 else 0.0
            counts = k == 0 or t != targets[0]
            g[i, k] = rate * (label - sigmoid(In[c] @ Out[t])) if counts else 0.0
    sums = np.zeros_like(old)
    for i, c in enumerate(contexts):
        sums += np.outer(g[i], In[c])
        In[c] = In[c] + g[i] @ old
    for k, t in enumerate(targets):
        Out[t] = Out[t] + sums[k]
