"""Every number of a page is what slow, obvious code counts in the arrays of the run's folder."""

import json
import re
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.examples import slow
from tests.report.conftest import named_graph, plan
from tests.report.counted import Counted

import parge
from parge.cli.main import cli
from parge.events import Part
from parge.graph.generate import planted, tree
from parge.graph.graph import Graph
from parge.io.graphs.write import write
from parge.memory import format_bytes
from parge.report.page import write_report
from parge.report.pictures import seconds_text
from parge.run.open_run import open_planned
from parge.run.pipeline import embed_to_file
from parge.run.status import status

SMALL = parge.DeepWalk(dim=4, walks=2, walk_length=8)


def lonely() -> Graph:
    """Return a graph in which every tenth vertex has no edge."""
    plain = planted(270, 1200, communities=3, mixing=0.3, seed=8).graph
    source = np.repeat(np.arange(270), plain.degrees)
    return Graph.from_edges(source, plain.indices, vertices=300)


def weighted() -> Graph:
    """Return a graph whose weights are nowhere near 1, so that no sum of them passes for a count."""
    plain = named_graph()
    source = np.repeat(np.arange(plain.n_vertices), plain.degrees)
    once = source < plain.indices
    return Graph.from_edges(source[once], plain.indices[once], 7.5 + np.arange(once.sum()) % 5)


PLANS: dict[str, tuple[Graph, dict[str, Any]]] = {
    "backbone": (named_graph(), {"technique": SMALL, "reconcile": "backbone", "parts": 4}),
    "backbone, capacities": (
        named_graph(400, seed=1),
        {"technique": SMALL, "reconcile": "backbone", "parts": None, "capacities": [220, 150, 190, 260]},
    ),
    "backbone, memory": (
        named_graph(300, seed=2),
        {"technique": SMALL, "reconcile": "backbone", "parts": None, "memory": ["280MB", "300MB", "320MB"]},
    ),
    "backbone, tree": (tree(300, seed=1).graph, {"technique": SMALL, "reconcile": "backbone"}),
    "backbone, isolated vertices": (lonely(), {"technique": SMALL, "reconcile": "backbone"}),
    "backbone, weights": (weighted(), {"technique": SMALL, "reconcile": "backbone"}),
    "consensus": (named_graph(), {}),
    "consensus, capacities": (named_graph(), {"parts": None, "capacities": [140, 100, 90]}),
    "consensus, memory": (named_graph(), {"parts": None, "memory": ["400MB", "500MB"]}),
    "consensus, weights": (weighted(), {"refine": "none"}),
    "consensus, isolated vertices": (lonely(), {}),
    "no reconciling, few anchors": (named_graph(), {"reconcile": "none", "anchors": 2}),
    "no anchors": (named_graph(), {"reconcile": "none", "anchors": 0, "refine": "none"}),
    "one part": (named_graph(), {"parts": 1}),
    "the paper": (named_graph(), {"preset": "paper", "reconcile": None, "anchors": "10%"}),
}


class Page(HTMLParser):
    """The tables of a page by caption, the tiles, and all else as lines of text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.titles: list[str] = []
        self.tiles: dict[str, list[str]] = {}
        self.lines: list[str] = []
        self.inside: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside.append(tag)
        title = dict(attrs).get("title")
        if tag == "caption":
            self.rows = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "dt":
            self.tile: list[str] = []
        elif tag == "input":
            self.inside.pop()
        if tag == "td" and title:
            self.titles.append(title)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if not text or {"style", "script", "title", "svg"} & set(self.inside):
            return
        if "caption" in self.inside:
            self.tables[text] = self.rows
        elif self.inside[-1:] == ["dt"]:
            self.tiles[text] = self.tile
        elif "dd" in self.inside:
            self.tile.append(text)
        elif {"td", "th"} & set(self.inside):
            self.rows[-1][-1] += text
        else:
            self.lines.append(text)

    def column(self, caption: str, heading: str) -> list[str]:
        """Return a column; a heading above bars has its scale behind it."""
        head, *rows = self.tables[caption]
        return [row[head.index(heading)] for row in rows]

    def line(self, pattern: str) -> re.Match[str]:
        """Return what the one line of text with this pattern says."""
        found = [match for match in (re.search(pattern, line) for line in self.lines) if match]
        assert len(found) == 1, (pattern, self.lines)
        return found[0]


@pytest.fixture(scope="module", params=PLANS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run that was embedded into a file, in its folder, and what `parge embed --json` prints of it."""
    graph, fields = PLANS[request.param]
    place = tmp_path_factory.mktemp("numbers")
    report = embed_to_file(graph, plan(**fields), place / "out.npy", run_dir=place / "run")
    return place / "run", json.loads(json.dumps(report))


