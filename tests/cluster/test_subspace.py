"""Eigenvectors found by shards are those that one process finds."""

from typing import Any

import numpy as np
import pytest
from tests.cluster.test_cutting import part_rows

import parge
from parge.cluster.cutting import hold
from parge.cluster.mesh import Mesh, run_local
from parge.cluster.refine import shard_workspace
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.refine.base import Workspace
from parge.refine.subspace import Subspace


def found_by_shards(graph: Graph, part: Any, start: Any, technique: Any) -> Any:
    anchors = np.zeros(graph.n_vertices, np.bool_)

    def program(mesh: Mesh) -> tuple[Any, Any, int]:
        held = hold(mesh, part_rows(graph, part, anchors, mesh.rank))
        vectors = start[held.part.names].copy()
        done = Subspace().refine_shard(vectors, technique, shard_workspace(mesh, held, graph.n_vertices))
        assert done.steps
        return held.part.names, vectors, done.steps

    out = np.empty_like(start)
    for names, vectors, _ in run_local(int(part.max()) + 1, program):
        out[names] = vectors
    return out


@pytest.mark.parametrize(
    "technique",
    [
        parge.HOPE(dim=8),
        parge.HOPE(dim=8, signal="katz"),
        parge.HOPE(dim=8, signal="adamic-adar"),
        parge.Spectral(dim=8),
    ],
    ids=["hope", "katz", "adamic-adar", "spectral"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_shards_find_the_eigenvectors_of_the_whole_graph(technique: Any, weighted: bool) -> None:
    plain = planted(700, 6000, seed=3).graph
    weights = np.random.default_rng(0).integers(1, 4, plain.n_edges).astype(np.float32)
    table = plain.to_frame()
    ends = [table.column(i).to_numpy() for i in range(2)]
    graph = Graph.from_edges(*ends, weights if weighted else None, vertices=705)  # five without an edge
    rng = np.random.default_rng(1)
    start = rng.standard_normal((705, 8)).astype(np.float32)
    whole = start.copy()
    Subspace().refine(graph, whole, technique, Workspace())
    part = rng.integers(0, 3, 705).astype(np.int32)
    found = found_by_shards(graph, part, start, technique)
    assert np.linalg.norm(found @ found.T - whole @ whole.T) <= 0.02 * np.linalg.norm(whole @ whole.T)
    assert not found[700:].any()
    again = found_by_shards(graph, part, start, technique)
    assert np.array_equal(found, again)
