"""Parts and anchors of a graph in shards: the same for any shards, within limits, about as good as on one machine."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.shards import together
from tests.examples import examples, slow

from parge.cluster import split
from parge.cluster.coarsen import Level, contract, groups
from parge.cluster.improvement import SharedMarket, improve_shared
from parge.cluster.mesh import Mesh
from parge.cluster.rows import Owners, Rows
from parge.cluster.split import Aim, Split, load_of, repaired, split_shared
from parge.decompose.anchors import AnchorDecomposer
from parge.decompose.improvement import improve
from parge.decompose.limits import Limits
from parge.errors import InfeasibleError
from parge.graph.generate import grid, path, planted, ring_of_cliques, star
from parge.graph.graph import Graph
from parge.memory import Footprint
from parge.testing.graphs import graphs

SHARDS = (1, 2, 3, 7, 16)


@pytest.fixture(autouse=True, scope="module")
def merged_at_once() -> Iterator[None]:
    """Have all but the smallest graphs merged before they are split."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split, "_GROUPS_A_PART", 5)
        patch.setattr(split, "_FEWEST_A_PART", 5)
        yield


KINDS = {
    "star": star(60),
    "path": path(60),
    "grid": grid(8, 9),
    "cliques": ring_of_cliques(12, 6),
    "bipartite": Graph.from_edges(np.repeat(np.arange(9), 8), np.tile(np.arange(9, 17), 9), vertices=20),
    "isolated": Graph.from_edges([0, 1], [1, 2], vertices=50),
}


def limits_for(graph: Graph, n_parts: int, n_anchors: int, slack: float) -> Limits:
    shares = np.arange(3, 3 + n_parts) / np.arange(3, 3 + n_parts).sum()
    return Limits.of_vertices(np.ceil(shares * (graph.n_vertices - n_anchors) * (1 + slack)).astype(int) + n_anchors)


