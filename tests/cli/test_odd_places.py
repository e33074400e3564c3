"""Commands in odd environments: streams that are closed, full, broken or in ASCII, a folder that is gone, --debug."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.examples import slow

import parge
from parge.cli.main import run
from parge.embedding import Embedding

SOURCES = str(Path(parge.__file__).parents[1])
# The folder that a command is run in is gone before it starts.
GONE = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, [sys.executable, '-m', 'parge', *sys.argv[1:]])"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph and an embedding whose ids have letters of many scripts."""
    folder = tmp_path_factory.mktemp("odd places")
    names = ["zürich", "京都", "Ålesund", "\U0001f5fa", "plain"]
    (folder / "g.csv").write_text("".join(f"{a},{b}\n" for a in names for b in names if a < b))
    (folder / "g.txt").write_text("".join(f"{v} {(v * k + 1) % 40}\n" for v in range(40) for k in (1, 3)))
    Embedding(np.eye(5), names).save(folder / "v.npz")
    Embedding(np.eye(3000, 2) + 1, [f"vertex {i}" for i in range(3000)]).save(folder / "many.npz")
    return folder


def shell(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of the shell, where $PARGE is the command."""
    env = {**os.environ, "PYTHONPATH": SOURCES, "PARGE": f"{sys.executable} -m parge", **environment}
    done = subprocess.run(["sh", "-c", line], cwd=folder, env=env, capture_output=True, check=False, timeout=120)
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert b"bug in parge" not in done.stderr
    return done


@pytest.mark.parametrize("end", ["", *slow(" --json")])
@pytest.mark.parametrize(
    ("where", "words"), [(">&-", b"closed"), (">/dev/full", b"No space left"), (">&- <&-", b"closed")]
)
def test_a_result_that_cannot_be_printed_is_a_failure(end: str, where: str, words: bytes, world: Path) -> None:
    if "full" in where and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    done = shell(f"$PARGE neighbors v.npz plain{end} {where}", world)
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("where", ["2>&-", *slow("2>/dev/full", "2>&- <&-", "<&-")])
def test_messages_that_cannot_be_printed_stop_nothing(where: str, world: Path, tmp_path: Path) -> None:
    line = f"$PARGE embed g.txt -o {tmp_path}/v.npy --technique sgc --dim 4 --engine serial --json {where}"
    done = shell(line, world)
    assert done.returncode == 0
    assert json.loads(done.stdout)["vertices"] == 40
    assert np.load(tmp_path / "v.npy").shape == (40, 4)


@pytest.mark.slow
def test_with_everything_closed_files_hold_what_they_should(world: Path, tmp_path: Path) -> None:
    line = f"$PARGE embed g.txt -o {tmp_path}/v.npy --technique sgc --dim 4 --engine serial >&- 2>&- <&-"
    assert shell(line, world).returncode == 1  # its table found no output
    assert np.load(tmp_path / "v.npy").shape == (40, 4)


@pytest.mark.parametrize("end", ["", *slow(" --json")])
@pytest.mark.parametrize("reader", ["head -1", *slow("head -c 20", "true")])
def test_a_reader_that_leaves_early_is_no_news(end: str, reader: str, world: Path) -> None:
    done = shell(f"($PARGE neighbors many.npz 'vertex 3' -k 2999{end}; echo $? >&2) | {reader}", world)
    assert done.stderr.split() in ([b"0"], [b"1"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        *slow(
            {"LANG": "C"},
            {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
            {"PYTHONIOENCODING": "latin-1"},
        ),
    ],
    ids=str,
)
def test_output_in_any_encoding(environment: dict[str, str], world: Path) -> None:
    done = shell("$PARGE neighbors v.npz plain -k 4", world, **environment)
    assert done.returncode == 0, done.stderr
    assert b"cosine" in done.stdout
    ascii_only = environment.get("PYTHONIOENCODING") == "ascii" or "PYTHONUTF8" in environment
    if ascii_only:
        assert b"z\\xfcrich" in done.stdout
        assert b"|" in done.stdout  # the frame
        assert max(done.stdout) < 128
    done = shell("$PARGE neighbors v.npz plain --json", world, **environment)
    assert "京都" in [entry["vertex"] for entry in json.loads(done.stdout)["neighbors"]]
    assert shell("$PARGE plan g.csv --parts 2 --anchors 2 --dim 2", world, **environment).returncode == 0
    assert shell("$PARGE plan nön.txt", world, **environment).returncode == 2


def test_a_folder_that_is_gone(world: Path, tmp_path: Path) -> None:
    def gone(*words: Any) -> subprocess.CompletedProcess[bytes]:
        folder = tmp_path / "gone"
        folder.mkdir()
        env = {**os.environ, "PYTHONPATH": SOURCES}
        line = [sys.executable, "-c", GONE, *map(str, words)]
        done = subprocess.run(line, cwd=folder, env=env, capture_output=True, check=False)
        assert b"Traceback" not in done.stderr
        assert b"bug in parge" not in done.stderr
        return done

    done = gone("embed", world / "g.txt", "--technique", "sgc", "-o", tmp_path / "v.npy")
    assert done.returncode == 2
    assert b"current folder" in done.stderr
    assert not (tmp_path / "v.npy").exists()
    assert gone("generate", "--vertices", "9", "--edges", "9", "-o", "g.txt").returncode == 2
    assert gone("--help").returncode == 0


def test_what_the_system_refuses_a_worker_is_told_without_a_traceback(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_folder: Any) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("parge.run.arrays.sweep", fail)
    line = ["embed", str(world / "g.txt"), "-o", str(tmp_path / "v.npy"), "--technique", "sgc", "--engine", "serial"]
    assert run(line) == 1
    said = capsys.readouterr().err
    assert "Too many open files" in said
    assert "Traceback" not in said
    assert run([*line[:3], str(tmp_path / "w.npy"), *line[4:], "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_what_nobody_foresaw_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_arguments: Any, **_fields: Any) -> None:
        raise ZeroDivisionError("so\nmany")

    monkeypatch.setattr("parge.cli.neighbors.Embedding.load", fail)
    assert run(["neighbors", "x.npy", "3"]) == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError: so many" in said
    assert "--debug" in said
    assert len(said.splitlines()) == 1
    for line in (["--debug", "neighbors", "x.npy", "3"], ["neighbors", "x.npy", "3", "--debug"]):
        assert run(line) == 1
        said = capsys.readouterr().err
        assert "Traceback (most recent call last)" in said
        assert said.splitlines()[-1].startswith("Error: ZeroDivisionError: so many")


@pytest.mark.parametrize(
    "line",
    [
        ["plan", "no-such.txt", "--debug"],
        ["--debug", "evaluate", "pip", "a.npy", "b.npy"],
        ["evaluate", "--debug", "pip", "a.npy", "b.npy"],
        ["evaluate", "pip", "--debug", "a.npy", "b.npy"],
        ["status", ".", "--debug"],
    ],
    ids=" ".join,
)
def test_every_command_shows_tracebacks_when_asked(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line) == 2
    assert "Traceback" in capsys.readouterr().err
    assert run([word for word in line if word != "--debug"]) == 2
    assert "Traceback" not in capsys.readouterr().err
