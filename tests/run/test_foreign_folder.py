"""A run folder is a run's own: folders of the user's are refused untouched, and only what the run wrote is removed."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.outputs import snapshot
from tests.examples import slow

import parge
from parge.cli.main import run as command
from parge.errors import InputError, PargeError
from parge.events import ignore
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.report.page import write_report
from parge.run.open_run import open_planned, open_run
from parge.run.pipeline import embed_parts, embed_to_file
from parge.run.status import status

GRAPH = planted(80, 300, communities=2, seed=2).graph
PLAN = parge.Plan(technique=parge.SGC(dim=4), parts=2, anchors="8", engine="serial", refine="whiten")
ARGS = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--anchors", "8", "--engine", "serial"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("finished") / "run"
    with open_run(GRAPH, PLAN, run_dir=path, resume=False, listener=ignore) as run:
        embed_parts(run, ignore)
    return path


@pytest.fixture
def place(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph and a finished run, in which the commands are given."""
    folder = tmp_path / "place"
    shutil.copytree(finished, folder / "run")
    write(GRAPH, folder / "g.txt")
    monkeypatch.chdir(folder)
    return folder


def refused(place: Path, args: list[Any], capsys: pytest.CaptureFixture[str], codes: tuple[int, ...] = (2,)) -> str:
    before = snapshot(place)
    capsys.readouterr()
    code = command([str(word) for word in args])
    said = capsys.readouterr().err
    assert code in codes, said
    assert "Traceback" not in said
    assert snapshot(place) == before
    return said


# Folders of the user's own: name -> content, an empty name is a folder.
OWN: dict[str, list[str]] = {
    "notes": ["notes.txt"],
    "an embedding": ["embedding.npy"],
    "a pass": ["refine-1.npy"],
    "a lock": ["lock"],
    "a graph": ["graph/edges.txt"],
    "arrays of a graph": ["graph/indices.npy", "graph/indptr.npy"],
    "a manifest": ["graph/manifest.json"],
    "a plan": ["plan/todo.txt"],
    "a project": ["plan/manifest.json", "notes.txt"],
    "a plan of another": ["plan/manifest.json"],
    "parts": ["parts/000/result/vectors.npy"],
    "retries": ["retries.json"],
    "temporary": ["plan.tmp-1/mine.txt"],
    "an empty folder": ["sub/"],
    "a hidden folder": [".git/config"],
}


