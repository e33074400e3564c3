import numpy as np
import pytest
from tests.techniques.cases import communities, separation, shapes
from tests.techniques.contract import TechniqueContract

from parge.errors import InputError
from parge.graph.subgraph import Subgraph
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.node2vec import Node2Vec


@pytest.mark.parametrize("shape", shapes())
def test_every_shape_has_finite_vectors(shape: str) -> None:
    graph = shapes()[shape]
    technique = Node2Vec(dim=20, walks=2, walk_length=10, p=0.1, q=8.0)
    vectors = technique.embed(Subgraph.whole(graph), np.random.default_rng(1))
    assert vectors.shape == (graph.n_vertices, 20)
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()


def test_without_bias_it_is_deepwalk() -> None:
    subgraph, _ = communities()
    settings = {"dim": 16, "walks": 3, "walk_length": 20}
    plain = DeepWalk(**settings).embed(subgraph, np.random.default_rng(1))
    assert np.array_equal(plain, Node2Vec(**settings, p=1, q=1).embed(subgraph, np.random.default_rng(1)))
    assert not np.array_equal(plain, Node2Vec(**settings, p=2).embed(subgraph, np.random.default_rng(1)))


def test_memory_is_that_of_deepwalk() -> None:
    # The contract below holds it to that bound: no tables over edges or pairs of them.
    assert Node2Vec(p=0.5, q=2.0).footprint() == DeepWalk().footprint()


def test_walks_of_two_vertices_have_no_second_order() -> None:
    subgraph, _ = communities()
    vectors = Node2Vec(dim=8, walk_length=2, p=0.5).embed(subgraph, np.random.default_rng(1))
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize(("p", "q"), [(0.25, 4.0), (4.0, 0.25)])
@pytest.mark.parametrize("weighted", [False, True])
def test_planted_communities_separate(p: float, q: float, weighted: bool) -> None:
    subgraph, community = communities(weighted=weighted)
    vectors = Node2Vec(dim=32, p=p, q=q).embed(subgraph, np.random.default_rng(1))
    assert separation(vectors, community) > 0.9


@pytest.mark.parametrize(("field", "value"), [("p", 0), ("p", -1.0), ("q", 1e9), ("q", float("nan")), ("walks", 0)])
def test_settings_that_cannot_work_are_named(field: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{field} .*node2vec"):
        Node2Vec(**{field: value})


@pytest.mark.slow
class TestNode2VecContract(TechniqueContract):
    def technique(self) -> Node2Vec:
        return Node2Vec(walks=1, walk_length=10, p=0.5, q=2.0)

    def quick(self) -> Node2Vec:
        return Node2Vec(dim=32, p=0.5, q=2.0)
