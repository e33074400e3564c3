"""A part that a worker elsewhere embeds in place: no file is sent, and lost attempts change no bit."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.engine.base import Task
from parge.engine.remote_task import RemoteTask
from parge.errors import PargeError
from parge.events import ignore, silent
from parge.graph.generate import planted
from parge.run import arrays, parts
from parge.run.arrays import DamagedError, StorageError
from parge.run.lock import holder
from parge.run.open_run import open_run
from parge.run.pipeline import write_subgraphs
from parge.run.worker import PartJob, embed_part

PLAN = parge.Plan(technique=parge.HOPE(dim=4), parts=2, engine="serial", seed=1)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("in-place") / "run"
    graph = planted(120, 500, communities=4, seed=2).graph
    with open_run(graph, PLAN, run_dir=run, resume=False, listener=ignore) as opened:
        write_subgraphs(opened)
    return run / "parts" / "000"


@pytest.fixture
def part(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "000"))


def job_in(part: Path) -> PartJob:
    return PartJob(part, PLAN.technique, seen_by_all=True)


def vectors_of(part: Path) -> bytes:
    return parts.load_result(part).vectors.tobytes()


def names(part: Path) -> set[str]:
    return {entry.name for entry in part.iterdir()}


def test_no_file_is_sent_and_the_bits_are_the_same(part: Path, tmp_path: Path) -> None:
    usual, away = Path(shutil.copytree(part, tmp_path / "usual")), tmp_path / "away"
    embed_part(PartJob(usual, PLAN.technique))
    with job_in(part).locked_for_remote() as record:
        record(0.5)
        assert names(part) == {"subgraph", "lock"}
        remote, files = RemoteTask.of(Task(0, embed_part, job_in(part)))
        assert (files, remote.reads, remote.writes) == ({}, "", "")
        opened = remote.opened(away, files)
        opened.function(opened.argument, silent)
        assert (names(part), remote.results(away)) == ({"subgraph", "result", "lock"}, {})
        held = holder(part)
        assert held is not None
        assert held.share == 0.5
        job_in(part).store({})
    assert names(part) == {"subgraph", "result"}
    assert vectors_of(part) == vectors_of(usual)


def test_files_are_sent_where_machines_share_nothing(part: Path) -> None:
    remote, files = RemoteTask.of(Task(0, embed_part, PartJob(part, PLAN.technique)))
    assert (remote.reads, remote.writes) == ("subgraph", "result")
    assert set(files) == names(part / "subgraph")


def test_of_two_attempts_the_first_result_stays(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = job_in(part).as_remote(part), job_in(part).as_remote(part)
    check, found = parts.whole_result, []

    def other_is_faster(folder: Path) -> object:
        """Let another attempt begin and end after this one has found no result."""
        answer = check(folder)
        if not found:
            found.append(answer)
            embed_part(second)
            found.append(vectors_of(part))
        return answer

    monkeypatch.setattr(parts, "whole_result", other_is_faster)
    inode = (embed_part(first), part.joinpath("result").stat().st_ino)[1]
    assert found == [None, vectors_of(part)]
    assert names(part) == {"subgraph", "result"}
    stored = parts.load_metadata(part)
    assert embed_part(first) == stored
    assert part.joinpath("result").stat().st_ino == inode


def test_an_attempt_that_was_given_up_stores_nothing_half(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next attempt is sent between two files of the last one, whose files go later than its name."""
    write = arrays._write

    def meanwhile(path: Path, array: np.ndarray) -> object:  # type: ignore[type-arg]
        entry = write(path, array)
        with job_in(part).locked_for_remote():
            assert not path.exists()
        return entry

    with monkeypatch.context() as patch, pytest.raises(StorageError, match="000"):
        patch.setattr(arrays, "_write", meanwhile)
        patch.setattr(arrays, "discard", lambda _folder: None)
        embed_part(job_in(part).as_remote(part))
    assert "result" not in names(part)
    with job_in(part).locked_for_remote():
        assert names(part) == {"subgraph", "lock"}
        embed_part(job_in(part).as_remote(part))
    assert parts.whole_result(part) is not None


def test_a_run_that_was_removed_is_not_brought_back(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def remove() -> bool:
        shutil.rmtree(part)
        return False

    monkeypatch.setattr("parge.run.worker.over_limit", remove)
    with pytest.raises(StorageError, match="000"):
        embed_part(job_in(part).as_remote(part))
    assert not part.exists()


def _alter(part: Path) -> None:
    file = part / "result" / "vectors.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"x")


def _renumber(part: Path) -> None:
    found = parts.load_result(part)
    parts.save_result(part, np.array(found.vectors), replace(found.metadata, index=7))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "altered": _alter,
    "no manifest": lambda part: (part / "result" / "manifest.json").unlink(),
    "of another part": _renumber,
    "with a file of the system": lambda part: (_alter(part), (part / "result" / ".nfs0001").touch())[0],
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_result_makes_room_before_the_part_is_sent(part: Path, how: str) -> None:
    embed_part(PartJob(part, PLAN.technique))
    expected = vectors_of(part)
    DAMAGES[how](part)
    with pytest.raises(DamagedError, match="result"):  # who has no lock removes nothing
        embed_part(job_in(part).as_remote(part))
    with job_in(part).locked_for_remote():
        assert "result" not in names(part)
        embed_part(job_in(part).as_remote(part))
    assert vectors_of(part) == expected
    assert {name.partition("-")[0] for name in names(part)} <= {"subgraph", "result", "result.old"}


def test_what_was_not_stored_is_the_failure_of_the_part(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_SEEN_SECONDS", 0.0)
    with pytest.raises(DamagedError, match="result"):
        job_in(part).store({})


@pytest.mark.parametrize("name", ["subgraph", "subgraph/indices.npy", "result", "lock"])
def test_links_are_refused_in_place_too(part: Path, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    if (part / name).exists():
        (part / name).rename(elsewhere)
    else:
        elsewhere.mkdir()
    (part / name).symlink_to(elsewhere)
    with pytest.raises(PargeError, match="link"):
        embed_part(job_in(part).as_remote(part))
