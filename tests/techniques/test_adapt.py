"""Anyone's code as a technique: what is called how, and what is said when it answers wrongly."""

import copy
import pickle
import random
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from parge.errors import InputError, TechniqueError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.techniques.adapt import adapt
from parge.techniques.base import Technique, embed_checked
from parge.techniques.registry import techniques

GRAPH = planted(120, 700, communities=4, seed=5).graph
SUBGRAPH = Subgraph(GRAPH, np.arange(120), 120, index=3)


def run(technique: Technique, seed: int = 1, subgraph: Subgraph = SUBGRAPH) -> np.ndarray:  # type: ignore[type-arg]
    return embed_checked(technique, subgraph, np.random.default_rng(seed))


def draw(csr: Any, rng: np.random.Generator) -> Any:
    return rng.standard_normal((csr.shape[0], 4))


class KarateClubStyle:
    """What karateclub's estimators look like: networkx in, a seed, state between fit and get_embedding."""

    def __init__(self, dimensions: int = 3, seed: int = 42) -> None:
        self.dimensions, self.seed = dimensions, seed

    def fit(self, graph: Any) -> None:
        assert list(graph.nodes()) == list(range(graph.number_of_nodes()))
        random.seed(self.seed)
        np.random.seed(self.seed)
        self._embedding = np.random.rand(graph.number_of_nodes(), self.dimensions)
        self._embedding[:, 0] = [degree for _, degree in graph.degree()]

    def get_embedding(self) -> Any:
        return self._embedding


class FitsMatrices:
    """fit(csr) and get_embedding()."""

    def fit(self, matrix: Any) -> None:
        assert sp.issparse(matrix)
        self.rows = matrix.toarray()[:, :5]

    def get_embedding(self) -> Any:
        return self.rows


def test_a_callable_receives_matrix_and_generator() -> None:
    seen = {}

    def technique(csr: Any, rng: np.random.Generator) -> Any:
        seen["csr"], seen["state"] = csr.copy(), rng.bit_generator.state
        csr.data[:] = 7  # its own to change
        csr.indices[:] = 0
        return np.zeros((csr.shape[0], 2))

    before = GRAPH.indices.copy()
    assert run(adapt(technique)).shape == (120, 2)
    assert (seen["csr"] != GRAPH.to_scipy()).nnz == 0
    assert seen["state"] == np.random.default_rng(1).bit_generator.state
    assert np.array_equal(GRAPH.indices, before)


def test_a_callable_may_take_the_matrix_alone() -> None:
    assert run(adapt(lambda csr: csr[:, :3].toarray())).shape == (120, 3)


def test_the_generator_decides() -> None:
    assert np.array_equal(run(adapt(draw)), run(adapt(draw)))
    assert not np.array_equal(run(adapt(draw)), run(adapt(draw), seed=2))


def test_code_that_draws_from_process_wide_generators_is_seeded_and_they_are_put_back() -> None:
    def careless(csr: Any, rng: np.random.Generator) -> Any:
        return np.random.rand(csr.shape[0], 2) + random.random()

    before = pickle.dumps((random.getstate(), np.random.get_state()))
    first = run(adapt(careless))
    assert pickle.dumps((random.getstate(), np.random.get_state())) == before
    random.random()
    np.random.rand()
    assert np.array_equal(first, run(adapt(careless)))
    assert not np.array_equal(first, run(adapt(careless), seed=2))


def test_a_karateclub_style_object_receives_a_numbered_networkx_graph() -> None:
    isolated = Graph.from_edges(["x", "y"], ["y", "z"], vertices=["x", "y", "z", "alone"])
    vectors = run(adapt(KarateClubStyle()), subgraph=Subgraph.whole(isolated))
    assert vectors[:, 0].tolist() == isolated.degrees.tolist()
    assert adapt(KarateClubStyle(dimensions=9)).dim == 9


def test_the_seed_of_an_object_is_set_and_the_object_itself_untouched() -> None:
    target = KarateClubStyle()
    technique = adapt(target)
    assert np.array_equal(run(technique), run(technique))
    assert not np.array_equal(run(technique), run(technique, seed=2))
    assert vars(target) == {"dimensions": 3, "seed": 42}


