"""The commands as a user runs them, one after the other; JSON alone on stdout."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.cli import show
from parge.cli.main import run


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph of 300 vertices and its labels."""
    monkeypatch.chdir(tmp_path)
    made = [
        "generate",
        "--vertices",
        "300",
        "--edges",
        "1800",
        "--communities",
        "4",
        "-o",
        "g.txt",
        "--labels",
        "l.txt",
    ]
    assert run(made) == 0
    return tmp_path


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Run a command with --json and return what it printed on stdout, which must be one JSON object."""
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


SMALL = ["--dim", "8", "--param", "walks=2", "--param", "walk_length=10", "--engine", "serial"]


def test_plan_prints_the_contract_s_keys(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(["plan", "g.txt", "--capacities", "120,150,200", "--dim", "8"], capsys)
    assert {"vertices", "edges", "dim", "anchors", "lost_edges", "parts"} <= set(found)
    parts = found["parts"]
    assert isinstance(parts, list)
    assert [part["capacity"] for part in parts] == [120, 150, 200]
    assert all(part["vertices"] <= part["capacity"] for part in parts)
    assert all({"vertices", "capacity", "edges", "projected_bytes"} <= set(part) for part in parts)
    assert run(["plan", "g.txt", "--parts", "3", "--dim", "8"]) == 0
    printed = capsys.readouterr()
    assert "lost edges" in printed.out
    assert "reading the graph" in printed.err
    assert not list(world.glob("*.run"))


def test_plan_hints_at_a_faster_technique_on_stderr_only(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "--vertices", "1200", "--edges", "2400", "-o", "larger.txt"]) == 0
    for technique, hinted in (("deepwalk", True), ("prone", False)):
        capsys.readouterr()
        assert run(["plan", "larger.txt", "--parts", "3", "--dim", "8", "--technique", technique, "--json"]) == 0
        printed = capsys.readouterr()
        assert "hint" not in json.loads(printed.out)
        assert ("hint: " in printed.err) is hinted
        assert ("--technique closedform" in " ".join(printed.err.split())) is hinted


def test_memory_budgets_are_shown_and_kept(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(["plan", "g.txt", "--memory", "1GB,1GB", "--dim", "8"], capsys)
    parts = found["parts"]
    assert isinstance(parts, list)
    assert all(part["projected_bytes"] <= part["budget_bytes"] == 10**9 for part in parts)


def test_from_graph_to_scores(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = answer(["embed", "g.txt", "-o", "v.npy", "--parts", "3", *SMALL], capsys)
    assert report["vertices"] == 300
    assert np.load(world / "v.npy").shape == (300, 8)
    assert len((world / "v.ids.txt").read_text().split()) == 300
    assert not (world / "v.npy.run").exists(), "a run folder that nobody asked for goes away"
    assert run(["embed", "g.txt", "-o", "w.parquet", "--technique", "hope", "--dim", "8", "--engine", "serial"]) == 0
    pip = answer(["evaluate", "pip", "v.npy", "w.parquet"], capsys)
    assert {"pip", "per_vertex", "relative", "scaled_per_vertex", "mapped_per_vertex"} <= set(pip)
    score = answer(["evaluate", "classify", "w.parquet", "l.txt", "--repeats", "2"], capsys)
    assert {"micro_f1", "macro_f1", "protocol", "train_ratio", "repeats"} <= set(score)
    assert score["micro_f1"]["mean"] > 0.5  # type: ignore[index]
    links = answer(["evaluate", "links", "g.txt", "--parts", "2", *SMALL], capsys)
    assert {"cosine", "dot", "logistic", "head", "adamic_adar", "degree_product", "degree_corrected"} <= set(links)
    near = answer(["neighbors", "w.parquet", "7", "-k", "3"], capsys)
    assert len(near["neighbors"]) == 3  # type: ignore[arg-type]
    assert answer(["align", "v.npy", "w.parquet", "-o", "a.vec"], capsys)["shared"] == 300


def test_an_embedding_that_has_seen_the_held_out_edges_is_noticed(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (world / "g.txt").read_text().splitlines(keepends=True)
    (world / "some.txt").write_text("".join(lines[:-60]))
    (world / "rest.txt").write_text("".join(lines[-60:]))
    for graph, noticed in (("g.txt", True), ("some.txt", False)):
        assert run(["embed", graph, "-o", "v.parquet", "--vertices", "300", *SMALL]) == 0
        capsys.readouterr()
        words = ["--embedding", "v.parquet", "--held-out", "rest.txt"]
        assert run(["evaluate", "links", "some.txt", "--vertices", "300", *words]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert ("computed on another graph than GRAPH" in said) == noticed


def test_dimensions_given_twice_must_agree(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "g.txt", "--dim", "16", "--param", "dim=3"]) == 2
    assert re.search(r"--dim 16.* --param dim=3", capsys.readouterr().err)
    assert answer(["plan", "g.txt", "--dim", "8", "--param", "dim=8"], capsys)["dim"] == 8


def test_memory_of_the_one_process_is_called_so(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "sgc", "--dim", "8", "--parts", "2"]
    for engine, shared in (("serial", True), ("processes", False)):
        capsys.readouterr()
        assert run([*line, "--engine", engine]) == 0
        assert ('"process memory" is' in capsys.readouterr().out) is shared


@pytest.mark.parametrize(
    ("plan", "said", "off"),
    [
        (["--technique", "sgc", "--parts", "2"], "aligning: not needed", True),
        (["--technique", "hope", "--parts", "2", "--reconcile", "none"], "aligning: skipped", True),
        (["--technique", "hope", "--parts", "2", "--anchors", "20"], "aligning: from 20 anchors", True),
        (["--technique", "hope", "--parts", "2", "--anchors", "0"], "aligning: from 0 anchors", False),
        (["--technique", "hope"], "aligning: not needed for one part", False),
    ],
)
def test_what_reconciling_had_to_do_is_said(
    world: Path, capsys: pytest.CaptureFixture[str], plan: list[str], said: str, off: bool
) -> None:
    capsys.readouterr()
    assert run(["embed", "g.txt", "-o", "v.npy", "--dim", "8", "--engine", "serial", *plan]) == 0
    printed = capsys.readouterr()
    assert said in printed.err
    row = next(line for line in printed.out.splitlines() if line.startswith("│        0 │"))
    assert row.split("│")[-2].strip().endswith("%") is off
    assert ("anchors off by" in printed.out) is off


def test_the_same_file_in_one_go_and_in_steps(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["--parts", "2", "--seed", "4", *SMALL]
    assert run(["embed", "g.txt", "-o", "one.npy", *plan]) == 0
    assert run(["decompose", "g.txt", "--run-dir", "run", *plan]) == 0
    for part in ("000", "001"):
        assert run(["embed-part", f"run/parts/{part}"]) == 0
    states = answer(["status", "run"], capsys)["parts"]
    assert isinstance(states, list)
    assert [part["state"] for part in states] == ["done", "done"]
    assert run(["status", "run"]) == 0
    assert "Next: parge reconcile run" in capsys.readouterr().out
    assert run(["reconcile", "run", "-o", "two.npy"]) == 0
    assert (world / "one.npy").read_bytes() == (world / "two.npy").read_bytes()
    capsys.readouterr()
    assert run(["status", "run"]) == 0
    assert "The run is complete." in (said := capsys.readouterr().out)
    assert "Next" not in said


def test_embedding_says_once_where_parts_save_no_memory(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = str(answer(["plan", "g.txt", "--parts", "2", *SMALL], capsys)["verdict"])
    for parts, times in (("2", 1), ("1", 0)):
        told = answer(["embed", "g.txt", "-o", f"{parts}.npy", "--parts", parts, *SMALL], capsys)["notices"]
        assert isinstance(told, list)
        assert sum(notice.startswith(verdict) for notice in told) == times


def test_a_part_is_embedded_elsewhere_and_its_result_alone_comes_back(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["--parts", "2", "--seed", "4", *SMALL]
    assert run(["embed", "g.txt", "-o", "one.npy", *plan]) == 0
    assert run(["decompose", "g.txt", "--run-dir", "run", *plan]) == 0
    shutil.copytree("run/parts/001", "elsewhere/001")
    capsys.readouterr()
    assert run(["embed-part", "elsewhere/001"]) == 0
    assert "001/result back into parts/001" in capsys.readouterr().out
    shutil.copytree("elsewhere/001/result", "run/parts/001/result")
    assert run(["embed-part", "run/parts/000"]) == 0
    assert run(["reconcile", "run", "-o", "two.npy"]) == 0
    assert (world / "one.npy").read_bytes() == (world / "two.npy").read_bytes()


def test_a_run_completed_from_its_folder_claims_no_engine(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder does not say which one embedded the parts; the keys are those of `parge embed`."""
    plan = ["--technique", "spectral", "--dim", "4", "--parts", "2", "--engine", "serial", "--run-dir", "run"]
    embedded = answer(["embed", "g.txt", "-o", "one.npy", *plan], capsys)["plan"]
    completed = answer(["reconcile", "run", "-o", "two.npy"], capsys)["plan"]
    assert isinstance(embedded, dict)
    assert isinstance(completed, dict)
    assert embedded["engine"] == "serial"
    assert completed["engine"] is None
    assert completed.keys() == embedded.keys()


