"""Slow, obvious twins of the kernels that split a graph: counts of cut edges, votes, and a pass over a stream."""

import math

from tests.kernels.naive import neighbours


def component_roots(graph):
    """Spread the smallest number over edges until nothing changes."""
    root = list(range(graph.n_vertices))
    while True:
        spread = [min([root[v], *(root[u] for u in neighbours(graph, v))]) for v in range(graph.n_vertices)]
        if spread == root:
            return root
        root = spread


def edges_of(graph):
    return [(u, v) for u in range(graph.n_vertices) for v in neighbours(graph, u) if u < v]


def count_edges(graph, part, is_anchor, n_parts):
    """Return edges by the parts of their ends, to anchors by part, and among anchors."""
    matrix, to_anchors, among = [[0] * n_parts for _ in range(n_parts)], [0] * n_parts, 0
    for u, v in edges_of(graph):
        if is_anchor[u] and is_anchor[v]:
            among += 1
        elif is_anchor[u] or is_anchor[v]:
            to_anchors[part[v] if is_anchor[u] else part[u]] += 1
        else:
            for a, b in {(part[u], part[v]), (part[v], part[u])}:
                matrix[a][b] += 1
    return matrix, to_anchors, among


def part_votes(graph, v, part, n_parts):
    return [sum(part[u] == p for u in neighbours(graph, v)) for p in range(n_parts)]


def majority_part(graph, v, part, n_parts):
    votes = part_votes(graph, v, part, n_parts)
    return votes.index(max(votes)) if max(votes) else max(part[v], 0)


def marked_neighbours(graph, marked):
    return [sum(marked[u] for u in neighbours(graph, v)) for v in range(graph.n_vertices)]


def greedy_cover(graph, part, chosen):
    """Return for each vertex the cut edges that none of the chosen touches; -1 for the chosen."""
    lost = [(u, v) for u, v in edges_of(graph) if part[u] != part[v] and not {u, v} & set(chosen)]
    return [-1 if v in chosen else sum(v in edge for edge in lost) for v in range(graph.n_vertices)]


class Fennel:
    """A pass over the rows, and where it stands."""

    def __init__(self, graph, left_out, weights, cost, free, shares, mean_degree):
        self.graph, self.left_out, self.weights, self.cost = graph, left_out, weights, cost
        self.free, self.shares, self.mean = free, shares, mean_degree
        self.part, self.loads, self.work = [-1] * graph.n_vertices, [0] * len(free), [0.0] * len(free)


def stream_rows(at, first, last):
    """Put vertices into parts by Fennel's score, one after the other; return how many fit nowhere."""
    over = 0
    for v in range(first, last):
        if at.left_out[v]:
            at.part[v] = -1
            continue
        near = neighbours(at.graph, v)
        anchors = sum(at.left_out[u] for u in near)
        weight = at.weights[v] if at.weights else math.ceil(at.cost[0] + at.cost[1] * (anchors + len(near)) / 2)
        scores = {}
        for p, free in enumerate(at.free):
            if at.loads[p] + weight <= free:
                votes = sum(at.part[u] == p and not at.left_out[u] for u in near)
                full = max(at.work[p] / at.shares[p], at.loads[p] / max(1, free))
                scores[p] = votes - 0.75 * at.mean * math.sqrt(full) - (1e12 if full > 1.1 else 0)
        left = [free - load for free, load in zip(at.free, at.loads, strict=True)]
        best = max(scores, key=scores.__getitem__) if scores else left.index(max(left))
        over += not scores
        at.part[v] = best
        at.loads[best] += weight
        at.work[best] += 1 + len(near) / at.mean
    return over
