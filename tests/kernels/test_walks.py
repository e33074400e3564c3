import dataclasses
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.kernels import naive

from parge.graph.graph import Graph
from parge.kernels import walks
from parge.skipgram.train import connected_vertices, walk_rows
from parge.testing.graphs import graphs


def _small(weighted: bool) -> Graph:
    """Two triangles that share an edge, a tail that ends in a leaf, and a chord."""
    ends = np.array([(0, 1), (1, 2), (2, 0), (1, 3), (2, 3), (3, 4), (4, 5), (0, 4)])
    weights = [1.0, 4.0, 2.0, 0.25, 3.0, 1.0, 8.0, 0.5] if weighted else None
    return Graph.from_edges(ends[:, 0], ends[:, 1], weights)


def _close(counts: dict[int, int], expected: dict[int, float]) -> bool:
    """Return whether counts fit the probabilities: chi-square under the 1 - 1e-6 quantile of its normal limit."""
    total, free = sum(counts.values()), len(expected) - 1
    assert set(counts) <= set(expected)
    square = sum((counts.get(x, 0) - total * share) ** 2 / (total * share) for x, share in expected.items())
    return square < free + 6 * np.sqrt(2 * free) + 12


@examples(60)
@given(graphs(min_vertices=2, ids="numbers"), st.integers(0, 2**64 - 1))
def test_walks_equal_their_twin(graph: Graph, key: int) -> None:
    starts = connected_vertices(graph)
    keys = np.uint64(key) + np.arange(starts.size, dtype=np.uint64)
    found = np.empty((starts.size, 9), np.int32)
    walks.fill_walks(walk_rows(graph), starts, keys, found)
    assert found.tolist() == [naive.walk(graph, v, int(k), 9) for v, k in zip(starts.tolist(), keys, strict=True)]


@examples(60)
@given(graphs(min_vertices=2, ids="numbers"), st.sampled_from([0.01, 0.5, 3.0, 1e6]), st.sampled_from([0.01, 2.0, 1e6]))
def test_biased_walks_follow_edges(graph: Graph, p: float, q: float) -> None:
    starts = connected_vertices(graph)
    found = np.empty((starts.size, 9), np.int32)
    walks.fill_biased_walks(walk_rows(graph), starts, starts.astype(np.uint64), p, q, found)
    assert all(v in naive.neighbours(graph, u) for row in found.tolist() for u, v in pairwise(row))


@examples(60)
@given(
    graphs(min_vertices=2, ids="numbers"),
    st.integers(0, 2**64 - 1),
    st.sampled_from([0.01, 0.5, 1.0, 3.0, 1e6]),
    st.sampled_from([0.01, 0.5, 2.0, 1e6]),
)
def test_biased_walks_equal_their_twin(graph: Graph, key: int, p: float, q: float) -> None:
    starts = connected_vertices(graph)
    keys = np.uint64(key) + np.arange(starts.size, dtype=np.uint64)
    found = np.empty((starts.size, 9), np.int32)
    walks.fill_biased_walks(walk_rows(graph), starts, keys, p, q, found)
    twins = [naive.biased_walk(graph, v, int(k), 9, p, q) for v, k in zip(starts.tolist(), keys, strict=True)]
    assert found.tolist() == twins


def _some_stored(graph: Graph) -> tuple[walks.WalkCSR, walks.WalkCSR]:
    """Return rows with all shares, and the same rows with as few as possible."""
    weights = np.ones(graph.indices.size, np.float32) if graph.weights is None else graph.weights
    loops, stored = np.zeros(graph.n_vertices, np.float32), np.zeros(graph.indptr.size, np.int64)
    loops[::3] = 1
    walks.count_stored(graph.indptr, weights, loops, 0, stored[1:])
    assert stored[1:].tolist() == naive.stored_shares(graph, loops.tolist())
    loops[:] = 0
    walks.count_stored(graph.indptr, weights, loops, 0, stored[1:])
    stored = np.cumsum(stored)
    shares, totals = np.empty(stored[-1], np.uint32), np.empty(graph.n_vertices)
    few = walks.WalkCSR(graph.indptr.copy(), np.empty_like(graph.indices), shares, stored, totals)
    walks.fill_rows_with_loops(graph.indptr, graph.indices, weights, loops, 0, few)
    return walks.WalkCSR(graph.indptr, graph.indices, walks.row_shares(graph.indptr, weights)), few


@examples(60)
@given(graphs(min_vertices=2, ids="numbers"), st.integers(0, 2**32), st.booleans())
def test_shares_that_are_not_stored_change_no_draw(graph: Graph, seed: int, counted: bool) -> None:
    if graph.weights is not None and counted:  # as many leading ones as in rows of a part
        ones = np.maximum(1, np.round(2 * np.random.default_rng(seed).random(graph.weights.size)))
        graph = dataclasses.replace(graph, weights=ones.astype(np.float32))
    every, few = _some_stored(graph)
    bits = [0, 2**32 - 1, *np.random.default_rng(seed).integers(2**32, size=4).tolist()]
    for v in connected_vertices(graph).tolist():
        ends = [int(end) for end in every.shares[graph.indptr[v] : graph.indptr[v + 1]]]
        near = [bit for end in ends for bit in (end - 1, end, end + 1) if 0 <= bit < 2**32]
        for bit in map(np.uint64, bits + near):
            assert walks.pick(few, v, bit) == walks.pick(every, v, bit)
        for j in range(graph.indptr[v], graph.indptr[v + 1]):
            assert walks.share_of(few, v, j) == walks.share_of(every, v, j)
    starts = connected_vertices(graph)
    found = [np.empty((starts.size, 7), np.int32) for _ in range(2)]
    for rows, out in zip((every, few), found, strict=True):
        walks.fill_biased_walks(rows, starts, starts.astype(np.uint64), 0.25, 4.0, out)
    assert np.array_equal(*found)


