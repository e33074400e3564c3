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
    rng = np.random.default_rng(seed)
    busy, field = rng.pareto(1.5, n) + 1, rng.integers(fields, size=n)
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
}