def split_in(graph: Graph, size: int, seed: int, aim: Aim) -> tuple[np.ndarray, np.ndarray]:
    def program(mesh: Mesh, owners: Owners, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        found = split_shared(mesh, owners, rows, aim)
        check_loads(mesh, rows, aim.limits, found)
        return found.part, found.anchors

    part, anchors = together(graph, size, seed, program)
    return part, anchors


def check_loads(mesh: Mesh, rows: Rows, limits: Limits, found: Split) -> None:
    load = load_of(mesh, rows, limits, found.anchors)
    own = np.where(found.anchors, 0, load.weights)
    loads = mesh.total(np.bincount(found.part, own, minlength=limits.n_parts).astype(np.int64))
    assert (loads <= load.free).all()


@pytest.mark.parametrize("kind", KINDS)
def test_parts_and_anchors_do_not_depend_on_the_shards(kind: str) -> None:
    graph, n_anchors = KINDS[kind], 4
    aim = Aim(limits_for(graph, 3, n_anchors, 0.1), n_anchors)
    part, anchors = split_in(graph, 1, 0, aim)
    for size in SHARDS[1:]:
        again = split_in(graph, size, size, aim)
        assert np.array_equal(part, again[0])
        assert np.array_equal(anchors, again[1])


@given(graph=graphs(max_vertices=40), size=st.sampled_from(SHARDS), seed=st.integers(0, 99), slack=st.floats(0, 0.1))
@examples(60)
def test_any_graph_is_split_within_its_limits_and_alike(graph: Graph, size: int, seed: int, slack: float) -> None:
    n_anchors = min(3, graph.n_vertices // 3)
    aim = Aim(limits_for(graph, 3, n_anchors, slack), n_anchors)
    part, anchors = split_in(graph, 1, 0, aim)
    again = split_in(graph, size, seed, aim)
    assert np.array_equal(part, again[0])
    assert np.array_equal(anchors, again[1])


@given(graph=graphs(max_vertices=40), size=st.sampled_from(SHARDS[1:]), seed=st.integers(0, 99))
@examples(40)
def test_limits_in_bytes_are_kept(graph: Graph, size: int, seed: int) -> None:
    one = Footprint(1000, 100.0, 24.0)
    whole = one.per_vertex * graph.n_vertices + one.per_edge * graph.n_edges
    free = 1000 + whole / 3 * 1.3 + 2 * (100 + 24 * int(graph.degrees.max(initial=0)))
    aim = Aim(Limits.of_bytes([int(free)] * 3, one), min(2, graph.n_vertices // 3))
    part, anchors = split_in(graph, 1, 0, aim)
    again = split_in(graph, size, seed, aim)
    assert np.array_equal(part, again[0])
    assert np.array_equal(anchors, again[1])


@given(graph=graphs(max_vertices=30), size=st.sampled_from(SHARDS), seed=st.integers(0, 99), n_parts=st.integers(2, 4))
@examples(40)
def test_shards_improve_parts_as_one_process_does(graph: Graph, size: int, seed: int, n_parts: int) -> None:
    rng = np.random.default_rng(seed)
    part = rng.integers(-1, n_parts, graph.n_vertices).astype(np.int32)
    weights = rng.integers(1, 4, graph.n_vertices)
    limits = np.bincount(part[part >= 0], weights[part >= 0], minlength=n_parts).astype(np.int64) + 2
    alone = improve(graph.indptr, graph.indices, weights, limits, part)

    def program(mesh: Mesh, _owners: Owners, rows: Rows) -> tuple[np.ndarray]:
        return (improve_shared(mesh, rows, weights[rows.names], limits, part[rows.names]),)

    (shared,) = together(graph, size, seed, program)
    if graph.n_edges:
        assert np.array_equal(alone, shared)


@given(graph=graphs(max_vertices=30), size=st.sampled_from(SHARDS), seed=st.integers(0, 99))
@examples(30)
def test_no_step_of_a_market_exceeds_a_limit(graph: Graph, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    part = rng.integers(0, 3, graph.n_vertices).astype(np.int32)
    weights = rng.integers(1, 5, graph.n_vertices)
    before = np.bincount(part, weights, minlength=3).astype(np.int64)
    limits = before + rng.integers(-2, 4, 3)

    def program(mesh: Mesh, _owners: Owners, rows: Rows) -> tuple[()]:
        market = SharedMarket(mesh, rows, weights[rows.names], limits, part[rows.names])
        most = np.maximum(before, limits)
        for turn in range(5):
            market.wished()
            market.trade(turn)
            now = mesh.total(np.bincount(market.part[: rows.n_own], weights[rows.names], 3).astype(np.int64))
            assert np.array_equal(now, market.loads)
            assert (now <= most).all()
            most = np.maximum(np.minimum(most, now), limits)
        return ()

    together(graph, size, seed, program)


@given(graph=graphs(max_vertices=40), size=st.sampled_from(SHARDS), seed=st.integers(0, 99), most=st.integers(2, 9))
@examples(40)
def test_groups_are_small_and_their_graph_counts_every_edge(graph: Graph, size: int, seed: int, most: int) -> None:
    weights = np.random.default_rng(seed).integers(1, 3, graph.n_vertices)

    def program(mesh: Mesh, owners: Owners, rows: Rows) -> tuple[np.ndarray]:
        level = Level(rows, weights[rows.names])
        label, loads = groups(mesh, owners, level, most, seed % 5)  # the fourth level counts beyond 32 bits
        upper = contract(mesh, owners, level, label, loads)
        assert mesh.count(int(upper.loads.sum())) == weights.sum()
        assert upper.loads.max(initial=0) <= max(most, 2)
        everywhere = rows.with_ghosts(mesh, label)
        crossing = int((np.repeat(label, rows.degrees) != everywhere[rows.indices]).sum())
        assert mesh.count(int(upper.times.sum())) == mesh.count(crossing)
        return (label,)

    (label,) = together(graph, size, seed, program)
    (alone,) = together(graph, 1, 0, program)
    assert np.array_equal(label, alone)
    sums = np.bincount(label, weights)
    assert sums[sums > 0].max(initial=0) <= max(most, 2)


def test_parts_that_are_too_full_are_repaired_or_refused() -> None:
    graph = star(12)

    def program(mesh: Mesh, _owners: Owners, rows: Rows) -> tuple[np.ndarray]:
        ones, part = np.ones(rows.n_own, np.int64), np.zeros(rows.n_own, np.int32)
        return (repaired(mesh, rows, ones, np.array([4, 4, 4]), part),)

    (part,) = together(graph, 3, 5, program)
    assert np.bincount(part).tolist() == [4, 4, 4]

    def too_full(mesh: Mesh, _owners: Owners, rows: Rows) -> tuple[np.ndarray]:
        ones, part = np.ones(rows.n_own, np.int64), np.zeros(rows.n_own, np.int32)
        return (repaired(mesh, rows, ones, np.array([4, 4, 3]), part),)

    with pytest.raises(InfeasibleError):
        together(graph, 3, 5, too_full)


@pytest.mark.parametrize("n_vertices", [2_000, *slow(20_000)])
def test_as_few_edges_are_lost_as_on_one_machine(n_vertices: int) -> None:
    graph, n_anchors = planted(n_vertices, 8 * n_vertices).graph, n_vertices // 20
    limits = limits_for(graph, 5, n_anchors, 0.05)
    part, anchors = split_in(graph, 2, 0, Aim(limits, n_anchors))
    u = np.repeat(np.arange(n_vertices), graph.degrees)
    lost = (part[u] != part[graph.indices]) & ~anchors[u] & ~anchors[graph.indices]
    assert anchors.sum() == n_anchors
    assert lost.mean() <= 1.1 * AnchorDecomposer(n_anchors).decompose(graph, limits).lost_edges


@pytest.mark.slow
def test_parts_whose_numbers_take_two_bytes_are_alike_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "_ROUNDS", 2)  # every round has a table of 70 MB
    monkeypatch.setattr(split, "_TURNS", 1)
    graph, n_parts = planted(2000, 8000, seed=4).graph, 140
    aim = Aim(limits_for(graph, n_parts, 60, 0.1), 60)
    alone = split_in(graph, 1, 0, aim)
    for found, expected in zip(split_in(graph, 2, 5, aim), alone, strict=True):
        assert np.array_equal(found, expected)
    assert alone[0].max() == n_parts - 1
