"""Slow, obvious twins of the kernels: plain Python over the same streams."""

import itertools
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
    state = opened(key, purpose)
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
    factor = [bias(graph, before, x, p, q) for x in neighbours(graph, v)]
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
    factors = [bias(graph, before, x, p, q) for x in neighbours(graph, v)]
    ceiling = max(1.0, 1 / q)
    back = neighbours(graph, v).index(before)
    excess = share(graph, v, back) * (1 / p - ceiling) if 1 / p > ceiling else 0.0
    for _ in range(trials):
        draw = next(draws)
        height = (ceiling + excess) * ((draw & 0xFFFFFFFF) / 2**32)
        if height >= ceiling:
            return before
        candidate = pick(graph, v, draw >> 32)
        if height < factors[neighbours(graph, v).index(candidate)]:
            return candidate
    mass = [share(graph, v, j) * factor for j, factor in enumerate(factors)]
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


def opened(key, purpose):
    """Return the state at which a stream opens."""
    return mix((key + purpose * 0xBF58476D1CE4E5B9) & MASK)


def halves(draw):
    return divmod(draw, 2**32)


def below(bits, bound):
    return bits * bound // 2**32


def row(graph, v):
    """Return the weight of every neighbour of v, in order."""
    where = slice(graph.indptr[v], graph.indptr[v + 1])
    weights = [1.0] * len(neighbours(graph, v)) if graph.weights is None else graph.weights[where].tolist()
    return dict(zip(neighbours(graph, v), weights, strict=True))


def row_shares(graph):
    out = []
    for v in range(graph.n_vertices):
        weights = list(row(graph, v).values())
        total = sum_in_order(weights)
        out += [min(int(sum_in_order(weights[: j + 1]) / total * 2**32), 2**32 - 1) for j in range(len(weights))]
    return out


def strengths(graph):
    return [sum(row(graph, v).values()) for v in range(graph.n_vertices)]


def find(graph, v, wanted):
    return graph.indptr[v] + neighbours(graph, v).index(wanted) if wanted in neighbours(graph, v) else -1


def bias(graph, before, candidate, p, q):
    return 1 / p if candidate == before else 1.0 if candidate in neighbours(graph, before) else 1 / q


def encode(ids):
    """Return the code of every id, counted from 0 as ids appear, and the ids by code."""
    names = list(dict.fromkeys(ids))
    return [names.index(one) for one in ids], names


def bucketed_arcs(edges, weights, n_vertices, shift, bits):
    """Return (arc, weight) by bucket of 2^shift vertices, both directions of every edge, loops left out."""
    buckets = [[] for _ in range(((n_vertices - 1) >> shift) + 1)]
    for e, (u, v) in enumerate(edges):
        weight = weights[e] if weights else None
        for a, b, backward in ((u, v, 0), (v, u, 1)):
            if u != v:
                buckets[a >> shift].append((((a % 2**shift) * 2**bits + b) * 2 + backward, weight))
    return buckets


def sorted_arcs(arcs, first_bit, last_bit):
    return sorted(arcs, key=lambda arc: (arc[0] >> first_bit) % 2 ** (last_bit - first_bit))


