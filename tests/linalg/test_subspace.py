"""Chebyshev-filtered subspace iteration against dense decompositions: values and spaces, never last digits."""

import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import parge
from parge.graph.generate import disconnected, grid, path, planted, ring_of_cliques, star, tree
from parge.graph.graph import Graph
from parge.linalg import subspace
from parge.linalg.adjacency import Adjacency
from parge.linalg.subspace import Eigenpairs, Operator, block_width, densely_up_to, leading_eigenpairs
from parge.linalg.tall import rows_of
from parge.testing.graphs import graphs

Matrix = np.ndarray


def weighted(graph: Graph, lightest: float = 0.1, heaviest: float = 10.0) -> Graph:
    """Return the graph with weights that differ by factors."""
    source, target = np.triu(graph.to_scipy().toarray()).nonzero()
    exponents = np.random.default_rng(3).uniform(np.log(lightest), np.log(heaviest), source.size)
    return Graph.from_edges(source, target, np.exp(exponents), vertices=graph.n_vertices)


def cliques_apart(n_cliques: int, size: int, isolated: int) -> Graph:
    """Return equal components: every eigenvalue is repeated as often as there are cliques."""
    pairs = np.array(np.triu_indices(size, 1))
    ends = (pairs[:, None, :] + size * np.arange(n_cliques)[:, None]).reshape(2, -1)
    return Graph.from_edges(*ends, vertices=n_cliques * size + isolated)


SHAPES: dict[str, Callable[[], Graph]] = {
    "communities": lambda: planted(900, 6000, communities=9, seed=2).graph,
    "communities, weighted": lambda: weighted(planted(900, 6000, communities=9, seed=2).graph),
    "weights that differ by 1e12": lambda: weighted(planted(700, 3000, seed=4).graph, 1e-6, 1e6),
    "few edges": lambda: planted(900, 1200, seed=5).graph,
    "tree": lambda: tree(800, seed=3).graph,
    "components and isolated vertices": lambda: disconnected(800, isolated=0.2, seed=1),
    "equal components": lambda: cliques_apart(90, 8, 30),
    "star": lambda: star(700),
    "path": lambda: path(700),
    "grid": lambda: grid(25, 30),
    "ring of cliques": lambda: ring_of_cliques(60, 12),
    "no edge": lambda: Graph.from_edges([], [], vertices=600),
}

TECHNIQUES = {
    "spectral": parge.Spectral(dim=20),
    "spectral, not regularised": parge.Spectral(dim=20, regularisation=0),
    "common neighbours": parge.HOPE(dim=20),
    "katz": parge.HOPE(dim=20, signal="katz"),
    "adamic-adar": parge.HOPE(dim=20, signal="adamic-adar"),
}


def dense(operator: Operator) -> Matrix:
    """Return the symmetric matrix, from the adjacency matrix that scipy has."""
    A = operator.A.graph.to_scipy().toarray().astype(np.float64) / operator.A.moderate()[1]
    M = np.eye(len(A))
    for scale in operator.scales:
        M = A @ M if scale is None else scale[:, None] * (A @ M)
    root = np.ones(len(A)) if operator.root is None else operator.root
    return root[:, None] * M / root


def vectors_of(pairs: Eigenpairs, n: int) -> Matrix:
    return pairs.vectors(slice(0, n))


def check(operator: Operator, pairs: Eigenpairs, n_pairs: int, accuracy: float) -> None:
    """Hold pairs to what they are: orthonormal, nearly invariant, and the ones that are wanted most."""
    M, n = dense(operator), operator.A.shape[0]
    V, values = vectors_of(pairs, n), pairs.values
    size = max(float(np.abs(np.linalg.eigvalsh(M)).max()), 1e-300)
    assert V.shape == (n, values.size)
    np.testing.assert_allclose(V.T @ V, np.eye(values.size), atol=1e-4)
    along = np.linalg.norm(M @ V, axis=0) if operator.is_even else np.einsum("ij,ij->j", V, M @ V)
    assert np.abs(along - (np.abs(values) if operator.is_even else values)).max(initial=0) <= 2e-3 * size
    strengths = np.sort(operator.rank(np.linalg.eigvalsh(M)))[::-1][:n_pairs]
    found = np.zeros(min(n_pairs, n))
    found[: values.size] = operator.rank(values)
    # Never more than there is, and nearly all of it. Products in float32 took complete graphs of 26 and 30 vertices,
    # with filters instead of the dense way, up to 1.1e-4 over it (other core types of BLAS and numba).
    total = max(strengths.sum(), 1e-300)
    assert (np.cumsum(found) <= np.cumsum(strengths) + 1e-3 * total).all()
    assert found.sum() >= (1 - accuracy) * strengths.sum()


# `make test` tries every shape with one technique, and every technique with one shape.
PAIRED = [
    pytest.param(shape, technique, marks=() if technique == "katz" or shape == "few edges" else pytest.mark.slow)
    for shape in SHAPES
    for technique in TECHNIQUES
]


@pytest.mark.parametrize(("shape", "technique"), PAIRED)
def test_pairs_are_nearly_those_of_the_dense_matrix(shape: str, technique: str) -> None:
    operator = TECHNIQUES[technique].operator(Adjacency(SHAPES[shape]()))
    assert operator.A.shape[0] > densely_up_to(20)
    check(operator, leading_eigenpairs(operator, 20), 20, 0.05)
    check(operator, leading_eigenpairs(operator, 20, tolerance=1e-6, steps=40), 20, 0.005)


