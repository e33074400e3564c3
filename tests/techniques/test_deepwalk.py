import pickle

import numpy as np
import pytest
from hypothesis import given
from tests.examples import examples
from tests.techniques.cases import communities, separation, shapes
from tests.techniques.contract import TechniqueContract

import parge
from parge.errors import InputError, TechniqueError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.skipgram import train
from parge.techniques.deepwalk import DeepWalk
from parge.testing.graphs import graphs
from parge.typing import FloatArray

SMALL = DeepWalk(dim=16, walks=4, walk_length=20)


def _embed(technique: DeepWalk, subgraph: Subgraph, seed: int = 1) -> FloatArray:
    return technique.embed(subgraph, np.random.default_rng(seed))


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("dim", [1, 16, 100])
def test_every_shape_has_finite_vectors(shape: str, dim: int) -> None:
    graph = shapes()[shape]
    vectors = _embed(DeepWalk(dim=dim, walks=2, walk_length=10), Subgraph.whole(graph))
    assert vectors.shape == (graph.n_vertices, dim)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.isfinite(vectors).all()


@examples(30)
@given(graphs(ids="numbers"))
def test_any_graph_has_finite_vectors_of_moderate_length(graph: Graph) -> None:
    vectors = _embed(DeepWalk(dim=8), Subgraph.whole(graph))
    assert np.isfinite(vectors).all()
    assert np.abs(vectors).max(initial=0) < 100


def test_same_generator_same_bits_and_another_seed_differs() -> None:
    subgraph, _ = communities()
    first = _embed(SMALL, subgraph)
    assert np.array_equal(first, _embed(pickle.loads(pickle.dumps(SMALL)), subgraph))
    assert not np.array_equal(first, _embed(SMALL, subgraph, seed=2))


def test_result_does_not_depend_on_the_size_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    subgraph, _ = communities()
    whole = _embed(SMALL, subgraph)
    monkeypatch.setattr(train, "BATCH_STEPS", 1000)
    assert np.array_equal(whole, _embed(SMALL, subgraph))


def test_isolated_vertices_have_tiny_different_vectors() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], vertices=8)
    vectors = _embed(SMALL, Subgraph.whole(graph))
    assert np.abs(vectors[3:]).max() <= 1 / 16
    assert np.unique(vectors[3:], axis=0).shape[0] == 5


@pytest.mark.parametrize("weighted", [False, True])
def test_planted_communities_separate(weighted: bool) -> None:
    subgraph, community = communities(weighted=weighted)
    assert separation(_embed(DeepWalk(dim=32), subgraph), community) > 0.9


def test_the_graph_is_left_as_it_was_and_progress_rises_to_one() -> None:
    subgraph, _ = communities(weighted=True)
    before = [array.copy() for array in (subgraph.graph.indptr, subgraph.graph.indices, subgraph.graph.weights)]
    shares: list[float] = []
    SMALL.embed(subgraph, np.random.default_rng(1), progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for old, new in zip(before, (subgraph.graph.indptr, subgraph.graph.indices, subgraph.graph.weights), strict=True):
        assert np.array_equal(old, new)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dim", 0),
        ("dim", 12.5),
        ("walks", 0),
        ("walk_length", 1),
        ("window", True),
        ("negatives", -1),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("learning_rate", "fast"),
    ],
)
def test_settings_that_cannot_work_are_named(field: str, value: object) -> None:
    with pytest.raises(InputError, match=f"{field} .*deepwalk .* {value!r}"):
        DeepWalk(**{field: value})


def test_divergence_is_named() -> None:
    subgraph, _ = communities()
    with pytest.raises(TechniqueError, match=r"learning_rate=100"):
        _embed(DeepWalk(dim=16, learning_rate=100.0), subgraph)


def test_rates_fall_to_one_percent() -> None:
    rates = np.concatenate([train.falling_rates(0.05, first, 100, 1000) for first in range(0, 1000, 100)])
    assert rates[0] == np.float32(0.05)
    assert (np.diff(rates) <= 0).all()
    assert rates[-1] == pytest.approx(0.0005)


@pytest.mark.slow
class TestDeepWalkContract(TechniqueContract):
    def technique(self) -> DeepWalk:
        return DeepWalk(walks=1, walk_length=10)

    def quick(self) -> DeepWalk:
        return DeepWalk(dim=32)


def test_large_sparse_graphs_settle() -> None:
    sparse = planted(33_000, 132_000, seed=1).graph
    assert parge.DeepWalk(dim=128).refine_for(sparse) == "settle"
    assert parge.DeepWalk(dim=128).refine_for(planted(33_000, 132_100, seed=1).graph) == "whiten"
    assert parge.DeepWalk(dim=128).refine_for(planted(3_000, 9_000, seed=1).graph) == "whiten"
    assert parge.Plan(parts=2).resolved.refined_for(sparse).refine == "settle"
    assert parge.Plan(parts=2, refine="none").resolved.refined_for(sparse).refine == "none"
    assert parge.Plan(parts=1).resolved.refined_for(sparse).refine == "settle"
