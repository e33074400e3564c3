"""HOPE against dense decompositions of each of its signals."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.errors import InputError
from parge.graph.generate import planted, ring_of_cliques
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.threads import one_blas_thread
from parge.techniques.hope import HOPE

PLANTED = planted(300, 1800, communities=4, seed=5).graph


def embed(graph: Graph, **settings: object) -> np.ndarray:  # type: ignore[type-arg]
    vectors = HOPE(**settings).embed(Subgraph.whole(graph), np.random.default_rng(1))  # type: ignore[arg-type]
    return vectors.astype(np.float64)


def adamic_adar(graph: Graph) -> np.ndarray:  # type: ignore[type-arg]
    """Return Σ over common neighbours of 1 / log degree, one pair at a time."""
    A = graph.to_scipy().toarray().astype(np.float64)
    M = np.zeros_like(A)
    for middle in range(graph.n_vertices):
        if graph.degrees[middle] > 1:
            M += np.outer(A[:, middle], A[middle]) / np.log(graph.degrees[middle])
    return M


def nearest(M: np.ndarray, rank: int) -> np.ndarray:  # type: ignore[type-arg]
    U, s, _ = np.linalg.svd(M)
    return (U[:, :rank] * s[:rank]) @ U[:, :rank].T


def difference(found: np.ndarray, expected: np.ndarray) -> float:  # type: ignore[type-arg]
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.shared
@pytest.mark.slow
def test_cora_is_the_dense_decomposition(shared: Callable[[str], Path]) -> None:
    graph = parge.read(shared("cora.edges.gz"), vertices=2708)
    A = graph.to_scipy().toarray().astype(np.float64)
    E = embed(graph, dim=128)
    with one_blas_thread():
        values, vectors = np.linalg.eigh(A)
    best = np.argsort(-np.abs(values))[:128]
    expected = (vectors[:, best] * values[best] ** 2) @ vectors[:, best].T
    assert difference(E @ E.T, expected) <= 0.03


@pytest.mark.parametrize("dim", [5, 32])
def test_adamic_adar_is_the_dense_decomposition(dim: int) -> None:
    E = embed(PLANTED, dim=dim, signal="adamic-adar")
    assert difference(E @ E.T, nearest(adamic_adar(PLANTED), dim)) <= 1e-6


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("dim", [5, 32])
def test_katz_is_the_dense_decomposition(dim: int, share: float) -> None:
    A = PLANTED.to_scipy().toarray().astype(np.float64)
    beta = share / np.abs(np.linalg.eigvalsh(A)).max()
    U, s, Vt = np.linalg.svd(np.linalg.inv(np.eye(300) - beta * A) - np.eye(300))
    source = embed(PLANTED, dim=dim, signal="katz", beta=beta, half="source")
    target = embed(PLANTED, dim=dim, signal="katz", beta=beta, half="target")
    assert difference(source @ target.T, (U[:, :dim] * s[:dim]) @ Vt[:dim]) <= 1e-6


def test_vectors_of_few_vertices_are_exact_and_filled_with_zeros() -> None:
    graph = ring_of_cliques(4, 5)
    E = embed(graph, dim=64)
    A = graph.to_scipy().toarray()
    assert np.allclose(E @ E.T, A @ A, atol=1e-4)
    assert not E[:, 20:].any()


def test_isolated_vertices_lie_at_the_origin() -> None:
    graph = Graph.from_edges(*np.triu_indices(300, 299), vertices=302)
    assert np.abs(embed(graph, dim=4)[300:]).max() <= 1e-9


def test_halves_multiply_to_the_signal() -> None:
    # Katz has negative eigenvalues, on which the halves differ in sign.
    A = PLANTED.to_scipy().toarray().astype(np.float64)
    beta = 0.9 / np.abs(np.linalg.eigvalsh(A)).max()
    M = np.linalg.inv(np.eye(300) - beta * A) - np.eye(300)
    source = embed(PLANTED, dim=300, signal="katz", beta=beta, half="source")
    target = embed(PLANTED, dim=300, signal="katz", beta=beta, half="target")
    assert difference(source @ target.T, M) <= 1e-6
    assert difference(source @ source.T, M) > 1e-3
    both = embed(PLANTED, dim=20, signal="katz", beta=beta, half="both")
    few = embed(PLANTED, dim=10, signal="katz", beta=beta, half="source")
    assert np.allclose(both[:, :10], few, atol=1e-5)
    assert np.allclose(np.abs(both[:, 10:]), np.abs(few), atol=1e-5)


def test_halves_of_a_small_graph_keep_their_places() -> None:
    both = embed(Graph.from_edges([0], [1]), dim=8, half="both")
    assert both.shape == (2, 8)
    assert np.array_equal(both[:, 0:2], both[:, 4:6])
    assert not both[:, [2, 3, 6, 7]].any()


def test_the_default_decay_is_half_of_what_converges() -> None:
    A = PLANTED.to_scipy().toarray().astype(np.float64)
    radius = np.abs(np.linalg.eigvalsh(A)).max()
    found = embed(PLANTED, dim=16, signal="katz")
    assert difference(found, embed(PLANTED, dim=16, signal="katz", beta=0.5 / radius)) <= 1e-4


def test_a_decay_that_does_not_converge_is_refused_with_the_limit() -> None:
    with pytest.raises(InputError, match=r"0\.25 .* 0\.5"):
        embed(Graph.from_edges(*np.triu_indices(5, 1)), dim=2, signal="katz", beta=0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, "dim of hope must be a whole number of at least 1; got 0"),
        ({"dim": 2.5}, "dim of hope must be a whole number"),
        ({"signal": "cosine"}, "one of common-neighbours, katz, adamic-adar; got 'cosine'"),
        ({"half": "left"}, "one of source, target, both; got 'left'"),
        ({"half": "both", "dim": 7}, "must be even .*got 7"),
        ({"beta": 0.1}, "beta of hope is only for the signal katz"),
        ({"beta": float("nan"), "signal": "katz"}, "beta of hope must be a number of at least 0; got nan"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HOPE(**settings)  # type: ignore[arg-type]
