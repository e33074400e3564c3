"""Many new vertices are placed by a pass, too; nothing of it stays, and few are placed without."""

import numpy as np
import pytest
from tests.space.world import N_OLD, frozen, pairs

from parge.graph.graph import Graph
from parge.space import rehearsal
from parge.space.frozen import Space
from parge.space.place import place
from parge.space.update import update


def test_few_vertices_are_placed_by_the_learned_round_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [(0, 1000), (1, 1000), (2, 1001)]
    assert not rehearsal.is_rehearsed(N_OLD, 2)
    with monkeypatch.context() as patch:
        patch.setattr(rehearsal, "_rehearsed", None)  # it would be called
        one = place(frozen(), few).embedding.vectors
    assert np.array_equal(place(frozen(), few).embedding.vectors, one)


def test_many_vertices_lie_between_the_learned_round_and_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    both = place(frozen(), pairs(new=True)).embedding.vectors
    monkeypatch.setattr(rehearsal, "SHARE", 1.0)
    alone = place(frozen(), pairs(new=True)).embedding.vectors
    assert not np.array_equal(both, alone)
    lengths = [np.linalg.norm(rows, axis=1) for rows in (both, alone)]
    assert np.allclose(*lengths, rtol=1e-4)
    assert (np.einsum("ij,ij->i", both, alone) / lengths[0] / lengths[1]).mean() > 0.8


def test_an_update_places_new_vertices_where_place_does() -> None:
    placed = place(frozen(), pairs(new=True)).embedding.vectors
    updated = update(frozen(), pairs(new=True), threshold=10).space.vectors
    assert np.allclose(updated[N_OLD:], placed, atol=1e-6)
    assert np.array_equal(updated[:N_OLD], frozen().vectors)


def test_a_space_with_too_few_vertices_for_a_map_has_no_pass() -> None:
    graph = Graph.from_edges([(v, (v + 1) % 20) for v in range(20)])
    space = Space.of(np.random.default_rng(0).standard_normal((20, 16)).astype(np.float32), graph)
    placed = place(space, [(0, 100), (1, 100), (5, 101), (101, 102)])
    assert np.isfinite(placed.embedding.vectors).all()
    assert placed.reached.all()


def test_those_that_no_path_leads_to_stay_at_the_origin() -> None:
    edges = [*map(tuple, pairs(new=True).tolist()), (5_000, 5_001), (5_001, 5_002)]
    placed = place(frozen(), edges)
    assert placed.unreachable.tolist() == [5_000, 5_001, 5_002]
    assert not placed.embedding.vectors[~placed.reached].any()