def rows_of_arcs(arcs, bits, n_rows):
    """Return rows of neighbours with their weights: the larger of the sums of both directions."""
    sums = [{} for _ in range(n_rows)]
    for arc, weight in arcs:
        a, b = divmod(arc // 2, 2**bits)
        both = sums[a].setdefault(b, [0.0, 0.0])
        both[arc % 2] += weight or 0.0
    return [{b: max(both) for b, both in sorted(row.items())} for row in sums]


def induced_rows(graph, vertices):
    """Return the rows among some vertices, numbered by their places and sorted by them."""
    place = {v: i for i, v in enumerate(vertices)}
    rows = [{place[u]: weight for u, weight in row(graph, v).items() if u in place} for v in vertices]
    return [dict(sorted(one.items())) for one in rows]


def with_loops(graph, loops):
    """Return sorted rows with their loops: the neighbours, and the ends of their shares in units of 2^-32."""
    rows = [row(graph, v) | ({v: loop} if loop > 0 else {}) for v, loop in enumerate(loops)]
    rows = [dict(sorted(one.items())) for one in rows]
    totals = [math.fsum(one.values()) for one in rows]
    ends = [
        [math.fsum(list(one.values())[: j + 1]) / total * 2**32 for j in range(len(one))]
        for one, total in zip(rows, totals, strict=True)
    ]
    return [list(one) for one in rows], ends


def stored_shares(graph, loops):
    """Return how many shares of every row are stored: not those of leading weights of 1, unless it has a loop."""
    kept = [list(itertools.dropwhile(lambda weight: weight == 1, row(graph, v).values())) for v in range(len(loops))]
    return [len(row(graph, v)) + 1 if loop > 0 else len(kept[v]) for v, loop in enumerate(loops)]


def sum_neighbours(graph, columns):
    out = np.zeros(columns.shape)
    for v in range(graph.n_vertices):
        for u, weight in row(graph, v).items():
            out[v] += weight * columns[u].astype(float)
    return out


def step_rows(graph, scale, columns, own, factors, out):
    p, q, r = factors
    return p * scale[:, None] * sum_neighbours(graph, columns) + q * own + r * out


def sum_around(graph, columns, mean):
    centred = columns.astype(float) - mean
    return centred + sum_neighbours(graph, centred)


def unit_rows(rows, length):
    return np.array(
        [length * row / np.sqrt((row**2).sum()) if row.any() else row for row in rows.astype(float)]
    ).reshape(rows.shape)


def mean_neighbours(graph, columns):
    total = np.array([sum(row(graph, v).values()) for v in range(graph.n_vertices)])
    return sum_neighbours(graph, columns) / np.where(total > 0, total, 1)[:, None]


def quotient(graph, label, n_groups):
    """Return the weights between each group and the others, and inside of each, where edges count twice."""
    between, inside = [{} for _ in range(n_groups)], [0.0] * n_groups
    for v in range(graph.n_vertices):
        for u, weight in row(graph, v).items():
            if label[u] == label[v]:
                inside[label[v]] += weight
            else:
                between[label[v]][label[u]] = between[label[v]].get(label[u], 0.0) + weight
    return between, inside


def walk_meetings(graph, u, v):
    """Return the walks of two and three steps from u to v, each with the product of its shares but the first."""
    total = 0.0
    for w in neighbours(graph, u):
        total += sum(x == v for x in neighbours(graph, w)) / len(neighbours(graph, w))
        for x in neighbours(graph, w):
            total += sum(y == v for y in neighbours(graph, x)) / (len(neighbours(graph, w)) * len(neighbours(graph, x)))
    return total


def thinned(between, thin, name):
    """Return the rows of a quotient with some of their weights left out, and the others larger by as much."""
    rows = []
    for g, others in enumerate(between):
        kept = {}
        for h, weight in others.items():
            chance = min(1.0, weight * (thin[g] + thin[h])) if thin[g] and thin[h] else 1.0
            low, high = sorted((name[g], name[h]))
            draw, _ = halves(mix((mix((low + GOLDEN) & MASK) + high) & MASK))
            if chance == 1.0 or draw < chance * 2**32:
                kept[h] = weight / chance
        rows.append(kept)
    return rows


def joined(matrix):
    """Return the rows of a matrix as dictionaries."""
    return [{c: float(value) for c, value in enumerate(row) if value} for row in matrix.tolist()]


def sparse(matrix):
    """Return a matrix as offsets, columns and values of its rows."""
    rows = joined(matrix)
    columns, values = ([item[i] for row in rows for item in row.items()] for i in range(2))
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets.astype(np.int64), np.array(columns, np.int32), np.array(values, np.float32)


def shift_floored(values, above, below, floor):
    return np.maximum(values + above[:, None] - below[None, :], floor)
