"""Merging: every vertex once, its own vector mapped, anchors by the evidence of each subgraph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.decompose.decomposition import Decomposition
from parge.graph.graph import Graph
from parge.reconcile.base import IdentityMap, LinearMap
from parge.reconcile.merge import AnchorMerge, evidence, merged_blocks


def decomposition(n_vertices: int, n_edges: int, n_parts: int, n_anchors: int, seed: int) -> Decomposition:
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(rng.integers(n_vertices, size=(n_edges, 2)), vertices=n_vertices)
    part = rng.integers(n_parts, size=n_vertices).astype(np.int32)
    anchors = np.sort(rng.choice(n_vertices, n_anchors, replace=False))
    return Decomposition(graph, part, anchors, np.full(n_parts, n_vertices))


@examples(30)
@given(seed=st.integers(0, 10**6), n_parts=st.integers(1, 4), n_anchors=st.integers(0, 10), n_edges=st.integers(0, 60))
def test_evidence_is_the_degree_in_each_subgraph(seed: int, n_parts: int, n_anchors: int, n_edges: int) -> None:
    parts = decomposition(20, n_edges, n_parts, n_anchors, seed)
    found = evidence(parts)
    for i in range(n_parts):
        subgraph = parts.subgraph(i)
        expected = subgraph.graph.degrees[subgraph.n_own :]
        isolated = parts.graph.degrees[parts.anchors] == 0
        assert np.array_equal(found[i][~isolated], expected[~isolated])
        assert (found[i][isolated] == 1).all()


@examples(30)
@given(seed=st.integers(0, 10**6), n_parts=st.integers(1, 4), n_anchors=st.integers(0, 10), block=st.integers(1, 30))
def test_every_vertex_comes_once(seed: int, n_parts: int, n_anchors: int, block: int) -> None:
    parts = decomposition(25, 80, n_parts, n_anchors, seed)
    truth = np.random.default_rng(seed).standard_normal((25, 3)).astype(np.float32)
    local = [truth[parts.subgraph(i).vertices] for i in range(n_parts)]
    out, times = np.zeros((25, 3), np.float32), np.zeros(25, int)
    for rows, vectors in merged_blocks(parts, local, [IdentityMap()] * n_parts, block_rows=block):
        assert len(rows) <= block
        out[rows] = vectors
        times[rows] += 1
    assert (times == 1).all()
    assert np.array_equal(out, truth)


def test_anchors_are_weighted_by_their_edges() -> None:
    # Anchor 0 has edges to 1, 2, 3 of part 0 and to 4 of part 1; anchor 5 has none at all.
    graph = Graph.from_edges([0, 0, 0, 0], [1, 2, 3, 4], vertices=6)
    parts = Decomposition(graph, np.array([0, 0, 0, 0, 1, 1], np.int32), np.array([0, 5]), np.array([6, 6]))
    assert evidence(parts).tolist() == [[3, 1], [1, 1]]
    local = [np.zeros((5, 1), np.float32), np.ones((3, 1), np.float32)]
    out = np.empty((6, 1), np.float32)
    for rows, vectors in merged_blocks(parts, local, [IdentityMap(), LinearMap(np.array([[2.0]]))]):
        assert vectors.dtype == np.float32
        out[rows] = vectors
    assert out[:, 0].tolist() == [0.5, 0, 0, 0, 2, 1]


def test_blocks_can_be_written_to_a_memory_map(tmp_path: pytest.TempPathFactory) -> None:
    parts = decomposition(25, 80, 2, 5, 0)
    local = [np.ones((parts.sizes[i], 3), np.float32) for i in range(2)]
    out = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (25, 3))
    for rows, vectors in merged_blocks(parts, local, [IdentityMap()] * 2):
        out[rows] = vectors
    out.flush()
    assert np.array_equal(np.load(tmp_path / "x.npy"), np.ones((25, 3)))


def test_anchors_without_weight_are_zero() -> None:
    merge = AnchorMerge(2, 1)
    merge.add(np.array([[3.0], [3.0]]), np.array([0, 2]))
    assert merge.vectors().tolist() == [[0.0], [3.0]]
