"""GraphSAGE: the contract, what it learns, and what it says where PyTorch is absent."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest
from tests.techniques.contract import TechniqueContract

from parge.errors import InputError, MissingExtraError
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.techniques.base import Technique
from parge.techniques.graphsage import GraphSAGE, Neighbourhood, with_averages
from parge.testing.technique import communities, separation

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is absent: pip install 'parge[torch]'")


@needs_torch
@pytest.mark.slow
class TestGraphSAGE(TechniqueContract):
    def technique(self) -> Technique:
        return GraphSAGE(walks=1)

    def quick(self) -> Technique:
        return GraphSAGE(dim=32, walks=60, batch=32, learning_rate=0.01)


@pytest.mark.slow
@needs_torch
def test_training_helps() -> None:
    subgraph, community = communities()
    rng = np.random.default_rng(1)
    features = np.hstack([np.eye(4)[community], np.zeros((len(community), 12))])
    noisy = Subgraph.whole(subgraph.graph.with_features(features + rng.standard_normal(features.shape)))
    settings = {"dim": 16, "walks": 60, "batch": 32}
    trained, untrained = (
        separation(GraphSAGE(**settings, learning_rate=rate).embed(noisy, np.random.default_rng(1)), community)
        for rate in (0.01, 0.0)
    )
    assert trained >= 0.9
    assert trained >= untrained + 0.2


@needs_torch
def test_nothing_of_torch_is_changed() -> None:
    import torch

    before = (torch.get_num_threads(), torch.get_rng_state().tolist(), torch.get_default_dtype())
    GraphSAGE(dim=8, walks=1).embed(communities()[0], np.random.default_rng(1))
    assert (torch.get_num_threads(), torch.get_rng_state().tolist(), torch.get_default_dtype()) == before


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"torch.* pip install 'parge\[torch\]'"):
        GraphSAGE().embed(communities()[0], np.random.default_rng(1))


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match=r"samples .*graphsage .* 1.* 0"):
        GraphSAGE(samples=0)
    with pytest.raises(InputError, match=r"learning_rate .*graphsage .* 0.* inf"):
        GraphSAGE(learning_rate=float("inf"))


@pytest.mark.parametrize("weighted", [False, True])
def test_neighbours_are_drawn_by_weight(weighted: bool) -> None:
    weights = [1.0, 3.0, 6.0] if weighted else None
    near = Neighbourhood(Graph.from_edges([0, 0, 0], [1, 2, 3], weights, vertices=5))
    drawn = near.sample(np.array([0, 1, 4]), 30_000, np.random.default_rng(1))
    shares = np.bincount(drawn[0], minlength=5) / 30_000
    assert np.allclose(shares, [0, 0.1, 0.3, 0.6, 0] if weighted else [0, 1 / 3, 1 / 3, 1 / 3, 0], atol=0.01)
    assert set(drawn[1]) == {0}
    assert set(drawn[2]) == {4}


def test_negatives_follow_degrees_and_walks_follow_edges() -> None:
    near = Neighbourhood(Graph.from_edges([0, 0, 0], [1, 2, 3], vertices=5))
    drawn = near.noise(40_000, np.random.default_rng(1))
    expected = np.array([3, 1, 1, 1, 0]) ** 0.75
    assert np.allclose(np.bincount(drawn, minlength=5) / 40_000, expected / expected.sum(), atol=0.01)
    path = Neighbourhood(Graph.from_edges(np.arange(20), np.arange(1, 21)))
    ends = path.walk(np.full(2000, 10), 3, np.random.default_rng(1))
    assert set(ends) == {7, 8, 9, 10, 11, 12, 13}


def test_averages_are_by_weight() -> None:
    graph = Graph.from_edges([0, 0], [1, 2], [1.0, 3.0], vertices=4)
    rows = np.array([[1.0], [2.0], [6.0], [9.0]], np.float32)
    assert with_averages(graph, rows).tolist() == [[1, 5], [2, 1], [6, 1], [9, 0]]
