"""The shipped strategies reach every shape, and the shipped laws catch every broken graph."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from tests.examples import examples

import parge.testing
from parge.errors import InputError, MissingExtraError
from parge.graph.generate import path
from parge.graph.graph import Graph
from parge.testing.graphs import assert_graph_laws, capacity_vectors, graphs

unhurried = examples(100)
searching = settings(deadline=None, max_examples=2000, phases=[Phase.generate], derandomize=True)


@given(graphs())
@unhurried
def test_drawn_graphs_keep_the_laws(graph: Graph) -> None:
    assert_graph_laws(graph)
    assert graph.notices == ()
    assert graph.n_vertices <= 24


@given(st.data(), st.integers(0, 5), st.integers(0, 5))
@examples(40)
def test_sizes_are_within_what_was_asked(data: st.DataObject, least: int, more: int) -> None:
    graph = data.draw(graphs(least, least + more))
    assert least <= graph.n_vertices <= least + more


def n_components(graph: Graph) -> int:
    import scipy.sparse.csgraph

    return int(scipy.sparse.csgraph.connected_components(graph.to_scipy(), directed=False)[0])


SHAPES: dict[str, Callable[[Graph], bool]] = {
    "empty": lambda g: g.n_vertices == 0,
    "one vertex": lambda g: g.n_vertices == 1,
    "only isolated vertices": lambda g: g.n_vertices > 3 and g.n_edges == 0,
    "isolated beside others": lambda g: 0 < (g.degrees == 0).sum() < g.n_vertices,
    "disconnected without isolated": lambda g: bool((g.degrees > 0).all()) and n_components(g) > 1,
    "star": lambda g: g.n_vertices > 4 and sorted(g.degrees) == [1] * (g.n_vertices - 1) + [g.n_vertices - 1],
    "hub in the middle": lambda g: g.n_vertices > 4 and g.degrees.argmax() > 0 and g.degrees.max() == g.n_vertices - 1,
    "clique": lambda g: g.n_vertices > 4 and bool((g.degrees == g.n_vertices - 1).all()),
    "path": lambda g: g.n_vertices > 4 and g.n_edges == g.n_vertices - 1 and g.degrees.max() == 2,
    "weighted": lambda g: g.weights is not None and np.unique(g.weights).size > 2,
    "unweighted": lambda g: g.weights is None and g.n_edges > 0,
    "string ids": lambda g: g.ids is not None and g.ids.dtype == np.dtypes.StringDType(),
    "sparse integer ids": lambda g: g.ids is not None and g.ids.dtype == np.int64 and g.ids.max(initial=0) > 2**31,
    "no ids": lambda g: g.ids is None and g.n_vertices > 1,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_can_be_drawn(shape: str) -> None:
    find(graphs(), SHAPES[shape], settings=searching)


@given(st.data())
@examples(40)
def test_options_are_kept(data: st.DataObject) -> None:
    weighted = data.draw(graphs(2, weighted=True))
    assert (weighted.weights is not None) == (weighted.n_edges > 0)
    assert data.draw(graphs(weighted=False)).weights is None
    assert data.draw(graphs(ids="numbers")).ids is None
    assert data.draw(graphs(1, ids="integers")).outside_ids.dtype == np.int64
    assert data.draw(graphs(1, ids="strings")).outside_ids.dtype == np.dtypes.StringDType()
    own = data.draw(graphs(1, ids=st.integers(100, 999).map("user {}".format)))
    assert all(name.startswith("user ") for name in own.outside_ids)


def is_feasible(n_vertices: int, capacities: tuple[int, ...], anchors: int) -> bool:
    return anchors <= min(capacities) and sum(k - anchors for k in capacities) >= n_vertices - anchors


@given(st.data(), graphs(1, 12))
@unhurried
def test_capacities_are_as_feasible_as_asked(data: st.DataObject, graph: Graph) -> None:
    anchors = data.draw(st.integers(0, graph.n_vertices))
    feasible = data.draw(st.booleans())
    capacities = data.draw(capacity_vectors(graph, anchors=anchors, max_parts=5, feasible=feasible))
    assert 1 <= len(capacities) <= 5
    assert min(capacities) >= 0
    assert is_feasible(graph.n_vertices, capacities, anchors) == feasible


CAPACITIES: dict[str, tuple[bool, Callable[[tuple[int, ...]], bool]]] = {
    "zero slack": (True, lambda ks: len(ks) > 2 and sum(k - 3 for k in ks) == 10 - 3),
    "a part of anchors only": (True, lambda ks: len(ks) > 2 and min(ks) == 3),
    "generous": (True, lambda ks: len(ks) > 2 and min(ks) >= 10),
    "one vertex short": (False, lambda ks: len(ks) > 2 and min(ks) >= 3 and sum(k - 3 for k in ks) == 10 - 3 - 1),
    "one anchor short, all else roomy": (False, lambda ks: min(ks) == 2 and sum(k - 3 for k in ks) >= 10),
}


@pytest.mark.parametrize("kind", CAPACITIES)
def test_every_kind_of_capacities_can_be_drawn(kind: str) -> None:
    feasible, wanted = CAPACITIES[kind]
    find(capacity_vectors(path(10), anchors=3, feasible=feasible), wanted, settings=searching)


def test_impossible_capacities_are_refused() -> None:
    with pytest.raises(InputError, match=r"4 anchors.* 3"):
        capacity_vectors(path(3), anchors=4)
    with pytest.raises(InputError, match="min_vertices=1"):
        capacity_vectors(path(0), feasible=False)


def rows(*neighbours: list[int], weights: list[float] | None = None) -> Graph:
    """Build a graph from its rows, unchecked."""
    indptr = np.cumsum([0, *map(len, neighbours)]).astype(np.int64)
    weights_array = None if weights is None else np.array(weights, np.float32)
    return Graph(indptr, np.array(list(chain(*neighbours)), np.int32), weights_array)


def writable() -> Graph:
    graph = path(3)
    graph.indices.flags.writeable = True
    return graph


# Path 0 - 1 - 2, broken in one way each.
BROKEN: dict[str, Callable[[], Graph]] = {
    "both ways": lambda: rows([1], [0, 2], []),
    "sorted": lambda: rows([1], [2, 0], [1]),
    "no repeats": lambda: rows([1, 1], [0, 0, 2], [1]),
    "neighbours itself": lambda: rows([0, 1], [0, 2], [1]),
    "positive": lambda: rows([1], [0, 2], [1], weights=[1, 1, 0, 0]),
    "finite": lambda: rows([1], [0, 2], [1], weights=[1, 1, np.inf, np.inf]),
    "same both ways": lambda: rows([1], [0, 2], [1], weights=[1, 2, 3, 3]),
    "float32": lambda: Graph(path(2).indptr, path(2).indices, np.ones(2)),
    "offsets are int64": lambda: replace(path(2), indptr=path(2).indptr.astype(np.int32)),
    "neighbours are int32": lambda: replace(path(2), indices=path(2).indices.astype(np.int64)),
    "ids ascend": lambda: replace(path(3), ids=np.array([2, 1, 3])),
    "indices cannot be written": writable,
}


@pytest.mark.parametrize("law", BROKEN)
def test_a_broken_law_is_named(law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        assert_graph_laws(BROKEN[law]())


def test_missing_hypothesis_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert_graph_laws(path(3))
    with pytest.raises(MissingExtraError, match=r"hypothesis.*parge\[test\]"):
        graphs()
    with pytest.raises(MissingExtraError, match=r"hypothesis.*parge\[test\]"):
        capacity_vectors(path(3))


def test_names_are_found_in_the_package() -> None:
    assert parge.testing.assert_graph_laws is assert_graph_laws
    assert {"capacity_vectors", "DecomposerContract"} <= set(dir(parge.testing))
    for name in parge.testing._HOMES:
        assert getattr(parge.testing, name).__name__ == name
    with pytest.raises(AttributeError, match="nothing"):
        _ = parge.testing.nothing