def test_walks_belong_to_their_keys_not_to_their_batch() -> None:
    rows = walk_rows(_small(True))
    starts, keys = np.arange(6, dtype=np.int32).repeat(20), np.arange(120, dtype=np.uint64)
    whole, parts = np.empty((120, 7), np.int32), np.empty((120, 7), np.int32)
    walks.fill_walks(rows, starts, keys, whole)
    for first, last in ((0, 5), (5, 71), (71, 120)):
        walks.fill_walks(rows, starts[first:last], keys[first:last], parts[first:last])
    assert np.array_equal(whole, parts)


@pytest.mark.parametrize("weighted", [False, True])
def test_first_order_frequencies(weighted: bool) -> None:
    graph = _small(weighted)
    found = np.empty((4000, 21), np.int32)
    walks.fill_walks(walk_rows(graph), np.full(4000, 2, np.int32), np.arange(4000, dtype=np.uint64), found)
    steps = Counter(zip(found[:, :-1].ravel().tolist(), found[:, 1:].ravel().tolist(), strict=True))
    for v in range(6):
        counts = {x: count for (u, x), count in steps.items() if u == v}
        assert sum(counts.values()) > 1000
        assert _close(counts, dict(zip(naive.neighbours(graph, v), naive.shares(graph, v), strict=True)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "q"), [(0.25, 1.0), (1.0, 4.0), (0.5, 2.0), (4.0, 0.25), (0.01, 0.5), (100.0, 0.02)])
def test_second_order_frequencies(weighted: bool, p: float, q: float) -> None:
    graph = _small(weighted)
    found = np.empty((6000, 21), np.int32)
    starts = np.arange(6000, dtype=np.int32) % 6
    walks.fill_biased_walks(walk_rows(graph), starts, np.arange(6000, dtype=np.uint64), p, q, found)
    triples = Counter(map(tuple, np.lib.stride_tricks.sliding_window_view(found, 3, axis=1).reshape(-1, 3).tolist()))
    seen = 0
    for u, v in {(u, v) for u, v, _ in triples}:
        counts = {x: count for (a, b, x), count in triples.items() if (a, b) == (u, v)}
        if sum(counts.values()) > 500:
            seen += 1
            assert _close(counts, naive.second_order(graph, u, v, p, q)), (u, v, counts)
    assert seen >= 6


@pytest.mark.parametrize(("p", "q"), [(0.5, 2.0), (3.0, 0.1)])
@pytest.mark.parametrize("weighted", [False, True])
def test_weighing_the_whole_row_is_exact_too(weighted: bool, p: float, q: float) -> None:
    graph = _small(weighted)
    rows, n = walk_rows(graph), 20_000
    bits = (np.arange(n, dtype=np.uint64) << np.uint64(32)) // np.uint64(n)
    found = Counter(walks.weigh_row(rows, 0, 2, p, q, b) for b in bits)
    for x, share in naive.second_order(graph, 0, 2, p, q).items():
        assert found[x] / n == pytest.approx(share, abs=1e-3)


def test_a_large_p_cannot_trap_a_walk_at_a_leaf() -> None:
    path = Graph.from_edges([0, 1], [1, 2])
    found = np.empty((50, 30), np.int32)
    walks.fill_biased_walks(walk_rows(path), np.full(50, 1, np.int32), np.arange(50, dtype=np.uint64), 1e6, 1.0, found)
    assert set(found[:, 1].tolist()) == {0, 2}
    assert (found[:, 3] != found[:, 1]).all()  # from the middle it never turns back to where it came from


def test_shares_of_a_hub_keep_their_resolution() -> None:
    n = 100_000
    graph = Graph.from_edges(np.zeros(n, np.int64), np.arange(1, n + 1), np.where(np.arange(n) % 2, 1.0, 3.0))
    shares = np.diff(np.concatenate([[0], walks.row_shares(graph.indptr, graph.weights)[:n].astype(np.int64)]))
    np.testing.assert_allclose(shares / 2**32 * 2 * n, np.where(np.arange(n) % 2, 1.0, 3.0), rtol=1e-3)


def test_strengths_sum_weights() -> None:
    graph = _small(True)
    np.testing.assert_allclose(walks.strengths(graph.indptr, graph.weights), graph.to_scipy().sum(axis=1).A1)


def test_a_weighted_graph_is_not_doubled_and_an_unweighted_one_is_not_copied() -> None:
    plain, weighted = _small(False), _small(True)
    for graph in (plain, weighted):
        rows = walk_rows(graph)
        assert np.shares_memory(rows.indptr, graph.indptr)
        assert np.shares_memory(rows.indices, graph.indices)
    assert walk_rows(plain).shares.nbytes == 0
    assert walk_rows(weighted).shares.nbytes == weighted.weights.nbytes == weighted.indices.nbytes
