"""Subgraphs that shards cut out are those that one process cuts out of the whole graph."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.cluster import cutting
from parge.cluster.cutting import hold, landmarks, merged_weights
from parge.cluster.halo import edge_counts, fetch
from parge.cluster.mesh import Mesh, run_local
from parge.cluster.redistribute import PartRows, rows_of_part
from parge.cluster.subgraphs import cut_out, cut_plain
from parge.decompose import supervertices
from parge.decompose.decomposition import Contexts, Decomposition
from parge.decompose.partitioners import Problem, partition
from parge.decompose.registry import COMPRESSED
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import LINKS, Subgraph, induce, induce_with_context
from parge.landmarks.backbone import coarse_matrix


def part_rows(graph: Graph, part: np.ndarray, anchors: np.ndarray, index: int) -> PartRows:
    return rows_of_part(graph, part, index, anchors)


def cut(mesh: Mesh, graph: Graph, part: np.ndarray, anchors: np.ndarray) -> dict[str, Any]:
    held = hold(mesh, part_rows(graph, part, anchors, mesh.rank))
    marks = landmarks(mesh, held, graph.n_vertices, 9, "kaminpar", 0)
    weights = merged_weights(mesh, held, marks)
    (weights,) = mesh.lead(lambda _found: (weights,))  # type: ignore[arg-type, return-value]
    ghosts = np.flatnonzero(held.codes[held.rows.n_own :] & 1 == 0)
    halo, asked = fetch(mesh, held, marks, ghosts[::2])
    return {
        "names": held.part.names,
        "landmark": marks.of[: held.rows.n_own],
        "n": marks.n,
        "weights": weights,
        "halo": halo.names.astype(np.int64),
        "subgraph": cut_out(held, marks, halo, weights),
        "plain": cut_plain(mesh, held),
        "counts": edge_counts(mesh, held, halo.names, asked),
    }


def check_same(found: Subgraph, expected: Subgraph) -> None:
    assert np.array_equal(found.vertices, expected.vertices)
    assert found.n_own == expected.n_own
    for name in ("indptr", "indices"):
        assert np.array_equal(getattr(found.graph, name), getattr(expected.graph, name))
    assert (found.graph.weights is None) == (expected.graph.weights is None)
    if found.graph.weights is not None:
        assert found.graph.weights == pytest.approx(expected.graph.weights, rel=1e-5)
    if expected.context is not None:
        assert found.context is not None
        assert np.array_equal(found.context.landmark, expected.context.landmark)
        assert found.context.loops == pytest.approx(expected.context.loops, rel=1e-5)


@given(
    n=st.integers(12, 60),
    m=st.integers(10, 250),
    seed=st.integers(0, 99),
    weighted=st.booleans(),
    size=st.integers(2, 4),
)
@examples(40)
def test_shards_cut_out_what_one_process_does(n: int, m: int, seed: int, weighted: bool, size: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, m).astype(np.float32) if weighted else None
    graph = Graph.from_edges(*rng.integers(0, n, (2, m)), weights, vertices=n)
    part, anchors = rng.integers(0, size, n).astype(np.int32), rng.random(n) < 0.1
    found = run_local(size, lambda mesh: cut(mesh, graph, part, anchors))
    landmark = np.empty(n, np.int64)
    for one in found:
        landmark[one["names"]] = one["landmark"]
    assert found[0]["weights"] == pytest.approx(coarse_matrix(graph, landmark, found[0]["n"]))
    shared = np.flatnonzero(anchors)
    for i, one in enumerate(found):
        own = np.flatnonzero((part == i) & ~anchors)
        check_same(
            one["subgraph"], induce_with_context(graph, own, shared, one["halo"], landmark, index=i, links=LINKS)
        )
        check_same(one["plain"], induce(graph, own, shared, index=i))
    _check_counts(graph, part, shared, landmark, found)


def test_large_parts_are_merged_by_a_partitioner_that_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted(400, 3000, seed=1).graph
    part = np.arange(400, dtype=np.int32) % 2
    anchors = np.arange(400) % 40 == 0
    asked = []

    def noted(problem: Problem, method: str) -> Any:
        asked.append((method, problem.quick))
        return partition(problem, method)

    def merged(mesh: Mesh) -> Any:
        held = hold(mesh, part_rows(graph, part, anchors, mesh.rank))
        return landmarks(mesh, held, graph.n_vertices, 40, "kaminpar", 0).of[held.own]

    monkeypatch.setattr(supervertices, "partition", noted)
    small = run_local(2, merged)
    monkeypatch.setattr(cutting, "_LARGE", 100)
    large = run_local(2, merged)
    assert sorted(asked) == [("kaminpar", True)] * 2 + [(COMPRESSED, False)] * 2
    for some in (*small, *large):
        groups = np.bincount(some - some.min())
        assert groups.size == 40 * some.size // 390  # its share, and none is much larger than the others
        assert groups.max() <= 1.5 * some.size / groups.size + 2


def _check_counts(graph: Graph, part: Any, anchors: Any, landmark: Any, found: list[dict[str, Any]]) -> None:
    """Compare where the edges are with a decomposition that has these parts and halos."""
    halos = np.array([one["halo"].size for one in found])
    edges = np.array([one["subgraph"].n_edges for one in found])
    contexts = Contexts(landmark, found[0]["n"], halos, edges, [one["halo"] for one in found])
    capacities = np.full(len(found), 10 * graph.n_vertices)
    whole = Decomposition(graph, part, anchors, capacities, contexts=contexts)
    assert found[0]["counts"][0] == whole.edge_counts
    assert [one["counts"][1] for one in found] == pytest.approx(whole.kept.tolist())
