"""Kernels over rows of a graph, ids, columns and draws against their slow twins (`test_twins.py` has the list)."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.kernels import naive, naive_cut

from parge.graph.graph import Graph
from parge.kernels import codes, csr, cut, fennel, meetings, products, splitmix, walks
from parge.skipgram.train import walk_rows
from parge.testing.graphs import graphs


def some(graph: Graph, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, graph.n_vertices])


def weights_of(graph: Graph) -> np.ndarray:
    return np.empty(0, np.float32) if graph.weights is None else graph.weights


drawn = given(graph=graphs(max_vertices=30), seed=st.integers(0, 999))
shortly = examples(40)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 20), max_size=60), st.integers(0, 60))
@shortly
def test_codes_are_given_in_order_of_first_appearance(ids: list[int], first: int) -> None:
    table, known = np.full((2, 2), -1, np.int64), 0
    found = []
    for some_ids in (ids[:first], ids[first:]):  # a second call goes on where the first ended
        numbers = np.empty(len(some_ids), np.int64)
        table, known = codes.encode(np.array(some_ids, np.int64), numbers, table, known)
        found += numbers.tolist()
    expected, names = naive.encode(ids)
    assert (found, known) == (expected, len(names))
    assert codes.decode(table, known).tolist() == names


edge_lists = st.integers(1, 40).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=80), st.booleans()
    )
)


@given(edge_lists, st.integers(0, 6))
@shortly
def test_arcs_of_edges(case: tuple[int, list[tuple[int, int]], bool], shift: int) -> None:
    n, edges, weighted = case
    source, target = np.array(edges, np.int32).reshape(-1, 2).T.copy()
    weights = np.arange(1, len(edges) + 1).astype(np.float32) if weighted else np.empty(0, np.float32)
    bits, n_buckets = max(1, n.bit_length()), ((n - 1) >> shift) + 1
    buckets = naive.bucketed_arcs(edges, weights.tolist(), n, shift, bits)

    sizes = np.zeros(n_buckets, np.int64)
    csr.bucket_sizes(source, target, shift, sizes)
    assert sizes.tolist() == [len(bucket) for bucket in buckets]

    ends = np.cumsum(sizes)
    arcs, arc_weights = np.empty(ends[-1], np.int64), np.empty(ends[-1] if weighted else 0, np.float32)
    csr.bucket_arcs(source, target, weights, shift, bits, ends - sizes, arcs, arc_weights)
    assert arcs.tolist() == [arc for bucket in buckets for arc, _ in bucket]
    if weighted:
        assert arc_weights.tolist() == [weight for bucket in buckets for _, weight in bucket]

    for i, bucket in enumerate(buckets):
        where = slice(ends[i] - sizes[i], ends[i])
        mine, theirs = arcs[where].copy(), arc_weights[where].copy()
        csr.sort_arcs(mine, theirs, 0, 1 + bits + shift)
        ordered = naive.sorted_arcs(bucket, 0, 1 + bits + shift)
        assert mine.tolist() == [arc for arc, _ in ordered]
        assert not weighted or theirs.tolist() == [weight for _, weight in ordered]
        degrees, indices = np.zeros(1 << shift, np.int64), np.empty(mine.size, np.int32)
        summed = np.empty(theirs.size, np.float32)
        count = csr.rows_of_arcs(mine, theirs, bits, degrees, indices, summed)
        rows = naive.rows_of_arcs(ordered, bits, 1 << shift)
        assert degrees.tolist() == [len(row) for row in rows]
        assert indices[:count].tolist() == [neighbour for row in rows for neighbour in row]
        assert not weighted or summed[:count].tolist() == [weight for row in rows for weight in row.values()]


@given(st.lists(st.integers(0, 2**45), max_size=50), st.integers(0, 20), st.integers(0, 26))
@shortly
def test_arcs_are_sorted_by_some_of_their_bits(arcs: list[int], first: int, n_bits: int) -> None:
    keys, values = np.array(arcs, np.int64), np.arange(len(arcs), dtype=np.float32)
    csr.sort_arcs(keys, values, first, first + n_bits)
    expected = naive.sorted_arcs(list(zip(arcs, range(len(arcs)), strict=True)), first, first + n_bits)
    assert list(zip(keys.tolist(), values.tolist(), strict=True)) == expected


@drawn
@shortly
def test_induced_rows(graph: Graph, seed: int) -> None:
    n = graph.n_vertices
    order = some(graph, seed).permutation(n)[: seed % (n + 1)]
    n_first = order.size // 2
    vertices = np.concatenate([np.sort(order[:n_first]), np.sort(order[n_first:])])
    position = np.full(n, -1, np.int32)
    position[vertices] = np.arange(vertices.size)
    offsets = csr.induced_offsets(graph.indptr, graph.indices, vertices, position)
    indices, weights = np.empty(offsets[-1], np.int32), np.empty(offsets[-1] if graph.weights is not None else 0, "f4")
    csr.induced_rows(graph.indptr, graph.indices, weights_of(graph), vertices, position, n_first, indices, weights)
    rows = naive.induced_rows(graph, vertices.tolist())
    assert np.diff(offsets).tolist() == [len(row) for row in rows]
    assert indices.tolist() == [neighbour for row in rows for neighbour in row]
    if graph.weights is not None:
        assert weights.tolist() == [weight for row in rows for weight in row.values()]


@drawn
@shortly
def test_rows_with_loops(graph: Graph, seed: int) -> None:
    rng = some(graph, seed)
    loops = (rng.random(graph.n_vertices) * (rng.random(graph.n_vertices) < 0.5)).astype(np.float32)
    weights = np.ones(graph.indices.size, np.float32) if graph.weights is None else graph.weights
    rows, ends = naive.with_loops(graph, loops.tolist())
    indptr = np.array([0, *np.cumsum([len(row) for row in rows])], np.int64)
    middle = int(rng.integers(0, graph.n_vertices + 1))
    stored = np.array([0, *np.cumsum(naive.stored_shares(graph, loops.tolist()))], np.int64)
    neighbours, shares = np.full(indptr[-1], -1, np.int32), np.zeros(stored[-1], np.uint32)
    found = walks.WalkCSR(indptr, neighbours, shares, stored, np.zeros(graph.n_vertices))
    for first, some_of in ((0, graph.indptr[: middle + 1]), (middle, graph.indptr[middle:])):
        walks.fill_rows_with_loops(some_of, graph.indices[some_of[0] :], weights[some_of[0] :], loops, first, found)
    assert neighbours.tolist() == [neighbour for row in rows for neighbour in row]
    kept = [end for row, n in zip(ends, np.diff(stored), strict=True) for end in row[len(row) - n :]]
    np.testing.assert_allclose(shares, kept, rtol=1e-9, atol=2)


@given(graph=graphs(max_vertices=30), seed=st.integers(0, 999), n_parts=st.integers(1, 5))
@shortly
def test_edges_and_votes_by_part(graph: Graph, seed: int, n_parts: int) -> None:
    rng, n = some(graph, seed), graph.n_vertices
    part, is_anchor = rng.integers(0, n_parts, n).astype(np.int32), rng.random(n) < 0.2
    found = cut.count_edges(graph.indptr, graph.indices, part, is_anchor, n_parts)
    matrix, to_anchors, among = naive_cut.count_edges(graph, part.tolist(), is_anchor.tolist(), n_parts)
    assert (found[0].tolist(), found[1].tolist(), found[2]) == (matrix, to_anchors, among)
    labels = np.where(is_anchor, -1, part).astype(np.int8)
    assert cut.count_lost(graph.indptr, graph.indices, labels) == np.triu(matrix, 1).sum()

    votes = [naive_cut.part_votes(graph, v, part.tolist(), n_parts) for v in range(n)]
    every, few = np.arange(n), rng.permutation(n)[: n // 2]
    assert cut.part_votes(graph.indptr, graph.indices, part, few, n_parts).tolist() == [votes[v] for v in few]
    degrees = cut.cut_degrees(graph.indptr, graph.indices, part)
    assert degrees.tolist() == [sum(votes[v]) - votes[v][part[v]] for v in range(n)]

    homes = np.where(rng.random(n) < 0.4, -1, part).astype(np.int32)
    majority = cut.majority_part(graph.indptr, graph.indices, homes, every, n_parts)
    assert majority.tolist() == [naive_cut.majority_part(graph, v, homes.tolist(), n_parts) for v in range(n)]

    for count in (0, n // 3, n, n + 2):
        chosen = cut.greedy_cover(graph.indptr, graph.indices, part, degrees.copy(), count)
        assert chosen.size == min(count, n)
        for i, v in enumerate(chosen.tolist()):
            saved = naive_cut.greedy_cover(graph, part.tolist(), chosen[:i].tolist())
            assert saved[v] == max(saved)


@drawn
@shortly
def test_marked_neighbours_and_edges_among_them(graph: Graph, seed: int) -> None:
    marked = some(graph, seed).random(graph.n_vertices) < 0.4
    expected = naive_cut.marked_neighbours(graph, marked.tolist())
    assert cut.marked_neighbours(graph.indptr, graph.indices, marked).tolist() == expected
    among = fennel.edges_among(graph.indptr, graph.indices, marked, np.flatnonzero(marked))
    assert 2 * among == sum(expected[v] for v in np.flatnonzero(marked))


@given(graph=graphs(max_vertices=30), seed=st.integers(0, 999), n_parts=st.integers(1, 4), by_cost=st.booleans())
@shortly
def test_one_pass_over_the_rows(graph: Graph, seed: int, n_parts: int, by_cost: bool) -> None:
    rng, n = some(graph, seed), graph.n_vertices
    left_out = rng.random(n) < 0.2
    weights = np.empty(0, np.int64) if by_cost else rng.integers(1, 4, n)
    cost = (1.5, 0.75)
    free = rng.integers(0, 2 * n // n_parts + 4, n_parts)
    shares = np.full(n_parts, 2.0 * max(n, 1) / n_parts)
    mean = max(1.0, float(graph.degrees.mean()) if n else 1.0)
    part, loads, work = np.full(n, -1, np.int32), np.zeros(n_parts, np.int64), np.zeros(n_parts)
    twin = naive_cut.Fennel(graph, left_out.tolist(), weights.tolist(), cost, free.tolist(), shares.tolist(), mean)
    for rows in ((0, n // 2), (n // 2, n), (0, n)):  # in two calls, and met again
        over = fennel.stream_rows(
            graph.indptr, graph.indices, left_out, part, rows, weights, cost, free, loads, shares, work, mean
        )
        assert over == naive_cut.stream_rows(twin, *rows)
        assert part.tolist() == twin.part
        assert loads.tolist() == twin.loads
        np.testing.assert_allclose(work, twin.work)


@drawn
@shortly
def test_sums_of_neighbours(graph: Graph, seed: int) -> None:
    rng = some(graph, seed)
    for dtype, tolerance in ((np.float32, 1e-3), (np.float64, 1e-9)):
        columns = rng.standard_normal((graph.n_vertices, 3)).astype(dtype)
        first = seed % (graph.n_vertices + 1)
        out = np.full((graph.n_vertices - first, 3), np.nan, dtype)
        products.sum_neighbours(graph.indptr, graph.indices, weights_of(graph), columns, first, out)
        expected = naive.sum_neighbours(graph, columns)[first:]
        np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance * 1024)


@drawn
@shortly
def test_sums_around(graph: Graph, seed: int) -> None:
    rng, first = some(graph, seed), seed % (graph.n_vertices + 1)
    columns, mean = rng.standard_normal((graph.n_vertices, 5), np.float32), rng.standard_normal(5, np.float32)
    out = np.full((graph.n_vertices - first, 5), np.nan, np.float32)
    products.sum_around(graph.indptr, graph.indices, weights_of(graph), columns, mean, first, out)
    expected = naive.sum_around(graph, columns, mean)[first:]
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1)  # weights are up to 1e6 and more
    few = np.full((len(out), 2), np.nan, np.float32)
    pair = np.ascontiguousarray(columns[:, 2:4])
    products.sum_around(graph.indptr, graph.indices, weights_of(graph), pair, mean[2:4], first, few)
    assert np.array_equal(few, out[:, 2:4]), "columns do not depend on each other"


@pytest.mark.parametrize("factors", [(1.0, 0.0, 0.0), (0.7, -0.2, 0.0), (1.5, 0.3, -1.0)])
@drawn
@shortly
def test_steps_of_a_recurrence(factors: tuple[float, ...], graph: Graph, seed: int) -> None:
    rng, first = some(graph, seed), seed % (graph.n_vertices + 1)
    for dtype, tolerance in ((np.float32, 1e-4), (np.float64, 1e-10)):
        columns, own, old = rng.standard_normal((3, graph.n_vertices, 4)).astype(dtype)
        scale, out = rng.random(graph.n_vertices).astype(dtype), old[first:] if factors[2] else np.nan * old[first:]
        given = graph.indptr, graph.indices, weights_of(graph)
        expected = naive.step_rows(graph, scale, columns, own, factors, old)[first:]
        products.step_rows(*given, scale, columns, own[first:], np.array(factors, dtype), first, out)
        np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance * 1024)
        plain, none = np.empty_like(out), np.empty(0, dtype)
        products.step_rows(*given, none, columns, own[first:], np.array([1, 0, 0], dtype), first, plain)
        np.testing.assert_allclose(
            plain, naive.sum_neighbours(graph, columns)[first:], rtol=tolerance, atol=tolerance * 1024
        )


@given(st.integers(0, 9), st.integers(1, 40), st.integers(0, 999))
@shortly
def test_unit_rows(n_rows: int, dim: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, dim), np.float32) * np.float32(10) ** rng.integers(-30, 30, (n_rows, 1))
    rows = np.where(rng.random((n_rows, 1)) < 0.3, 0, rows).astype(np.float32)
    expected, sums = naive.unit_rows(rows, 2.5), np.ones(dim)
    products.unit_rows(rows, 2.5, sums)
    np.testing.assert_allclose(rows, expected, rtol=1e-5)
    np.testing.assert_allclose(sums, 1 + expected.sum(axis=0), rtol=1e-5, atol=1e-5)


@drawn
@shortly
def test_means_of_neighbours(graph: Graph, seed: int) -> None:
    rng, n = some(graph, seed), graph.n_vertices
    weights = np.ones(graph.indices.size, np.float32) if graph.weights is None else graph.weights
    rows = graph.indptr, graph.indices, weights, walks.strengths(graph.indptr, weights)
    few, row_of = np.flatnonzero(rng.random(n) < 0.6), rng.integers(0, 4, n)
    source, found = rng.standard_normal((4, 5), np.float32), np.full((few.size, 5), np.nan, np.float32)
    products.mean_neighbours(*rows, few, row_of, source, found)
    np.testing.assert_allclose(found, naive.mean_neighbours(graph, source[row_of])[few], atol=1e-5)

    table, share = rng.standard_normal((n, 5), np.float32), rng.random(n, np.float32)
    first = int(rng.integers(0, n + 1))
    moved, (indptr, indices, weights, strength) = table.copy(), rows
    products.mix_neighbours(indptr[first:], indices, weights, strength[first:], first, share, table, moved)
    expected = table.copy()
    expected[first:] += (share[:, None] * (naive.mean_neighbours(graph, table) - table))[first:]
    np.testing.assert_allclose(moved, expected, atol=1e-5)


@shortly
@given(st.integers(0, 5), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_values_are_shifted_and_kept_above_a_floor(n_rows: int, n_columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, above, below = (
        rng.standard_normal(shape).astype(np.float32) for shape in ((n_rows, n_columns), n_rows, n_columns)
    )
    above[rng.random(n_rows) < 0.2], below[rng.random(n_columns) < 0.2] = -np.inf, np.inf
    found = np.empty_like(values)
    products.shift_floored(values, above, below, -0.5, found)
    # Sums that nearly cancel keep the rounding of their terms.
    np.testing.assert_allclose(found, naive.shift_floored(values, above, below, -0.5), rtol=1e-5, atol=2e-6)


def assert_rows(indptr: Any, indices: Any, weights: Any, expected: list[dict[int, float]]) -> None:
    """Assert that sparse rows hold these entries, ascending."""
    assert np.diff(indptr).tolist() == [len(row) for row in expected]
    assert indices[: indptr[-1]].tolist() == [column for row in expected for column in sorted(row)]
    found = [row[column] for row in expected for column in sorted(row)]
    np.testing.assert_allclose(weights[: indptr[-1]], found, rtol=1e-6)


def check_thinned(rng: Any, between: Any, inside: Any, indptr: Any, indices: Any, weights: Any) -> None:
    """Take some entries off rows of a quotient, leave out some of its groups, and compare what is thinned out."""
    n = len(between)
    thin = np.where(rng.random(n) < 0.3, 0.0, rng.random(n) / 10)
    groups = np.flatnonzero(rng.random(n) < 0.7)
    place = np.full(n, -1, np.int32)
    place[groups] = 100 + np.arange(groups.size)
    off = [{h: w * rng.choice([0.5, 1.0]) for h, w in row.items() if rng.random() < 0.4} for row in between]
    taken = np.cumsum([0, *map(len, off)]), np.array([h for row in off for h in row], np.int64)
    out = np.zeros(groups.size + 1, np.int64), np.empty(indices.size, np.int32), np.empty(indices.size, np.float32)
    loops = np.empty(groups.size, np.float32)
    heavy = np.array([w for row in off for w in row.values()], np.float64)
    csr.thinned_rows(indptr, indices, weights, np.array(inside, float), *taken, heavy, groups, place, thin, *out, loops)
    left = [{h: w - o.get(h, 0) for h, w in row.items() if o.get(h) != w} for row, o in zip(between, off, strict=True)]
    kept = naive.thinned(left, thin.tolist(), range(n))
    assert_rows(*out, [{int(place[h]): w for h, w in kept[g].items() if place[h] >= 0} for g in groups])
    np.testing.assert_allclose(loops, np.array(inside)[groups], rtol=1e-6)


@given(st.integers(0, 999), *(st.integers(0, 5) for _ in range(4)))
@shortly
def test_rows_of_single_and_merged_vertices_are_joined(seed: int, own: int, anchors: int, halo: int, rest: int) -> None:
    rng, n = np.random.default_rng(seed), own + anchors + halo + rest
    whole = np.triu(rng.integers(0, 3, (n, n)), 1)
    whole = whole + whole.T
    place = np.arange(n)
    is_merged = ((place >= own) & (place < own + anchors)) | (place >= own + anchors + halo)
    single = naive.sparse(whole[~is_merged])
    merged = naive.sparse(np.where(is_merged, whole[is_merged], 0))
    size = np.count_nonzero(whole)
    indptr, indices, weights = np.zeros(n + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.float32)
    csr.joined_rows(*single, *merged, own, anchors, halo, indptr, indices, weights)
    assert_rows(indptr, indices, weights, naive.joined(whole))


@given(graph=graphs(min_vertices=1, max_vertices=30), seed=st.integers(0, 999), n_groups=st.integers(1, 6))
@shortly
def test_rows_of_merged_vertices(graph: Graph, seed: int, n_groups: int) -> None:
    label = some(graph, seed).integers(0, n_groups, graph.n_vertices).astype(np.int32)
    all_of, inside = naive.quotient(graph, label.tolist(), n_groups)
    members, offsets = np.argsort(label, kind="stable"), np.searchsorted(np.sort(label), np.arange(n_groups + 1))
    size = sum(len(row) for row in all_of)
    assert size <= csr.merged_size(graph.indptr, members, offsets, n_groups) <= graph.indices.size
    indptr, indices = np.zeros(n_groups + 1, np.int64), np.empty(graph.indices.size, np.int32)
    weights, loops = np.empty(indices.size), np.empty(n_groups)
    groups = np.arange(n_groups), n_groups
    rows = graph.indptr, graph.indices, weights_of(graph)
    csr.quotient_rows(*rows, members, offsets, label, *groups, indptr, indices, weights, loops)
    assert_rows(indptr, indices, weights, all_of)
    np.testing.assert_allclose(loops, inside)
    check_thinned(some(graph, seed), all_of, inside, indptr, indices[:size], weights[:size])

    matrix = np.zeros((n_groups, n_groups))
    csr.quotient_matrix(graph.indptr, graph.indices, weights_of(graph), label.astype(np.int64), matrix)
    np.testing.assert_allclose(
        matrix, [[inside[g] if g == h else all_of[g].get(h, 0) for h in range(n_groups)] for g in range(n_groups)]
    )


@given(graph=graphs(min_vertices=2, max_vertices=20), bits=st.integers(0, 2**32 - 1), seed=st.integers(0, 999))
@shortly
def test_places_in_rows(graph: Graph, bits: int, seed: int) -> None:
    rows = walk_rows(graph)
    if graph.weights is not None:
        assert walks.row_shares(graph.indptr, graph.weights).tolist() == naive.row_shares(graph)
        np.testing.assert_allclose(walks.strengths(graph.indptr, graph.weights), naive.strengths(graph))
    for v in range(graph.n_vertices):
        for wanted in range(graph.n_vertices):
            assert walks.find(rows, v, wanted) == naive.find(graph, v, wanted)
            assert walks.bias(rows, v, wanted, 0.5, 4.0) == naive.bias(graph, v, wanted, 0.5, 4.0)
        near = naive.neighbours(graph, v)
        if near:
            assert graph.indices[walks.pick(rows, v, np.uint64(bits))] == naive.pick(graph, v, bits)
        for j in range(len(near)):
            assert walks.share_of(rows, v, graph.indptr[v] + j) == pytest.approx(naive.share(graph, v, j), abs=1e-12)
        for before in near:
            key = seed + v
            state = np.uint64(naive.opened(key, naive.WALK))
            step, state = walks.second_order_step(rows, before, v, 0.3, 2.0, state)
            draws = naive.stream(key, naive.WALK)
            assert step == naive.biased_step(graph, before, v, 0.3, 2.0, draws)
            assert naive.mix(int(state) + naive.GOLDEN & naive.MASK) == next(draws), "as many draws"


@given(st.integers(0, 2**64 - 1), st.integers(1, 4), st.integers(1, 2**32))
@shortly
def test_draws_and_their_halves(key: int, purpose: int, bound: int) -> None:
    state = splitmix.open_stream(np.uint64(key), np.uint64(purpose))
    draw = int(splitmix.mix(np.uint64(naive.opened(key, purpose) + naive.GOLDEN & naive.MASK)))
    assert int(state) == naive.opened(key, purpose)
    assert draw == naive.mix(naive.opened(key, purpose) + naive.GOLDEN & naive.MASK)
    assert draw == next(naive.stream(key, purpose))
    upper, lower = naive.halves(draw)
    assert (int(splitmix.high(np.uint64(draw))), int(splitmix.low(np.uint64(draw)))) == (upper, lower)
    assert splitmix.below(np.uint64(upper), bound) == naive.below(upper, bound)


@given(graph=graphs(max_vertices=25), seed=st.integers(0, 999))
@shortly
def test_walks_of_two_and_three_steps(graph: Graph, seed: int) -> None:
    n, count = graph.n_vertices, 30 if graph.n_vertices else 0
    pairs, scratch, found = some(graph, seed).integers(0, n or 1, size=(count, 2)), np.zeros(n), np.empty(count)
    meetings.walk_meetings(graph.indptr, graph.indices, pairs, scratch, found)
    assert found == pytest.approx([naive.walk_meetings(graph, u, v) for u, v in pairs.tolist()], rel=1e-9)
    assert not scratch.any()
