"""Processes that compile the same kernels at once, on an empty or damaged cache, agree and lose nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parge.engine.base import Progress, Task
from parge.engine.processes import Processes

KERNELS = """
from parge.kernels.jit import kernel

@kernel
def plus(a, b):
    return a + b

@kernel
def sums(rows):
    total = rows.dtype.type(0)
    for value in rows:
        total = plus(total, value)
    return total
"""
CALL = "import numpy as np, some_kernels; print(some_kernels.sums(np.arange(9, dtype=np.{0})))"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with kernels and an empty cache, which worker processes find."""
    (tmp_path / "some_kernels.py").write_text(KERNELS)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def call(dtype: str = "int64", **more: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}
    done = subprocess.run([sys.executable, "-c", CALL.format(dtype)], env=environment, capture_output=True, text=True)  # noqa: PLW1510
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def sum_of(dtype: str, _progress: Progress) -> tuple[float, int, int]:
    """Return a sum by the kernel, and how many kernels this process compiled and read."""
    import numpy as np
    import some_kernels  # type: ignore[import-not-found]

    found = float(some_kernels.sums(np.arange(9, dtype=dtype)))
    stats = [kernel.stats for kernel in (some_kernels.sums, some_kernels.plus)]
    return found, sum(len(each.cache_misses) for each in stats), sum(len(each.cache_hits) for each in stats)


@pytest.mark.parametrize("attempt", range(3))
def test_three_workers_on_an_empty_cache_compile_once_and_agree(place: Path, attempt: int) -> None:
    dtypes = ["int64", "int64", "float64", "float32"] if attempt else ["float32"] * 3
    tasks = [Task(i, sum_of, dtype) for i, dtype in enumerate(dtypes)]
    for again in (False, True):
        found = [result for _, result in Processes(workers=4).run(tasks, lambda _task, _share: None)]
        assert [total for total, _, _ in found] == [36] * len(tasks)
        compiled = sum(misses for _, misses, _ in found)
        if again:
            assert compiled == 0
        else:
            assert compiled == 2 * len(set(dtypes))  # once a signature, and not once a process


def spoil(data: bytes, how: str) -> bytes:
    if how == "flip":
        return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :]
    return data[: len(data) // 2]


@pytest.mark.parametrize(("suffix", "how"), [(".nbc", "flip"), (".nbi", "cut")])
def test_a_damaged_cache_is_compiled_again(place: Path, how: str, suffix: str) -> None:
    assert call() == "36"
    files = [file for file in (place / "cache").rglob("*") if file.suffix == suffix]
    assert files
    for file in files:
        file.write_bytes(spoil(file.read_bytes(), how))
    assert call() == "36"


def test_code_of_one_signature_is_not_taken_for_another(place: Path) -> None:
    assert call("int64") == "36"
    assert call("float64") == "36.0"
    one, other = sorted((place / "cache").rglob("some_kernels.sums*.nbc"))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert call("int64") == "36"
    assert call("float64") == "36.0"


def test_a_cache_that_cannot_be_written_is_done_without(place: Path) -> None:
    (place / "file").write_text("in the way")
    assert call(NUMBA_CACHE_DIR=str(place / "file" / "below")) == "36"
