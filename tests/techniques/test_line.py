import numpy as np
import pytest
from tests.kernels import naive
from tests.techniques.cases import communities, separation, shapes
from tests.techniques.contract import TechniqueContract

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.skipgram.settings import NOISE_POWER
from parge.skipgram.train import falling_rates, vertex_table, walk_rows
from parge.techniques import line
from parge.techniques.line import LINE

ORDERS = ("first", "second", "both")


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dim", [2, 20, 32])
def test_every_shape_has_finite_vectors(shape: str, order: str, dim: int) -> None:
    graph = shapes()[shape]
    vectors = LINE(dim=dim, order=order, samples=20).embed(Subgraph.whole(graph), np.random.default_rng(1))
    assert vectors.shape == (graph.n_vertices, dim)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("order", ORDERS)
def test_same_generator_same_bits(order: str) -> None:
    subgraph, _ = communities()
    technique = LINE(dim=16, order=order, samples=20)
    first, again = (technique.embed(subgraph, np.random.default_rng(1)) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_planted_communities_separate(order: str, weighted: bool) -> None:
    subgraph, community = communities(weighted=weighted)
    vectors = LINE(dim=32, order=order).embed(subgraph, np.random.default_rng(1))
    assert separation(vectors, community) > 0.9


@pytest.mark.parametrize("order", ["first", "second"])
def test_vectors_equal_a_slow_twin(order: str) -> None:
    rng = np.random.default_rng(5)
    graph = Graph.from_edges(rng.integers(0, 30, 80), rng.integers(0, 30, 80), rng.random(80), vertices=32)
    technique = LINE(dim=10, order=order, samples=40, negatives=3, learning_rate=0.3)
    vectors = technique.embed(Subgraph.whole(graph), np.random.default_rng(9))

    seed, total = int(np.random.default_rng(9).integers(2**64, dtype=np.uint64)), 40 * 32
    keys = np.array([naive.item_key(seed, 0, i) for i in range(total)], np.uint64)
    ends = vertex_table(graph, 1.0)
    edges = np.empty((total, 2), np.int32)
    for i, key in enumerate(keys.tolist()):
        start = naive.draw_item(ends, next(naive.stream(key, naive.START)))
        edges[i] = naive.walk(graph, start, key, 2)
    In = naive.uniform_rows(seed, 0.1, 10, 32, 10).astype(np.float64)
    Out = In if order == "first" else np.zeros_like(In)
    start = In.copy()
    naive.train(In, Out, vertex_table(graph, NOISE_POWER), edges, keys, falling_rates(0.3, 0, total, total), 1, 3)
    assert np.abs(In - start).max() > 0.1
    np.testing.assert_allclose(vectors, In, atol=1e-4)


def test_edges_are_drawn_by_weight() -> None:
    graph = Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [1.0, 2.0, 3.0, 4.0])
    keys = np.arange(40_000, dtype=np.uint64)
    edges = np.sort(line._draw_edges(walk_rows(graph), vertex_table(graph, 1.0), keys), axis=1)
    found = {pair: float((edges == pair).all(axis=1).mean()) for pair in [(0, 1), (1, 2), (2, 3), (0, 3)]}
    assert found == pytest.approx({(0, 1): 0.1, (1, 2): 0.2, (2, 3): 0.3, (0, 3): 0.4}, abs=0.01)


def test_halves_have_unit_length_but_isolated_vertices_stay_tiny() -> None:
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], vertices=5)
    vectors = LINE(dim=8, samples=50).embed(Subgraph.whole(graph), np.random.default_rng(1))
    np.testing.assert_allclose(np.linalg.norm(vectors[:3, :4], axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors[:3, 4:], axis=1), 1.0, rtol=1e-5)
    assert np.abs(vectors[3:]).max() <= 1 / 4


def test_progress_rises_to_one() -> None:
    subgraph, _ = communities()
    shares: list[float] = []
    LINE(dim=8, samples=600).embed(subgraph, np.random.default_rng(1), progress=shares.append)
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": "third"}, "order of line must be 'both', 'first' or 'second'; got 'third'"),
        ({"dim": 7}, "must be even .*got 7"),
        ({"samples": 0}, "samples of line must be a whole number of at least 1; got 0"),
        ({"learning_rate": -1}, "learning_rate of line must be a number above 0 .*got -1"),
    ],
)
def test_settings_that_cannot_work_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LINE(**settings)


@pytest.mark.slow
class TestLINEContract(TechniqueContract):
    def technique(self) -> LINE:
        return LINE(samples=5)

    def quick(self) -> LINE:
        return LINE(dim=32)


@pytest.mark.slow
class TestLINEOfFirstOrderContract(TechniqueContract):
    def technique(self) -> LINE:
        return LINE(order="first", samples=5)

    def quick(self) -> LINE:
        return LINE(dim=32, order="first")
