"""Edges into rows: the slow and obvious way, scipy's and the compiled one agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.graph.sameness import assert_same, edges

from parge.errors import InputError
from parge.graph import build
from parge.graph.graph import Graph
from parge.ids import STRING
from parge.testing.graphs import assert_graph_laws, graphs

EDGES = st.integers(1, 300).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 5)), max_size=60).map(
        lambda found: (n, found)
    )
)


def naive(n_vertices: int, found: list[tuple[int, int, int]], *, weighted: bool) -> dict[tuple[int, int], float]:
    """Return the weight of every edge: repeats in one direction add up, of two directions the larger holds."""
    arcs: dict[tuple[int, int], float] = {}
    for u, v, weight in found:
        if u != v and (weight or not weighted):
            arcs[u, v] = arcs.get((u, v), 0) + weight
    pairs = {(min(arc), max(arc)) for arc in arcs}
    return {(u, v): max(arcs.get((u, v), 0), arcs.get((v, u), 0)) if weighted else 1 for u, v in pairs}


def weights_of(graph: Graph) -> dict[tuple[int, int], float]:
    rows = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    weights = np.ones(rows.size) if graph.weights is None else graph.weights
    return {(u, v): w for u, v, w in zip(rows.tolist(), graph.indices.tolist(), weights.tolist(), strict=True) if u < v}


@given(EDGES, st.booleans(), st.sampled_from([0, 10**9]))
@examples(150)
def test_rows_are_those_of_the_naive_twin(
    given_edges: tuple[int, list[tuple[int, int, int]]], weighted: bool, small: int
) -> None:
    n_vertices, found = given_edges
    source, target, weights = np.array(found, np.int32).reshape(-1, 3).T.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "_SMALL", small)
        graph = build.assemble(source, target, weights if weighted else None, n_vertices=n_vertices)
    assert_graph_laws(graph)
    assert weights_of(graph) == naive(n_vertices, found, weighted=weighted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("n_vertices", "n_edges"), [(7, 5000), (5000, 20_000), (400_000, 20_000), (1, 3), (3, 0)])
def test_compiled_rows_equal_those_of_scipy(
    monkeypatch: pytest.MonkeyPatch, weighted: bool, dtype: type, n_vertices: int, n_edges: int
) -> None:
    rng = np.random.default_rng(n_vertices)
    source, target = rng.integers(0, n_vertices, (2, n_edges)).astype(dtype)
    weights = rng.integers(0, 1000, n_edges) / 8 if weighted else None
    slow = build.assemble(source, target, weights, n_vertices=n_vertices)
    monkeypatch.setattr(build, "_SMALL", 0)
    for n_threads, bucket in ((1, 2**16), (3, 2**16), (2, 64)):
        monkeypatch.setattr(build, "_MAX_THREADS", n_threads)
        monkeypatch.setattr(build, "usable_cores", lambda: 3)
        monkeypatch.setattr(build, "_BUCKET_ARCS", bucket)
        fast = build.assemble(source, target, weights, n_vertices=n_vertices)
        assert fast.notices == slow.notices
        assert_same(fast, slow) if dtype == np.int32 else None
        assert fast.indices.tolist() == slow.indices.tolist()


def test_a_star_larger_than_a_bucket_is_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_SMALL", 0)
    leaves = np.random.default_rng(0).permutation(np.arange(1, 200_001)).astype(np.int32)
    graph = build.assemble(leaves, np.zeros_like(leaves), n_vertices=200_001)
    assert_graph_laws(graph)
    assert graph.degrees.max() == 200_000 == graph.n_edges


def test_normalisations_are_told() -> None:
    graph = Graph.from_edges([0, 0, 1, 2, 3, 3], [1, 1, 0, 2, 4, 5], [1, 2, 5, 1, 0, 1])
    assert graph.notices == (
        "1 edge of weight 0 dropped",
        "1 self loop dropped",
        "2 repeated edges merged (an edge given in both directions is one edge)",
    )
    assert weights_of(graph) == {(0, 1): 5, (3, 5): 1}
    assert graph.n_vertices == 6


def test_weights_that_are_all_one_are_none() -> None:
    assert Graph.from_edges([0, 1], [1, 2], [1.0, 1.0]).weights is None
    doubled = Graph.from_edges([0, 0], [1, 1], [1, 1])
    assert doubled.weights is not None
    assert doubled.weights.tolist() == [2, 2]


def test_tiny_weights_are_not_zero() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [1e-60, 1])
    assert graph.n_edges == 2
    assert_graph_laws(graph)


@pytest.mark.parametrize("small", [0, 10**9])
def test_sums_beyond_float32_are_refused(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(build, "_SMALL", small)
    with pytest.raises(InputError, match=r"3\.4e38"):
        Graph.from_edges([0, 0], [1, 1], [3e38, 3e38])


BAD_EDGES = [
    (([[0, 1, 2]],), "must be an .m, 2. array"),
    (([0, 1], [1]), "2 sources, but 1 targets"),
    (([0.5], [1]), "ids must be integers or strings; got float64"),
    (([0], [1], [np.nan]), "edge 1 has weight nan"),
    (([0, 1], [1, 2], [1, -2]), "edge 2 has weight -2"),
    (([0], [1], [np.inf]), "must be finite"),
    (([0], [1], ["x"]), "weights must be numbers"),
    (([0], [1], [1, 2]), "2 weights for 1 edge"),
    (([0], [1], [1j]), "weights must be numbers; got complex128"),
    (([0, 1], [1, 2], [True, False]), "weights must be numbers; got bool"),
]


@pytest.mark.parametrize(("arguments", "fragment"), BAD_EDGES)
def test_bad_edges_are_refused(arguments: tuple[object, ...], fragment: str) -> None:
    with pytest.raises(InputError, match=fragment):
        Graph.from_edges(*arguments)


@given(
    st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), max_size=30),
    st.sampled_from([1, 10**9]),
)
@examples(80)
def test_sparse_integer_ids_come_back(pairs: list[tuple[int, int]], many: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "_MANY", many)
        graph = Graph.from_edges(np.array(pairs, np.int64).reshape(-1, 2))
    assert_graph_laws(graph)
    assert graph.outside_ids.tolist() == sorted({end for pair in pairs for end in pair})
    assert edges(graph) == {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}


def test_many_sparse_ids_grow_the_table() -> None:
    ids = np.random.default_rng(0).choice(2**40, 150_000, replace=False)
    graph = Graph.from_edges(np.concatenate([ids[:-1], ids[:-1]]), np.concatenate([ids[1:], ids[1:]]))
    assert graph.ids is not None
    assert np.array_equal(graph.ids, np.sort(ids))
    place = np.searchsorted(graph.ids, ids)
    row = graph.indices[graph.indptr[place[5]] : graph.indptr[place[5] + 1]]
    assert set(graph.ids[row].tolist()) == {int(ids[4]), int(ids[6])}


@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=20))
@examples(50)
def test_string_ids_come_back_by_code_point(pairs: list[tuple[str, str]]) -> None:
    source, target = (np.array([pair[end] for pair in pairs], STRING) for end in (0, 1))
    graph = Graph.from_edges(source, target)
    assert graph.outside_ids.tolist() == sorted({end for pair in pairs for end in pair})
    assert edges(graph) == {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}


def test_unsigned_ids_beyond_int64_become_strings() -> None:
    graph = Graph.from_edges(np.array([2**63 + 1], np.uint64), np.array([2**63], np.uint64))
    assert graph.outside_ids.tolist() == [str(2**63), str(2**63 + 1)]


def test_integers_and_strings_mix_as_written() -> None:
    assert Graph.from_edges([1, 2], ["a", "10"]).outside_ids.tolist() == ["1", "10", "2", "a"]


def test_no_edges_at_all() -> None:
    assert Graph.from_edges([], []).n_vertices == 0
    assert Graph.from_edges(np.zeros((0, 2), np.int64)).n_vertices == 0
    assert Graph.from_edges([], [], vertices=3).n_vertices == 3
    assert Graph.from_edges([], [], vertices=["b", "a"]).outside_ids.tolist() == ["a", "b"]


def test_vertices_are_added_in_their_places() -> None:
    graph = Graph.from_edges([10, 30], [20, 10], vertices=[15, 30, 5])
    assert graph.outside_ids.tolist() == [5, 10, 15, 20, 30]
    assert edges(graph) == {(10, 20), (10, 30)}
    assert_graph_laws(graph)
    assert Graph.from_edges([2], [1], vertices=[0]).ids is None


def test_string_vertices_beside_integer_edges() -> None:
    graph = Graph.from_edges([9, 10], [10, 11], [2.0, 3.0], vertices=["x"])
    assert graph.outside_ids.tolist() == ["10", "11", "9", "x"]
    assert edges(graph) == {("10", "11"), ("10", "9")}
    assert graph.weights is not None
    assert graph.weights.tolist() == [3, 2, 3, 2]


@given(graphs(), st.integers(0, 5))
@examples(60)
def test_a_count_that_is_reached_changes_nothing(graph: Graph, more: int) -> None:
    if graph.ids is None:
        from parge.graph.vertices import add_vertices

        assert_same(add_vertices(graph, graph.n_vertices), graph)
        assert add_vertices(graph, graph.n_vertices + more).n_edges == graph.n_edges


def test_long_string_ids_find_their_places() -> None:
    """numpy's searchsorted misreads strings of over 15 bytes, so none is used."""
    names = [f"{letter * 40}-{number}" for letter in "zyxa" for number in range(9)]
    graph = Graph.from_edges(names[:20], names[10:30], vertices=names)
    assert graph.outside_ids.tolist() == sorted(names)
    assert edges(graph) == {(min(pair), max(pair)) for pair in zip(names[:20], names[10:30], strict=True)}


def test_a_graph_shows_its_size_and_not_its_arrays() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], [2.0, 1.0]).with_features(np.eye(3))
    assert repr(graph) == "Graph(3 vertices, 2 edges, weighted, 3 features)"


@examples(30)
@given(graph=graphs(max_vertices=25), seed=st.integers(0, 999))
def test_a_graph_knows_its_edges(graph: Graph, seed: int) -> None:
    pairs = np.random.default_rng(seed).integers(0, graph.n_vertices or 1, size=(50 if graph.n_vertices else 0, 2))
    known = weights_of(graph)
    assert graph.has_edges(pairs).tolist() == [(min(u, v), max(u, v)) in known for u, v in pairs.tolist()]
