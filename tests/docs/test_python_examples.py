"""The examples of docs/how-to/examples.md run, and compute what is right; the notebook is executed and looked at."""

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.graph.generate import planted

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "examples.md").read_text()
EXAMPLES = dict(re.findall(r"^## (.+?)\n(?:(?!^## ).)*?```python\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
MADE = planted(60, 300, communities=2, mixing=0.05, seed=1)


def _nearest(found: dict[str, Any], n_near: int) -> list[str]:
    return [str(name) for name in found["embedding"].neighbors("v3", n_near)[0].tolist()]


def _pandas(found: dict[str, Any]) -> None:
    assert found["labelled"].shape == (60, 9)
    assert np.array_equal(found["table"].loc["v3"].to_numpy(), found["embedding"]["v3"])


def _polars(found: dict[str, Any]) -> None:
    assert sorted(found["near"]["id"].to_list()) == ["v3", "v7"]


def _duckdb(found: dict[str, Any]) -> None:
    assert [name for (name,) in found["near"]] == _nearest(found, 3)


def _networkx(found: dict[str, Any]) -> None:
    assert np.array_equal(found["graph"].nodes[33]["vector"], found["embedding"][33])


def _pyg(found: dict[str, Any]) -> None:
    assert found["x"].shape == (7, 2)


def _search(found: dict[str, Any]) -> None:
    assert found["search"].best_score_ > 0.8


def _faiss(found: dict[str, Any]) -> None:
    assert found["near"] == _nearest(found, 3)


def _logged(found: dict[str, Any]) -> None:
    said = [record.getMessage() for record in found["records"]]
    assert said[0] == "read edges.csv"
    assert "subgraph 1 of 2 is embedded" in said
    logging.captureWarnings(False)


def _tracked(found: dict[str, Any]) -> None:
    run = found["mlflow"].last_active_run()
    assert run.data.metrics["part_1"] == 1.0
    assert run.data.metrics["lost_edges"] == pytest.approx(found["embedding"].report.lost_edges)
    assert run.data.params == {"technique": "hope", "dim": "4", "parts": "2"}


CASES: dict[str, tuple[list[str], Callable[[dict[str, Any]], None]]] = {
    "pandas": (["pandas"], _pandas),
    "Polars": (["polars"], _polars),
    "DuckDB": (["duckdb"], _duckdb),
    "networkx": (["networkx"], _networkx),
    "PyG": ([], _pyg),
    "scikit-learn": (["pandas"], _search),
    "FAISS": (["faiss"], _faiss),
    "Logging": ([], _logged),
    "MLflow": (["mlflow"], _tracked),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a folder with the files that the page names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    source, target = (FRAME[name].to_pylist() for name in ("source", "target"))
    rows = (f"v{a},v{b},{1 + i % 5}\n" for i, (a, b) in enumerate(zip(source, target, strict=True)))
    Path("edges.csv").write_text("source,target,minutes\n" + "".join(rows))
    Path("labels.csv").write_text("id,club\n" + "".join(f"v{v},{MADE.labels.of(v)[0]}\n" for v in range(60)))
    return tmp_path


FRAME = MADE.graph.to_frame()


def test_every_example_is_known() -> None:
    assert set(EXAMPLES) == set(CASES)


@pytest.mark.filterwarnings("ignore")  # those of other libraries are theirs
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "MLflow" else ()) for name in CASES]
)
def test_an_example_runs(name: str, here: Path, caplog: pytest.LogCaptureFixture) -> None:
    needs, check = CASES[name]
    for module in needs:
        pytest.importorskip(module, reason=f"the example of {name} needs {module}")
    found: dict[str, Any] = {"__name__": "example"}
    with caplog.at_level(logging.INFO, "vectors"):
        exec(EXAMPLES[name], found)
    found["records"] = [record for record in caplog.records if record.name == "vectors"]
    check(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_is_executed_and_shows_what_it_should(here: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(ROOT / "docs" / "examples" / "two_clubs.ipynb", as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]  # they are made, not kept
    done = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(here)}}
    )
    done.execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not str(output).startswith("error") for cell in outputs for output in cell)
    html = ["".join(output.data.get("text/html", "") for output in cell if "data" in output) for cell in outputs]
    assert "<th>vertices</th><td>34</td>" in html[0]
    assert len(outputs[1]) == 2  # what is left of the progress, and the table
    assert html[1].count("<table>") == html[1].count("<span>done</span>") == 1
    assert "<td>whole graph</td>" in html[1]
    assert "<span>done</span>" in html[2]  # what is left of the progress
    assert "<progress" not in html[2]
    assert "Embedding(34 vertices, dim=4)" in html[2]
    assert "lost edges" in html[4]
    plain = outputs[3][0].data["text/plain"]
    assert plain.count(",") == 5
    assert (here / "two_clubs.html").read_text().count("<section") >= 3
    assert "two_clubs.html" in outputs[5][-1].data["text/plain"]


def test_all_thirty_expectations_are_answered() -> None:
    text = (ROOT / "docs" / "reference" / "expectations.md").read_text()
    assert [int(number) for number in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)] == list(range(1, 31))
