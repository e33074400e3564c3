"""An update that was stopped goes on where it was, with the same bits; a chain of updates stays usable."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run.test_damaged_spaces import reseal
from tests.space.world import N_OLD, N, frozen, pairs

from parge.cli.main import run
from parge.run.lock import hold
from parge.run.schema import CHANGED, MOVED
from parge.run.spaces import open_space, save_space
from parge.run.updates import KeptSteps, unfinished

ARGS = ["update", "space", "new.txt", "--removed", "gone.txt", "-o", "space-2"]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    save_space(frozen(), tmp_path / "space")
    np.savetxt(tmp_path / "new.txt", pairs(new=True), "%d")
    np.savetxt(tmp_path / "gone.txt", pairs(new=False)[:5], "%d")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def expected(world: Path) -> dict[str, bytes]:
    """Return the files of the same update, never stopped."""
    assert run([*ARGS[:-1], "whole"]) == 0
    return content(world / "whole")


def stop_before(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Let the update end as if it had been killed there: nothing that it would tidy up is tidied up."""

    def stopped(*_args: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KeptSteps, what, stopped)


@pytest.mark.parametrize(("what", "kept"), [("moved", [CHANGED]), ("finish", [CHANGED, MOVED])])
def test_a_stopped_update_goes_on_with_what_it_had_done(
    what: str, kept: list[str], world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = expected(world)
    with pytest.MonkeyPatch.context() as patch:
        stop_before(patch, what)
        assert run(ARGS) != 0
    assert sorted(path.name for path in unfinished(Path("space-2")).iterdir()) == kept
    assert not Path("space-2").exists()
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:  # what is kept is not made again
        patch.setattr("parge.space.update.change", None)
        assert run(ARGS) == 0
    assert "resumed an interrupted update" in capsys.readouterr().err
    assert content(world / "space-2") == whole
    assert not unfinished(Path("space-2")).exists()


@pytest.mark.parametrize(
    "other", [["--threshold", "0.5"], ["--unweighted", "--removed", "new.txt"]], ids=["threshold", "edges"]
)
def test_what_another_request_left_is_not_used(other: list[str], world: Path) -> None:
    whole = expected(world)
    with pytest.MonkeyPatch.context() as patch:
        stop_before(patch, "finish")
        assert run([*ARGS, *other]) != 0
    assert run(ARGS) == 0
    assert content(world / "space-2") == whole


def _cut(folder: Path) -> None:
    path = folder / CHANGED / "indices.npy"
    path.write_bytes(path.read_bytes()[:-3])


def _altered(folder: Path) -> None:
    path = folder / MOVED / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")


@pytest.mark.parametrize("damage", [_cut, _altered, lambda folder: (folder / MOVED / "manifest.json").write_text("")])
def test_what_was_damaged_is_made_again(damage: Any, world: Path) -> None:
    whole = expected(world)
    with pytest.MonkeyPatch.context() as patch:
        stop_before(patch, "finish")
        assert run(ARGS) != 0
    damage(unfinished(world / "space-2"))
    assert run(ARGS) == 0
    assert content(world / "space-2") == whole


def test_what_a_stranger_put_there_is_refused_and_kept(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = unfinished(world / "space-2")
    work.mkdir()
    (work / "mine.txt").write_text("mine")
    assert run(ARGS) == 2
    assert "mine.txt" in capsys.readouterr().err
    assert (work / "mine.txt").read_text() == "mine"
    (work / "mine.txt").unlink()
    work.rmdir()
    work.symlink_to(world / "space")
    assert run(ARGS) == 2
    assert open_space("space").history.version == 1
    work.unlink()
    with pytest.MonkeyPatch.context() as patch:
        stop_before(patch, "finish")
        assert run(ARGS) != 0
    reseal(work / CHANGED, lambda body: body["facts"].__setitem__("added", "many"))
    capsys.readouterr()
    assert run(ARGS) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_one_update_at_a_time_and_none_for_ids_that_the_file_cannot_hold(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work = unfinished(world / "space-2")
    work.mkdir()
    with hold(work):
        assert run(ARGS) != 0
    assert str(os.getpid()) in capsys.readouterr().err  # who is at work there
    assert run(ARGS) == 0
    Path("names.tsv").write_text("0\ta b\n1\ta b\n")
    assert run(["update", "space", "names.tsv", "-o", "v.vec"]) == 2
    assert not list(world.glob("v.vec*"))


def test_a_space_within_its_own_work_is_refused(world: Path) -> None:
    work = unfinished(world / "space-2")
    work.mkdir()
    (world / "space").rename(work / "space")
    assert run(["update", str(work / "space"), "new.txt", "-o", "space-2"]) == 2
    assert open_space(work / "space").history.version == 1


def test_five_updates_in_a_row(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each takes what the last one wrote; the space can be placed in, and its drift grows."""
    later = pairs(new=True)
    later = later[np.argsort(later.max(axis=1), kind="stable")]
    before, drifts = open_space("space").vectors, []
    for i, some in enumerate(np.array_split(later, 5)):
        np.savetxt("day.txt", some, "%d")
        np.savetxt("gone.txt", pairs(new=False)[10 * i : 10 * i + 3], "%d")
        source = "space" if i == 0 else f"chain-{i}"
        assert run(["update", source, "day.txt", "--removed", "gone.txt", "-o", f"chain-{i + 1}"]) == 0
        capsys.readouterr()
        assert run(["drift", f"chain-{i + 1}", "--json"]) == 0
        drifts.append(json.loads(capsys.readouterr().out)["drift"])
    last = open_space("chain-5")
    assert last.history.version == 6
    assert len(last) == N
    assert last.graph.n_edges == len(pairs(new=False)) + len(later) - 15
    assert drifts[0] < drifts[-1]
    still = last.origin[:N_OLD] == 0
    assert 0 < still.sum() < N_OLD
    assert np.array_equal(last.vectors[:N_OLD][still], before[still])
    Path("day.txt").write_text(f"{N - 1} 9000\n0 9000\n")
    assert run(["place", "chain-5", "day.txt", "-o", "n.npz"]) == 0


@pytest.mark.slow
def test_an_update_that_is_killed_again_and_again_ends_with_the_same_bits(world: Path) -> None:
    whole = expected(world)
    before = content(world / "space")
    args = [sys.executable, "-m", "parge", *ARGS]
    started = time.monotonic()
    assert subprocess.run([*args[:-1], "timed"], capture_output=True, check=False).returncode == 0
    took = time.monotonic() - started
    for share in (0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95):
        child = subprocess.Popen(args, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(share * took)
        child.send_signal(signal.SIGKILL)
        child.wait()
        if Path("space-2").exists():
            assert content(world / "space-2") == whole
    assert content(world / "space") == before
    assert subprocess.run(args, capture_output=True, check=False).returncode == 0
    assert content(world / "space-2") == whole
    assert not unfinished(Path("space-2")).exists()


_CRASH = """
import os, sys
from parge.cli.main import run
from parge.run import arrays
left, old = [int(sys.argv[1])], arrays._write
def write(path, array):
    left[0] -= 1
    if left[0] < 0:
        path.write_bytes(b"half of it")
        os.kill(os.getpid(), 9)
    return old(path, array)
arrays._write = write
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.slow
def test_killed_at_every_file_that_it_writes(world: Path) -> None:
    """The update of one chain is killed at the first file, goes on and is killed at the next, and so on."""
    whole = expected(world)
    for left in range(40):
        done = subprocess.run([sys.executable, "-c", _CRASH, str(left), *ARGS], capture_output=True, check=False)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.returncode == 0
    assert left > 3
    assert content(world / "space-2") == whole
    assert sorted(path.name for path in world.iterdir()) == ["gone.txt", "new.txt", "space", "space-2", "whole"]


def test_an_empty_file_of_edges_beside_removed_ones_is_to_be_omitted(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "new.txt").write_text("")
    assert run(ARGS) == 2
    assert "omit EDGES" in capsys.readouterr().err
    assert run(["update", "space", "--removed", "gone.txt", "-o", "space-2"]) == 0
