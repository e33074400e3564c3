"""The comparisons with other packages run, go on where they stopped, and say what is absent or has failed."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import against_pbg, against_peers, biggraph, comparison
from benchmarks.comparison import Bench, Case, Method, SkippedError, planted_case
from benchmarks.paper.cells import Cell

import parge


def noise(scale: float) -> comparison.Run:
    """Return a method: the adjacency matrix, projected, under noise of that scale."""

    def run(graph: parge.Graph, seed: int, **_: Any) -> tuple[Any, Cell]:
        rng = np.random.default_rng(seed)
        signal = graph.to_scipy() @ rng.standard_normal((graph.n_vertices, 8))
        vectors = (signal + scale * rng.standard_normal(signal.shape)).astype(np.float32)
        return vectors, {"seconds": 2.0, "cpu_seconds": 1.0, "critical_seconds": 0.25, "peak_bytes": 10**7}

    return run


def failing(graph: parge.Graph, seed: int, **_: Any) -> tuple[Any, Cell]:
    return None, {"failed": "exit code 1"}


ROWS = [
    Method("peer", noise(50.0)),
    Method("broken", failing),
    Method("PBG", noise(0.0), settle=comparison.epochs_by_mrr("/nowhere/python", **comparison.TUNED)),
    Method("parge, parts", noise(0.0), ours=True, in_parts=True),
    Method("parge, whole", noise(0.0), ours=True),
]


def cases() -> list[Case]:
    return [planted_case(300, 1_500, task) for task in ("labels", "links")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a folder with the cells of two seeds, and what was told."""
    reported: list[str] = []
    out = tmp_path_factory.mktemp("peers")
    Bench(out, lock=out / "lock", on_step=reported.append).fill_all(cases(), ROWS, 2, 1)
    return out, reported


def test_every_cell_is_computed_once_and_what_is_absent_is_named(folder: tuple[Path, list[str]]) -> None:
    out, reported = folder
    assert sum("skipped" in line and "/nowhere/python" in line for line in reported) == 4
    files = {path: path.read_bytes() for path in out.glob("*.json")}
    assert len(files) == 2
    again: list[str] = []
    Bench(out, on_step=again.append).fill_all(cases(), ROWS, 2, 1)
    assert all("PBG" in line for line in again)
    assert files == {path: path.read_bytes() for path in out.glob("*.json")}
    content = json.loads((out / "planted-300-1500-labels.json").read_text())
    assert len(content["cells"]) == 2 * (len(ROWS) - 1)


def test_tables_show_the_best_of_each_side(folder: tuple[Path, list[str]]) -> None:
    paths = sorted(folder[0].glob("*.json"))
    summary = against_peers.summary(paths, ROWS)
    assert "planted-300-1500, micro-F1" in summary
    assert "+0." in summary  # without noise it is better
    table = against_peers.of_case(paths[1], ROWS)
    assert "| broken | exit code 1 |" in table
    assert "by cosine | by dot" in table
    assert "| parge, parts | **." in table


def test_a_table_of_pbg_divides_by_the_whole_graph(folder: tuple[Path, list[str]], tmp_path: Path) -> None:
    rows = [Method(against_pbg.name(n, against_pbg.OURS), noise(0.0), ours=True) for n in (1, 8)]
    Bench(tmp_path, on_step=lambda _: None).fill_all(cases(), rows, 1, 1)
    table = against_pbg.table(tmp_path, "planted-300-1500", rows)
    line = next(line for line in table.splitlines() if line.startswith("| n=8: parge"))
    assert "| 1.0 | 0.2 | 4.0 | 10 |" in line  # seconds, seconds on 8 machines, 1 s / .25 s, megabytes


def test_epochs_end_where_held_out_edges_gain_nothing() -> None:
    assert not biggraph.flat([0.1, 0.2, 0.2, 0.2])
    assert biggraph.flat([0.1, 0.2, 0.2, 0.2, 0.2])
    assert biggraph.best_epochs([0.1, 0.1999, 0.2, 0.19]) == 2


@pytest.mark.slow
def test_scikit_network_runs_in_a_process_of_its_own() -> None:
    pytest.importorskip("sknetwork")
    graph = planted_case(300, 1_500, "labels").graph
    vectors, cell = comparison.peer("scikit-network", name="GSVD")(graph, 0)
    assert vectors.shape == (300, comparison.DIM)
    assert np.ptp(vectors) > 0
    assert cell["peak_bytes"] > 10**7
    assert cell["not_finite"] == 0


def test_an_absent_package_is_named() -> None:
    graph = planted_case(300, 1_500, "labels").graph
    with pytest.raises(SkippedError, match=r"torchbiggraph.*/nowhere/python"):
        comparison.train_pbg("/nowhere/python", graph, 0, epochs=1, **comparison.TUNED)


def test_pbg_gets_every_edge_once_in_the_right_bucket(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    graph = planted_case(300, 1_500, "labels").graph
    edges = comparison.edges(graph)
    part, row = biggraph.write_input(tmp_path, edges, {"vertices": 300, "parts": 2, "seed": 1})
    back = {(p, r): v for v, (p, r) in enumerate(zip(part.tolist(), row.tolist(), strict=True))}
    found = set()
    for i in range(2):
        for j in range(2):
            with h5py.File(tmp_path / "edges" / f"edges_{i}_{j}.h5") as file:
                lhs, rhs = file["lhs"][:].tolist(), file["rhs"][:].tolist()
            found |= {(back[i, u], back[j, v]) for u, v in zip(lhs, rhs, strict=True)}
    assert found == set(zip(edges["source"].tolist(), edges["target"].tolist(), strict=True))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells it")
def test_memory_is_that_of_the_largest_process() -> None:
    assert biggraph.peak() > 10**7
