"""What a worker holds of the rest of the graph keeps a budget in bytes, chosen by what it brings per byte."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.decompose import supervertices
from parge.decompose.decomposition import Decomposition, near
from parge.decompose.supervertices import context_budget, landmarks_within
from parge.graph.generate import planted, star, tree
from parge.graph.graph import Graph
from parge.graph.subgraph import LINKS, induce_with_context
from parge.io.graphs.write import write
from parge.memory import Footprint
from parge.planning.decision import decide, decompose, landmarks_for, least_landmarks
from parge.storage import read_rows

TECHNIQUE = parge.DeepWalk(dim=16)
N_PARTS = 4


def hubs(n_vertices: int, n_hubs: int, seed: int) -> Graph:
    """Return a planted graph in which some vertices have a third of all others as neighbours."""
    rng, made = np.random.default_rng(seed), planted(n_vertices, 5 * n_vertices, seed=seed).graph
    rows = np.repeat(np.arange(n_vertices), made.degrees)
    spokes = rng.integers(0, n_vertices, (n_hubs, n_vertices // 3))
    source = np.concatenate([rows, np.repeat(np.arange(n_hubs), n_vertices // 3)])
    return Graph.from_edges(source, np.concatenate([made.indices, spokes.ravel()]), vertices=n_vertices)


def weighted(n_vertices: int, seed: int) -> Graph:
    made = planted(n_vertices, 6 * n_vertices, seed=seed).graph
    rows = np.repeat(np.arange(n_vertices), made.degrees)
    weights = np.random.default_rng(seed).pareto(1.5, rows.size) + 0.01
    return Graph.from_edges(rows, made.indices, weights, vertices=n_vertices)


GRAPHS = {
    "planted": planted(3000, 18_000, seed=1).graph,
    "mixed": planted(3000, 24_000, mixing=0.7, seed=2).graph,
    "hubs": hubs(3000, 20, 3),
    "star": star(3000),
    "weighted": weighted(2500, 4),
    "tree": tree(3000, seed=5).graph,
    "isolated": Graph.from_edges(*np.random.default_rng(6).integers(0, 800, (2, 4000)), vertices=3000),
}


def context_bytes(found: Decomposition, footprint: Footprint) -> list[float]:
    """Return what each part's context takes: vertices that are not its own, and edges among them."""
    taken = []
    for i in range(found.n_parts):
        subgraph = found.subgraph(i)
        rows = np.repeat(np.arange(subgraph.n_vertices), subgraph.graph.degrees)
        among = int(((rows >= subgraph.n_own) & (subgraph.graph.indices >= subgraph.n_own)).sum()) // 2
        n_vertices = subgraph.n_vertices - subgraph.n_own
        taken.append(footprint.per_vertex * n_vertices + footprint.per_edge * among)
    return taken


@pytest.mark.parametrize("large", [1, 1_000_000])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_context_keeps_its_budget(name: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervertices, "LARGE", large)
    graph, footprint = GRAPHS[name], TECHNIQUE.landmark_footprint(0)
    plan = parge.Plan(TECHNIQUE, parts=N_PARTS, reconcile="backbone")
    found = decompose(graph, decide(graph, plan)).decomposition
    budget = context_budget(graph, N_PARTS, footprint)
    # Every part has a landmark, and there are no fewer than a space needs; links are thinned out at random.
    least = (least_landmarks(TECHNIQUE) + N_PARTS) * (footprint.per_vertex + footprint.per_edge * LINKS / 2)
    assert max(context_bytes(found, footprint)) <= max(1.1 * budget, least)
    mean = (graph.n_vertices - found.anchors.size) / N_PARTS
    assert found.owned.max() <= 1.1 * mean + 2


def test_large_graphs_have_a_small_context_and_small_ones_as_many_landmarks_as_are_best() -> None:
    footprint, technique = TECHNIQUE.landmark_footprint(0), parge.DeepWalk()
    graph = GRAPHS["planted"]
    whole = footprint.per_vertex * graph.n_vertices + footprint.per_edge * graph.n_edges
    assert context_budget(graph, 8, footprint) < 7 / 8 * whole
    assert landmarks_for(graph, technique, 8) == technique.landmark_count(graph)
    assert landmarks_within(10**9, footprint) > landmarks_within(10**6, footprint) > 0


