"""Generated graphs of different kinds: like those of shops, texts and co-authors, with hubs, and planted ones.

Nothing here is fitted to a real graph. Settings were chosen with seed 11 at other sizes; tables report other seeds.
"""

from collections.abc import Callable

import numpy as np

from parge.evaluate.labels import Labels
from parge.graph.generate import Planted, planted, tree
from parge.graph.graph import Graph


def copurchase(n: int, degree: int, seed: int, far: float = 0.05) -> Graph:
    """Points in space, each joined to some of its near ones, popular ones first; a few edges lead anywhere."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(seed)
    points, popularity = rng.random((n, 3)), rng.pareto(2.0, n) + 1
    near = cKDTree(points).query(points, k=3 * degree + 1)[1][:, 1:]
    order = np.argsort(-np.log(rng.random(near.shape)) / popularity[near], axis=1)[:, :degree]
    source, target = np.repeat(np.arange(n), degree), np.take_along_axis(near, order, axis=1).ravel()
    target = np.where(rng.random(target.size) < far, rng.integers(n, size=target.size), target)
    return _graph(source, target)


def words(n: int, n_edges: int, seed: int, topics: int = 30) -> Graph:
    """Words that meet in topics, by how often they occur (Zipf): hubs, and a dense core."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet(np.full(topics, 0.1), n) * (np.arange(1, n + 1) ** -0.8)[:, None]
    chance /= chance.sum(axis=0)
    drawn = np.bincount(rng.integers(topics, size=n_edges), minlength=topics)
    ends = [rng.choice(n, (count, 2), p=chance[:, topic]) for topic, count in enumerate(drawn)]
    return _graph(*np.concatenate(ends).T)


def hubs(n: int, degree: int, seed: int, triangles: float = 0.6) -> Graph:
    """Preferential attachment with triangles (Holme and Kim, 2002): a new vertex joins a hub, then its neighbours."""
    rng = np.random.default_rng(seed)
    ends, around = list(range(degree + 1)), [[] for _ in range(n)]  # type: ignore[var-annotated]
    source, target = [], []
    for v in range(degree + 1, n):
        last = v
        for _ in range(degree):
            close = around[last] if rng.random() < triangles else []
            u = close[rng.integers(len(close))] if close and last != v else ends[rng.integers(len(ends))]
            if u != v:
                source.append(v)
                target.append(u)
                around[v].append(u)
                around[u].append(v)
                ends += [u, v]
                last = u
    return _graph(np.array(source), np.array(target))


def coauthors(n: int, n_papers: int, seed: int, fields: int = 60) -> Graph:
    """Papers as cliques of some authors of a field, busy ones more often, and now and then a stranger."""
    rng, busy, field = _authors(n, seed, fields)
    members = [np.flatnonzero(field == i) for i in range(fields)]
    source, target = [], []
    for _ in range(n_papers):
        those = members[rng.integers(fields)]
        size = min(40, int(2 + 2 * rng.pareto(1.8)))
        authors = rng.choice(those, size, p=busy[those] / busy[those].sum())
        authors = np.unique(np.append(authors, rng.integers(n)) if rng.random() < 0.2 else authors)
        i, j = np.triu_indices(authors.size, 1)
        source.append(authors[i])
        target.append(authors[j])
    return _graph(np.concatenate(source), np.concatenate(target))


def fields_of_coauthors(graph: Graph, n: int, seed: int, fields: int = 60) -> Labels:
    """Return the field of every author of `coauthors`, to score vectors by."""
    authors = np.asarray(graph.outside_ids)
    return Labels.from_pairs(authors, _authors(n, seed, fields)[2][authors])


