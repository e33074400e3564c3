"""Tables of links and labels name who is ahead, and rows that failed; small graphs run from end to end."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import labels_in_parts, links_in_parts
from benchmarks.links_in_parts import Lab, against, in_parts, means, stands, table
from benchmarks.paper.cells import Cells

from parge.graph.generate import planted

DATASET = {"name": "cora", "vertices": 5, "edges": 6}


def row(*scores: float) -> list[dict[str, object]]:
    return [{"roc_auc": list(scores)}]


FOUND = {
    in_parts("auto", 8): row(0.70, 0.70, 0.72, 0.75, 0.75),
    in_parts("deepwalk", 8): row(0.73, 0.73, 0.72, 0.70, 0.70),
    "pycleora": row(0.60, 0.61, 0.73, 0.70, 0.70),
    "scikit-network GSVD": [{"failed": "stopped after 10 s"}],
}


def test_every_cell_where_a_peer_is_ahead_is_named() -> None:
    lines = [line for line, _ in against(DATASET, FOUND)]
    assert "cora, uniform, 8 parts: auto -0.0100, behind pycleora (uniform, head)" in lines
    assert any("deepwalk" in line and "level with pycleora" in line for line in lines)
    assert any("by degree" in line and "auto +0.0500, ahead of pycleora" in line for line in lines)
    claims = [claim for _, claim in against(DATASET, FOUND) if claim is not None]
    assert [claim.value for claim in claims] == [0.72, 0.75]


def test_a_row_that_failed_is_shown_and_not_counted() -> None:
    assert "scikit-network GSVD" not in means(FOUND)
    assert "| scikit-network GSVD | stopped after 10 s |" in table(DATASET, FOUND)


@pytest.mark.parametrize(("difference", "word"), [(0.01, "ahead of"), (-0.01, "behind"), (0.0001, "level with")])
def test_small_differences_are_level(difference: float, word: str) -> None:
    assert stands(difference).endswith(word)


def test_labels_name_the_best_of_each_side() -> None:
    found = {
        in_parts("blend", 8): [{"micro_f1": 0.5}, {"micro_f1": 0.7}],
        in_parts("blend", 16): [{"micro_f1": 0.9}],
        "pycleora": [{"micro_f1": 0.55}],
        "pycleora, unit rows": [{"failed": "no vectors"}],
    }
    assert labels_in_parts.best(found, of_peers=True) == (0.55, "pycleora")
    best = labels_in_parts.best(found, of_peers=False, parts=8)
    assert best is not None
    assert best[0] == pytest.approx(0.6)
    assert "| pycleora, unit rows | – | – | 0 |" in labels_in_parts.table(DATASET, found)


@pytest.mark.slow
def test_a_small_graph_runs_and_auto_is_the_run_of_what_it_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links_in_parts, "PARTS", (2,))
    graph = planted(400, 4_000, communities=4, mixing=0.2, seed=1).graph
    cells = Cells(tmp_path / "small.json", {"dataset": {"name": "small"}})
    Lab(graph, cells, (), "python", 60.0).fill(("auto", "spectral"), 0, peers=False)
    auto, blend = (cells.cells[f"parge {name}, 2 parts | seed 0"]["roc_auc"] for name in ("auto", "blend"))
    assert auto == blend
    assert np.mean(cells.cells["parge spectral, 2 parts | seed 0"]["roc_auc"]) > 0.6
