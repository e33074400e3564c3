"""Vectors of a graph tell its communities; those of another graph do not."""

from pathlib import Path

import numpy as np
import pytest
from tests.space.world import frozen

import parge
from parge.graph.generate import planted, ring_of_cliques
from parge.graph.graph import Graph
from parge.graph.sample import connected_sample
from parge.graph.subgraph import Subgraph
from parge.space import communities
from parge.space.communities import CommunityFit, measure_communities
from parge.techniques.whitened import Whitened


def _shuffled(share: float) -> np.ndarray:
    """Return the vectors of the space, some of them at the place of another."""
    vectors, rng = np.array(frozen().vectors), np.random.default_rng(4)
    some = rng.permutation(len(vectors))[: int(share * len(vectors))]
    vectors[np.sort(some)] = vectors[some]
    return vectors


def test_the_more_vectors_are_out_of_place_the_less_they_tell() -> None:
    graph = frozen().graph
    fresh, aged, unrelated = (measure_communities(_shuffled(share), graph).share for share in (0.0, 0.4, 1.0))
    assert fresh > 0.9
    assert fresh - 0.1 > aged > unrelated + 0.1
    assert unrelated < 0.3


def test_the_error_is_that_of_the_vertices_that_were_asked() -> None:
    """A share of 340 vertices is known to some percent, and better where nothing differs."""
    graph = frozen().graph
    assert 0.01 < measure_communities(_shuffled(0.4), graph).error < 0.1
    assert measure_communities(_shuffled(0.0), graph).error < measure_communities(_shuffled(0.4), graph).error


def test_a_graph_of_few_vertices_says_nothing() -> None:
    small = ring_of_cliques(4, 5)
    assert measure_communities(np.eye(20, dtype=np.float32), small) == CommunityFit()
    without_edges = Graph.from_edges(np.zeros((0, 2), np.int64), vertices=500)
    assert measure_communities(np.ones((500, 4), np.float32), without_edges) == CommunityFit()


def test_vectors_at_the_origin_say_nothing() -> None:
    told = measure_communities(np.zeros_like(frozen().vectors), frozen().graph)
    assert told.weight < 0.05 * len(frozen()) or told.share < 0.3
    assert np.isfinite([told.share, told.error, told.weight]).all()


def test_a_part_of_a_large_graph_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communities, "_LOOKED_AT", 200)
    whole, fresh = len(frozen()), measure_communities(_shuffled(0.0), frozen().graph)
    assert 0 < fresh.weight < whole
    assert fresh.share - 0.1 > measure_communities(_shuffled(1.0), frozen().graph).share


def test_a_part_that_has_fewer_small_vertices_counts_them_more() -> None:
    """A star's leaves are most of its vertices, and few of those that walks meet."""
    degrees = np.array([1] * 90 + [3] * 6 + [40] * 4)
    part = np.array([0, 1, 2, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99])
    counts = communities._stands_for(degrees, part)
    for degree, share in ((1, 0.9), (3, 0.06), (40, 0.04)):
        assert counts[degrees[part] == degree].sum() / counts.sum() == pytest.approx(share)
    assert (communities._stands_for(degrees, np.arange(100)) == 1).all()


def test_a_part_has_as_many_small_vertices_as_hang_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half are met by walks; of the others half of the edges lead to these. No vertex without edges is in it."""
    monkeypatch.setattr(communities, "_LOOKED_AT", 600)
    monkeypatch.setattr(communities, "_ENTRIES", 500)
    graph = planted(4_000, 9_000, communities=10, mixing=0.2, seed=1).graph
    assert (graph.degrees == 0).any()
    part = communities._part(graph, np.random.default_rng(0))
    met = connected_sample(graph, 300, np.random.default_rng(0))
    assert part.size == np.unique(part).size == 600
    assert np.isin(met, part).all()
    drawn = np.setdiff1d(part, met)
    for v in drawn.tolist():
        assert 2 * np.isin(graph.indices[graph.indptr[v] : graph.indptr[v + 1]], met).sum() >= graph.degrees[v] > 0
    assert graph.degrees[drawn].mean() < graph.degrees[met].mean()
    monkeypatch.setattr(communities, "_LOOKED_AT", 4_000)
    np.testing.assert_array_equal(communities._part(graph, np.random.default_rng(0)), np.flatnonzero(graph.degrees))


@pytest.mark.slow
def test_what_small_vertices_lose_is_seen_in_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vertices of one or two edges, out of place: a part shows that as much as the whole graph does."""
    made = planted(8_000, 18_000, communities=24, mixing=0.15, seed=2)
    vectors = np.asarray(parge.embed(made.graph, parge.Plan(technique=parge.Whitened(dim=32), parts=1)).vectors)
    small = np.flatnonzero((made.graph.degrees > 0) & (made.graph.degrees <= 2))
    worse = vectors.copy()
    worse[small] = vectors[np.random.default_rng(0).permutation(small)]
    lost = []
    for limit in (8_000, 2_000):
        monkeypatch.setattr(communities, "_LOOKED_AT", limit)
        now, before = (measure_communities(each, made.graph) for each in (worse, vectors))
        lost.append(1 - now.share / before.share)
    assert lost[0] > 0.2
    assert lost[1] == pytest.approx(lost[0], rel=0.25)


def test_a_large_part_has_more_groups_so_that_what_is_lost_within_one_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors exchanged among four cliques side by side: where groups are larger than these, less seems lost."""
    graph, rng = ring_of_cliques(96, 8), np.random.default_rng(5)
    vectors = Whitened(dim=32).embed(Subgraph.whole(graph), np.random.default_rng(0))
    mixed = vectors[np.concatenate([first + rng.permutation(32) for first in range(0, 768, 32)])]
    coarse = measure_communities(mixed, graph).share
    monkeypatch.setattr(communities, "_GROUP", 8)
    assert measure_communities(vectors, graph).share > 0.9
    fine = measure_communities(mixed, graph).share
    assert fine < coarse - 0.2


def test_vectors_on_disk_tell_the_same_and_stay(tmp_path: Path) -> None:
    vectors = np.array(frozen().vectors)
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    assert measure_communities(mapped, frozen().graph) == measure_communities(vectors, frozen().graph)
    np.testing.assert_array_equal(vectors, frozen().vectors)


def test_a_difference_within_its_error_is_none() -> None:
    assert CommunityFit(1.02, 0.02).beyond_error() == 1.0
    assert CommunityFit(1.1, 0.02).beyond_error() == pytest.approx(1.06)
    assert CommunityFit(-0.4, 0.02).beyond_error() == 0.05  # a share that others can be divided by
