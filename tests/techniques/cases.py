"""Graphs that walk techniques are tested on, and what good vectors on them look like."""

import numpy as np

from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.typing import FloatArray, IntArray

COMMUNITIES = 4


def communities(n: int = 200, *, weighted: bool = False) -> tuple[Subgraph, IntArray]:
    """Return a graph of four planted communities and the community of each vertex.

    Weighted, every pair of vertices is as likely an edge as any other: the weights alone tell.
    """
    rng = np.random.default_rng(11)
    community = np.arange(n) % COMMUNITIES
    source, target = rng.integers(0, n, (2, 20 * n))
    inside = community[source] == community[target]
    if weighted:
        return Subgraph.whole(Graph.from_edges(source, target, np.where(inside, 5.0, 0.1), vertices=n)), community
    keep = inside | (rng.random(source.size) < 0.03)
    return Subgraph.whole(Graph.from_edges(source[keep], target[keep], vertices=n)), community


def separation(vectors: FloatArray, community: IntArray) -> float:
    """Return the share of vertices whose nearest other vertex by cosine lies in the same community; at random, 0.25."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2.0)
    return float((community[cosine.argmax(axis=1)] == community).mean())


def shapes() -> dict[str, Graph]:
    """Return the shapes that break careless techniques."""
    path = np.arange(5)
    rng = np.random.default_rng(3)
    return {
        "nothing": Graph.from_edges([], [], vertices=0),
        "one vertex": Graph.from_edges([], [], vertices=1),
        "no edge": Graph.from_edges([], [], vertices=7),
        "one edge": Graph.from_edges([0], [1]),
        "star": Graph.from_edges(np.zeros(50, int), np.arange(1, 51)),
        "two paths and isolated": Graph.from_edges(np.r_[path, path + 10], np.r_[path + 1, path + 11], vertices=20),
        "weighted": Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [1e-6, 1e6, 1.0, 3.0]),
        "clique": Graph.from_edges(*np.triu_indices(12, 1)),
        "random": Graph.from_edges(rng.integers(0, 60, 120), rng.integers(0, 60, 120), vertices=64),
    }