@pytest.fixture(scope="module", params=["from the folder", *slow("at once")])
def reported(
    request: pytest.FixtureRequest, ran: tuple[Path, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Page, Counted, dict[str, Any]]:
    """The page that `embed --report` writes, and the one that `parge report` writes of the folder alone."""
    folder, report = ran
    page = tmp_path_factory.mktemp("page") / "x.html"
    write_report(folder, page, report=report if request.param == "at once" else None, projection="pca")
    return Page(page), Counted(folder), report


SIZES = "Vertices and capacity of each subgraph"


def whole(texts: list[str]) -> list[int]:
    return [int(text.replace(",", "")) for text in texts]


def test_plans_are_what_their_names_say(ran: tuple[Path, dict[str, Any]], request: pytest.FixtureRequest) -> None:
    name, counted = request.node.callspec.params["ran"], Counted(ran[0])
    lumped = counted.lump is not None
    assert lumped == name.startswith("backbone")
    if lumped and "tree" not in name:  # all of whose few edges between the parts are at anchors
        assert any(counted.halos)
        assert counted.counts()["in_halos"] > 0
    assert bool(counted.anchors) == (name not in ("no anchors", "one part"))


def test_vertices_of_each_subgraph(reported: tuple[Page, Counted, dict[str, Any]]) -> None:
    page, counted, _ = reported
    if counted.n_parts == 1:
        assert SIZES not in page.tables
        return
    parts = range(counted.n_parts)
    assert whole(page.column(SIZES, "own")) == [len(counted.own(i)) for i in parts]
    assert whole(page.column(SIZES, "anchors")) == [len(counted.anchors) for i in parts]
    assert whole(page.column(SIZES, "total")) == [counted.vertices(i) for i in parts]
    assert whole(page.column(SIZES, "capacity")) == counted.capacities
    assert whole(page.column(SIZES, "edges")) == [counted.subgraph_edges(i) for i in parts]
    full = [counted.vertices(i) / max(1, counted.capacities[i]) for i in parts]
    assert page.column(SIZES, "full") == [f"{share:.0%}" for share in full]
    assert page.column(SIZES, "kept") == [f"{counted.kept(i):.1%}" for i in parts]
    assert f"of at most {max(counted.vertices(i) for i in parts):,} vertices" in page.tiles["parts"]
    if counted.lump is None:
        assert "halo" not in page.tables[SIZES][0]
    else:
        assert whole(page.column(SIZES, "halo")) == [len(halo) for halo in counted.halos]
        assert whole(page.column(SIZES, "super-vertices")) == [counted.lumps(i) for i in parts]


def test_where_the_edges_are(reported: tuple[Page, Counted, dict[str, Any]]) -> None:
    page, counted, _ = reported
    if counted.n_parts == 1:
        assert "edges lost" not in page.tiles
        return
    counts, total = counted.counts(), len(counted.edges)
    assert sum(counts.values()) == total
    words = {
        "inside": "within a part",
        "at_anchors": "at an anchor",
        "in_halos": "in a halo",
        "lost": "held by neither",
    }
    for name, count in counts.items():
        if name == "in_halos" and not count:
            assert not any("in a halo:" in line for line in page.lines)
            continue
        found = page.line(rf"{words[name]}[^:]*: ([\d,]+) \(([\d.]+%)\)")
        assert found.groups() == (f"{count:,}", f"{count / total:.1%}")
    assert page.tiles["edges lost"][0] == f"{counts['lost'] / total:.1%}"
    assert page.tiles["edges lost"][1].startswith(f"{counts['lost']:,}, between")


def test_the_matrix_of_parts(reported: tuple[Page, Counted, dict[str, Any]]) -> None:
    page, counted, _ = reported
    found: dict[tuple[int, int], int] = {}
    for title in page.titles:
        inside = re.fullmatch(r"([\d,]+) edges inside part (\d+)", title)
        between = re.fullmatch(r"([\d,]+) edges lost between parts (\d+) and (\d+)", title)
        if inside:
            found[int(inside[2]), int(inside[2])] = int(inside[1].replace(",", ""))
        elif between:
            found[int(between[2]), int(between[3])] = int(between[1].replace(",", ""))
    parts = range(counted.n_parts)
    wanted = {(i, j): counted.matrix()[i][j] for i in parts for j in parts} if counted.n_parts > 1 else {}
    assert found == wanted
    if counted.n_parts > 1:
        assert sum(n for (i, j), n in found.items() if i < j) == counted.counts()["lost"]


def test_the_share_of_edges_that_stay(reported: tuple[Page, Counted, dict[str, Any]]) -> None:
    page, counted, _ = reported
    said = [line for line in page.lines if "stay in one part" in line]
    if "Many spaces, then one" in page.lines:
        assert len(said) == 1
    for line in said:
        assert f"{counted.stay():.1%} of the edges" in line


def test_anchors_and_dimensions(reported: tuple[Page, Counted, dict[str, Any]]) -> None:
    page, counted, report = reported
    if counted.n_parts > 1:
        n_anchors, dim = len(counted.anchors), report["dim"]
        assert page.tiles["anchors"] == [f"{n_anchors:,}", f"{n_anchors / dim:.1f} times the {dim} dimensions"]


def test_time_and_memory_of_workers(reported: tuple[Page, Counted, dict[str, Any]], ran: tuple[Path, Any]) -> None:
    page, counted, _ = reported
    metadata = [
        json.loads((ran[0] / "parts" / f"{i:03d}" / "result" / "manifest.json").read_text())["body"]["facts"]
        for i in range(counted.n_parts)
    ]
    seconds, peaks = ([fact[name] for fact in metadata] for name in ("seconds", "peak_bytes"))
    caption = "Time and memory of each worker"
    assert page.column(caption, "took") == [seconds_text(took) for took in seconds]
    assert page.column(caption, "measured") == [format_bytes(peak) for peak in peaks]
    slowest = max(seconds)
    if counted.n_parts > 1:
        assert page.tiles["slowest worker"][1] == f"{slowest / np.mean(seconds):.2f} times the mean"
    assert page.tiles["slowest worker" if counted.n_parts > 1 else "time to embed"][0] == seconds_text(slowest)
    assert page.tiles["most memory"][0] == format_bytes(max(peaks))


def test_there_is_one_total_of_seconds(reported: tuple[Page, Counted, dict[str, Any]], ran: tuple[Path, Any]) -> None:
    page, counted, report = reported
    seconds = dict(report["seconds"])
    total = seconds.pop("total")
    assert list(seconds) == ["decompose", "prepare", "embed", "reconcile", "refine"]
    assert total == pytest.approx(sum(seconds.values()))
    assert (seconds["prepare"] > 0) == (counted.lump is not None)
    assert seconds["embed"] >= sum(part["seconds"] for part in report["parts"])  # the engine serial: one by one
    assert page.line(r"^(.*) of wall time in total")[1] == seconds_text(total)
    for stage, took in seconds.items():
        if took:
            assert page.line(rf"^{stage} (.*)$")[1] == seconds_text(took)
    metadata = json.loads((ran[0] / "plan" / "manifest.json").read_text())["body"]["facts"]
    assert seconds["decompose"] == metadata["decompose_seconds"]


def slow(csr: Any, rng: np.random.Generator) -> Any:
    time.sleep(0.2)
    return rng.normal(size=(csr.shape[0], 3))


def test_a_resumed_run_tells_of_all_its_time(tmp_path: Path) -> None:
    """What was embedded before the interruption is in the total, and the page of the folder says the same."""

    def stop(event: Any) -> None:
        if isinstance(event, Part) and event.share == 1:
            raise KeyboardInterrupt

    graph, what = named_graph(), plan(technique=slow, anchors=30)
    with pytest.raises(KeyboardInterrupt):
        parge.embed(graph, what, run_dir=tmp_path / "run", listener=stop)
    assert 0 < sum(part.state == "done" for part in status(tmp_path / "run").parts) < 3
    report = parge.embed(graph, what, run_dir=tmp_path / "run", resume=True).report
    workers = [part["seconds"] for part in report["parts"]]
    assert min(workers) >= 0.2
    assert report["seconds"]["embed"] >= sum(workers)
    page = Page(write_report(tmp_path / "run", tmp_path / "x.html", projection="pca"))
    assert page.line(r"^(.*) of wall time in total")[1] == seconds_text(report["seconds"]["total"])


def test_parts_embedded_elsewhere_count_as_the_slowest(tmp_path: Path) -> None:
    """Nobody here waited for them, so the least that embedding can have taken is told, not their sum."""
    write(weighted(), tmp_path / "graph.txt")
    run = str(tmp_path / "run")
    how = ["--technique", "hope", "--dim", "4", "--parts", "3", "--anchors", "20"]
    for words in (
        ["decompose", str(tmp_path / "graph.txt"), "--run-dir", run, *how],
        *(["embed-part", f"{run}/parts/00{i}"] for i in range(3)),
    ):
        assert CliRunner().invoke(cli, words).exit_code == 0
    ended = CliRunner().invoke(cli, ["reconcile", run, "-o", str(tmp_path / "out.npy"), "--json"])
    report = json.loads(ended.stdout)
    assert report["seconds"]["embed"] == max(part["seconds"] for part in report["parts"])


def test_plan_embed_part_status_and_report_count_the_same(ran: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """The four places that tell of a subgraph tell of the same one."""
    folder, report = ran
    counted = Counted(folder)
    with open_planned(folder) as run:
        from parge.planning.summary import summarise

        planned = summarise(run.decomposition, run.technique).to_json()
    names = ("vertices", "own", "halo", "lumps", "edges")
    parts = range(counted.n_parts)
    wanted = [
        dict(
            zip(
                names,
                (
                    counted.vertices(i),
                    len(counted.own(i)),
                    len(counted.halos[i]),
                    counted.lumps(i),
                    counted.subgraph_edges(i),
                ),
                strict=True,
            )
        )
        for i in parts
    ]
    assert [{name: part[name] for name in names} for part in report["parts"]] == wanted
    assert [{name: part[name] for name in names} for part in planned["parts"]] == wanted
    assert [(part.vertices, part.edges) for part in status(folder).parts] == [
        (part["vertices"], part["edges"]) for part in wanted
    ]
    for i in parts:
        ended = CliRunner().invoke(cli, ["embed-part", str(folder / "parts" / f"{i:03d}"), "--missing", "--json"])
        assert ended.exit_code == 0, ended.output
        reported = json.loads(ended.stdout)
        assert {name: reported[name] for name in names} == wanted[i]
        assert reported["anchors"] == len(counted.anchors) == report["anchors"] == planned["anchors"]
    assert report["edge_counts"] == planned["edge_counts"] == counted.counts()
    assert report["lost_edges"] == planned["lost_edges"] == pytest.approx(counted.counts()["lost"] / len(counted.edges))
    assert [part["kept_edges"] for part in report["parts"]] == pytest.approx([counted.kept(i) for i in parts])


def test_nothing_is_predicted(tmp_path: Path) -> None:
    """A score that nobody measured on this graph is told nowhere, whatever other graphs lost."""
    found = parge.embed(named_graph(), plan(), run_dir=tmp_path / "run")
    assert "expected" not in found.report
    page = write_report(tmp_path / "run", tmp_path / "x.html", embedding=found).read_text()
    assert "expected loss" not in page
    assert "centralised score" not in page
    with open_planned(tmp_path / "run") as run:
        assert run.plan.refine != "none"  # the pass was part of what was predicted