@pytest.mark.parametrize("how", ["attribute", "annotation", "argument", "module"])
def test_a_class_can_say_that_it_wants_networkx(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counts:
        """Would take a matrix without a complaint, and be wrong."""

        def fit(self, graph: Any) -> None:
            self.rows = np.full((120, 1), float(hasattr(graph, "nodes")))

        def get_embedding(self) -> Any:
            return self.rows

    if how == "attribute":
        monkeypatch.setattr(Counts, "graph_as", "networkx", raising=False)
    if how == "annotation":
        monkeypatch.setitem(Counts.fit.__annotations__, "graph", "nx.Graph")
    if how == "module":
        monkeypatch.setattr(Counts, "__module__", "karateclub.node_embedding")
    technique = adapt(Counts(), graph_as="networkx" if how == "argument" else "auto")
    assert run(technique).all()


def test_fit_and_get_embedding_over_matrices_work_too() -> None:
    assert np.array_equal(run(adapt(FitsMatrices())), GRAPH.to_scipy().toarray()[:, :5])


def test_an_error_of_their_own_is_not_taken_for_a_wish_for_networkx() -> None:
    class Broken(FitsMatrices):
        def fit(self, matrix: Any) -> None:
            raise AttributeError("'Broken' object has no attribute 'nodes'", name="nodes", obj=self)

    with pytest.raises(AttributeError, match="Broken"):
        run(adapt(Broken()))


@pytest.mark.parametrize("name", ["Spectral", "GSVD", "RandomProjection"])
def test_scikit_network_objects_work(name: str) -> None:
    embedding = pytest.importorskip("sknetwork.embedding", reason="scikit-network is not installed")
    target = getattr(embedding, name)(8)
    vectors = run(adapt(target))
    assert vectors.shape == (120, 8)
    expected = copy.deepcopy(target)
    if hasattr(expected, "random_state"):
        expected.random_state = int(np.random.default_rng(1).integers(2**31 - 1))
    found = expected.fit_transform(GRAPH.to_scipy().copy())
    assert np.allclose(vectors @ vectors.T, found @ found.T, atol=1e-3)


def test_scikit_learn_objects_work() -> None:
    from sklearn.decomposition import TruncatedSVD

    vectors = run(adapt(TruncatedSVD(n_components=6)))
    assert vectors.shape == (120, 6)
    assert np.array_equal(vectors, run(adapt(TruncatedSVD(n_components=6))))


def test_small_subgraphs_are_filled_with_zeros() -> None:
    small = Subgraph.whole(Graph.from_edges(*np.triu_indices(5, 1)))
    vectors = run(adapt(lambda csr, rng: csr[:, :3].toarray(), dim=8), subgraph=small)
    assert vectors.shape == (5, 8)
    assert not vectors[:, 3:].any()
    with pytest.raises(TechniqueError, match="3 columns"):
        run(adapt(lambda csr, rng: csr[:, :3].toarray(), dim=8))


def test_no_vertex_no_call() -> None:
    def never(csr: Any, rng: Any) -> Any:
        raise AssertionError("called")

    empty = Subgraph.whole(Graph.from_edges([], [], vertices=0))
    assert run(adapt(never, dim=5), subgraph=empty).shape == (0, 5)
    assert run(adapt(never), subgraph=empty).shape == (0, 0)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (lambda n: np.zeros((n + 1, 4)), "121 rows"),
        (lambda n: np.zeros((n, 5)), "5 columns"),
        (np.zeros, r"an array of shape \(120,\)"),
        (lambda n: np.zeros((n, 2, 2)), r"an array of shape \(120, 2, 2\)"),
        (lambda n: None, "object in a NoneType"),
        (lambda n: [["a"] * 4] * n, "<U1 in a list"),
        (lambda n: np.zeros((n, 4), complex), "complex128 in a ndarray"),
        (lambda n: [[1, 2]] * (n - 1) + [[1]], "a list that is not an array"),
        (lambda n: sp.eye_array(n).tocsr(), r"a sparse csr_array; return its toarray\(\)"),
        (lambda n: np.full((n, 4), np.nan), "nan in row 0, counted from 0"),
        (lambda n: np.where(np.arange(n)[:, None] == 7, np.inf, np.ones(4)), "inf in row 7, counted from 0"),
        (lambda n: np.full((n, 4), 1e300), r"1e\+300 \(beyond float32\) in row 0"),
    ],
)
def test_a_wrong_answer_names_technique_subgraph_and_what_was_found(answer: Any, found: str) -> None:
    def mine(csr: Any, rng: Any) -> Any:
        return answer(csr.shape[0])

    message = rf"technique mine .* 120 vertices x 4 columns; on subgraph 3 \(120 vertices, 700 edges\) .* {found}"
    with pytest.raises(TechniqueError, match=message):
        run(adapt(mine, dim=4))


def test_what_is_raised_keeps_its_type_and_gains_a_note() -> None:
    def mine(csr: Any, rng: Any) -> Any:
        raise ZeroDivisionError("oh")

    with pytest.raises(ZeroDivisionError, match="oh") as caught:
        run(adapt(mine))
    assert caught.value.__notes__ == ["raised by the technique mine on subgraph 3 (120 vertices, 700 edges)"]
    assert caught.traceback[-1].name == "mine"


def test_native_techniques_are_checked_the_same() -> None:
    class Wrong(techniques.get("sgc")):  # type: ignore[misc]
        def embed(self, *_: Any, **__: Any) -> Any:
            return np.full((120, 128), np.nan)

    with pytest.raises(TechniqueError, match="technique sgc"):
        run(Wrong())


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (3, "3, a int"),
        (object(), "or an object with fit_transform"),
        (lambda: None, r"called as f\(csr, rng\), but is declared as <lambda>\(\)"),
        (lambda a, b, c: None, r"called as f\(csr, rng\)"),
    ],
)
def test_what_cannot_be_a_technique_is_refused_at_once(target: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        adapt(target)


def test_classes_are_made_with_that_length() -> None:
    assert adapt(KarateClubStyle, dim=5).dim == 5
    assert run(adapt(KarateClubStyle, dim=5)).shape == (120, 5)

    class Needs:
        def __init__(self, thing: int) -> None: ...

    with pytest.raises(InputError, match=r"Needs .*settings"):
        adapt(Needs)


def test_the_footprint_can_be_given() -> None:
    assert adapt(draw, footprint=Footprint(1, 2, 3)).projected_bytes(10, 100) == 321
    default, graph = adapt(draw, dim=64), adapt(KarateClubStyle(), dim=64)
    assert default.projected_bytes(10**6, 10**7) > 10**6 * 64 * 8
    assert graph.projected_bytes(10**6, 10**7) > default.projected_bytes(10**6, 10**7) + 10**9


def test_a_technique_is_returned_as_it_is() -> None:
    technique = techniques.get("sgc")()
    assert adapt(technique) is technique


def test_an_adapted_function_can_be_sent() -> None:
    technique = adapt(draw, dim=4)
    sent = pickle.loads(pickle.dumps(technique))
    assert sent.name == "draw"
    assert np.array_equal(run(sent), run(technique))
