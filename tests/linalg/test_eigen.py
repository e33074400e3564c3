"""Eigenvectors, singular vectors and components against dense and independent twins."""

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.graph.graph import Graph
from parge.linalg.chebyshev import modified_bessel, propagate
from parge.linalg.eigen import (
    basis_sizes,
    components,
    largest,
    magnitude,
    orthonormalise,
    principal_vectors,
    randomised_svd,
    top_eigenpairs,
)
from parge.linalg.threads import one_blas_thread
from parge.testing.graphs import graphs


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_blas_thread():
        yield


def symmetric(n: int, values: np.ndarray, seed: int) -> np.ndarray:  # type: ignore[type-arg]
    """Return a matrix with these eigenvalues."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    return (Q * values) @ Q.T


@pytest.mark.parametrize("rank", [magnitude, largest])
@pytest.mark.parametrize("k", [1, 7, 16, 61])
def test_eigenpairs_are_the_dense_ones(k: int, rank: object) -> None:
    values = np.random.default_rng(1).standard_normal(300) ** 3
    M = symmetric(300, values, 2)
    found, vectors = top_eigenpairs(M.__matmul__, 300, k, np.random.default_rng(3), rank=rank)  # type: ignore[arg-type]
    expected = values[np.argsort(-rank(values))[:k]]  # type: ignore[operator]
    assert np.allclose(found, expected, atol=1e-6)
    assert np.allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)
    assert np.abs(M @ vectors - vectors * found).max() <= 1e-6


@examples(30)
@given(
    copies=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    k=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_repeated_eigenvalues_are_all_found(copies: list[int], k: int, seed: int) -> None:
    values = np.zeros(250)
    values[: sum(copies)] = np.repeat(np.arange(len(copies), 0, -1.0), copies)
    M = symmetric(250, values, seed)
    found, vectors = top_eigenpairs(M.__matmul__, 250, k, np.random.default_rng(seed))
    assert np.allclose(found, values[:k], atol=1e-6)
    assert np.abs(M @ vectors - vectors * found).max() <= 1e-6


def test_a_matrix_of_zeros_has_eigenvectors() -> None:
    values, vectors = top_eigenpairs(np.zeros_like, 200, 8, np.random.default_rng(0))
    assert not values.any()
    assert np.allclose(vectors.T @ vectors, np.eye(8))


def test_a_spectrum_that_does_not_converge_is_answered_with_the_best_found() -> None:
    n = 3000
    path = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]).tocsr()
    values, vectors = top_eigenpairs(path.__matmul__, n, 16, np.random.default_rng(0), cycles=3)
    assert np.isfinite(vectors).all()
    assert abs(values[0]) > 1.99
    assert np.allclose(vectors.T @ vectors, np.eye(16), atol=1e-8)


def test_small_matrices_are_solved_densely_with_all_their_eigenvectors() -> None:
    M = symmetric(5, np.arange(5.0), 1)
    values, vectors = top_eigenpairs(M.__matmul__, 5, 128, np.random.default_rng(0))
    assert values.shape == (5,)
    assert np.allclose((vectors * values) @ vectors.T, M)
    assert basis_sizes(128) == (192, 4)


def test_randomised_svd_is_near_the_dense_one() -> None:
    M = sp.random_array((200, 200), density=0.1, rng=np.random.default_rng(1)).tocsr()
    vectors, values = randomised_svd(M, 20, np.random.default_rng(2), iterations=30)
    U, s, _ = np.linalg.svd(M.toarray())
    assert np.allclose(values, s[:20], rtol=1e-4)
    assert np.linalg.norm(vectors.T @ U[:, :20]) ** 2 >= 20 - 0.1


def test_columns_beyond_the_rank_become_zero() -> None:
    columns = np.random.default_rng(1).standard_normal((50, 3)) @ np.random.default_rng(2).standard_normal((3, 6))
    basis = orthonormalise(columns.copy())
    gram = basis.T @ basis
    assert np.isclose(np.trace(gram), 3)
    assert np.allclose(gram @ gram, gram)
    assert np.allclose(basis @ (basis.T @ columns), columns)
    vectors = principal_vectors(columns.copy(), 8)
    assert vectors.shape == (50, 8)
    assert np.linalg.matrix_rank(vectors) == 3
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@examples(60)
@given(graphs(min_vertices=1, max_vertices=40))
def test_components_are_those_of_scipy(graph: Graph) -> None:
    count, number = components(graph)
    expected_count, expected = scipy.sparse.csgraph.connected_components(graph.to_scipy(), directed=False)
    assert count == expected_count
    assert np.array_equal(number, expected)  # both count in order of the first vertex


def test_a_long_shuffled_path_is_one_component() -> None:
    order = np.random.default_rng(1).permutation(5000)
    assert components(Graph.from_edges(order[:-1], order[1:]))[0] == 1


@pytest.mark.parametrize("x", [0.0, 0.1, 0.5, 3.0, 20.0])
def test_bessel_functions_are_those_of_scipy(x: float) -> None:
    found = [modified_bessel(order, x) for order in range(12)]
    assert np.allclose(found, scipy.special.iv(np.arange(12), x), rtol=1e-11, atol=0)


def test_propagation_is_the_gaussian_filter_written_densely() -> None:
    rng = np.random.default_rng(4)
    A = Graph.from_edges(*rng.integers(0, 40, (2, 90)), 0.5 + rng.random(90), vertices=42).to_scipy().astype(float)
    X = rng.standard_normal((42, 20))
    loops = A.toarray() + np.eye(42)
    L = np.eye(42) - loops / loops.sum(axis=1, keepdims=True)
    H = (np.linalg.matrix_power(L - 0.2 * np.eye(42), 2) - 2 * np.eye(42)) / 2
    values, vectors = np.linalg.eig(H)
    exponential = (vectors * np.exp(-0.5 * values)) @ np.linalg.inv(vectors)
    expected = (loops @ (X - exponential @ X)).real
    before = X.copy()
    assert np.allclose(propagate(A, X, 10, 0.2, 0.5), expected, atol=1e-9)
    assert np.array_equal(X, before)
    assert np.array_equal(propagate(A, X, 1), X)
