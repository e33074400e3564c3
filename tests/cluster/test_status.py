"""`parge status` of a run in shards: it says what it has checked, and how to go on."""

import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import parge
from parge.cli.main import run
from parge.cluster import stages
from parge.cluster.checkpoints import FolderCheckpoint
from parge.cluster.journal import FolderJournal
from parge.cluster.run import embed_sharded
from parge.cluster.source import Source, edge_files
from parge.errors import PargeError
from parge.graph.generate import planted

PARTS = 3


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("status") / "in"
    folder.mkdir()
    pq.write_table(planted(300, 1800, seed=2).graph.to_frame(), folder / "e.parquet")
    return folder


def plan(**more: Any) -> parge.Plan:
    technique = parge.DeepWalk(dim=8, walks=2)
    return parge.Plan(**{"technique": technique, "parts": PARTS, "engine": "serial", **more})


def embedded(edges: Path, place: Path, request: parge.Plan, **more: Any) -> None:
    embed_sharded(Source(edge_files(edges)), request, place / "out", run_dir=place / "run", **more)


def fails(_self: Any, _mesh: Any) -> Any:
    raise PargeError("stopped")


@pytest.mark.parametrize(
    ("fails_in", "stage"), [("Read", "read"), ("Divide", "decompose"), ("Cut", "prepare"), ("Finish", "refine")]
)
def test_status_tells_how_far_a_run_in_shards_is(
    edges: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fails_in: str,
    stage: str,
) -> None:
    place = tmp_path / "kept"
    monkeypatch.setattr(getattr(stages, fails_in), "__call__", fails)
    with pytest.raises(PargeError, match="stopped"):
        embed_sharded(Source(edge_files(edges)), plan(), tmp_path / "out", run_dir=place)
    assert run(["status", str(place), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    order = ["read", "decompose", "prepare", "embed", "refine"]
    assert (found["stage"], found["done"]) == (stage, order[: order.index(stage)])
    assert (found["kept"], found["shards"]) == (0, 0 if stage == "read" else PARTS)
    assert (found["complete"], found["at_work"], found["technique"]) == (False, False, "deepwalk")
    assert run(["status", str(place)]) == 0
    said = capsys.readouterr().out
    assert f"next: {stage}" in said
    assert "--resume" in said


@pytest.mark.slow
def test_status_counts_what_a_stage_has_kept(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> tuple[str | None, int, bool]:
        assert run(["status", str(tmp_path / "run"), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        return found["stage"], found["kept"], found["complete"]

    def stopping(method: Any, calls: int) -> Any:
        """Return a method that fails in whichever shard calls it once more than so often."""
        left = [calls]

        def limited(self: Any, *given: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise PargeError("stopped")
            return method(self, *given)

        return limited

    for owner, name, calls, stage, least in (
        (FolderJournal, "step", 2 * PARTS, "decompose", 1),
        (FolderCheckpoint, "save", 2 * PARTS, "refine", 2),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, stopping(getattr(owner, name), calls))
            with pytest.raises(PargeError, match="stopped"):
                embedded(edges, tmp_path, plan(refine="whiten"), resume=True)
        found = told()
        assert found[0] == stage
        assert found[1] >= least
    embedded(edges, tmp_path, plan(refine="whiten"), resume=True)
    assert told() == (None, 0, True)


def stopped(edges: Path, place: Path, stage: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Run a command that stops in a stage; return its words."""
    words = ["embed", str(edges), "-o", str(place / "my out"), "--run-dir", str(place / "run"), "--parts", str(PARTS)]
    words += ["--engine", "serial", "--sharded", "--dim", "8", "--param", "walks=2"]
    with monkeypatch.context() as patch:
        patch.setattr(getattr(stages, stage), "__call__", fails)
        assert run(words) == 1
    return words


def test_status_prints_the_command_that_resumes(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = stopped(edges, tmp_path, "Cut", monkeypatch)
    capsys.readouterr()
    assert run(["status", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].strip() == f"{shlex.join(['parge', *words])} --resume"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run(["status", str(tmp_path / "run")]) == 0
    assert f"cd {tmp_path} && parge embed" in capsys.readouterr().out
    assert run([*words, "--resume"]) == 0


@pytest.mark.parametrize(
    "command",
    [
        ["embed-part", "stranger/parts/000", "--technique", "evil:run"],
        ["embed", "edges", "-o", "out", "--sharded", "--technique", "evil:run"],
        ["embed", "edges", "-o", "out", "--sharded", "--technique=evil:run"],
        ["embed", "edges", "-o", "out"],
    ],
)
def test_status_does_not_advise_what_a_stranger_wrote(
    edges: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    monkeypatch.setattr(stages.Read, "__call__", fails)
    with pytest.raises(PargeError, match="stopped"):
        embedded(edges, tmp_path, plan(), command=command)
    capsys.readouterr()
    assert run(["status", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "evil" not in said
    assert said.splitlines()[-1].strip() == f"parge embed GRAPH --sharded -o OUT ... --run-dir {tmp_path}/run --resume"


@pytest.mark.parametrize(
    ("stops_in", "damaged", "done"),
    [
        ("Divide", "done-read/manifest.json", []),
        ("Divide", "shards/001/indices.npy", ["read"]),
        ("Cut", "done-divide/manifest.json", ["read"]),
        ("Cut", "rows/002/manifest.json", ["read", "decompose"]),
        ("Finish", "done-cut/manifest.json", ["read", "decompose"]),
        ("Finish", "rows/000/codes.npy", ["read", "decompose", "prepare", "embed"]),
    ],
)
def test_status_says_what_is_damaged_as_resuming_does(
    edges: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    stops_in: str,
    damaged: str,
    done: list[str],
) -> None:
    words = stopped(edges, tmp_path, stops_in, monkeypatch)
    assert run(["status", str(tmp_path / "run"), "--json"]) == 0
    capsys.readouterr()
    file = tmp_path / "run" / damaged
    file.write_bytes(file.read_bytes()[:-7])
    assert run(["status", str(tmp_path / "run"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["done"] == done
    assert Path(damaged).name in found["damaged"]
    assert not found["complete"]
    assert run(["status", str(tmp_path / "run")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot be resumed" in said
    assert "Start the run again in another folder" in said
    assert "--resume" not in said
    assert run([*words, "--resume"]) == 2  # it refuses, too


def test_status_hides_secrets_of_urls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["embed", "memory://user:hushed@nothing/here", "-o", str(tmp_path / "out"), "--parts", "2", "--sharded"]
    assert run([*words, "--run-dir", str(tmp_path / "run"), "--engine", "serial", "--dim", "8"]) != 0
    capsys.readouterr()
    assert run(["status", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    assert "memory://nothing/here" in said
    assert "hushed" not in said
    assert "hushed" not in (tmp_path / "run" / "plan" / "manifest.json").read_text()
