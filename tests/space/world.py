"""A small graph that grows: the part that is embedded, and the edges of vertices that come later."""

from functools import cache

import numpy as np

from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.pairs import edges_once
from parge.graph.subgraph import Subgraph
from parge.space.frozen import Space
from parge.techniques.base import Technique
from parge.techniques.registry import techniques

N, N_OLD = 400, 340


@cache
def whole() -> tuple[Graph, np.ndarray]:
    """Return a planted graph and the community of every vertex, in an order of their own."""
    made = planted(N, 3_000, communities=4, mixing=0.15, seed=3)
    return made.graph, made.labels.labels[made.labels.indptr[:-1]]


def pairs(*, new: bool) -> np.ndarray:
    """Return the edges between the first vertices, or those that touch a later one, (m, 2)."""
    source, target, _ = edges_once(whole()[0])
    found = np.stack([source, target], axis=1).astype(np.int64)
    return found[(found.max(axis=1) >= N_OLD) == new]


@cache
def frozen(name: str = "whitened", dim: int = 16) -> Space:
    """Return the space of the first vertices."""
    graph = Graph.from_edges(pairs(new=False), vertices=N_OLD)
    technique: Technique = techniques.get(name)(dim=dim)
    vectors = technique.embed(Subgraph.whole(graph), np.random.default_rng(0))
    return Space.of(vectors, graph, technique=name)
