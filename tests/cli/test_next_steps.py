"""The last lines of `parge embed` fit what was asked for, and do not frighten."""

from dataclasses import replace
from pathlib import Path

import pytest

from parge.cli import show
from parge.cli.main import run
from parge.result import Report

SMALL = ["--dim", "4", "--engine", "serial", "--parts", "2", "--anchors", "12", "--reconcile", "orthogonal"]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("next") / "graph.txt")
    assert run(["generate", "--vertices", "80", "--edges", "300", "-o", path]) == 0
    return path


@pytest.mark.parametrize(
    ("asked", "suffix", "steps"),
    [
        ([], "parquet", ["neighbors v.parquet VERTEX", "evaluate classify v.parquet LABELS"]),
        (["--for", "links"], "parquet", ["neighbors v.parquet VERTEX --for links", "evaluate links GRAPH --for links"]),
        (["--for", "links"], "vec", ["neighbors v.vec VERTEX", "evaluate links GRAPH --for links"]),
        (
            ["--for", "both", "--space", "sp"],
            "npz",
            [
                "place sp EDGES -o NEW.parquet",
                "neighbors v.npz VERTEX --for links",
                "evaluate links GRAPH --for both",
                "evaluate classify v.npz LABELS",
            ],
        ),
    ],
)
def test_the_next_steps_are_those_of_what_was_asked_for(
    graph: str,
    asked: list[str],
    suffix: str,
    steps: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["embed", graph, "-o", f"v.{suffix}", "--technique", "prone", *SMALL, *asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = [line.partition(": parge ")[2] for line in lines if line.startswith(("Next: ", "  or: "))]
    assert said == steps


@pytest.mark.parametrize(("refine", "reported"), [("none", False), ("whiten", True)])
def test_a_pass_after_the_alignment_is_told_beside_it(
    graph: str, refine: str, reported: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "v.npz")
    assert run(["embed", graph, "-o", out, "--technique", "prone", "--refine", refine, *SMALL]) == 0
    said = capsys.readouterr().out
    assert "before alignment" in said
    assert (f"The final pass ({refine})" in said) == reported


@pytest.mark.parametrize(
    ("lost", "words"), [(0.0, "No edge was lost."), (0.0001, "Under 0.1% of"), (0.065, "6.5% of the edges were lost")]
)
def test_lost_edges_are_told_where_there_are_any(graph: str, lost: float, words: str, tmp_path: Path) -> None:
    from parge.embedding import Embedding

    out = str(tmp_path / "v.npz")
    assert run(["embed", graph, "-o", out, "--technique", "prone", *SMALL]) == 0
    report: Report = Embedding.load(out).report
    assert words in show._meaning(replace(report, lost_edges=lost))
