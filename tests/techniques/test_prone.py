"""ProNE's two steps against their formulas."""

import numpy as np
import pytest
import scipy.linalg

from parge.errors import InputError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.eigen import adjacency_matrix, principal_vectors
from parge.techniques.prone import ProNE, factorise, log_odds


def test_log_odds_are_the_formula() -> None:
    weights = np.linspace(0.5, 3, 100)
    graph = Graph.from_edges(*np.random.default_rng(1).integers(0, 40, (2, 100)), weights, vertices=45)
    A = graph.to_scipy().toarray().astype(np.float64)
    degrees = A.sum(axis=1)
    p = A / np.where(degrees > 0, degrees, 1)[:, None]
    noise = p.sum(axis=0) ** 0.75
    noise /= noise.sum()
    expected = np.zeros_like(A)
    for i, j in zip(*np.nonzero(A), strict=True):
        expected[i, j] = np.log(p[i, j]) - np.log(noise[j])
    assert np.allclose(log_odds(adjacency_matrix(graph)).toarray(), expected, atol=1e-12)


@pytest.mark.slow
def test_step_one_is_the_left_half_of_the_decomposition() -> None:
    graph = planted(200, 1500, communities=4, seed=5).graph
    A = adjacency_matrix(graph)
    found = factorise(A, 200, np.random.default_rng(1))
    U, s, _ = np.linalg.svd(log_odds(A).toarray())
    expected = U * np.sqrt(s)
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-300)
    assert np.allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def slow_prone(A: np.ndarray, mu: float, theta: float) -> np.ndarray:
    """Return all of the method as the paper writes it, with dense matrices, whole decompositions, and no polynomial."""
    n = len(A)
    p = A / A.sum(axis=1, keepdims=True)
    noise = p.sum(axis=0) ** 0.75
    M = np.zeros_like(A)
    edges = A > 0
    M[edges] = (np.log(p, where=edges, out=np.zeros_like(A)) - np.log(noise / noise.sum())[None, :])[edges]
    U, s, _ = np.linalg.svd(M)
    X = U * np.sqrt(s)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    loops = A + np.eye(n)
    shifted = np.eye(n) - loops / loops.sum(axis=1, keepdims=True) - mu * np.eye(n)
    X = loops @ (X - scipy.linalg.expm(-theta * (shifted @ shifted - 2 * np.eye(n)) / 2) @ X)
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    X = U * np.sqrt(s)
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


@pytest.mark.parametrize(("mu", "theta"), [(0.2, 0.5), (0.0, 0.5), (0.5, 1.0)])
def test_both_steps_are_the_papers_formulas(mu: float, theta: float) -> None:
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(*rng.integers(0, 40, (2, 300)), np.linspace(0.5, 3, 300), vertices=40)
    expected = slow_prone(graph.to_scipy().toarray().astype(np.float64), mu, theta)
    found = ProNE(dim=40, mu=mu, theta=theta).embed(Subgraph.whole(graph), rng).astype(np.float64)
    # Signs and equal singular values leave the vectors open, not their inner products.
    assert np.linalg.norm(found @ found.T - expected @ expected.T) <= 1e-5 * np.linalg.norm(expected @ expected.T)


def test_rows_have_length_one_but_for_isolated_vertices() -> None:
    graph = Graph.from_edges(*np.random.default_rng(1).integers(0, 200, (2, 900)), vertices=210)
    lengths = np.linalg.norm(ProNE(dim=16).embed(Subgraph.whole(graph), np.random.default_rng(1)), axis=1)
    assert np.allclose(lengths[:200][graph.degrees[:200] > 0], 1, atol=1e-5)
    assert not lengths[200:].any()


def test_one_step_leaves_the_filter_out() -> None:
    subgraph = Subgraph.whole(planted(200, 1500, communities=4, seed=5).graph)
    plain = ProNE(dim=16, step=1).embed(subgraph, np.random.default_rng(1))
    step_one = factorise(adjacency_matrix(subgraph.graph), 16, np.random.default_rng(1))
    assert np.allclose(plain, principal_vectors(step_one, 16), atol=1e-5)
    assert not np.allclose(plain, ProNE(dim=16).embed(subgraph, np.random.default_rng(1)), atol=1e-3)


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match=r"step .*prone .* 1.* 0"):
        ProNE(step=0)
    with pytest.raises(InputError, match=r"mu .*prone .* 0 .* 2.* 3"):
        ProNE(mu=3)
