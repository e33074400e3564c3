"""NetMF: exact against its formula, low-rank against exact."""

import numpy as np
import pytest

from parge.errors import InputError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.techniques.netmf import NetMF

PLANTED = planted(300, 1800, communities=4, seed=5).graph


def embed(graph: Graph, **settings: int) -> np.ndarray:  # type: ignore[type-arg]
    return NetMF(**settings).embed(Subgraph.whole(graph), np.random.default_rng(1)).astype(np.float64)


def by_walks(graph: Graph, window: int, negatives: int) -> np.ndarray:  # type: ignore[type-arg]
    """Return log max(M, 1) from powers of the walk's own matrix."""
    A = graph.to_scipy().toarray().astype(np.float64)
    degrees = A.sum(axis=1)
    inverse = np.divide(1, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    P = inverse[:, None] * A
    powers = sum(np.linalg.matrix_power(P, r) for r in range(1, window + 1))
    return np.log(np.maximum(degrees.sum() / (window * negatives) * powers * inverse, 1))


def difference(found: np.ndarray, expected: np.ndarray) -> float:  # type: ignore[type-arg]
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize(("window", "negatives"), [(1, 1), (10, 1), (5, 3)])
def test_the_exact_matrix_is_the_formula(window: int, negatives: int) -> None:
    weights = np.linspace(0.5, 3, 300)
    graph = Graph.from_edges(*np.random.default_rng(1).integers(0, 100, (2, 300)), weights, vertices=105)
    found = NetMF(window=window, negatives=negatives).exact_logarithm(graph)
    assert np.allclose(found, by_walks(graph, window, negatives), atol=1e-10)


def test_exact_vectors_are_the_dense_decomposition() -> None:
    E = embed(PLANTED, dim=16)
    values, vectors = np.linalg.eigh(by_walks(PLANTED, 10, 1))
    best = np.argsort(-np.abs(values))[:16]
    assert difference(E @ E.T, (vectors[:, best] * np.abs(values[best])) @ vectors[:, best].T) <= 1e-5


def test_a_rank_of_all_eigenpairs_is_exact() -> None:
    exact, low_rank = embed(PLANTED, dim=300), embed(PLANTED, dim=300, rank=300, exact_up_to=0)
    assert difference(low_rank @ low_rank.T, exact @ exact.T) <= 1e-3


def test_more_eigenpairs_are_nearer() -> None:
    # Not with every one: the logarithm of a partial sum may step away before all of the sum is there.
    exact = embed(PLANTED, dim=16)
    low_ranks = [embed(PLANTED, dim=16, rank=rank, exact_up_to=0) for rank in (8, 64, 300)]
    differences = [difference(vectors @ vectors.T, exact @ exact.T) for vectors in low_ranks]
    assert differences[0] > 1.5 * differences[1] > differences[2]
    assert differences[2] <= 0.1  # what five passes of subspace iteration leave; with all columns it is exact, above


@pytest.mark.slow
def test_components_cost_no_rank() -> None:
    # 300 components hold 300 eigenvectors of eigenvalue 1; a rank of 8 must not be spent on them.
    clique = np.array(np.triu_indices(4, 1))
    source, target = (clique[:, None, :] + 4 * np.arange(300)[:, None]).reshape(2, -1)
    graph = Graph.from_edges(source, target, vertices=1210)
    logs = NetMF(rank=8)._low_rank(graph, np.random.default_rng(1), lambda _share: None)
    columns = np.random.default_rng(2).standard_normal((1210, 5))
    expected = by_walks(graph, 10, 1)
    found = logs.product(columns)
    assert difference(found, expected @ columns) <= 0.05  # K_4's other eigenvalue, -1/3, adds little
    assert not found[1200:].any()


@pytest.mark.slow
def test_components_of_all_sizes_are_multiplied_as_one_matrix_would() -> None:
    rng = np.random.default_rng(3)
    parts = [rng.integers(0, 40, (2, 120)), 40 + rng.integers(0, 1100, (2, 4000)), [[1140, 1142], [1141, 1143]]]
    source, target = np.concatenate([np.asarray(part) for part in parts], axis=1)
    graph = Graph.from_edges(source, target, vertices=1150)
    logs = NetMF(rank=1150)._low_rank(graph, np.random.default_rng(1), lambda _share: None)
    columns = np.random.default_rng(2).standard_normal((1150, 3))
    assert difference(logs.product(columns), by_walks(graph, 10, 1) @ columns) <= 1e-4


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match=r"window .*netmf .* 1.* 0"):
        NetMF(window=0)
    with pytest.raises(InputError, match=r"exact_up_to .*netmf .* 0.* -1"):
        NetMF(exact_up_to=-1)
