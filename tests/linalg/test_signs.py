"""Eigenvectors point, and stand in an order, that rounding does not decide: simulated here, measured elsewhere.

(`tests/benchmarks/test_processors.py` compares what two kinds of processor give.)
"""

from collections.abc import Callable

import numpy as np
import pytest

import parge
from parge.evaluate.signals import signal_of
from parge.graph.generate import path, planted
from parge.graph.graph import Graph
from parge.linalg.eigen import magnitude, principal_vectors, top_eigenpairs
from parge.linalg.signs import best_first, fix_signs, signs, weighed_sums
from parge.linalg.tall import rows_of
from parge.linalg.threads import one_blas_thread
from parge.refine.base import Refiner, Workspace
from parge.refine.propagate import Propagate
from parge.refine.subspace import Subspace
from parge.report.projection import pca
from parge.testing.reconciler import random_rotation

Matrix = np.ndarray


def mirrored(n: int = 40) -> Graph:
    """Return a graph of two equal halves and an edge: half of its eigenvectors change sign from half to half."""
    half = planted(n, 4 * n, communities=2, seed=3).graph
    once = half.indices > np.repeat(np.arange(n), half.degrees)
    source, target = np.repeat(np.arange(n), half.degrees)[once], half.indices[once]
    return Graph.from_edges(np.r_[source, source + n, 0], np.r_[target, target + n, n], vertices=2 * n)


def rounded_otherwise(vectors: Matrix, seed: int) -> Matrix:
    """Return the vectors as another processor may give them: rounded otherwise, signs by chance."""
    rng = np.random.default_rng(seed)
    return (vectors + 1e-9 * rng.standard_normal(vectors.shape)) * rng.choice([-1.0, 1.0], vectors.shape[1])


def test_rounding_does_not_decide_a_sign() -> None:
    vectors = np.linalg.eigh(mirrored().to_scipy().toarray())[1]
    opposite = np.abs(vectors.max(axis=0) + vectors.min(axis=0)) < 1e-9
    assert opposite.sum() >= 20  # where the largest entry tells nothing
    expected = fix_signs(vectors.copy())
    for seed in range(20):
        assert np.abs(fix_signs(rounded_otherwise(vectors, seed)) - expected).max() < 1e-7


def test_a_column_without_negative_entries_stays_so() -> None:
    one_each = np.eye(300)
    assert (fix_signs(-one_each) >= 0).all()
    assert (fix_signs(-np.random.default_rng(1).random((50, 4))) >= 0).all()
    assert not fix_signs(np.zeros((5, 2))).any()
    assert fix_signs(np.empty((0, 3))).shape == (0, 3)


def test_the_rule_is_the_same_in_blocks_and_for_any_precision() -> None:
    vectors = np.random.default_rng(2).standard_normal((20_000, 200))
    turn = np.random.default_rng(3).standard_normal((200, 7))
    in_blocks = signs(weighed_sums(len(vectors), rows_of(vectors), dim=200) @ turn)
    expected = fix_signs(vectors @ turn)
    assert np.allclose(vectors @ turn * in_blocks, expected)
    assert fix_signs((vectors @ turn).astype(np.float32)).dtype == np.float32
    assert np.allclose(fix_signs((vectors @ turn).astype(np.float32)), expected, atol=1e-3)


@pytest.mark.parametrize("n", [41, 400])  # densely, and by a Krylov space
def test_pairs_of_opposite_eigenvalues_come_in_one_order(n: int) -> None:
    """A path has no odd cycle: every eigenvalue has its negative, and rounding would choose the first."""
    A = path(n).to_scipy().astype(np.float64)
    with one_blas_thread():
        values, _ = top_eigenpairs(A.__matmul__, n, 6, np.random.default_rng(0), rank=magnitude)
    assert (values[0::2] > 0).all()
    assert np.allclose(values[0::2], -values[1::2], atol=1e-6)
    assert signal_of(path(n), "adjacency").spectrum(6).values.size >= 6


def test_the_order_is_by_rank_where_ranks_differ() -> None:
    values = np.random.default_rng(4).standard_normal(500)
    assert np.array_equal(best_first(values, np.abs), np.argsort(-np.abs(values)))
    assert np.array_equal(best_first(values, np.positive), np.argsort(-values))
    assert best_first(np.zeros(0), np.abs).size == 0
    noise = 1e-14 * np.random.default_rng(5).standard_normal(6)
    assert best_first(np.array([-3.0, 3.0, -3.0, 2.0, -2.0, 3.0]) + noise, np.abs)[2:].tolist() in (
        [0, 2, 3, 4],
        [2, 0, 3, 4],
    )


PASSES: dict[str, tuple[Refiner, parge.HOPE | parge.Spectral]] = {
    "hope": (Subspace(), parge.HOPE(dim=6)),
    "both halves": (Subspace(), parge.HOPE(dim=6, half="both")),
    "spectral": (Subspace(), parge.Spectral(dim=6)),
    "propagate": (Propagate(), parge.HOPE(dim=6)),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_ends_with_the_same_vectors_however_they_were_turned_before(name: str) -> None:
    """Not the same inner products alone, as its law asks: the same columns, signs and all."""
    refiner, technique = PASSES[name]
    graph = planted(300, 1500, communities=4, seed=1).graph
    start = np.random.default_rng(6).standard_normal((300, 6)).astype(np.float32)

    def refined(turn: Matrix) -> Matrix:
        vectors = (start @ turn).astype(np.float32)
        refiner.refine(graph, vectors, technique, Workspace(threads=1))
        return vectors

    expected = refined(np.eye(6))
    turns = [-np.eye(6), *(random_rotation(np.random.default_rng(seed), 6) for seed in range(4))]
    for turn in turns:
        assert np.linalg.norm(refined(turn) - expected) < 2e-2 * np.linalg.norm(expected)


DECOMPOSED: dict[str, Callable[[Matrix], Matrix]] = {
    "principal vectors": lambda columns: principal_vectors(columns.copy(), 5),
    "the plane of a picture": lambda columns: pca(columns, np.ones(len(columns), np.bool_))[0],
}


@pytest.mark.parametrize("name", DECOMPOSED)
def test_turned_columns_have_the_same_singular_vectors(name: str) -> None:
    columns = np.random.default_rng(7).standard_normal((200, 5)) * [5, 4, 3, 2, 1]
    for seed in range(6):
        turn = random_rotation(np.random.default_rng(seed), 5)
        assert np.abs(DECOMPOSED[name](columns @ turn) - DECOMPOSED[name](columns)).max() < 1e-5
