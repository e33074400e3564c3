"""Temporary folders of tasks that came from elsewhere: those that were left are removed, others never."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parge.engine.remote_task import private_folder


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def _left(folder: Path, *, seconds_ago: float = 3600) -> Path:
    folder.mkdir()
    (folder / "vectors.npy").write_text("left")
    os.utime(folder, (time.time() - seconds_ago,) * 2)
    return folder


def _swept(temporary: Path) -> set[str]:
    with private_folder() as own:
        return {path.name for path in temporary.iterdir()} - {own.name}


def test_what_a_killed_process_left_is_removed(temporary: Path) -> None:
    _left(temporary / "parge-away-1")
    _left(temporary / "parge-away-2", seconds_ago=1)
    _left(temporary / "other-1")
    assert _swept(temporary) == {"parge-away-2", "other-1"}


def test_a_folder_of_another_user_stays(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _left(temporary / "parge-away-1")
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert _swept(temporary) == {"parge-away-1"}
    assert (temporary / "parge-away-1/vectors.npy").exists()


def test_a_folder_in_use_stays(temporary: Path) -> None:
    with private_folder() as used:
        os.utime(used, (time.time() - 3600,) * 2)
        assert _swept(temporary) == {used.name}


NO_FOLDERS: dict[str, Callable[[Path, Path], None]] = {
    "link": lambda path, precious: path.symlink_to(precious),
    "file": lambda path, precious: path.hardlink_to(precious / "vectors.npy"),
}


@pytest.mark.parametrize("kind", NO_FOLDERS)
def test_what_is_no_folder_stays(kind: str, temporary: Path, tmp_path: Path) -> None:
    precious = _left(tmp_path / "precious")
    NO_FOLDERS[kind](temporary / "parge-away-1", precious)
    os.utime(temporary / "parge-away-1", (time.time() - 3600,) * 2, follow_symlinks=False)
    assert _swept(temporary) == {"parge-away-1"}
    assert (precious / "vectors.npy").read_text() == "left"
