"""Slow, obvious twins of the kernels in `prices.py` and of `cut.relieve`: vertices one by one, sums over everything."""

from bisect import bisect_right

from tests.kernels.naive import GOLDEN, MASK, mix, neighbours

# What each level begins with: 0 to 15, then eight steps an octave.
SCALE = [*range(16), *((8 + step) << octave for octave in range(1, 27) for step in range(8))]


def level(value):
    found = bisect_right(SCALE, abs(value)) - 1
    return found if value >= 0 else -found


def key(v):
    return mix((v + GOLDEN) & MASK)


def in_part(graph, v, part, p):
    return sum(part[u] == p for u in neighbours(graph, v))


def wish(graph, v, part, weights, scale, prices):
    """Return the part wished for, the gain, and neighbours in other parts."""
    others = [q for q in range(len(prices)) if q != part[v]]
    best = max(others, key=lambda q: in_part(graph, v, part, q) * scale - prices[q] * weights[v])
    gain = in_part(graph, v, part, best) - in_part(graph, v, part, part[v])
    return best, gain, sum(in_part(graph, v, part, q) for q in others)


def prices(made, loads, limits, n_levels):
    """Return the least prices, one part after the other, over all levels from the lowest."""
    found = [0] * len(loads)
    for _ in range(20):
        before = list(found)
        for q in range(len(loads)):
            for price in SCALE[:n_levels]:
                come = sum(w for a, b, high, w in made if b == q and high > level(price - found[a]))
                go = sum(w for a, b, high, w in made if a == q and high > level(found[b] - price))
                found[q] = price
                if loads[q] + come - go <= limits[q]:
                    break
        if found == before:
            break
    return found


def claim(graph, v, part, weights, scale, cost, wished):
    """Return what a wish brings, or None where that is too little."""
    kept = in_part(graph, v, part, part[v])
    brings = (in_part(graph, v, part, wished[v]) - kept) * scale - (cost[wished[v]] - cost[part[v]]) * weights[v]
    return brings if brings > 0 or -4 * brings < kept * scale else None


def confirmed(graph, v, part, weights, scale, cost, wished, profit):
    """Return what a claim brings once all that go before it are granted."""
    after = [
        wished[u] if profit[u] is not None and (profit[u], key(u)) > (profit[v], key(v)) else part[u]
        for u in range(graph.n_vertices)
    ]
    better = in_part(graph, v, after, wished[v]) - in_part(graph, v, after, part[v])
    return better * scale - (cost[wished[v]] - cost[part[v]]) * weights[v]


def admitted(bins, loads, limits):
    """Return which of the bins (from, to, weight) move: all, less those that the fullest parts give up in order."""
    given_up = set()
    while True:
        after = list(loads)
        for b, (source, target, weight) in enumerate(bins):
            if b not in given_up:
                after[source] -= weight
                after[target] += weight
        over = [now - max(load, limit) for now, load, limit in zip(after, loads, limits, strict=True)]
        worst = over.index(max(over))
        if over[worst] <= 0:
            return [b not in given_up for b in range(len(bins))]
        given_up.add(next(b for b, bin_ in enumerate(bins) if bin_[1] == worst and b not in given_up))


def relieve(full, vertices, votes, weights, limits, part, loads):
    """Move vertices out of a part that is over its limit, each to where most neighbours are, or else most room."""
    n_moved = 0
    for v, row in zip(vertices, votes, strict=True):
        fits = [p for p in range(len(limits)) if loads[p] + weights[v] <= limits[p]]
        if loads[full] <= limits[full]:
            break
        if fits:
            best = max(fits, key=lambda p: (row[p], limits[p] - loads[p]))
            part[v] = best
            loads[full] -= weights[v]
            loads[best] += weights[v]
            n_moved += 1
    return n_moved


def saved_alone(graph, v, part, marked, rank):
    """Return the edges to other parts that v saves, less those that a neighbour of a higher rank saves."""
    lost = [u for u in neighbours(graph, v) if part[u] != part[v] and not marked[u]]
    return rank[v] - sum((rank[u], key(u)) > (rank[v], key(v)) for u in lost)