@pytest.mark.parametrize("technique", TECHNIQUES)
@examples(20)
@given(graph=graphs(min_vertices=1, max_vertices=60), n_pairs=st.integers(1, 12), seed=st.integers(0, 99))
def test_any_graph_by_filters(technique: str, graph: Graph, n_pairs: int, seed: int) -> None:
    """With dense decomposition out of the way, however small the graph: columns then outnumber its directions."""
    with np.errstate(all="raise", under="ignore"):
        operator = TECHNIQUES[technique].operator(Adjacency(graph))
        with patch.object(subspace, "densely_up_to", lambda _: 0):
            pairs = leading_eigenpairs(operator, n_pairs, tolerance=1e-5, seed=seed)
    assert np.isfinite(vectors_of(pairs, graph.n_vertices)).all()
    check(operator, pairs, n_pairs, 0.02)


@pytest.mark.parametrize("technique", TECHNIQUES)
@examples(30)
@given(graph=graphs(min_vertices=1, max_vertices=40), n_pairs=st.integers(1, 60))
def test_small_graphs_are_exact(technique: str, graph: Graph, n_pairs: int) -> None:
    operator = TECHNIQUES[technique].operator(Adjacency(graph))
    pairs = leading_eigenpairs(operator, n_pairs)
    assert pairs.values.size == min(n_pairs, graph.n_vertices)
    check(operator, pairs, n_pairs, 1e-9)


def test_a_gap_in_the_spectrum_gives_the_space() -> None:
    """Nine communities, nine large eigenvalues: their space is that of the dense decomposition."""
    graph = planted(900, 9000, communities=9, mixing=0.1, seed=2).graph
    operator = parge.Spectral(dim=9, regularisation=0.125).operator(Adjacency(graph))
    V = vectors_of(leading_eigenpairs(operator, 9), 900)
    expected = np.linalg.eigh(dense(operator))[1][:, -9:]
    assert np.linalg.norm(V - expected @ (expected.T @ V)) <= 0.01


def test_a_start_that_is_right_stays_right_and_saves_steps() -> None:
    graph = planted(2000, 12_000, communities=12, mixing=0.3, seed=6).graph
    operator = parge.HOPE(dim=16).operator(Adjacency(graph))
    right = vectors_of(leading_eigenpairs(operator, 16, tolerance=1e-9), 2000)
    again = leading_eigenpairs(operator, 16, rows_of(right), tolerance=1e-4)
    fresh = leading_eigenpairs(operator, 16, tolerance=1e-4)
    assert again.steps < fresh.steps
    V = vectors_of(again, 2000)
    assert np.linalg.norm(right - V @ (V.T @ right)) <= 0.01


@pytest.mark.parametrize("technique", ["spectral", "katz", "adamic-adar"])
def test_threads_files_and_columns_change_no_bit(technique: str) -> None:
    graph = weighted(planted(3000, 12_000, seed=7).graph)
    expected = None
    with tempfile.TemporaryDirectory(prefix="parge-test-") as folder:
        names = count()

        def in_file(shape: tuple[int, int], dtype: Any) -> Any:
            return np.lib.format.open_memmap(Path(folder) / f"{next(names)}.npy", "w+", dtype, shape)

        width = block_width(20)
        for threads, matrix, step in ((1, np.empty, width), (3, np.empty, 5), (1, in_file, 7), (2, in_file, width)):
            operator = TECHNIQUES[technique].operator(Adjacency(graph, threads))
            columns = [slice(i, min(i + step, width)) for i in range(0, width, step)]
            pairs = leading_eigenpairs(operator, 20, matrix=matrix, columns=columns)
            found = vectors_of(pairs, 3000)
            expected = found if expected is None else expected
            assert np.array_equal(found, expected)


def test_a_path_without_end_is_answered_with_the_best_found() -> None:
    """Eigenvalues of a long path lie close together: steps end, and vectors are orthonormal all the same."""
    operator = parge.Spectral(dim=16).operator(Adjacency(path(20_000)))
    pairs = leading_eigenpairs(operator, 16, tolerance=0, steps=4)
    assert pairs.steps == 4
    assert 0.85 < pairs.values.max() <= 1.0 + 1e-6
    V = vectors_of(pairs, 20_000)
    np.testing.assert_allclose(V.T @ V, np.eye(16), atol=1e-4)


def test_extreme_weights_neither_overflow_nor_vanish() -> None:
    plain = planted(700, 3000, seed=4).graph
    expected = leading_eigenpairs(TECHNIQUES["common neighbours"].operator(Adjacency(plain)), 20)
    source, target = np.triu(plain.to_scipy().toarray()).nonzero()
    for weight in (1e-30, 1e30):
        graph = Graph.from_edges(source, target, np.full(source.size, weight), vertices=700)
        operator = TECHNIQUES["common neighbours"].operator(Adjacency(graph))
        found = leading_eigenpairs(operator, 20)
        strength = np.sqrt(operator.proximity(found.values)) / weight
        np.testing.assert_allclose(strength, np.abs(expected.values), rtol=1e-3)


def test_the_largest_eigenvalue_swamps_nothing() -> None:
    """A dense core of eigenvalue 400 beside communities of eigenvalue 10: those have their digits, too."""
    source, target = np.triu_indices(400, 1)
    rest = planted(2000, 10_000, communities=10, mixing=0.1, seed=8).graph
    u, v = rest.to_scipy().nonzero()
    graph = Graph.from_edges(np.r_[source, u + 400], np.r_[target, v + 400], vertices=2400)
    operator = parge.HOPE(dim=12).operator(Adjacency(graph))
    pairs = leading_eigenpairs(operator, 12, tolerance=1e-6)
    V, M = vectors_of(pairs, 2400), dense(operator)
    wrong = np.linalg.norm(M @ V - V * pairs.values, axis=0) / np.abs(pairs.values)
    assert pairs.values[0] > 398
    assert (wrong[:8] < 1e-3).all()
