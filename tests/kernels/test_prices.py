"""Wishes, prices and claims against their slow twins."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.kernels import naive_prices

from parge.graph.graph import Graph
from parge.kernels import cut, prices
from parge.testing.graphs import graphs

# Rows without weights, of vertices without other names.
ONCE = np.zeros(0, np.int32)

shortly = examples(60)
drawn = given(graph=graphs(max_vertices=24), seed=st.integers(0, 999), n_parts=st.integers(2, 5))


@given(st.integers(-(2**40), 2**40) | st.integers(-300, 300))
@shortly
def test_levels_are_places_on_a_scale(value: int) -> None:
    assert prices.level_of(value) == naive_prices.level(value)
    assert abs(prices.level_of(value)) < prices.LEVELS
    level = abs(prices.level_of(value))
    assert prices.value_of(level) == naive_prices.SCALE[level] <= abs(value)
    assert prices.level_of(value + 1) >= prices.level_of(value)


def test_every_level_has_its_least_value() -> None:
    assert [prices.value_of(level) for level in range(prices.LEVELS)] == naive_prices.SCALE[: prices.LEVELS]
    assert [prices.level_of(prices.value_of(level)) for level in range(prices.LEVELS)] == list(range(prices.LEVELS))


@drawn
@shortly
def test_a_round_of_moves(graph: Graph, seed: int, n_parts: int) -> None:
    rng, n, rows = np.random.default_rng([seed, graph.n_vertices]), graph.n_vertices, (0, graph.n_vertices)
    part = rng.integers(-1, n_parts, n).astype(np.int8)
    weights, scale = rng.integers(1, 5, n), int(rng.integers(1, 30))
    cost = rng.choice(naive_prices.SCALE[:40], n_parts).astype(np.int64)
    locked = rng.random(n) < 0.2
    votes, wish = np.zeros((n, n_parts), np.int32), np.zeros(n, np.int8)
    kept, there = np.zeros((2, n), np.int32)
    histogram, expected = np.zeros((2, n_parts, n_parts, 2 * prices.LEVELS), np.int64)

    n_cut = 0
    for some in ((0, n // 2), (n // 2, n)):  # in two calls
        here = votes[slice(*some)]
        prices.count_votes(graph.indptr, graph.indices, ONCE, part, some, here)
        n_cut += prices.wish_rows(some, part, weights, scale, cost, here, locked, wish, kept, there, histogram)
    alone = np.flatnonzero(part >= 0).tolist()
    arguments = part.tolist(), weights.tolist(), scale, cost.tolist()
    made, n_expected = [], 0
    for v in alone:
        assert votes[v].tolist() == [naive_prices.in_part(graph, v, part.tolist(), q) for q in range(n_parts)]
        best, gain, n_foreign = naive_prices.wish(graph, v, *arguments)
        n_expected += n_foreign
        assert wish[v] == (-1 if locked[v] else best)
        if not locked[v]:
            made.append((part[v], best, naive_prices.level(gain * scale // int(weights[v])), weights[v]))
    assert all(wish[v] == -1 for v in range(n) if part[v] < 0)
    assert n_cut == n_expected
    for p, q, level, weight in made:
        expected[p, q, level + prices.LEVELS] += weight
    assert np.array_equal(histogram, expected)

    loads = np.bincount(part[part >= 0], weights[part >= 0], minlength=n_parts).astype(np.int64)
    limits = loads + rng.integers(-3, 6, n_parts)
    cleared = prices.clear_prices(histogram, loads, limits)
    assert cleared.tolist() == naive_prices.prices(made, loads.tolist(), limits.tolist(), prices.LEVELS)

    profit, bins = np.zeros(n, np.float32), np.zeros(n, np.int64)
    prices.claim_rows(rows, part, weights, scale, cost, kept, there, wish, profit)
    claims = [naive_prices.claim(graph, v, *arguments, wish.tolist()) if wish[v] >= 0 else None for v in range(n)]
    assert [None if x == prices.NOTHING else x for x in profit.tolist()] == claims

    prices.confirm_rows(
        graph.indptr, graph.indices, ONCE, ONCE, part, rows, weights, scale, cost, wish, profit, seed, bins
    )
    source, target = prices.ends_of_bins(bins, n_parts)
    for v in range(n):
        brings = None
        if claims[v] is not None:
            brings = naive_prices.confirmed(graph, v, *arguments, wish.tolist(), claims)
        assert (bins[v] >= 0) == (brings is not None and brings >= 0)
        if bins[v] >= 0:
            assert (source[v], target[v]) == (part[v], wish[v])
            level = bins[v] // (n_parts * prices.SLICES) % prices.LEVELS
            assert level == naive_prices.level(brings // weights[v])


@drawn
@shortly
def test_votes_follow_those_who_move(graph: Graph, seed: int, n_parts: int) -> None:
    rng, n = np.random.default_rng([seed, graph.n_vertices]), graph.n_vertices
    part = rng.integers(-1, n_parts, n).astype(np.int8)
    votes, wish = np.zeros((n, n_parts), np.int32), rng.integers(0, n_parts, n).astype(np.int8)
    prices.count_votes(graph.indptr, graph.indices, ONCE, part, (0, n), votes)
    movers = np.flatnonzero((rng.random(n) < 0.4) & (part >= 0))
    after = part.copy()
    after[movers] = wish[movers]
    prices.move_vertices(graph.indptr, graph.indices, movers, wish, part, votes)
    assert np.array_equal(part, after)
    for v in np.flatnonzero(part >= 0):
        assert votes[v].tolist() == [naive_prices.in_part(graph, v, part.tolist(), q) for q in range(n_parts)]


bins_and_loads = st.integers(2, 4).flatmap(
    lambda k: st.tuples(
        st.lists(st.tuples(st.integers(0, k - 1), st.integers(0, k - 1), st.integers(1, 9)), max_size=25),
        st.lists(st.integers(0, 5), min_size=k, max_size=k),
        st.lists(st.integers(-4, 12), min_size=k, max_size=k),
    )
)


@given(bins_and_loads)
@examples(200)
def test_bins_move_whole_and_no_limit_is_exceeded(
    case: tuple[list[tuple[int, int, int]], list[int], list[int]],
) -> None:
    found, spare, room = case
    bins = sorted((b for b in found if b[0] != b[1]), key=lambda b: b[1])
    loads = [extra + sum(w for p, _, w in bins if p == q) for q, extra in enumerate(spare)]  # all that moves was there
    limits = [load + more for load, more in zip(loads, room, strict=True)]
    source, target, weight = np.array(bins, np.int64).reshape(-1, 3).T
    most = np.maximum(loads, limits)
    admitted = prices.admit_bins(source, target, weight, np.array(loads), np.array(limits))
    assert admitted.tolist() == naive_prices.admitted(bins, loads, limits)
    after = np.array(loads)
    np.subtract.at(after, source[admitted], weight[admitted])
    np.add.at(after, target[admitted], weight[admitted])
    assert (after <= most).all()


@drawn
@shortly
def test_a_part_over_its_limit_is_relieved(graph: Graph, seed: int, n_parts: int) -> None:
    rng, n = np.random.default_rng([seed, graph.n_vertices]), graph.n_vertices
    part, weights = rng.integers(0, n_parts, n).astype(np.int32), rng.integers(1, 4, n)
    loads = np.bincount(part, weights, minlength=n_parts).astype(np.int64)
    limits = loads + rng.integers(-4, 5, n_parts)
    full = int(np.argmax(loads - limits))
    members = rng.permutation(np.flatnonzero(part == full))
    votes = cut.part_votes(graph.indptr, graph.indices, part, members, n_parts)
    plain = members.tolist(), votes.tolist(), weights.tolist(), limits.tolist(), part.tolist(), loads.tolist()
    assert cut.relieve(full, members, votes, weights, limits, part, loads) == naive_prices.relieve(full, *plain)
    assert (part.tolist(), loads.tolist()) == (plain[4], plain[5])


@drawn
@shortly
def test_what_candidates_save_alone(graph: Graph, seed: int, n_parts: int) -> None:
    rng, n = np.random.default_rng([seed, graph.n_vertices]), graph.n_vertices
    part, marked = rng.integers(0, n_parts, n).astype(np.int16), rng.random(n) < 0.2
    rank = np.where(rng.random(n) < 0.6, rng.integers(0, 4, n), -1).astype(np.int32)
    candidates, names = np.flatnonzero(rank >= 0), np.arange(n, dtype=np.int32)
    found = cut.saved_alone(graph.indptr, graph.indices, part, marked, rank, names, candidates)
    plain = part.tolist(), marked.tolist(), rank.tolist()
    assert found.tolist() == [naive_prices.saved_alone(graph, v, *plain) for v in candidates.tolist()]
