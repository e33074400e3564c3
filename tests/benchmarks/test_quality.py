"""The benchmark of parts against the whole graph runs, stops and goes on; its page says how many seeds there are."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.paper.cells import key
from benchmarks.quality import times
from benchmarks.quality.graphs import Data
from benchmarks.quality.methods import Settings, is_ours
from benchmarks.quality.page import kept_table, methods_table, times_table, write_page
from benchmarks.quality.run import Lab, store
from benchmarks.quality.shares import kept, read_quality

from parge.evaluate.labels import Labels
from parge.graph.generate import planted

SETTINGS = Settings(dim=8, repeats=1)
MADE = planted(300, 2000, communities=4, mixing=0.2, seed=1)
LABELS = Labels.from_pairs(np.repeat(np.arange(300), np.diff(MADE.labels.indptr)), MADE.labels.labels.astype(np.int64))


def fill(out: Path, data: Data) -> list[str]:
    reported: list[str] = []
    cells, lab = store(data, SETTINGS, out), Lab(data, SETTINGS, 1)
    for method, n_parts in (("centralised", 1), ("NoRecon", 8), ("ours", 8)):
        cells.cell(key("sgc", method, n_parts, 1), lambda m=method, n=n_parts: lab.cell("sgc", m, n), reported.append)  # type: ignore[misc]
    return reported


@pytest.mark.parametrize("labels", [LABELS, None], ids=["labels", "links"])
@pytest.mark.slow
def test_cells_are_kept_and_scored_both_ways(tmp_path: Path, labels: Labels | None) -> None:
    data = Data("planted", MADE.graph, labels)
    assert len(fill(tmp_path, data)) == 3
    assert fill(tmp_path, data) == []  # goes on where it stopped
    (results,) = read_quality(tmp_path, "quality")
    share = kept(results, "sgc", "ours", 8, "refined")
    assert share is not None
    assert share[1] == 1
    assert 0.5 < share[0] < 1.5
    cell = results.cells["sgc | ours | n=8 | seed 1"]
    assert cell["refine"]["name"] == "settle"
    assert cell["critical_path"] >= cell["slowest_worker"] > 0
    assert "(1)" in methods_table(results)
    assert "¹" in kept_table([results])


@pytest.mark.slow
def test_the_page_is_written_between_its_markers(tmp_path: Path) -> None:
    data = Data("planted", MADE.graph, LABELS)
    fill(tmp_path, data)
    times.measure(data, SETTINGS, ["sgc"], [8], store(data, SETTINGS, tmp_path, "times"), lambda _: None)
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- begin {n} -->\n<!-- end {n} -->\n" for n in ("kept", "methods", "times")))
    write_page(tmp_path, page, tmp_path)
    text = page.read_text()
    assert "SGC, n = 8" in text
    assert "SGC, ours, n = 8 (1)" in text
    assert times_table(read_quality(tmp_path, "quality")[0], read_quality(tmp_path, "times")[0]) in text


def test_one_run_is_not_computed_twice() -> None:
    assert is_ours("hope", "rotation")
    assert not is_ours("deepwalk", "rotation")
    assert not is_ours("sgc", "rotation")
