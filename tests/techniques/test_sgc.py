"""SGC against its formula, and subgraphs against each other."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.stats

import parge
from parge.graph.features import normal_rows, vertex_features
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph, induce
from parge.techniques.sgc import SGC


def smoothed(graph: Graph, X: np.ndarray, hops: int) -> np.ndarray:  # type: ignore[type-arg]
    loops = graph.to_scipy().toarray().astype(np.float64) + np.eye(graph.n_vertices)
    root = 1 / np.sqrt(loops.sum(axis=1))
    for _ in range(hops):
        X = root[:, None] * (loops @ (root[:, None] * X))
    return X


@pytest.mark.shared
def test_cora_with_features_is_the_formula(shared: Callable[[str], Path]) -> None:
    graph = parge.read(shared("cora.edges.gz"), vertices=2708)
    graph = graph.with_features(sp.load_npz(shared("cora.features.npz")))
    found = SGC(dim=128).embed(Subgraph.whole(graph), np.random.default_rng())
    projection = normal_rows(np.arange(1433), 128, 0).astype(np.float64) / np.sqrt(128)
    expected = smoothed(graph, graph.features.toarray().astype(np.float64) @ projection, 2)
    assert np.abs(found - expected).max() <= 1e-6 * max(1.0, np.abs(expected).max())


def test_weights_enter_the_formula() -> None:
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(*rng.integers(0, 60, (2, 200)), 0.1 + rng.random(200), vertices=64)
    found = SGC(dim=20, hops=3).embed(Subgraph.whole(graph), rng)
    expected = smoothed(graph, normal_rows(np.arange(64), 20, 0).astype(np.float64), 3)
    assert np.abs(found - expected).max() <= 1e-6


def test_a_vertex_has_the_same_features_in_every_subgraph() -> None:
    graph = planted(200, 1500, communities=4, seed=5).graph
    one = induce(graph, np.arange(50), np.arange(150, 170))
    other = induce(graph, np.arange(50, 150), np.arange(150, 170), index=1)
    assert np.array_equal(vertex_features(one, 16, 3)[50:], vertex_features(other, 16, 3)[100:])
    assert np.array_equal(vertex_features(one, 16, 3)[:50], normal_rows(np.arange(50), 16, 3))


def test_given_features_are_filled_or_projected_alike_in_every_subgraph() -> None:
    graph = planted(200, 1500, communities=4, seed=5).graph
    features = sp.random_array((200, 3000), density=0.01, rng=np.random.default_rng(1)).tocsr()
    for n_features in (5, 16, 3000):
        featured = graph.with_features(features[:, :n_features])
        part = induce(featured, np.arange(50), np.arange(150, 170))
        whole = vertex_features(Subgraph.whole(featured), 16, 0)
        assert np.allclose(vertex_features(part, 16, 0), whole[part.vertices], atol=1e-6)
    assert np.array_equal(
        vertex_features(Subgraph.whole(graph.with_features(features[:, :5])), 16, 0)[:, :5],
        features[:, :5].toarray().astype(np.float32),
    )


def test_the_projection_keeps_inner_products_in_expectation() -> None:
    features = sp.csr_matrix(np.random.default_rng(1).random((3, 2000)))
    graph = Graph.from_edges([0], [1], vertices=3).with_features(features)
    exact = (features @ features.T).toarray()
    found = [vertex_features(Subgraph.whole(graph), 256, seed) for seed in range(40)]
    assert np.allclose(np.mean([X @ X.T for X in found], axis=0), exact, rtol=0.06)


def test_drawn_rows_are_normal_and_independent() -> None:
    rows = normal_rows(np.arange(20_000) * 2**33, 5, seed=7)
    assert scipy.stats.kstest(rows.ravel(), "norm").pvalue > 1e-3
    assert np.abs(np.corrcoef(rows.T) - np.eye(5)).max() < 0.03
    assert np.abs(np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]) < 0.03
    assert not np.array_equal(rows, normal_rows(np.arange(20_000) * 2**33, 5, seed=8))
