"""New vertices are placed where their edges say, and nothing else moves."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples, first
from tests.space.world import N_OLD, N, frozen, pairs, whole

import parge
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.space.frozen import Space
from parge.space.place import place
from parge.storage import Files

TECHNIQUES = ("whitened", "hope", "spectral", "deepwalk", "netmf", "prone", "sgc", "closedform", "line")


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


@pytest.mark.parametrize("technique", first(TECHNIQUES, 2))
def test_new_vertices_are_near_the_vertices_of_their_community(technique: str) -> None:
    space, label = frozen(technique), whole()[1]
    placed = place(space, pairs(new=True)).embedding
    near = unit(placed.vectors) @ unit(space.vectors).T
    mine = label[placed.ids][:, None] == label[:N_OLD][None, :]
    assert (near[mine].mean() - near[~mine].mean()) > 0.1
    guessed = np.array([near[:, label[:N_OLD] == c].mean(axis=1) for c in range(4)]).argmax(axis=0)
    assert (guessed == label[placed.ids]).mean() > 0.8


def test_nothing_of_the_space_changes() -> None:
    space = frozen()
    before = space.vectors.copy()
    placed = place(space, pairs(new=True))
    assert np.array_equal(space.vectors, before)
    assert placed.embedding.ids.tolist() == list(range(N_OLD, N))
    assert placed.reached.all()
    assert placed.n_edges == len(pairs(new=True))
    assert placed.unused == 0


@examples(40)
@given(st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_edges_does_not_matter(random: object, swapped: bool) -> None:
    edges = pairs(new=True)
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    other = rng.permutation(edges)
    other = other[:, ::-1] if swapped else other
    one, two = place(frozen(), edges), place(frozen(), other)
    assert np.array_equal(one.embedding.vectors, two.embedding.vectors)
    assert np.array_equal(one.confidence, two.confidence)


def test_threads_and_files_change_no_bit(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    one = place(frozen(), pairs(new=True)).embedding.vectors
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert np.array_equal(place(frozen(), pairs(new=True)).embedding.vectors, one)
    assert np.array_equal(place(frozen(), pairs(new=True), storage=Files(tmp_path)).embedding.vectors, one)


def test_weights_of_any_size_mean_the_same_in_proportion() -> None:
    edges = pairs(new=True)
    source, target = edges.T
    plain = place(frozen(), (source, target)).embedding.vectors
    heavy = place(frozen(), (source, target, np.full(len(edges), 1e30))).embedding.vectors
    light = place(frozen(), (source, target, np.full(len(edges), 1e-30))).embedding.vectors
    for other in (heavy, light):
        assert np.allclose(unit(other), unit(plain), atol=1e-5)


def test_vertices_far_from_the_space_are_reached_and_others_are_at_the_origin() -> None:
    path = [(0, 1000), *((1000 + i, 1001 + i) for i in range(40)), (2000, 2001)]
    placed = place(frozen(), path)
    assert placed.unreachable.tolist() == [2000, 2001]
    lengths = np.linalg.norm(placed.embedding.vectors, axis=1)
    assert (lengths[placed.reached] > 0).all()
    assert (lengths[~placed.reached] == 0).all()
    told = placed.to_json()
    assert (told["placed"], told["unreachable"], told["edges"]) == (41, 2, 41)
    assert told["unreachable_vertices"] == [2000, 2001]
    assert placed.edges.tolist() == [1, *[0] * 42]
    assert len(told["vertices"]) == 43
    assert (np.diff(placed.confidence[:41]) < 0).all()  # the farther from what is known, the less is certain


def test_more_edges_that_agree_give_more_confidence() -> None:
    label = whole()[1][:N_OLD]
    mine, others = np.flatnonzero(label == 0)[:30], np.flatnonzero(label != 0)[:15]
    edges = [(v, 1000) for v in mine] + [(mine[0], 1001)] + [(v, 1002) for v in (*mine[:15], *others)]
    many, _, mixed = place(frozen(), edges).agreement
    assert many > mixed
    found = place(frozen(), edges)
    assert found.confidence[0] > found.confidence[2]
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()


@pytest.mark.parametrize(
    "edges",
    [
        *([(0, 1), (1, 2)], [(9_000, 9_001)], [("a", "b")], [(0, 1, 2)], [], "no-such-file.txt", [(0.5, 1.5)]),
        *([1, 2], ["ab"], [None], None, 5, np.zeros((0, 2), np.int64), np.arange(4)),
    ],
    ids=[
        *("only known", "none known", "names", "triples", "empty", "missing", "fractions"),
        *("numbers", "texts", "nothing", "none", "a number", "no rows", "one column"),
    ],
)
def test_odd_edges_are_refused(edges: object) -> None:
    with pytest.raises(InputError):
        place(frozen(), edges)


def test_ids_of_another_type_meet_by_how_they_are_written() -> None:
    edges = [("0", "new"), ("1", "new"), ("2", "new")]
    texts = place(frozen(), edges).embedding
    numbers = place(frozen(), [(0, 777), (1, 777), (2, 777)]).embedding
    assert texts.ids.tolist() == ["new"]
    assert np.array_equal(texts.vectors, numbers.vectors)


@pytest.mark.parametrize("verb", [parge.place, parge.update])
def test_a_name_among_integers_is_said(verb: Any) -> None:
    integers, odd = [(0, 777), (1, 777)], [(0, 777), (1, 777), (1, "odd")]
    assert verb(frozen(), integers).notices == ()
    (said,) = verb(frozen(), odd).notices
    assert "'odd'" in said
    assert "777" not in said
    named = parge.Space.of(np.eye(3, dtype=np.float32), Graph.from_edges(["a", "b"], ["b", "7"]))
    assert verb(named, [("a", "odd"), ("b", 8)]).notices == ()


@pytest.mark.parametrize("verb", [parge.place, parge.update, parge.drift])
def test_the_verbs_take_an_embedding_and_refuse_what_is_no_space(verb: Any) -> None:
    assert verb(frozen().embedding(), pairs(new=True)) is not None
    loaded = parge.Embedding(frozen().vectors, frozen().ids)
    for other in (None, frozen().vectors, loaded):
        with pytest.raises(InputError, match="open_space"):
            verb(other, pairs(new=True))
    for missing in ("no-such-space", Path("no-such-space")):
        with pytest.raises(InputError, match=r"no-such-space.*--space DIR"):
            verb(missing, pairs(new=True))


def test_a_vertex_that_is_old_and_new_is_old() -> None:
    placed = place(frozen(), [(0, 1), (0, 500), (1, 500)])
    assert placed.embedding.ids.tolist() == [500]
    assert placed.unused == 1


def test_a_graph_without_edges_or_with_one_vertex_can_be_frozen() -> None:
    lone = Space.of(np.ones((1, 3), np.float32), Graph.from_edges(np.zeros((0, 2), np.int64), vertices=1))
    placed = place(lone, [(0, 5)])
    assert np.isfinite(placed.embedding.vectors).all()
    assert np.allclose(unit(placed.embedding.vectors), unit(np.ones((1, 3))))


def test_vectors_of_zeros_stay_harmless() -> None:
    space = frozen()
    vectors = space.vectors.copy()
    vectors[:5] = 0
    holed = Space.of(vectors, space.graph)
    placed = place(holed, [(0, 900), (1, 900), (10, 901)])
    assert np.isfinite(placed.embedding.vectors).all()
    assert not placed.embedding.vectors[0].any()


def test_an_embedding_places_by_itself() -> None:
    graph = Graph.from_edges(pairs(new=False), vertices=N_OLD)
    made = parge.embed(graph, parge.Plan(technique="sgc", parts=2, engine="serial"))
    placed = made.place(pairs(new=True))
    assert placed.ids.tolist() == list(range(N_OLD, N))
    assert placed.dim == made.dim
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again.place(pairs(new=True)).vectors, placed.vectors)
    grown = pickle.loads(pickle.dumps(made.update(pairs(new=True))))
    assert len(grown.place([(N - 1, 9_999)])) == 1
    with pytest.raises(InputError, match="--space"):
        parge.Embedding(made.vectors, made.ids).place(pairs(new=True))


def test_edges_that_lead_nowhere_are_not_counted_as_used() -> None:
    found = place(frozen(), [(N, 0), (N, 1), (N + 1, N), (N + 2, N + 3), (0, 1)])
    assert (found.n_edges, found.unused, found.unreachable.tolist()) == (3, 1, [N + 2, N + 3])
