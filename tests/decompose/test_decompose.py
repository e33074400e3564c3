"""The laws of decompositions, over graphs and capacities of every shape."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.decompose.anchors import AnchorDecomposer
from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import Limits
from parge.decompose.registry import partitioners, strategies
from parge.errors import InfeasibleError, InputError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.memory import Footprint
from parge.planning.decision import decide
from parge.planning.plan import Plan
from parge.planning.summary import summarise
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.hope import HOPE
from parge.testing.decomposer import DecomposerContract, check_decomposition

STRATEGIES, PARTITIONERS = strategies.names(), partitioners.names()


@st.composite
def small_graphs(draw: st.DrawFn) -> Graph:
    """Graphs of up to 40 vertices: none, isolated ones, stars, cliques, several components, random edges."""
    n = draw(st.integers(1, 40))
    kind = draw(st.sampled_from(["random", "star", "clique", "path", "none", "pair of cliques"]))
    if kind == "random":
        pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=4 * n))
    elif kind == "star":
        pairs = [(0, v) for v in range(1, n)]
    elif kind == "clique":
        pairs = [(u, v) for u in range(min(n, 15)) for v in range(u)]
    elif kind == "path":
        pairs = [(v, v + 1) for v in range(n - 1)]
    elif kind == "none":
        pairs = []
    else:
        half = n // 2
        pairs = [(u, v) for u in range(n) for v in range(u) if (u < half) == (v < half)]
    return Graph.from_edges(np.array(pairs, np.int64).reshape(-1, 2), vertices=n)


@st.composite
def feasible(draw: st.DrawFn) -> tuple[Graph, Limits, int]:
    """A graph, capacities that just suffice or leave room, and a number of anchors."""
    graph = draw(small_graphs())
    n_parts = draw(st.integers(1, 6))
    n_anchors = draw(st.integers(0, graph.n_vertices)) if n_parts > 1 else 0
    rest = graph.n_vertices - n_anchors
    cuts = sorted(draw(st.lists(st.integers(0, rest), min_size=n_parts - 1, max_size=n_parts - 1)))
    own = np.diff([0, *cuts, rest])
    spare = np.array(draw(st.lists(st.sampled_from([0, 0, 0, 1, 5, 100]), min_size=n_parts, max_size=n_parts)))
    return graph, Limits.of_vertices(own + n_anchors + spare), n_anchors


class TestAnchorDecomposer(DecomposerContract):
    decomposer = AnchorDecomposer

    @pytest.mark.hypothesis
    @pytest.mark.parametrize("strategy", STRATEGIES)
    @pytest.mark.parametrize("partitioner", PARTITIONERS)
    def test_feasible_plans_are_kept_exactly(self, strategy: str, partitioner: str) -> None:
        @examples(60, derandomize=True)
        @given(feasible(), st.integers(0, 3))
        def law(case: tuple[Graph, Limits, int], seed: int) -> None:
            graph, limits, n_anchors = case
            decomposer = AnchorDecomposer(n_anchors, strategy, partitioner, seed)
            found = decomposer.decompose(graph, limits)
            check_decomposition(graph, limits, found)
            assert found.anchors.size == (n_anchors if limits.n_parts > 1 else 0)
            again = decomposer.decompose(graph, limits)
            assert np.array_equal(found.part, again.part)
            assert np.array_equal(found.anchors, again.anchors)

        law()

    @examples(150, derandomize=True)
    @given(small_graphs(), st.lists(st.integers(0, 40), min_size=1, max_size=5), st.integers(0, 40))
    def test_feasible_if_and_only_if_accepted(self, graph: Graph, capacities: list[int], n_anchors: int) -> None:
        n_anchors = min(n_anchors, graph.n_vertices) if len(capacities) > 1 else 0
        free = sum(capacity - n_anchors for capacity in capacities)
        possible = min(capacities) >= n_anchors and free >= graph.n_vertices - n_anchors
        limits = Limits.of_vertices(capacities)
        try:
            found = AnchorDecomposer(n_anchors).decompose(graph, limits)
        except InfeasibleError:
            assert not possible
        else:
            assert possible
            check_decomposition(graph, limits, found)


@examples(100, derandomize=True)
@given(small_graphs(), st.lists(st.integers(1, 4), min_size=1, max_size=4), st.floats(1.1, 4), st.integers(0, 10))
def test_byte_budgets_are_kept_hubs_included(graph: Graph, shares: list[int], slack: float, n_anchors: int) -> None:
    footprint = Footprint(fixed=1000, per_vertex=10, per_edge=7)
    needed = footprint.bytes(graph.n_vertices, graph.n_edges) - footprint.fixed
    budgets = (np.array(shares) / sum(shares) * needed * slack + footprint.fixed + 1).astype(np.int64)
    limits = Limits.of_bytes(budgets, footprint)
    try:
        found = AnchorDecomposer(min(n_anchors, graph.n_vertices), at_most=True).decompose(graph, limits)
    except InfeasibleError:
        return  # one hub may fit nowhere: then it is refused, never overfilled
    for i in range(limits.n_parts):
        subgraph = found.subgraph(i)
        assert footprint.bytes(subgraph.n_vertices, subgraph.n_edges) <= budgets[i]


def test_a_roomy_byte_budget_is_not_refused() -> None:
    star = Graph.from_edges(np.zeros(200, np.int64), np.arange(1, 201))
    footprint = Footprint(fixed=0, per_vertex=10, per_edge=10)
    found = AnchorDecomposer(5, at_most=True).decompose(star, Limits.of_bytes([2500, 2500, 2500], footprint))
    assert found.anchors.size > 0
    assert found.lost_edges < 0.7


def test_infeasible_says_what_would_do() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10))
    with pytest.raises(InfeasibleError, match=r"\b10\b.*\b12\b.*\b2 vertices.*\b1 vertex.*\b0\b"):
        AnchorDecomposer(2).decompose(path, Limits.of_vertices([5, 5]))
    with pytest.raises(InfeasibleError, match=r"subgraph 1 .*\b1\b.*\b2\b"):
        AnchorDecomposer(3).decompose(path, Limits.of_vertices([20, 1]))
    with pytest.raises(InfeasibleError, match="short"):
        AnchorDecomposer(0).decompose(path, Limits.of_bytes([110, 110], Footprint(100, 10, 10)))


def test_infeasible_says_what_would_do_with_the_anchors_that_auto_wants() -> None:
    graph = planted(300, 1_000, seed=1).graph

    def planned(capacity: int, n_parts: int) -> AnchorDecomposer:
        plan = Plan(technique=HOPE(dim=16), capacities=[capacity] * n_parts)
        found = decide(graph, plan).decomposer
        assert isinstance(found, AnchorDecomposer)
        return found

    for capacity, n_parts in ((90, 3), (2, 4)):
        with pytest.raises(InfeasibleError) as refused:
            planned(capacity, n_parts)
        words = r"(\d+) vertices more for each worker with 0 anchors; (\d+) vertices more with 16,"
        found = re.search(words, str(refused.value))
        assert found is not None
        least, useful = int(found[1]), int(found[2])
        assert planned(capacity + least, n_parts).n_anchors < 16 <= planned(capacity + useful, n_parts).n_anchors
        assert planned(capacity + useful - 1, n_parts).n_anchors < 16
        with pytest.raises(InfeasibleError):
            planned(capacity + least - 1, n_parts)


def test_decomposition_refuses_a_part_over_its_capacity() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10))
    with pytest.raises(InputError, match=r"subgraph 0 .*10 vertices.* 5"):
        Decomposition(path, np.zeros(10, np.int32), np.zeros(0, np.int64), np.array([5, 5]))


@pytest.mark.parametrize(
    "graph",
    [
        Graph.from_edges(np.arange(100), (np.arange(100) + 1) % 100),
        Graph.from_edges(np.zeros(99, np.int64), np.arange(1, 100)),
        Graph.from_edges([], [], vertices=100),
    ],
    ids=["ring", "star", "no edge"],
)
@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_generous_capacities_still_use_every_worker(graph: Graph, partitioner: str) -> None:
    found = AnchorDecomposer(4, partitioner=partitioner).decompose(graph, Limits.of_vertices([1000] * 4))
    assert found.sizes.max() <= 40


def test_numbers_beyond_all_measure_are_no_limit() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10))
    huge = 2**63 - 1
    assert AnchorDecomposer(1).decompose(path, Limits.of_vertices([huge, huge, 10**30])).n_parts == 3
    assert AnchorDecomposer(1).decompose(path, Limits.of_bytes([huge] * 4, Footprint(10, 10, 10))).n_parts == 4


def test_anchors_that_were_asked_for_are_kept_or_refused() -> None:
    ring = Graph.from_edges(np.arange(300), (np.arange(300) + 1) % 300)
    limits = Limits.of_bytes([2300, 2300, 2300], Footprint(0, 10, 10))
    with pytest.raises(InfeasibleError, match="100 anchors"):
        AnchorDecomposer(100).decompose(ring, limits)
    assert 0 < AnchorDecomposer(100, at_most=True).decompose(ring, limits).anchors.size < 100


def test_metis_does_not_print() -> None:
    script = (
        "import numpy as np; from parge.decompose.anchors import AnchorDecomposer;"
        "from parge.graph.generate import path;"
        "from parge.decompose.limits import Limits;"
        "limits = Limits.of_vertices([189, 89, 73, 73, 88, 73, 94, 204, 82]);"
        "AnchorDecomposer(72, partitioner='metis', seed=1).decompose(path(389), limits)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_metis_in_the_place_of_kaminpar_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted(60, 200, communities=2, seed=2).graph
    limits = Limits.equal(2, graph.n_vertices, 5)
    assert AnchorDecomposer(5).decompose(graph, limits).notices == ()
    metis = AnchorDecomposer(5, partitioner="metis").decompose(graph, limits)
    monkeypatch.setitem(sys.modules, "kaminpar", None)  # as if it were not installed
    found = AnchorDecomposer(5).decompose(graph, limits)
    assert "METIS" in found.notices[0]
    assert np.array_equal(found.part, metis.part)
    assert summarise(found, DeepWalk()).notices == found.notices


def test_components_without_anchor_are_counted() -> None:
    graph = Graph.from_edges([0, 1, 4, 5], [1, 2, 5, 6], vertices=8)
    found = Decomposition(graph, np.zeros(8, np.int32), np.array([1]), np.array([8]))
    assert found.unanchored == (3, 5)  # 3; 4-5-6; 7


@pytest.mark.shared
@pytest.mark.parametrize(("name", "most"), [("blogcatalog", 0.045), ("ca-AstroPh", 0.040)])
def test_lost_edges_on_real_graphs(shared, name: str, most: float) -> None:  # type: ignore[no-untyped-def]
    from parge.io.graphs.read import read

    n_vertices = {"blogcatalog": 10_312, "ca-AstroPh": 18_772}[name]
    graph = read(shared(f"{name}.edges.gz"), vertices=n_vertices)
    n_anchors = n_vertices // 10
    found = AnchorDecomposer(n_anchors).decompose(graph, Limits.equal(8, n_vertices, n_anchors))
    assert found.lost_edges <= most
    shares = np.array([1, 1, 2, 2, 3, 4, 5, 8])
    capacities = n_anchors + np.ceil(shares / shares.sum() * (n_vertices - n_anchors)).astype(np.int64)
    uneven = AnchorDecomposer(n_anchors).decompose(graph, Limits.of_vertices(capacities))
    assert (uneven.sizes <= capacities).all()
