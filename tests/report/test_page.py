"""The page as a file: it carries all it needs, obeys its own rules, and refuses what it cannot show."""

import base64
import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.conftest import HOSTILE, keep_run, named_graph, plan

import parge
from parge.embedding import Embedding
from parge.errors import InputError, PargeError
from parge.graph.graph import Graph
from parge.report.page import as_script_data, check_page, write_report
from parge.report.pictures import seconds_text
from parge.run.open_run import open_planned, open_run
from parge.run.pipeline import embed_parts


def data_of(page: Path) -> dict[str, Any]:
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert text
    found: dict[str, Any] = json.loads(text[1])
    return found


def test_it_carries_all_it_needs(page: Path) -> None:
    text = page.read_text()
    static = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["'](?!#|data:,)""", static)
    assert not re.search(r"url\(|@import|https?://", static)
    assert set(re.findall(r"https?://[^\"']*", text)) == {"http://www.w3.org/2000/svg"}
    assert len(text) < 1_000_000


def test_its_rules_name_its_own_style_and_script_alone(page: Path) -> None:
    text = page.read_text()
    rules = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert rules
    for name, kind in (("page.css", "style"), ("page.js", "script")):
        body = resources.files("parge.report").joinpath(name).read_text()
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in rules[1]
        assert f"<{kind}>{body}</{kind}>" in text
    assert "default-src 'none'" in rules[1]
    assert "unsafe" not in rules[1]
    assert not re.search(r'\sstyle="|\son[a-z]+="', re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


def test_the_script_takes_data_for_text_alone() -> None:
    script = resources.files("parge.report").joinpath("page.js").read_text()
    for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch("):
        assert danger not in script


@settings(deadline=None)
@given(st.lists(st.text()))
def test_names_in_data_cannot_leave_it(names: list[str]) -> None:
    text = as_script_data(names)
    assert json.loads(text) == names
    assert not set(text) & set("<>&")
    assert text.isascii()


def test_hostile_names_do_not_reach_the_markup(page: Path) -> None:
    text = page.read_text()
    for name in HOSTILE[:3]:
        assert name not in text
    assert set(HOSTILE) <= set(data_of(page)["names"])


def test_the_same_run_gives_the_same_page(kept: Path, tmp_path: Path) -> None:
    one, two = (write_report(kept, tmp_path / f"{i}.html").read_text() for i in range(2))
    assert one == two


def test_an_open_run_can_be_reported(graph: Graph, tmp_path: Path) -> None:
    with open_run(graph, plan(), run_dir=None, resume=False, listener=lambda _: None) as run:
        embed_parts(run, lambda _: None)
        run.retries.append("the worker of subgraph 1 was lost")
        page = write_report(run, tmp_path / "open.html", title="open")
    assert "open, embedded in 3 parts" in page.read_text()
    assert "<b>retried </b>the worker of subgraph 1 was lost" in page.read_text()
    assert data_of(page)["labels"] is None


def test_a_python_function_as_technique_is_shown_by_name(graph: Graph, tmp_path: Path) -> None:
    def odd(csr: Any, rng: np.random.Generator) -> Any:
        return rng.normal(size=(csr.shape[0], 3))

    odd.__name__ = odd.__qualname__ = "<script>odd</script>"
    page = write_report(keep_run(graph, tmp_path / "run", technique=odd), tmp_path / "odd.html")
    assert "&lt;script&gt;odd&lt;/script&gt;" in page.read_text()
    assert "<script>odd" not in page.read_text()


def test_the_embedding_is_drawn_where_it_was_refined(graph: Graph, kept: Path, tmp_path: Path) -> None:
    merged = parge.embed(graph, plan(refine="none"))
    same = write_report(kept, tmp_path / "same.html", embedding=merged)
    assert data_of(same)["views"] == ["before", "after"]
    assert data_of(same) == data_of(write_report(kept, tmp_path / "folder.html"))
    assert f"{seconds_text(merged.report['seconds']['total'])} of wall time" in same.read_text()
    shuffled = Embedding(merged.vectors[::-1] * 2, merged.ids[::-1])
    refined = write_report(kept, tmp_path / "refined.html", embedding=shuffled)
    assert data_of(refined)["views"] == ["before", "after", "written"]
    flat = data_of(refined)["projections"][0]["views"]["written"]
    assert flat != data_of(refined)["projections"][0]["views"]["after"]


def test_maps_that_gave_way_are_not_drawn(graph: Graph, tmp_path: Path) -> None:
    """Where rotations were left aside, the picture shows the vectors as they were merged."""

    def noise(csr: Any, rng: np.random.Generator) -> Any:
        return rng.normal(size=(csr.shape[0], 3))

    what = plan(technique=noise, refine="none", anchors=30)
    report = parge.embed(graph, what, run_dir=tmp_path / "run").report
    assert report["reconcile"]["gave_way"]
    reported = write_report(tmp_path / "run", tmp_path / "told.html", report=report)
    drawn = data_of(reported)["projections"][0]["views"]
    assert drawn["after"] == drawn["before"]
    assert data_of(reported) == data_of(write_report(tmp_path / "run", tmp_path / "folder.html"))


def test_spaces_that_are_one_are_drawn_once(graph: Graph, tmp_path: Path) -> None:
    folder = keep_run(graph, tmp_path / "run", reconcile="backbone")
    page = write_report(folder, tmp_path / "one.html")
    assert data_of(page)["views"] == ["together"]
    assert "One space from the start" in page.read_text()
    assert "Watch them move" not in page.read_text()
    refined = parge.embed(graph, plan(reconcile="backbone"))
    page = write_report(folder, tmp_path / "two.html", embedding=refined)
    assert data_of(page)["views"] == ["together", "written"]


def test_one_part_has_one_picture_and_no_reconciling(tmp_path: Path) -> None:
    page = write_report(keep_run(named_graph(60), tmp_path / "run", parts=1), tmp_path / "one.html")
    assert data_of(page)["views"] == ["vectors"]
    assert 'id="reconciling"' not in page.read_text()
    assert "embedded as a whole" in page.read_text()


def test_it_says_whose_memory_the_engine_serial_measures(page: Path) -> None:
    assert "engine serial the peak is that of the whole process" in page.read_text()


@pytest.mark.parametrize(
    "graph",
    [
        Graph.from_edges([], [], vertices=2),
        Graph.from_edges([0], [1], vertices=7),
        Graph.from_edges(np.zeros(30, int), np.arange(1, 31)),
    ],
    ids=["no edge", "isolated vertices", "star"],
)
def test_odd_graphs_have_pages(graph: Graph, tmp_path: Path) -> None:
    page = write_report(keep_run(graph, tmp_path / "run", parts=2), tmp_path / "odd.html", {0: "x"})
    assert len(data_of(page)["names"]) == graph.n_vertices


def test_refusals_say_what_to_do(graph: Graph, kept: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"end in \.html"):
        check_page(tmp_path / "report.pdf")
    with pytest.raises(InputError, match="no"):
        check_page(tmp_path / "no" / "such.html")
    with pytest.raises(InputError, match=tmp_path.name):
        write_report(tmp_path, tmp_path / "x.html")
    with pytest.raises(InputError, match=r"2 vertices.* 240"):
        write_report(kept, tmp_path / "x.html", embedding=Embedding(np.eye(2), [0, 1]))
    with pytest.raises(InputError, match="stranger"):
        write_report(kept, tmp_path / "x.html", {"stranger": "label"})
    with open_run(graph, plan(), run_dir=tmp_path / "started", resume=False, listener=lambda _: None):
        pass
    with pytest.raises(PargeError, match="3 of 3 subgraphs"):
        write_report(tmp_path / "started", tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_a_report_leaves_the_run_as_it_was(kept: Path, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in kept.rglob("*.npy")}
    write_report(kept, tmp_path / "x.html")
    assert before == {file: file.read_bytes() for file in kept.rglob("*.npy")}
    with open_planned(kept) as run:
        assert all(run.has_result(i) for i in range(3))