def test_a_halo_takes_first_what_brings_most_for_a_byte() -> None:
    # Two parts: 0..99 and 100..., where vertex 100 has 4 edges into the first and no others, 101 has 5 and many others.
    inside = np.arange(99)
    leaves = np.arange(103, 503)
    source = np.concatenate([inside, np.full(4, 100), np.full(5, 101), np.full(leaves.size, 101)])
    target = np.concatenate([inside + 1, np.arange(4), np.arange(5), leaves])
    graph = Graph.from_edges(source, target, vertices=503)
    part = (np.arange(503) >= 100).astype(np.int32)
    found = Decomposition(graph, part, np.zeros(0, np.int64), np.array([503, 503]))
    assert near(found, 0).tolist() == [100, 101]


def test_links_among_landmarks_are_right_on_average() -> None:
    graph = planted(4000, 40_000, mixing=0.8, seed=7).graph
    own, anchors, nothing = np.arange(400), np.arange(400, 450), np.zeros(0, np.int64)
    landmark = np.empty(4000, np.int64)
    landmark[anchors], landmark[own] = np.arange(50), 50
    landmark[450:] = 51 + np.arange(3550) % 300
    whole = induce_with_context(graph, own, anchors, nothing, landmark)
    thin = induce_with_context(graph, own, anchors, nothing, landmark, links=LINKS)
    matrix = thin.graph.to_scipy()
    assert (matrix != matrix.T).nnz == 0
    assert thin.n_edges < 0.5 * whole.n_edges
    # Edges of own vertices are as they were, and all others weigh as much together.
    assert (matrix[:400] != whole.graph.to_scipy()[:400]).nnz == 0
    assert matrix.sum() == pytest.approx(whole.graph.to_scipy().sum(), rel=0.05)
    np.testing.assert_array_equal(thin.context.loops, whole.context.loops)  # type: ignore[union-attr]


_MEASURED = """
import json, sys
from pathlib import Path
from parge.memory import peak_bytes, reset_peak
from parge.run import parts
from parge.run.worker import PartJob, embed_part, prepare_worker
from parge.process_tree import status_bytes
folder = Path(sys.argv[1])
for _ in range(2):  # once to have everything compiled
    prepare_worker(parts.subgraph_metadata(folder).technique)
    reset_peak()
    before = status_bytes("self", b"VmRSS:")
    embed_part(PartJob(folder))
    above = peak_bytes() - before
print(json.dumps(above))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks cannot be reset there")
def test_a_worker_of_eight_takes_less_than_the_whole_graph(tmp_path: Path) -> None:
    from parge.cli.main import run as parge_command

    write(planted(12_000, 100_000, seed=1).graph, tmp_path / "graph.txt")
    taken = []
    for n_parts in (1, 8):
        run = tmp_path / f"run{n_parts}"
        options = ["--parts", str(n_parts), "--param", "walks=1"]
        assert parge_command(["decompose", str(tmp_path / "graph.txt"), "--run-dir", str(run), *options]) == 0
        command = [sys.executable, "-c", _MEASURED, str(run / "parts" / "000")]
        taken.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    assert taken[1] < 0.9 * taken[0]


@pytest.mark.parametrize("shape", [(7, 3), (5,), (0, 4)])
def test_rows_of_a_mapped_file_are_read(shape: tuple[int, ...], tmp_path: Path) -> None:
    matrix = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    np.save(tmp_path / "matrix.npy", matrix)
    mapped = np.load(tmp_path / "matrix.npy", mmap_mode="r")
    for rows in (slice(0, 2), slice(2, 5), slice(4, 100)):
        for source in (mapped, matrix, mapped[1:]):
            found = read_rows(source, rows)
            np.testing.assert_array_equal(
                found, (matrix[1:] if source is not matrix and source is not mapped else matrix)[rows]
            )
            assert not isinstance(found, np.memmap)