def _authors(n: int, seed: int, fields: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng, rng.pareto(1.5, n) + 1, rng.integers(fields, size=n)


def buyers(n: int, n_edges: int, seed: int, tastes: int = 40) -> Graph:
    """Two sides, no edge within one: buyers choose things of one of their tastes, famous ones more often."""
    rng = np.random.default_rng(seed)
    n_things = n // 3
    n_people = n - n_things
    taste, fame = rng.integers(tastes, size=n_things), rng.pareto(1.5, n_things) + 1
    liked = rng.integers(tastes, size=(n_people, 3))
    who = rng.choice(n_people, n_edges, p=(busy := rng.pareto(2.0, n_people) + 1) / busy.sum())
    wanted = np.where(
        rng.random(n_edges) < 0.2, rng.integers(tastes, size=n_edges), liked[who, rng.integers(3, size=n_edges)]
    )
    thing = np.empty(n_edges, np.int64)
    for each in range(tastes):
        those, asked = np.flatnonzero(taste == each), np.flatnonzero(wanted == each)
        thing[asked] = rng.choice(those, asked.size, p=fame[those] / fame[those].sum())
    return _graph(who, n_people + thing)


def roads(n: int, seed: int, kept: float = 0.8) -> Graph:
    """Points of a plane and most edges of their triangulation, short ones first: no hubs, and long ways."""
    from scipy.spatial import Delaunay

    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    corners = Delaunay(points).simplices
    pairs = np.unique(
        np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1), axis=0
    )
    length = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1) * rng.random(len(pairs))
    pairs = pairs[np.argsort(length)[: int(kept * len(pairs))]]
    return _graph(*pairs.T)


def small_world(n: int, degree: int, seed: int, rewired: float = 0.15) -> Graph:
    """A ring whose vertices know the next ones; some edges lead anywhere (Watts and Strogatz, 1998)."""
    rng = np.random.default_rng(seed)
    source = np.repeat(np.arange(n), degree // 2)
    target = (source + np.tile(np.arange(1, degree // 2 + 1), n)) % n
    return _graph(source, np.where(rng.random(source.size) < rewired, rng.integers(n, size=source.size), target))


def nested(n: int, n_edges: int, seed: int, levels: int = 5, split: int = 4) -> Graph:
    """Groups within groups: the deeper the group that two vertices share, the likelier their edge."""
    rng = np.random.default_rng(seed)
    source, busy = rng.integers(n, size=n_edges), rng.pareto(2.5, n) + 1
    size = n / split ** rng.integers(1, levels + 1, size=n_edges)
    start = np.floor(source / size) * size
    drawn = np.minimum((start[:, None] + rng.random((n_edges, 4)) * size[:, None]).astype(np.int64), n - 1)
    best = np.argmax(np.log(rng.random(drawn.shape)) / busy[drawn], axis=1)
    return _graph(source, np.take_along_axis(drawn, best[:, None], axis=1).ravel())


def groups_of_nested(graph: Graph, n: int, groups: int = 16) -> Labels:
    """Return the group of every vertex of `nested`, to score vectors by; `groups` is a power of its `split`."""
    vertices = np.asarray(graph.outside_ids)
    return Labels.from_pairs(vertices, vertices * groups // n)


def _graph(source: np.ndarray, target: np.ndarray) -> Graph:
    apart = source != target
    return Graph.from_edges(source[apart], target[apart])


def labels_of(made: Planted) -> Labels:
    """Return the labels of a planted graph, to score vectors by."""
    vertices = np.repeat(np.arange(made.graph.n_vertices), np.diff(made.labels.indptr))
    return Labels.from_pairs(vertices, made.labels.labels.astype(np.int64))


KINDS: dict[str, Callable[[int], Graph | Planted]] = {
    "overlapping communities": lambda seed: planted(
        9_000, 70_000, mixing=0.5, labels_per_vertex=1.5, communities=45, seed=seed
    ),
    "tree with few cycles": lambda seed: tree(9_000, seed=seed),
    "like co-purchases": lambda seed: copurchase(18_000, 6, seed),
    "like words": lambda seed: words(6_000, 170_000, seed),
    "hubs and triangles": lambda seed: hubs(16_000, 6, seed),
    "like co-authors": lambda seed: coauthors(14_000, 10_000, seed),
    "buyers and things": lambda seed: buyers(15_000, 90_000, seed),
    "like roads": lambda seed: roads(20_000, seed),
    "small world": lambda seed: small_world(15_000, 12, seed),
    "groups within groups": lambda seed: nested(16_000, 110_000, seed),
    "sparse communities": lambda seed: planted(30_000, 60_000, mixing=0.15, communities=90, seed=seed),
    "many communities": lambda seed: planted(80_000, 500_000, mixing=0.3, communities=300, seed=seed).graph,
}
