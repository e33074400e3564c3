"""The table of a plan in a terminal of 80 columns: whole numbers, workers with their memory, and the whole graph."""

import json
import shlex
from pathlib import Path

import pytest

from parge.cli import show
from parge.cli.main import run
from parge.estimate import speed


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("graph") / "edges.txt"
    assert run(["generate", "--vertices", "1500", "--edges", "9000", "-o", str(found)]) == 0
    return found


def table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, *args: str) -> list[str]:
    monkeypatch.setattr(show, "out", show.console(width=width))
    assert run(["plan", *args]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("limits", ["--parts 4", "--memory 400MB,500MB", "--capacities 1200,1400,1600"])
@pytest.mark.parametrize("technique", ["deepwalk", "hope", "netmf"])
def test_eighty_columns_show_every_number_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: Path, limits: str, technique: str
) -> None:
    lines = table(capsys, monkeypatch, 80, str(path), *limits.split(), "--technique", technique)
    assert max(map(len, lines[:-1])) <= 80  # the last one is a command, to be pasted as it stands
    assert not [line for line in lines if "…" in line]
    assert [line for line in lines if "whole graph │" in line]


def test_wide_terminals_leave_nothing_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    wide, narrow = (" ".join(table(capsys, monkeypatch, width, str(path), "--parts", "4")) for width in (200, 80))
    for heading in ("capacity", "full", "halo", "super-"):
        assert heading in wide
    assert "left out" not in wide
    assert "full, capacity" in narrow


def test_workers_with_a_budget_have_it_beside_them_and_no_capacity(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    printed = " ".join(table(capsys, monkeypatch, 200, str(path), "--memory", "400MB,500MB"))
    assert "0 (400 MB)" in printed
    assert "1 (500 MB)" in printed
    assert "capacity" not in printed
    assert "full" not in printed


def test_the_verdict_and_what_is_next_end_the_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    args = [str(path), "--memory", "2GB,8GB"]
    lines = table(capsys, monkeypatch, 200, *args)
    assert run(["plan", *args, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert lines[-2] == reported["verdict"]
    assert lines[-1].startswith("Next: parge embed")
    assert "worker 0 alone" in reported["verdict"]
    assert reported["projected_seconds"] > 0


def test_help_and_refusals_measure_nothing(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    def never() -> float:
        raise AssertionError("the machine was measured")

    monkeypatch.delenv("PARGE_CALIBRATION", raising=False)
    monkeypatch.setattr(speed, "measure", never)
    monkeypatch.setattr(speed, "_file", lambda: None)
    assert run(["plan", "--help"]) == 0
    assert run(["plan", str(path), "--capacities", "3,3"]) == 2
    assert run(["plan", str(path)]) == 1


def test_a_plan_ends_with_the_command_that_embeds_it(
    capsys: pytest.CaptureFixture[str], path: Path, tmp_path: Path
) -> None:
    graph = tmp_path / "my graph.txt"
    graph.write_bytes(path.read_bytes())
    args = [str(graph), "--parts", "2", "--dim", "4", "--technique", "hope"]
    assert run(["plan", *args]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Next: ")]
    assert shlex.split(line.removeprefix("Next: ")) == ["parge", "embed", *args, "-o", "vectors.parquet"]
