"""The speed of a machine is measured once and kept; what is not ours, damaged or old is measured again."""

import json
import math
import os
import stat
import time
from pathlib import Path

import pytest

from parge.estimate import speed


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cache, and have every measurement answer 3."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PARGE_CALIBRATION", raising=False)
    monkeypatch.setattr(speed, "measure", lambda: 3.0)
    return tmp_path / "parge"


def kept(cache: Path, value: object = 7.0, age: float = 0.0) -> Path:
    """Put a number into the cache, as if it had been measured a while ago."""
    speed.slowness()
    [path] = cache.iterdir()
    path.write_text(json.dumps({"slowness": value, "measured": time.time() - age}))
    return path


def test_a_machine_is_measured_in_no_time() -> None:
    started = time.process_time()
    found = speed.measure()
    assert 0.01 <= found <= 100
    assert math.isfinite(found)
    assert time.process_time() - started < 10


def test_the_answer_is_kept_for_the_owner_alone(cache: Path) -> None:
    assert speed.slowness() == 3.0
    [path] = cache.iterdir()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept(cache)
    assert speed.slowness() == 7.0


def test_nothing_is_measured_or_written_where_the_user_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARGE_CALIBRATION", "off")
    assert speed.slowness() == 1.0
    assert not cache.exists()


@pytest.mark.parametrize("value", [0, -1, 1e9, float("nan"), float("inf"), "fast", None, [2.0], "7" * 5000])
def test_a_number_that_no_machine_has_is_measured_again(cache: Path, value: object) -> None:
    kept(cache, value)
    assert speed.slowness() == 3.0


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1, 2]", b'{"slowness": 7}', b"[" * 4000])
def test_a_damaged_file_is_measured_again_and_mended(cache: Path, content: bytes) -> None:
    path = kept(cache)
    path.write_bytes(content)
    assert speed.slowness() == 3.0
    assert json.loads(path.read_text())["slowness"] == 3.0


@pytest.mark.parametrize("days", [31, -1])
def test_an_old_number_and_one_of_the_future_are_measured_again(cache: Path, days: float) -> None:
    kept(cache, age=days * 86_400)
    assert speed.slowness() == 3.0


def test_numbers_of_other_machines_are_not_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(cache)
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    assert speed.slowness() == 3.0
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("mode", [0o777, 0o707])
def test_a_folder_that_everybody_may_write_is_not_used(cache: Path, mode: int) -> None:
    path = kept(cache)
    cache.chmod(mode)
    assert speed.slowness() == 3.0
    assert json.loads(path.read_text())["slowness"] == 7.0


def test_a_file_that_everybody_may_write_a_link_and_a_pipe_are_not_read(cache: Path, tmp_path: Path) -> None:
    path = kept(cache)
    path.chmod(0o666)
    assert speed.slowness() == 3.0
    kept(cache).rename(tmp_path / "other")
    path.symlink_to(tmp_path / "other")
    assert speed.slowness() == 3.0
    path.unlink()
    os.mkfifo(path)
    assert speed.slowness() == 3.0


def test_what_cannot_be_written_or_measured_is_no_failure(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file where the folder would be")
    assert speed.slowness() == 3.0
    cache.unlink()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert speed.slowness() == 3.0
    monkeypatch.setattr(speed, "measure", lambda: (_ for _ in ()).throw(MemoryError()))
    assert speed.slowness() == 1.0
    assert list(tmp_path.iterdir()) == []
