"""Compiled code is loaded only from where nobody else can put theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import parge
from parge.kernels.safety import is_safe

SOURCE = Path(parge.__file__)


@pytest.fixture(autouse=True)
def _closed_source() -> None:
    if SOURCE.stat().st_mode & 0o002:
        pytest.skip("everybody may write to the sources here")


@pytest.mark.parametrize(
    ("mode", "safe"), [(0o700, True), (0o755, True), (0o775, True), (0o777, False), (0o1777, False)]
)
def test_a_folder_that_everybody_may_write_to_is_not_safe(mode: int, safe: bool, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    assert is_safe(folder, SOURCE) == (not mode & 0o002)


def test_a_folder_to_be_made_is_safe_where_nobody_can_take_its_place(tmp_path: Path) -> None:
    above = tmp_path / "above"
    above.mkdir()
    for mode, safe in ((0o755, True), (0o1777, True), (0o777, False)):
        above.chmod(mode)
        assert is_safe(above / "new" / "cache", SOURCE) == safe


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_folder_of_somebody_else_is_not_safe(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    assert not is_safe(folder, SOURCE)
    theirs = tmp_path / "source.py"
    theirs.touch()
    os.chown(theirs, 12345, 12345)
    assert is_safe(folder, theirs), "as trusted as the program that they own"


@pytest.mark.slow
def test_no_code_is_taken_from_a_folder_that_everybody_may_write_to(tmp_path: Path) -> None:
    script = (
        "import numpy as np; from parge.kernels import cut as c;"
        "print(c.component_roots(np.array([0, 1, 2]), np.array([1, 0], np.int32)))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(SOURCE.parents[1])}

    def run() -> None:
        done = subprocess.run(
            [sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        assert "0 0" in done.stdout, done.stderr

    run()
    (index,) = tmp_path.rglob("*.nbi")
    evil = f"cposix\nsystem\n(S'touch {tmp_path}/hacked'\ntR.".encode()
    for file in tmp_path.rglob("*.nb?"):
        file.write_bytes(evil)
    index.parent.chmod(0o777)
    run()
    assert not (tmp_path / "hacked").exists()
