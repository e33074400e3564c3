"""Parts that are improved instead of split again: limits, bits, and what is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.decompose.test_decompose import feasible
from tests.examples import examples

from parge.decompose import anchors
from parge.decompose.anchors import AnchorDecomposer
from parge.decompose.improvement import improve
from parge.decompose.limits import Limits
from parge.decompose.partitioners import work_of
from parge.errors import InfeasibleError
from parge.graph.generate import planted, ring_of_cliques
from parge.graph.graph import Graph
from parge.memory import Footprint
from parge.testing.decomposer import DecomposerContract, check_decomposition
from parge.testing.graphs import graphs
from parge.typing import IntArray, PartArray


def loads_of(part: PartArray, weights: IntArray, n_parts: int) -> IntArray:
    alone = part >= 0
    return np.bincount(part[alone], weights[alone], minlength=n_parts).astype(np.int64)


def better_parts(graph: Graph, limits: list[int], part: PartArray) -> PartArray:
    ones = np.ones(graph.n_vertices, np.int64)
    return improve(graph.indptr, graph.indices, ones, np.array(limits), part)


def n_cut(graph: Graph, part: PartArray) -> int:
    u = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    ends = part[u], part[graph.indices]
    return int(np.count_nonzero((ends[0] != ends[1]) & (ends[0] >= 0) & (ends[1] >= 0))) // 2


@given(graphs(max_vertices=40), st.integers(0, 999), st.integers(1, 5), st.sampled_from([0, 1, 3]), st.booleans())
@examples(150)
def test_no_part_exceeds_its_limit_and_blocks_of_rows_do_not_matter(
    graph: Graph, seed: int, n_parts: int, slack: int, weighted: bool
) -> None:
    rng, n = np.random.default_rng([seed, graph.n_vertices]), graph.n_vertices
    part = rng.integers(-1, n_parts, n).astype(np.int32)
    weights = rng.integers(1, 6, n) if weighted else np.ones(n, np.int64)
    loads = loads_of(part, weights, n_parts)
    limits = np.maximum(0, loads + rng.integers(-2, slack + 1, n_parts))
    before = part.copy()
    better = improve(graph.indptr, graph.indices, weights, limits, part)
    assert np.array_equal(part, before)
    assert np.array_equal(better < 0, part < 0)
    assert (loads_of(better, weights, n_parts) <= np.maximum(loads, limits)).all()
    if (loads <= limits).all():
        assert n_cut(graph, better) <= n_cut(graph, part)
    for block in (1, 7):
        assert np.array_equal(improve(graph.indptr, graph.indices, weights, limits, part, block=block), better)


def test_communities_that_were_mixed_come_together() -> None:
    """A fifth of the vertices stand in wrong parts; full parts exchange them."""
    graph = ring_of_cliques(16, 12)
    part = (np.arange(graph.n_vertices) // 48).astype(np.int32)
    rng = np.random.default_rng(3)
    some = rng.choice(graph.n_vertices, graph.n_vertices // 5, replace=False)
    mixed = part.copy()
    mixed[some] = rng.permutation(part[some])
    assert n_cut(graph, mixed) > 200
    better = better_parts(graph, [50] * 4, mixed)
    assert n_cut(graph, better) <= 16


def test_a_part_over_its_limit_is_emptied_down_to_it() -> None:
    graph = planted(2000, 16000, communities=8, seed=2).graph
    part = np.zeros(2000, np.int32)
    part[1700:] = 1 + np.arange(300) % 3
    better = better_parts(graph, [520] * 4, part)
    assert np.bincount(better, minlength=4).max() <= 520
    assert n_cut(graph, better) < 0.5 * graph.n_edges


def test_vertices_in_all_parts_stay_there_and_cost_nothing() -> None:
    graph = planted(600, 4000, communities=4, seed=1).graph
    part = (np.arange(600) % 4).astype(np.int32)
    part[np.argsort(-graph.degrees)[:60]] = -1
    better = better_parts(graph, [145] * 4, part)
    assert np.array_equal(better < 0, part < 0)
    assert n_cut(graph, better) < 0.6 * n_cut(graph, part)


@pytest.fixture
def at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors, "_MANY_EDGES", 0)


@pytest.mark.usefixtures("at_any_size")
class TestImproved(DecomposerContract):
    decomposer = AnchorDecomposer

    @pytest.mark.hypothesis
    def test_feasible_plans_are_kept_exactly(self) -> None:
        @examples(100, derandomize=True)
        @given(feasible(), st.integers(0, 3))
        def law(case: tuple[Graph, Limits, int], seed: int) -> None:
            graph, limits, n_anchors = case
            found = AnchorDecomposer(n_anchors, seed=seed).decompose(graph, limits)
            check_decomposition(graph, limits, found)
            again = AnchorDecomposer(n_anchors, seed=seed).decompose(graph, limits)
            assert np.array_equal(found.part, again.part)
            assert np.array_equal(found.anchors, again.anchors)

        law()

    @pytest.mark.parametrize("slack", [1.08, 1.3, 3.0])
    def test_budgets_in_bytes_are_kept(self, slack: float) -> None:
        graph = planted(1500, 9000, seed=4).graph
        footprint = Footprint(fixed=1000, per_vertex=100, per_edge=9)
        needed = footprint.bytes(graph.n_vertices, graph.n_edges) - footprint.fixed
        budgets = (np.array([0.1, 0.2, 0.3, 0.4]) * needed * slack + footprint.fixed).astype(np.int64)
        limits = Limits.of_bytes(budgets, footprint)
        found = AnchorDecomposer(150, at_most=True).decompose(graph, limits)
        for i in range(4):
            subgraph = found.subgraph(i)
            assert footprint.bytes(subgraph.n_vertices, subgraph.n_edges) <= budgets[i]

    def test_budgets_that_cannot_be_kept_are_refused(self) -> None:
        graph = planted(300, 1500, seed=4).graph
        with pytest.raises(InfeasibleError):
            AnchorDecomposer(30).decompose(graph, Limits.of_bytes([9000] * 3, Footprint(0, 100, 9)))


@pytest.mark.parametrize("capacities", [[3000] * 8, [2150, 2200, 2400, 2600, 2900, 3400, 4000, 6000]])
def test_it_loses_about_as_many_edges_as_splitting_anew(monkeypatch: pytest.MonkeyPatch, capacities: list[int]) -> None:
    graph = planted(12000, 100_000, seed=5).graph
    limits, decomposer = Limits.of_vertices(capacities), AnchorDecomposer(1200, seed=1)
    again = decomposer.decompose(graph, limits)
    monkeypatch.setattr(anchors, "_MANY_EDGES", 0)
    calls = []
    split = anchors.partition
    monkeypatch.setattr(anchors, "partition", lambda *given: (calls.append(1), split(*given))[1])
    improved = decomposer.decompose(graph, limits)
    assert len(calls) == 1
    assert improved.lost_edges <= 1.05 * again.lost_edges
    work = [int(work_of(graph.degrees)[improved.own(i)].sum()) for i in range(8)]
    shares = np.array(work) / (np.array(capacities) - 1200)
    assert shares.max() <= 1.35 * shares.mean()
