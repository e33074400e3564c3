"""Techniques that have a closed form, against that form written down densely."""

import numpy as np
import pytest

import parge
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph

GRAPH = planted(300, 1800, communities=4, seed=5).graph
WEIGHTED = Graph.from_edges(*np.random.default_rng(1).integers(0, 60, (2, 300)), np.linspace(0.5, 3, 300), vertices=60)


def dense(graph: Graph) -> np.ndarray:  # type: ignore[type-arg]
    return graph.to_scipy().toarray().astype(np.float64)


def best_rank(M: np.ndarray, rank: int) -> np.ndarray:  # type: ignore[type-arg]
    """Return E E^T for E = U D^1/2 of the dense singular value decomposition."""
    U, s, _ = np.linalg.svd(M)
    return (U[:, :rank] * s[:rank]) @ U[:, :rank].T


@pytest.mark.parametrize("dim", [1, 10, 16, 37])
@pytest.mark.parametrize("graph", [GRAPH, WEIGHTED], ids=["plain", "weighted"])
def test_hope_is_the_dense_svd(graph: Graph, dim: int) -> None:
    A = dense(graph)
    E = parge.HOPE(dim=dim).embed(Subgraph.whole(graph), np.random.default_rng(0)).astype(np.float64)
    expected = best_rank(A @ A, dim)
    assert np.linalg.norm(E @ E.T - expected) <= 1e-6 * np.linalg.norm(expected)


def test_hope_by_katz_is_the_dense_sum_over_paths() -> None:
    A = dense(GRAPH)
    beta = 0.3 / np.abs(np.linalg.eigvalsh(A)).max()
    M = np.linalg.inv(np.eye(len(A)) - beta * A) - np.eye(len(A))
    E = parge.HOPE(dim=16, signal="katz", beta=beta).embed(Subgraph.whole(GRAPH), np.random.default_rng(0))
    expected = best_rank(M, 16)
    assert np.linalg.norm(E.astype(float) @ E.T.astype(float) - expected) <= 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_sgc_is_its_formula(hops: int) -> None:
    features = np.random.default_rng(2).random((300, 8))
    graph = GRAPH.with_features(features)
    loops = dense(graph) + np.eye(300)
    root = 1 / np.sqrt(loops.sum(axis=1))
    S = root[:, None] * loops * root
    expected = np.linalg.matrix_power(S, hops) @ features
    found = parge.SGC(dim=8, hops=hops).embed(Subgraph.whole(graph), np.random.default_rng())
    assert np.abs(found - expected).max() <= 1e-6


def test_netmf_is_the_dense_logarithm() -> None:
    A = dense(GRAPH)
    degrees = A.sum(axis=1)
    keep = degrees > 0
    P = A / np.where(keep, degrees, 1)[:, None]
    total, power = np.zeros_like(A), np.eye(len(A))
    for _ in range(10):
        power = power @ P
        total += power
    M = degrees.sum() / 10 * total / np.where(keep, degrees, 1)[None, :]
    M = np.log(np.maximum(M, 1))
    found = parge.NetMF(dim=16, window=10).embed(Subgraph.whole(GRAPH), np.random.default_rng(0)).astype(np.float64)
    expected = best_rank(M, 16)
    assert np.linalg.norm(found @ found.T - expected) <= 1e-4 * np.linalg.norm(expected)
