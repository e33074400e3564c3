"""A run folder from a stranger: no code that it names is run, and it cannot ask for work without end."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run.resealed import GRAPH, PLAN, reseal

import parge
from parge.cli.main import run as command
from parge.run.run import embed_part_command

EVIL = "from pathlib import Path\nPath('hacked').touch()\ndef embed(csr, rng): return csr.toarray()[:, :4]\n"


@pytest.mark.parametrize(
    "name", ["subprocess:Popen", "os:system", "evil:embed", "parts.000.evil:embed", "shutil:rmtree"]
)
@pytest.mark.parametrize("where", ["beside", "in run", "in part"])
def test_code_that_a_folder_names_is_not_run(
    name: str, where: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    described = {"technique": name, "settings": {"args": "touch hacked", "shell": True}}
    for place in (folder / "parts/000", folder):
        (place / "evil.py").write_text(EVIL)
    reseal(folder / "parts/000/subgraph", lambda body: body["facts"].update(technique=described))
    reseal(folder / "plan", lambda body: body["facts"]["settings"].update(technique=described))
    here = {"beside": folder.parent, "in run": folder, "in part": folder / "parts/000"}[where]
    monkeypatch.chdir(here)
    assert command(["embed-part", str(folder / "parts/000")]) == 2
    assert "evil.py" in capsys.readouterr().err  # no file of theirs, so nothing else is even looked at
    for place in (folder / "parts/000", folder):
        (place / "evil.py").rename(place / ".evil.py")
    (folder.parent / "evil.py").write_text(EVIL)
    assert command(["embed-part", str(folder / "parts/000")]) == 2
    assert f"asks to run {name}" in capsys.readouterr().err or name.startswith("parts.000")
    command(["status", str(folder)])
    command(["reconcile", str(folder), "-o", str(folder.parent / "out.npy")])
    assert not list(folder.parent.rglob("hacked"))


def test_code_that_was_typed_is_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "own_code_of_mine.py").write_text(EVIL.replace("hacked", "asked_for"))
    described = {"technique": "own_code_of_mine:embed", "settings": {}}
    reseal(folder / "parts/000/subgraph", lambda body: body["facts"].update(technique=described))
    monkeypatch.chdir(folder.parent)
    assert command(["embed-part", "run/parts/000"]) == 2
    assert not (folder.parent / "asked_for").exists()
    assert command(["embed-part", "run/parts/000", "--technique", "own_code_of_mine:embed"]) == 0
    described = {"technique": "sknetwork.embedding:Spectral", "settings": {"dim": 4}}
    reseal(folder / "parts/000/subgraph", lambda body: body["facts"].update(technique=described))
    assert command(["embed-part", "run/parts/000"]) == 2
    assert command(["embed-part", "run/parts/000", "--technique", "sknetwork.embedding:Spectral"]) == 0


def test_what_a_folder_says_cannot_steer_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(folder / "parts/000/result")
    (folder / "parts/000/failure.json").write_text(json.dumps({"message": "\x1b[2J\x07 [bold]red[/bold]"}))
    reseal(folder / "plan", lambda body: body["facts"]["technique"].update(name="\x1b]0;owned\x07"))
    for line in (["status", str(folder)], ["status", str(folder), "--json"]):
        assert command(line) == 0
        assert not {"\x1b", "\x07"} & set(capsys.readouterr().out)


def test_another_technique_in_a_part_folder_is_not_used_by_a_run(folder: Path, reference: Any) -> None:
    described = {"technique": "evil:embed", "settings": {}}
    reseal(folder / "parts/000/subgraph", lambda body: body["facts"].update(technique=described))
    shutil.rmtree(folder / "parts/000/result")
    assert np.array_equal(parge.embed(GRAPH, PLAN, run_dir=folder, resume=True).vectors, reference)


@pytest.mark.parametrize(
    ("name", "settings", "reported"),
    [
        ("deepwalk", {"dim": 4, "walks": 2**31 - 1}, "walks of deepwalk must be"),
        ("deepwalk", {"dim": 4, "walks": 100_000, "walk_length": 100_000}, "times the work"),
        ("line", {"dim": 4, "samples": 10**9}, "samples of line must be"),
        ("sgc", {"dim": 4, "hops": 10**9}, "hops of sgc must be"),
        ("whitened", {"dim": 4, "rounds": 10**9}, "rounds of whitened must be"),
        ("prone", {"dim": 4, "step": 10**9}, "step of prone must be"),
        ("netmf", {"dim": 4, "window": 10**9}, "window of netmf must be"),
    ],
)
def test_a_folder_cannot_ask_for_work_without_end(
    name: str, settings: dict[str, Any], reported: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = {"technique": name, "settings": settings}
    reseal(folder / "parts" / "000" / "subgraph", lambda body: body["facts"].update(technique=described))
    assert command(["embed-part", str(folder / "parts" / "000")]) == 2
    assert reported in capsys.readouterr().err


def test_much_work_is_done_for_who_asks_for_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("parge.run.trust.MOST_WORK", 2)
    technique, part = parge.SGC(dim=4, hops=7), folder / "parts" / "000"
    described = {"technique": "sgc", "settings": {"dim": 4, "hops": 7}}
    reseal(part / "subgraph", lambda body: body["facts"].update(technique=described))
    assert command(["embed-part", str(part)]) == 2
    line = embed_part_command(part, technique).split()[1:]
    assert " ".join(line) in capsys.readouterr().err
    assert command(line) == 0
    assert "--technique" not in embed_part_command(part, parge.SGC(dim=4))


def test_a_plan_whose_technique_was_altered_is_refused_alike(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reseal(folder / "plan", lambda body: body["facts"]["settings"]["technique"]["settings"].update(dim=5))
    said = []
    for line in (["status", str(folder)], ["reconcile", str(folder), "-o", str(tmp_path / "out.npy")]):
        assert command(line) == 2
        said.append(capsys.readouterr().err)
    assert said[0] == said[1]
    assert "settings" in said[0]
