"""Disks that are full or may not be written to, files that rot, clocks that run wrong: an error or a repaired run."""

import hashlib
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.examples import slow

import parge
from parge.cli.main import run as command
from parge.events import ignore
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.run.arrays import StorageError, _write
from parge.run.open_run import open_run
from parge.run.pipeline import embed_parts
from parge.run.status import status

PLAN = ["--technique", "sgc", "--dim", "8", "--parts", "2", "--anchors", "20", "--engine", "serial"]
GRAPH = planted(200, 900, communities=4, seed=2).graph

Ends = Callable[..., int]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, a run of it that is kept, and the vectors."""
    folder = tmp_path_factory.mktemp("finished")
    write(GRAPH, folder / "g.txt")
    assert (
        command(["embed", str(folder / "g.txt"), "-o", str(folder / "v.npy"), "--run-dir", str(folder / "run"), *PLAN])
        == 0
    )
    return folder


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "place"))


@pytest.fixture
def ends(capsys: pytest.CaptureFixture[str]) -> Ends:
    """Return a function that runs a command and asserts that it ends well or with one clear message."""

    def run(*arguments: Any) -> int:
        code = command([str(argument) for argument in arguments])
        said = capsys.readouterr().err
        assert "Traceback" not in said
        assert (code == 0) == ("Error" not in said)
        assert code in (0, 1, 2)
        return code

    return run


FILES = ["plan/manifest.json", "plan/part.npy", "plan/anchors.npy", "plan/capacities.npy", "lock"]
FILES += ["graph/manifest.json", "graph/indptr.npy", "graph/indices.npy", "embedding.npy"]
FILES += [f"parts/001/subgraph/{name}" for name in ("manifest.json", "indptr.npy", "indices.npy", "vertices.npy")]
FILES += ["parts/001/result/manifest.json", "parts/001/result/vectors.npy", "parts/001/failure.json", "parts/001/lock"]
DAMAGES: dict[str, Callable[[bytearray], bytes]] = {
    "first byte": lambda data: bytes([data[0] ^ 1]) + bytes(data[1:]),
    "a byte": lambda data: bytes(byte ^ 16 * (i == len(data) // 2) for i, byte in enumerate(data)),
    "last byte": lambda data: bytes(data[:-1]) + bytes([data[-1] ^ 128]),
    "cut": lambda data: bytes(data[: len(data) // 2]),
    "cut by one": lambda data: bytes(data[:-1]),
    "longer": lambda data: bytes(data) + b"\0",
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
}


# Of the plan, of a subgraph and of a result, one file each.
QUICK = ("plan/part.npy", "parts/001/subgraph/indices.npy", "parts/001/result/vectors.npy")


@pytest.mark.parametrize("name", [*QUICK, *slow(*(name for name in FILES if name not in QUICK))])
def test_a_damaged_file_is_an_error_or_is_repaired(name: str, place: Path, ends: Ends) -> None:
    run, reference = place / "run", (place / "v.npy").read_bytes()
    for damage in DAMAGES.values():
        broken = place / "broken"
        shutil.rmtree(broken, ignore_errors=True)
        shutil.copytree(run, broken)
        if "subgraph" in name:
            shutil.rmtree(broken / "parts/001/result")  # a subgraph is read again only then
        intact = (broken / name).read_bytes() if (broken / name).exists() else b'{"message": "of old"}'
        (broken / name).write_bytes(damage(bytearray(intact)))
        ends("status", broken)
        for line in (
            ["reconcile", broken, "-o", place / "out.npy"],
            ["embed", place / "g.txt", "-o", place / "out.npy", "--run-dir", broken, "--resume", *PLAN],
        ):
            (place / "out.npy").unlink(missing_ok=True)
            code = ends(*line)
            assert code == 0 or not (place / "out.npy").exists()
            assert code or (place / "out.npy").read_bytes() == reference
        if not name.startswith("plan/"):
            assert code == 0  # all but the plan is made again


@pytest.mark.parametrize("when", [0, 4_000_000_000])
def test_a_clock_that_runs_wrong_changes_nothing(when: int, place: Path, ends: Ends) -> None:
    for path in [place, *place.rglob("*")]:
        os.utime(path, (when, when))
    shutil.rmtree(place / "run/parts/000/result")
    os.utime(place / "run/parts/000", (when, when))
    out = place / "out.npy"
    assert ends("embed", place / "g.txt", "-o", out, "--run-dir", place / "run", "--resume", *PLAN) == 0
    assert out.read_bytes() == (place / "v.npy").read_bytes()
    assert ends("status", place / "run") == 0


@contextmanager
def mounted(path: Path, options: str) -> Iterator[Path]:
    """Mount a file system of its own in memory, where that is permitted."""
    path.mkdir(exist_ok=True)
    line = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", path]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mounting a file system is not permitted here: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_the_run_goes_on_when_there_is_room(place: Path, ends: Ends) -> None:
    """Every amount of room from none to plenty: the disk fills up in each of the stages."""
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command here")
    reference, codes = (place / "v.npy").read_bytes(), []
    for room in (1, 3, 6, 8, 11, 13, 14, 15, 16, 18, 20, 22, 24, 26, 40):
        with mounted(place / "small", f"size={room * 4}k") as disk:
            line = ["embed", place / "g.txt", "-o", disk / "v.npy", "--run-dir", disk / "run", "--resume", *PLAN]
            codes.append(ends(*line))
            assert codes[-1] in (0, 1)
            assert codes[-1] == 0 or not (disk / "v.npy").exists()
            if (disk / "run/plan").exists():
                ends("status", disk / "run")
            subprocess.run(["mount", "-o", "remount,size=2m", disk], check=True)
            assert ends(*line) == 0
            assert (disk / "v.npy").read_bytes() == reference
            assert not [file.name for file in disk.rglob("*") if ".tmp-" in file.name or file.name.endswith(".part")]
    assert codes[0] == 1
    assert codes[-1] == 0


def test_a_disk_that_is_full_for_workers_is_an_error(place: Path, monkeypatch: pytest.MonkeyPatch, ends: Ends) -> None:
    """RLIMIT_FSIZE stands for a disk: the result of a worker, and nothing before it, is too large."""
    import resource
    import signal

    shutil.rmtree(place / "run/parts/000/result")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    line = ["embed", place / "g.txt", "-o", place / "out.npy", "--run-dir", place / "run", "--resume", *PLAN]
    line = ["processes" if word == "serial" else word for word in line]
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
        assert ends(*line) == 1
        failed = next(part for part in status(place / "run").parts if part.index == 0)
        assert (failed.state, failed.message[:12]) == ("failed", "StorageError")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert ends(*line) == 0
    assert (place / "out.npy").read_bytes() == (place / "v.npy").read_bytes()


@pytest.mark.parametrize("room", [0, 100, 128, 130, 500, 4000, 4223])
def test_no_byte_that_finds_no_room_goes_unnoticed(tmp_path: Path, room: int) -> None:
    import resource
    import signal

    array = np.arange(1024, dtype=np.float32)  # 128 bytes of header and 4,096 of numbers
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    try:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        with pytest.raises(OSError, match="File too large"):
            _write(tmp_path / "a.npy", array)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


ARRAYS = [np.arange(5), np.zeros((0, 4), np.float32), np.zeros((4, 0), np.float32), np.arange(12).reshape(3, 4).T]
ARRAYS += [np.zeros(0, np.uint8), np.array([1, 2], ">i8"), np.arange(100, dtype=np.int32)[::2]]


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_arrays_are_written_as_numpy_does(tmp_path: Path, array: Any) -> None:
    entry = _write(tmp_path / "a.npy", array)
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array))
    assert (tmp_path / "a.npy").read_bytes() == file.getvalue()
    assert entry == {"sha256": hashlib.sha256(file.getvalue()).hexdigest(), "bytes": len(file.getvalue())}


def test_a_folder_that_may_not_be_written_to_is_an_error_and_can_be_looked_at(place: Path, ends: Ends) -> None:
    with mounted(place / "disk", "size=2m") as disk:
        shutil.copytree(place / "run", disk / "run")
        shutil.rmtree(disk / "run/parts/000/result")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert ends("status", disk / "run") == 0
        line = ["embed", place / "g.txt", "-o", place / "out.npy", "--run-dir", disk / "run", "--resume", *PLAN]
        assert ends(*line) == 1
        assert ends("reconcile", disk / "run", "-o", place / "out.npy") == 1
        assert ends("embed-part", disk / "run/parts/000") == 1
        assert ends("embed", place / "g.txt", "-o", disk / "v.npy", "--run-dir", place / "other", *PLAN) == 1
        assert ends("embed", place / "g.txt", "-o", place / "v2.npy", "--run-dir", disk / "other", *PLAN) == 1
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        assert ends(*line) == 0
    assert (place / "out.npy").read_bytes() == (place / "v.npy").read_bytes()


def test_without_mounts_a_folder_without_permission_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: Any, **_fields: Any) -> None:
        raise PermissionError(13, "Permission denied")

    plan = parge.Plan(technique=parge.SGC(dim=4), parts=2, anchors=10, engine="serial")
    with open_run(GRAPH, plan, run_dir=tmp_path, resume=False, listener=ignore) as run:
        monkeypatch.setattr(os, "fsync", refuse)
        with pytest.raises(StorageError, match=r"subgraph\b.*Permission denied"):
            embed_parts(run, ignore)


def test_status_of_a_run_is_one_json_object(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["status", str(place / "run"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"done": 2}
    assert found["technique"] == "sgc"
    assert all(part["disk_bytes"] > 0 and part["seconds"] >= 0 and part["peak_bytes"] > 0 for part in found["parts"])
