"""Changed edges move the vertices that they touch, and no other bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.space.world import N_OLD, N, frozen, pairs

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.space.frozen import EMBEDDED, MOVED, PLACED, Space
from parge.space.update import unknown_edges, update
from parge.storage import Files


def edges_of(space: Space) -> set[tuple[object, object, float]]:
    """Return the edges of a space by id, with their weights."""
    graph, ids = space.graph, space.ids.tolist()
    weights = np.ones(graph.indices.size) if graph.weights is None else graph.weights
    row = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    return {(ids[u], ids[v], float(w)) for u, v, w in zip(row.tolist(), graph.indices.tolist(), weights, strict=True)}


def both(*edges: tuple[object, object]) -> set[tuple[object, object, float]]:
    return {found for u, v in edges for found in ((u, v, 1.0), (v, u, 1.0))}


def test_only_vertices_with_changed_edges_move() -> None:
    space, gone = frozen(), pairs(new=False)[:3]
    found = update(space, pairs(new=True), gone)
    new = found.space
    still = new.origin[:N_OLD] == EMBEDDED
    assert np.array_equal(new.vectors[:N_OLD][still], space.vectors[still])
    assert 0 < found.moved < N_OLD / 2
    assert found.moved == (new.origin == MOVED).sum()
    assert found.placed == N - N_OLD == (new.origin == PLACED).sum()
    moved = new.origin[:N_OLD] == MOVED
    assert (new.vectors[:N_OLD][moved] != space.vectors[moved]).any(axis=1).all()
    assert (found.added, found.removed, new.history.version) == (len(pairs(new=True)), 3, 2)
    assert np.isfinite(new.vectors).all()


@examples(40)
@given(st.data())
def test_the_edges_are_those_of_plain_sets(data: st.DataObject) -> None:
    vertex = st.integers(0, 7)
    some = st.lists(st.tuples(vertex, vertex).filter(lambda edge: edge[0] != edge[1]), max_size=12)
    old, more, less = ({tuple(sorted(edge)) for edge in data.draw(some)} for _ in range(3))
    graph = (
        Graph.from_edges(np.array(sorted(old), np.int64).reshape(-1, 2), vertices=6)
        if not any(max(edge) > 5 for edge in old)
        else None
    )
    if graph is None:
        return
    space = Space.of(np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32), graph)
    if not (more or less) or (more and all(min(edge) > 5 for edge in more)):
        return
    found = update(space, np.array(sorted(more), np.int64).reshape(-1, 2) if more else None, sorted(less) or None)
    assert edges_of(found.space) == both(*((old - less) | more))
    assert found.removed == len(old & less)
    assert found.missing == len(less - old)
    assert found.added == len(more - (old - less))
    for row, degree in zip(*(np.arange(len(found.space)), found.space.graph.degrees), strict=True):
        neighbours = found.space.graph.indices[found.space.graph.indptr[row] :][:degree]
        assert (np.diff(neighbours) > 0).all()


def test_updates_can_follow_on_each_other() -> None:
    """After ten small updates there are the same edges as after one, and vectors as near to them."""
    later = pairs(new=True)
    later = later[np.argsort(later.max(axis=1), kind="stable")]
    space = frozen()
    for some in np.array_split(later, 10):
        space = update(space, some).space
    at_once = update(frozen(), later).space
    assert space.history.version == 11
    order = np.argsort(space.ids)
    assert space.ids[order].tolist() == at_once.ids.tolist()
    assert edges_of(space) == edges_of(at_once)
    cosine = np.einsum("ij,ij->i", space.vectors[order], at_once.vectors)
    assert cosine[N_OLD:].mean() > 0.8


def test_what_is_undone_is_back_nearly() -> None:
    space, some = frozen(), pairs(new=False)[:40]
    there = update(update(space, removed=some, threshold=0.0).space, some, threshold=0.0).space
    assert edges_of(there) == edges_of(space)
    cosine = np.einsum("ij,ij->i", there.vectors, space.vectors) / (
        np.linalg.norm(there.vectors, axis=1) * np.linalg.norm(space.vectors, axis=1)
    )
    assert np.mean(cosine) > 0.95


def test_weights_are_replaced() -> None:
    space = Space.of(np.eye(3, dtype=np.float32), Graph.from_edges([0, 1], [1, 2], [2.0, 3.0]))
    found = update(space, ([0], [1], [5.0]))
    assert (found.added, found.reweighted) == (0, 1)
    assert edges_of(found.space) == {(0, 1, 5.0), (1, 0, 5.0), (1, 2, 3.0), (2, 1, 3.0)}


def test_the_threshold_decides_who_moves() -> None:
    everyone = update(frozen(), pairs(new=True), threshold=0.0)
    nobody = update(frozen(), pairs(new=True), threshold=10.0)
    assert nobody.moved == 0
    assert np.array_equal(nobody.space.vectors[:N_OLD], frozen().vectors)
    touched = np.unique(pairs(new=True)[pairs(new=True) < N_OLD]).size
    assert everyone.moved == touched


def test_files_change_no_bit(tmp_path) -> None:
    one = update(frozen(), pairs(new=True), pairs(new=False)[:9]).space.vectors
    two = update(frozen(), pairs(new=True), pairs(new=False)[:9], storage=Files(tmp_path)).space.vectors
    assert np.array_equal(one, two)


def test_a_vertex_that_loses_all_its_edges_stays() -> None:
    space, all_edges = frozen(), pairs(new=False)
    mine = all_edges[(all_edges == 7).any(axis=1)]
    found = update(space, removed=mine).space
    assert found.graph.degrees[7] == 0
    assert np.array_equal(found.vectors[7], space.vectors[7])


@pytest.mark.parametrize("edges", [[(9_000, 9_001)], [("a", "b")]])
def test_edges_of_strangers_are_refused(edges: list[tuple[object, object]]) -> None:
    with pytest.raises(InputError, match=str(edges[0][0])):
        update(frozen(), edges)


def test_edges_that_a_space_lacks_are_named() -> None:
    space = frozen()
    there = edges_of(space)
    absent = [(0, v) for v in range(1, N_OLD) if (0, v, 1.0) not in there][:4]
    given = [*map(tuple, pairs(new=False)[:50].tolist()), *absent]
    named = ", ".join(f"{u} - {v}" for u, v in absent[:3])
    assert unknown_edges(space, Graph.from_edges(given)) == f"{named} and 1 more"
    assert unknown_edges(space, Graph.from_edges(given[:50])) == ""
    strange = Graph.from_edges([("5", "elsewhere"), ("here", "there")])
    assert unknown_edges(space, strange) == "'5' - 'elsewhere', 'here' - 'there'"
    assert update(space, None, Graph.from_edges(given)).missing == len(absent)


@pytest.mark.parametrize("given", [(), ([],), ([], []), (None, []), (np.zeros((0, 2), np.int64),)])
def test_an_update_without_edges_is_refused(given: tuple[object, ...]) -> None:
    with pytest.raises(InputError):
        update(frozen(), *given)


def test_an_update_that_changes_nothing_says_so() -> None:
    known = pairs(new=False)[:3]
    found = update(frozen(), known)
    assert len(found.notices) == 1
    assert np.array_equal(found.space.vectors, frozen().vectors)
    assert len(update(frozen(), None, [(9_000, 9_001)]).notices) == 1
    assert update(frozen(), None, known).notices == update(frozen(), (*known.T, np.full(3, 2.0))).notices == ()