@pytest.mark.parametrize("case", OWN)
@pytest.mark.parametrize("resume", [True, *slow(False)])
def test_a_folder_of_the_user_s_own_is_refused_and_stays_as_it_was(
    case: str, resume: bool, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in OWN[case]:
        path = place / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_text('{"mine": 1}')
    more = ["--resume"] if resume else []
    refused(place, ["embed", "g.txt", "-o", "v.npy", "--run-dir", "own", *ARGS, *more], capsys)
    refused(place, ["decompose", "g.txt", "--run-dir", "own", *ARGS, *more], capsys)
    (place / "own").rename(place / "v.npy.run")
    refused(place, ["embed", "g.txt", "-o", "v.npy", *ARGS, *more], capsys)
    for args in (["reconcile", "v.npy.run", "-o", "v.npy"], ["report", "v.npy.run", "-o", "v.html"]):
        refused(place, args, capsys)
    before = snapshot(place)
    with pytest.raises(PargeError):
        parge.embed(GRAPH, PLAN, run_dir="v.npy.run", resume=resume)
    assert snapshot(place) == before


def test_the_current_folder_is_refused_where_it_holds_the_graph(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (".", "", place, "../place"):
        refused(place, ["embed", "g.txt", "-o", "v.npy", "--run-dir", name, *ARGS], capsys)
    before = snapshot(place)
    with pytest.raises(InputError, match="empty"):
        parge.embed(GRAPH, PLAN, run_dir="")
    with pytest.raises(InputError, match="not empty"):
        parge.embed(GRAPH, PLAN, run_dir=Path())
    assert snapshot(place) == before


def test_a_run_that_is_there_is_refused_before_the_graph_is_read(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "bad.txt").write_text("this is no graph\n\x00\n")
    for args in (["decompose", "bad.txt"], ["embed", "bad.txt", "-o", "v.npy"]):
        said = refused(place, [*args, "--run-dir", "run", *ARGS], capsys)
        assert "--resume" in said
        assert "bad.txt" not in said


def test_a_run_folder_must_be_a_folder(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "file").write_text("mine")
    (place / "nowhere").symlink_to("no-such-folder")
    for name in ("file", "nowhere"):
        refused(place, ["embed", "g.txt", "-o", "v.npy", "--run-dir", name, *ARGS], capsys)


def test_a_folder_that_is_empty_or_a_link_to_one_will_do(place: Path) -> None:
    (place / "empty").mkdir()
    (place / "empty/.DS_Store").touch()
    (place / "link").symlink_to("empty")
    assert command(["embed", "g.txt", "-o", "v.npy", "--run-dir", "link", *ARGS]) == 0
    assert command(["reconcile", "link", "-o", "w.npy"]) == 0
    assert (place / "v.npy").read_bytes() == (place / "w.npy").read_bytes()


# What a run that was killed before it had a plan can leave behind.
BEFORE: dict[str, Callable[[Path, Path], None]] = {
    "empty lock": lambda folder, run: (folder / "lock").touch(),
    "lock": lambda folder, run: (folder / "lock").write_text(json.dumps({"pid": 1, "host": "here"}).ljust(256)),
    "zeroed lock": lambda folder, run: (folder / "lock").write_bytes(bytes(256)),
    "half a graph": lambda folder, run: (folder / "graph.tmp-1").mkdir(),
    "a graph": lambda folder, run: shutil.copytree(run / "graph", folder / "graph") and None,
    "half a plan": lambda folder, run: shutil.copytree(run / "plan", folder / "plan.tmp-123") and None,
    "a plan that was on its way out": lambda folder, run: shutil.copytree(run / "plan", folder / "plan.old-1") and None,
}


@pytest.mark.parametrize("case", BEFORE)
@pytest.mark.parametrize("resume", [False, True])
def test_what_a_killed_run_left_before_its_plan_is_no_hindrance(case: str, resume: bool, place: Path) -> None:
    (place / "started").mkdir()
    BEFORE[case](place / "started", place / "run")
    args = ["embed", "g.txt", "-o", "v.npy", "--run-dir", "started", *ARGS]
    assert command([*args, *(["--resume"] if resume else [])]) == 0
    assert {path.name for path in (place / "started").iterdir()} == {
        "space",
        *(path.name for path in (place / "run").iterdir()),
    }


INSIDE = ["embedding.npy", "refine-0.npy", "lock.npy", "plan/part.npy", "new.npy", "parts/000/new.npy"]


@pytest.mark.parametrize("name", INSIDE)
def test_nothing_is_written_into_the_run_folder(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "link").symlink_to("run")
    for folder in ("run", "link", "../place/run"):
        for args in (
            ["embed", "g.txt", "--run-dir", "run", "--resume", *ARGS, "-o", f"{folder}/{name}"],
            ["embed", "g.txt", "--run-dir", folder, "--resume", *ARGS, "-o", f"run/{name}", "--overwrite"],
            ["reconcile", "run", "-o", f"{folder}/{name}", "--overwrite"],
            ["report", "run", "-o", f"{folder}/{name}".replace(".npy", ".html"), "--overwrite"],
        ):
            refused(place, args, capsys)
    before = snapshot(place)
    with pytest.raises(InputError, match="run folder"):
        embed_to_file(GRAPH, PLAN, place / "run" / name, run_dir=place / "run", resume=True)
    assert snapshot(place) == before


def test_an_output_and_the_run_folder_have_different_names(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(place, ["embed", "g.txt", "-o", "new.npy", "--run-dir", "new.npy", *ARGS], capsys)
    refused(place, ["embed", "g.txt", "-o", "new.npy", "--run-dir", "new.ids.txt", *ARGS], capsys)


def test_inputs_do_not_stand_in_the_run_folder(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(place / "run/embedding.npy", np.eye(4))  # left by a killed run: the next command removes it
    refused(place, ["report", "run", "-o", "page.html", "--embedding", "run/embedding.npy"], capsys)
    args = ["embed", "g.txt", "-o", "v.npy", "--run-dir", "run", "--resume", *ARGS]
    refused(place, [*args, "--features", "run/graph/indices.npy"], capsys)


def test_only_what_the_run_wrote_is_removed_when_all_is_done(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that somebody puts into OUT.run while it is at work stay, and the folder with them."""
    mine = ["notes.txt", "plan/notes.txt", "parts/000/notes.txt", "parts/001/result/notes.txt", "sub/deep/notes.txt"]
    run, original = place / "v.npy.run", parge.Embedding.save

    def save(self: parge.Embedding, path: Any) -> None:
        for name in mine:
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).write_text("mine")
        original(self, path)

    monkeypatch.setattr(parge.Embedding, "save", save)
    assert command(["embed", "g.txt", "-o", "v.npy", *ARGS]) == 0
    assert "is kept" in capsys.readouterr().err
    left = {str(path.relative_to(run)): path.read_text() for path in run.rglob("*") if path.is_file()}
    assert set(left.values()) == {"mine"}
    assert len(left) == len(mine)
    refused(place, ["embed", "g.txt", "-o", "v.npy", *ARGS], capsys)


def test_a_run_that_nobody_asked_to_keep_goes_away_whole(place: Path) -> None:
    for _ in range(2):
        assert command(["embed", "g.txt", "-o", "v.npy", *ARGS]) == 0
        assert not (place / "v.npy.run").exists()


STRANGE = ["embedding.npy", "refine-0.npy", "lock", "retries.json", "plan", "graph", "shared", "parts", "parts/001"]
STRANGE += [
    "parts/001/lock",
    "parts/001/failure.json",
    "parts/001/result",
    "parts/001/subgraph",
    "notes.txt",
    ".hidden",
]
STRANGE += ["plan/part.npy", "plan/notes.txt", "parts/001/result/vectors.npy", "graph.tmp-1", "parts/001/result.old-1"]
STRANGE += ["retries.json.tmp-1", "parts/001/failure.json.tmp-1"]


def _everywhere(place: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Assert that whatever opens a run folder refuses this one and leaves all as it was."""
    lines = [
        ["reconcile", "run", "-o", "v.npy"],
        ["report", "run", "-o", "v.html"],
        ["status", "run"],
        ["embed", "g.txt", "-o", "v.npy", "--run-dir", "run", "--resume", *ARGS],
        ["decompose", "g.txt", "--run-dir", "run", "--resume", *ARGS],
    ]
    if name.startswith("parts/001/"):
        lines += [["embed-part", "run/parts/001"], ["embed-part", "run/parts/001", "--missing"]]
    for args in lines:
        refused(place, args, capsys)
    before = snapshot(place)
    for attempt in (
        lambda: status(place / "run"),
        lambda: open_planned(place / "run").__enter__(),
        lambda: parge.embed(GRAPH, PLAN, run_dir=place / "run", resume=True),
        lambda: write_report(place / "run", place / "v.html"),
    ):
        with pytest.raises(PargeError):
            attempt()
    assert snapshot(place) == before


@pytest.mark.parametrize("name", STRANGE)
def test_a_link_in_a_run_folder_is_refused_by_all(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry, precious = place / "run" / name, place / "precious"
    if entry.exists():
        shutil.move(entry, precious)
    else:
        precious.write_text("precious")
    entry.symlink_to(precious)
    _everywhere(place, capsys, name)


@pytest.mark.parametrize("name", ["embedding.npy", "refine-0.npy", "lock", "parts/001/lock"])
def test_a_hard_link_where_parge_writes_is_refused_by_all(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "precious").write_text("precious")
    os.link(place / "precious", place / "run" / name)
    _everywhere(place, capsys, name)


UNKNOWN = [
    "plan.txt",
    "LOCK",
    "graph.txt",
    "plan/notes.txt",
    "parts/notes.txt",
    "parts/1/x",
    "parts/001/notes.txt",
    "graph/a.npy",
]
UNKNOWN += ["parts/001/result/plan.json", "refine-10.npy", "sub/x", "parts/001/embed.py"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_parge_does_not_write_is_refused_by_all(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "run" / name).parent.mkdir(exist_ok=True)
    (place / "run" / name).write_text("mine")
    _everywhere(place, capsys, name)


STRAYS = ["slurm-12.out", "slurm-12_0.err", ".DS_Store", ".nfs000000000001", "notes", "results.txt", "embed.py"]


@pytest.mark.parametrize("name", STRAYS)
def test_a_plain_file_beside_a_run_is_told_and_left_alone(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stray = place / "run" / name
    stray.write_text("raise SystemExit('read')")
    stray.chmod(0)
    before = stray.stat()
    shutil.rmtree(place / "run/parts/001/result")
    resumed = ["embed", "g.txt", "-o", "v.npy", "--run-dir", "run", "--resume", *ARGS, "--refine", "whiten"]
    lines = [
        (["status", "run"], True),
        (["decompose", "g.txt", "--run-dir", "run", "--resume", *ARGS, "--refine", "whiten"], True),
        (["embed-part", "run/parts/001"], False),
        (["reconcile", "run", "-o", "v.npy"], True),
        (resumed, True),
        (["report", "run", "-o", "v.html"], False),
    ]
    for args, tells in lines:
        capsys.readouterr()
        assert command(args) == 0
        said = "".join(capsys.readouterr().err.split())
        assert said.count(name) == (tells and not name.startswith(".")), said
    after = stray.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)
    assert status(place / "run").to_json()["notices"] == (() if name.startswith(".") else status(place / "run").notices)


def test_names_of_files_beside_a_run_are_shown_as_text_and_counted(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i in range(5):
        (place / f"run/a{i}\x1b[2J\nError: b").touch()
    assert command(["status", "run"]) == 0
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert not any(line.startswith("Error") for line in said.splitlines())
    assert "2 more" in " ".join(said.split())


def test_the_default_run_folder_stays_where_another_file_is_in_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(place / "run", place / "v.npy.run")
    (place / "v.npy.run/slurm-1.out").write_text("mine")
    assert command(["embed", "g.txt", "-o", "v.npy", "--resume", *ARGS, "--refine", "whiten"]) == 0
    assert [path.name for path in (place / "v.npy.run").iterdir()] == ["slurm-1.out"]


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_is_no_plain_file_beside_a_run_is_refused_by_all(
    kind: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = place / "run/slurm-1.out"
    {"folder": entry.mkdir, "pipe": lambda: os.mkfifo(entry), "link": lambda: entry.symlink_to(place / "g.txt")}[kind]()
    _everywhere(place, capsys, "slurm-1.out")


@pytest.mark.parametrize("name", ["plan", "parts", "parts/001", "parts/001/result"])
def test_a_file_where_a_folder_belongs_is_refused_by_all(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(place / "run" / name)
    (place / "run" / name).write_text("mine")
    _everywhere(place, capsys, name)


@pytest.mark.parametrize("name", ["lock", "embedding.npy", "retries.json", "parts/001/failure.json", "plan/part.npy"])
def test_a_pipe_or_a_folder_where_a_file_belongs_is_refused_by_all(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = place / "run" / name
    entry.unlink(missing_ok=True)
    os.mkfifo(entry)
    _everywhere(place, capsys, name)
    entry.unlink()
    entry.mkdir()
    _everywhere(place, capsys, name)