@pytest.mark.parametrize("share", [0.5, 1.5])
def test_memory_above_the_bound_is_explained_where_the_engine_is_unknown(
    world: Path, capsys: pytest.CaptureFixture[str], share: float
) -> None:
    plan = ["--technique", "spectral", "--dim", "4", "--parts", "2", "--engine", "serial", "--run-dir", "run"]
    assert run(["embed", "g.txt", "-o", "one.npy", *plan]) == 0
    report = parge.Report.from_json(answer(["reconcile", "run", "-o", "two.npy"], capsys))
    parts = tuple(replace(part, peak_bytes=int(share * part.projected_bytes)) for part in report.parts)
    show.show_report(replace(report, parts=parts), world / "two.npy", as_json=False)
    assert ("--engine serial" in capsys.readouterr().out) is (share > 1)


def test_threads_are_a_setting_and_change_no_bit_unless_hogwild(world: Path) -> None:
    for name, *settings in (("one",), ("two", "threads=2"), ("wild", "threads=2", "mode=hogwild")):
        more = [argument for setting in settings for argument in ("--param", setting)]
        assert run(["embed", "g.txt", "-o", f"{name}.npy", "--parts", "2", *SMALL, *more]) == 0
    assert (world / "one.npy").read_bytes() == (world / "two.npy").read_bytes()
    assert np.isfinite(np.load(world / "wild.npy")).all()


def test_a_technique_of_one_s_own_by_path(world: Path) -> None:
    (world / "mine.py").write_text("def f(csr, rng):\n    return rng.normal(size=(csr.shape[0], 5))\n")
    assert run(["embed", "g.txt", "-o", "m.npz", "--parts", "2", "--technique", "mine:f", "--engine", "serial"]) == 0
    assert np.load(world / "m.npz")["vectors"].shape == (300, 5)


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "embed-part" in capsys.readouterr().out
    assert run(["plan", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "\n    parge plan edges.txt.gz --parts 8\n" in printed


def test_without_a_terminal_long_work_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from parge.cli import show
    from parge.events import Part, Step
    from parge.show import terminal

    now = iter([0.0, 1.0, 5.0, 30.0, 30.0, 31.0, 32.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    with show.run_progress() as listener:
        for event in (Step("embed", "2 subgraphs"), Part(0, 0.1, 2), Part(1, 0.25, 2), Part(0, 1.0, 2)):
            listener(event)
    assert [line.split("s  ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "embedding: 2 subgraphs",
        "embedding: subgraph 0 10%, subgraph 1 25%",
        "embedded subgraph 0 (1 of 2)",
    ]
