"""What a worker around landmarks holds at a time: dense parts their walks before their tables, small parts little."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import parge
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.landmarks import extension
from parge.landmarks import train as training
from parge.testing.technique import landmark_subgraphs


def random_graph(n_vertices: int, n_edges: int) -> Graph:
    source, target = np.random.default_rng(1).integers(n_vertices, size=(2, n_edges))
    weights = np.random.default_rng(2).uniform(0.1, 3, n_edges).astype(np.float32)
    is_edge = source != target
    return Graph.from_edges(source[is_edge], target[is_edge], weights[is_edge])


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that has an entry for each part whose walks were kept."""
    found: list[Any] = []
    usual = training._Walks.kept
    monkeypatch.setattr(training._Walks, "kept", lambda *given: (found.append(given), usual(*given))[1])
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("most", [2**16, 1])
@pytest.mark.parametrize(
    "technique",
    [parge.DeepWalk(dim=16, walks=30, walk_length=20), parge.Node2Vec(dim=16, walks=30, walk_length=9, p=0.5, q=2.0)],
)
def test_walks_are_the_same_whenever_they_are_drawn(
    technique: parge.DeepWalk, most: int, threads: int, kept: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_SMALL", most)
    monkeypatch.setattr(training, "_BATCHES", 100)
    part = landmark_subgraphs(technique, random_graph(300, 4_000))[0]
    vectors = {}
    for columns in (0, 2**40):
        monkeypatch.setattr(training, "extension_bytes", lambda *_, taken=columns: taken - 2**30)
        vectors[columns] = type(technique)(**{**technique.__dict__, "threads": threads}).embed(
            part, np.random.default_rng(0)
        )
    assert len(kept) == 1
    assert np.array_equal(vectors[0], vectors[2**40])


@pytest.mark.parametrize(("walks", "n_kept"), [(10, 1), (4_000, 0)])
def test_walks_are_kept_where_they_take_less_than_rows(walks: int, n_kept: int, kept: list[Any]) -> None:
    technique = parge.DeepWalk(dim=4, walks=walks, walk_length=5)
    part = landmark_subgraphs(technique, random_graph(2_000, 200_000))[0]
    technique.embed(part, np.random.default_rng(0))
    assert len(kept) == n_kept


def test_sparse_parts_keep_no_walks(kept: list[Any]) -> None:
    technique = parge.DeepWalk(dim=4)
    technique.embed(landmark_subgraphs(technique, planted(900, 3_000, seed=1).graph)[0], np.random.default_rng(0))
    assert not kept


@given(n_rows=st.integers(1, 3_000), n_vertices=st.integers(1, 20_000))
@examples(60)
def test_no_row_is_alone_that_was_not(n_rows: int, n_vertices: int) -> None:
    at_once = extension._rows_at_once(n_vertices)
    slices = list(extension._few(n_rows, at_once))
    assert [row for some in slices for row in range(some.start, some.stop)] == [*range(n_rows)]
    sizes = [some.stop - some.start for some in slices]
    assert max(sizes) <= at_once + 1
    assert sizes.count(1) == (n_rows % extension._MOST_ROWS == 1)
