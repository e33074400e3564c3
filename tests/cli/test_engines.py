"""Engines by name on the command line, those of plug-ins included."""

from pathlib import Path

import pytest

from parge.cli.main import run
from parge.cli.options import make_plan
from parge.engine.base import engines
from parge.engine.serial import Serial
from parge.errors import InputError


def test_an_engine_of_a_plug_in_is_taken_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int | None] = []

    def mine(*, workers: int | None) -> Serial:
        asked.append(workers)
        return Serial()

    monkeypatch.setitem(engines._known, "mine", mine)
    monkeypatch.chdir(tmp_path)
    Path("g.txt").write_text("1 2\n2 3\n3 4\n4 1\n")
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "sgc", "--dim", "2", "--parts", "2", "--anchors", "1"]
    assert run([*line, "--engine", "mine", "--workers", "3"]) == 0
    assert asked == [3]
    assert run([*line, "--engine", "thine"]) == 2
    assert "mine, processes, ray, serial" in capsys.readouterr().err


def test_a_run_to_resume_does_not_ask_the_nodes_again() -> None:
    options = {"params": (), "dim": None, "technique": "deepwalk", "engine": "serial", "memory": "auto"}
    with pytest.raises(InputError, match="--memory auto"):
        make_plan(dict(options))
    assert make_plan(dict(options), resume=True).memory_is_auto
