"""Numbers at the edges of their types on the command line: exit code 2, one short message, nothing written."""

import json
from pathlib import Path

import numpy as np
import pytest

from parge.cli.main import run
from parge.embedding import Embedding

LONG, HUGE, BEYOND = "9" * 5000, str(10**30), str(2**63)

PLAN: dict[str, list[str]] = {
    "vertices": ["--vertices", LONG],
    "vertices beyond": ["--vertices", BEYOND],
    "vertices exponent": ["--vertices", "1e400"],
    "vertices long exponent": ["--vertices", f"1e{HUGE}"],
    "vertices no whole": ["--vertices", "2.5"],
    "vertices negative": ["--vertices", "-3"],
    "memory": ["--memory", "9" * 400],
    "memory in units": ["--memory", "2GB,99999PB"],
    "coordinator": ["--coordinator-memory", "99999PB"],
    "coordinator long": ["--coordinator-memory", LONG],
    "seed": ["--seed", BEYOND],
    "seed long": ["--seed", LONG],
    "parts": ["--parts", HUGE],
    "parts long": ["--parts", LONG],
    "capacities": ["--capacities", f"4,{HUGE}"],
    "capacities long": ["--capacities", f"4,{LONG}"],
    "dim": ["--dim", HUGE],
    "dim long": ["--dim", LONG],
    "dim twice": ["--dim", "4", "--param", f"dim={LONG}"],
    "workers": ["--workers", HUGE],
    "anchors": ["--parts", "2", "--anchors", "1e400%"],
    "anchors nan": ["--parts", "2", "--anchors", "nan%"],
    "anchors long": ["--parts", "2", "--anchors", LONG],
    "walks": ["--param", f"walks={10**40}"],
    "walks long": ["--param", f"walks={LONG}"],
    "learning rate": ["--param", "learning_rate=nan"],
    "learning rate infinite": ["--param", "learning_rate=1e400"],
    "parameter": ["--param", LONG],
    "technique": ["--technique", LONG],
    "engine": ["--engine", LONG],
    "option": [f"--{LONG}", "1"],
}

LINES: dict[str, list[str]] = {
    "alpha": ["evaluate", "bound", "g.txt", "--alpha", "nan"],
    "bound dim": ["evaluate", "bound", "g.txt", "--dim", HUGE],
    "bound parts": ["evaluate", "bound", "g.txt", "--parts", HUGE],
    "holdout": ["evaluate", "links", "g.txt", "--holdout", "nan"],
    "train ratio": ["evaluate", "classify", "v.npy", "l.txt", "--train-ratio", "nan"],
    "train ratios": ["evaluate", "classify", "v.npy", "l.txt", "--train-ratio", "0.5,inf"],
    "repeats": ["evaluate", "classify", "v.npy", "l.txt", "--repeats", HUGE],
    "jobs": ["evaluate", "classify", "v.npy", "l.txt", "--jobs", HUGE],
    "core": ["evaluate", "pip", "v.npy", "v.npy", "--core", LONG],
    "neighbors": ["neighbors", "v.npy", LONG],
    "neighbors negative": ["neighbors", "v.npy", "--", f"-{LONG}"],
    "neighbors without dashes": ["neighbors", "v.npy", "-1"],
    "neighbors beyond": ["neighbors", "v.npy", BEYOND],
    "neighbors k": ["neighbors", "v.npy", "1", "-k", LONG],
    "exponent": ["generate", "--vertices", "10", "--edges", "9", "--exponent", "inf", "-o", "n.txt"],
    "mixing": ["generate", "--vertices", "10", "--edges", "9", "--mixing", "nan", "-o", "n.txt"],
    "labels": ["generate", "--vertices", "10", "--edges", "9", "--labels-per-vertex", "nan", "-o", "n.txt"],
    "generate": ["generate", "--vertices", LONG, "-o", "n.txt"],
    "generate edges": ["generate", "--vertices", "10", "--edges", HUGE, "-o", "n.txt"],
    "generate seed": ["generate", "--vertices", "10", "--seed", BEYOND, "-o", "n.txt"],
    "demo seed": ["demo", "--seed", BEYOND, "-o", "d"],
    "estimate vertices": ["plan", "--estimate", f"vertices={LONG}", "edges=9"],
    "estimate nan": ["plan", "--estimate", "vertices=9", "edges=nan"],
    "estimate price": ["plan", "--estimate", "vertices=9", "edges=9", "price_gb=1e400"],
    "estimate memory": ["plan", "--estimate", "vertices=9", "edges=9", f"memory={LONG}"],
    "estimate dim": ["plan", "--estimate", "vertices=9", "edges=9", f"dim={LONG}"],
    "estimate unknown": ["plan", "--estimate", f"{LONG}=3"],
    "command": [LONG],
    "file": ["plan", f"{LONG}.txt"],
}


@pytest.mark.parametrize("line", [*(["plan", "g.txt", *line] for line in PLAN.values()), *LINES.values()],
                         ids=[*(f"plan {case}" for case in PLAN), *LINES])  # fmt: skip
def test_extreme_numbers_are_refused_in_a_few_words(
    line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("g.txt").write_text("1 2\n2 3\n3 4\n4 1\n")
    Path("l.txt").write_text("0 a\n1 b\n2 a\n3 b\n")
    Embedding(np.eye(4), range(4)).save("v.npy")
    before = sorted(tmp_path.rglob("*"))
    assert run(line) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("Error: ") == 1
    assert len(said.err) < 1500
    assert sorted(tmp_path.rglob("*")) == before


def test_a_count_is_refused_before_anything_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / "g.txt"
    graph.write_text("1 2\n2 3\n")
    for count in (LONG, BEYOND, "1e400", "1.5", "-1"):
        assert run(["plan", str(graph), "--vertices", count]) == 2
        said = capsys.readouterr().err
        assert "reading" not in said
        assert "--vertices" in said


@pytest.mark.parametrize("count", ["6", "6.0", "0.6e1", "6e0", "+6"])
def test_a_count_of_vertices_may_be_written_in_any_notation(
    count: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = tmp_path / "g.txt"
    graph.write_text("1 2\n2 3\n")
    assert run(["plan", str(graph), "--vertices", count, "--dim", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vertices"] == 6


def test_an_id_that_looks_like_an_option_gets_the_line_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Embedding(np.eye(4), [-12, 0, 1, 2]).save("v.npy")
    assert run(["neighbors", "v.npy", "-12", "-k", "2"]) == 2
    said = capsys.readouterr().err.strip()
    line = said[said.index("parge neighbors") :].split("parge neighbors")[-1].split()
    assert line == ["v.npy", "-k", "2", "--", "-12"]
    assert run(["neighbors", *line]) == 0
    capsys.readouterr()
    assert run(["neighbors", "v.npy", "0", "--jsno"]) == 2
    assert "-- before" not in capsys.readouterr().err  # a typo has a better hint
