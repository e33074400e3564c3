"""The spectral technique against a dense decomposition, and in parts against the whole graph."""

from typing import Any

import numpy as np
import pytest

import parge
from parge.errors import InputError
from parge.graph.generate import disconnected, planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph

PLANTED = planted(400, 2400, communities=5, mixing=0.2, seed=5).graph


def embed(graph: Graph, dim: int, **settings: Any) -> Any:
    return parge.Spectral(dim=dim, **settings).embed(Subgraph.whole(graph), np.random.default_rng(1)).astype(np.float64)


def by_definition(graph: Graph, dim: int, share: float) -> Any:
    """Return unit rows of V Λ, all matrices dense."""
    A = graph.to_scipy().toarray().astype(np.float64)
    degrees = A.sum(axis=1) + share * A.sum() / len(A)
    root = np.diag(1 / np.sqrt(degrees))
    values, vectors = np.linalg.eigh(root @ A @ root)
    E = vectors[:, ::-1][:, :dim] * np.maximum(values[::-1][:dim], 0)
    return E / np.linalg.norm(E, axis=1, keepdims=True)


@pytest.mark.parametrize("share", [0.0, 0.25, 2.0])
def test_inner_products_are_those_of_the_definition(share: float) -> None:
    E, expected = embed(PLANTED, 6, regularisation=share), by_definition(PLANTED, 6, share)
    np.testing.assert_allclose(E @ E.T, expected @ expected.T, atol=1e-5)


def test_weights_count() -> None:
    weights = np.random.default_rng(2).uniform(0.2, 4, PLANTED.n_edges)
    source, target = np.triu(PLANTED.to_scipy().toarray()).nonzero()
    graph = Graph.from_edges(source, target, weights, vertices=PLANTED.n_vertices)
    E, expected = embed(graph, 6), by_definition(graph, 6, 0.125)
    np.testing.assert_allclose(E @ E.T, expected @ expected.T, atol=1e-5)


def test_parts_refined_meet_the_whole_graph() -> None:
    technique = parge.Spectral(dim=5)
    whole = technique.embed(Subgraph.whole(PLANTED), np.random.default_rng(0))
    plan = parge.Plan(technique=technique, parts=4, engine="serial", seed=3)
    found = parge.embed(PLANTED, plan)
    assert found.report.refine.name == "subspace"
    # Every inner product is that of the whole graph: the same vectors but for a rotation.
    np.testing.assert_allclose(found.vectors @ found.vectors.T, whole @ whole.T, atol=0.02)


def test_isolated_vertices_lie_at_the_origin_and_others_on_the_sphere() -> None:
    graph = disconnected(300, isolated=0.2, seed=1)
    E = embed(graph, 300)
    lengths = np.linalg.norm(E, axis=1)
    assert not lengths[graph.degrees == 0].any()
    np.testing.assert_allclose(lengths[graph.degrees > 0], 1, atol=1e-6)


def test_components_out_of_reach_are_no_directions() -> None:
    """One column follows the dense component; a pair apart has nothing but rounding errors there."""
    source, target = np.triu_indices(12, 1)
    E = embed(Graph.from_edges([*source, 12], [*target, 13]), 1)
    np.testing.assert_allclose(np.abs(E[:12]), 1)
    assert not E[12:].any()


def test_no_regularisation_gives_every_component_a_direction_of_its_own() -> None:
    source, target = np.triu_indices(4, 1)
    E = embed(Graph.from_edges([*source, *(source + 4)], [*target, *(target + 4)]), 2, regularisation=0)
    same = np.kron(np.eye(2), np.ones((4, 4)))
    np.testing.assert_allclose(E @ E.T, same, atol=1e-6)


def test_a_negative_regularisation_is_refused() -> None:
    with pytest.raises(InputError, match=r"regularisation .*spectral .* 0"):
        parge.Spectral(regularisation=-1)
