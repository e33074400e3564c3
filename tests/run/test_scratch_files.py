"""Scratch files and locks are files of their own: nothing that is there already is written to."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.outputs import snapshot

from parge.errors import PargeError
from parge.run.arrays import StorageError, scratch_matrix
from parge.run.lock import hold
from parge.storage import reserve_disk


@pytest.mark.parametrize("how", ["link", "hard link", "file"])
def test_scratch_files_are_new_files(how: str, tmp_path: Path) -> None:
    """Also where nobody looked before: what stands there is neither written to nor removed."""
    precious, path = tmp_path / "precious", tmp_path / "embedding.npy"
    precious.write_text("precious")
    {"link": path.symlink_to, "hard link": path.hardlink_to, "file": lambda p: shutil.copy(p, path)}[how](precious)
    before = snapshot(tmp_path)
    with pytest.raises(StorageError, match="exists"):
        scratch_matrix(path, (3, 2))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("shape", [(5, 3), (0, 4)])
@pytest.mark.parametrize("fallocate", [True, False])
def test_a_scratch_file_is_an_array_of_numpy_on_any_system(
    shape: tuple[int, int], fallocate: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not fallocate:  # as on macOS
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    matrix = scratch_matrix(tmp_path / "m.npy", shape, np.float64)
    matrix[:] = 7
    matrix.flush()
    assert np.array_equal(np.load(tmp_path / "m.npy"), np.full(shape, 7.0))
    assert Path(matrix.filename) == tmp_path / "m.npy"


def test_room_is_taken_without_fallocate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    with (tmp_path / "file").open("w+b") as file:
        reserve_disk(file.fileno(), 3 * (1 << 20) + 5, 7)
        assert os.fstat(file.fileno()).st_size == 3 * (1 << 20) + 12


def test_a_lock_that_was_left_is_replaced_and_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("left by a process that was killed")
    kept = os.open(tmp_path / "lock", os.O_RDONLY)
    try:
        with hold(tmp_path) as held:
            held.record(0.5)
            assert b'"share": 0.5' in (tmp_path / "lock").read_bytes()
        assert os.pread(kept, 100, 0) == b"left by a process that was killed"
    finally:
        os.close(kept)
    assert not (tmp_path / "lock").exists()


@pytest.mark.parametrize("how", ["link", "hard link", "pipe"])
def test_a_lock_that_is_no_lock_is_refused(how: str, tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "lock"
    precious.write_text("precious")
    {"link": path.symlink_to, "hard link": path.hardlink_to, "pipe": lambda _: os.mkfifo(path)}[how](precious)
    before = snapshot(tmp_path)
    with pytest.raises(PargeError), hold(tmp_path):
        pass
    assert snapshot(tmp_path) == before
