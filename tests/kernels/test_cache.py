"""Processes that compile the same kernels at once, on an empty or damaged cache, agree and lose nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    import some_kernels  # type: ignore[import-not-found]

    found = float(some_kernels.sums(np.arange(9, dtype=dtype)))
    stats = [kernel.stats for kernel in (some_kernels.sums, some_kernels.plus)]
    return found, sum(len(each.cache_misses) for each in stats), sum(len(each.cache_hits) for each in stats)


@pytest.mark.parametrize("attempt", range(3))
@pytest.mark.slow
def test_three_workers_on_an_empty_cache_compile_once_and_agree(place: Path, attempt: int) -> None:
    dtypes = ["int64", "int64", "float64", "float32"] if attempt else ["float32"] * 3
    tasks = [Task(i, sum_of, dtype) for i, dtype in enumerate(dtypes)]
    for again in (False, True):
        found = [result for _, result in Processes(jobs=4).run(tasks, lambda _task, _share: None)]
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
@pytest.mark.slow
def test_a_damaged_cache_is_compiled_again(place: Path, how: str, suffix: str) -> None:
    assert call() == "36"
    files = [file for file in (place / "cache").rglob("*") if file.suffix == suffix]
    assert files
    for file in files:
        file.write_bytes(spoil(file.read_bytes(), how))
    assert call() == "36"


@pytest.mark.slow
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


APART = {
    "constants.py": "STEP = 1\n",
    "callee.py": "from kernel_package.constants import STEP\nfrom parge.kernels.jit import kernel\n\n"
    "@kernel\ndef plus(a, b):\n    return a + b + STEP - 1\n",
    "written.py": "from llvmlite import ir\nADDED = 0\n",
    "caller.py": """
from numba import types
from numba.extending import intrinsic
from kernel_package.callee import plus
from kernel_package.written import ADDED, ir
from parge.kernels.jit import kernel

@intrinsic
def more(_, number):
    def generate(context, builder, signature, arguments):
        return builder.add(arguments[0], ir.IntType(64)(ADDED))
    return types.int64(types.int64), generate

@kernel
def total(n):
    found = 0
    for i in range(n):
        found = plus(found, i)
    return more(found)
""",
    "__init__.py": "",
}
EDITS = {
    "a kernel that it calls": ("callee.py", "a + b", "a + 2 * b"),
    "a constant elsewhere": ("constants.py", "STEP = 1", "STEP = 2"),
    "what writes its code": ("written.py", "ADDED = 0", "ADDED = 7"),
    "itself": ("caller.py", "range(n)", "range(2)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_source_is_compiled_again(edit: str, tmp_path: Path) -> None:
    """Of equal length and time of change, too, as after a checkout: contents alone tell."""
    package = tmp_path / "kernel_package"
    package.mkdir()
    for name, text in APART.items():
        (package / name).write_text(text)

    def ask() -> str:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        script = "from kernel_package.caller import total; print(total(5), len(total.stats.cache_hits))"
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)  # noqa: PLW1510
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert ask() == "10 0"
    assert ask() == "10 1"
    name, old, new = EDITS[edit]
    file = package / name
    before = file.stat()
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    expected = {"callee.py": 20, "constants.py": 15, "written.py": 17, "caller.py": 1}[name]
    assert ask() == f"{expected} 0"
    assert ask() == f"{expected} 1"


SMALL = """
import json, sys, warnings
warnings.simplefilter("error")
import parge
warnings.simplefilter("ignore", parge.PargeWarning)
from parge.graph.generate import ring_of_cliques
from parge.techniques.registry import techniques

found = {}
for name in ("deepwalk", "node2vec", "line", "closedform", "whitened", "hope"):
    few = {"deepwalk": {"walks": 2}, "node2vec": {"walks": 2}, "line": {"samples": 20}}.get(name, {})
    for parts in (1, 2):
        plan = parge.Plan(technique=techniques.get(name)(dim=4, **few), parts=parts, engine="serial", seed=1)
        found[f"{name} in {parts}"] = parge.embed(ring_of_cliques(5, 5), plan).vectors.tolist()
json.dump(found, sys.stdout)
"""


def vectors_of(**environment: str) -> dict[str, np.ndarray]:
    done = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-c", SMALL], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {name: np.array(rows) for name, rows in json.loads(done.stdout).items()}


@pytest.mark.slow
def test_everything_works_where_nothing_may_be_compiled() -> None:
    """The plain kernels, run by Python, give what they give compiled, but for the order of sums."""
    compiled, interpreted = vectors_of(PARGE_PLAIN_KERNEL="1"), vectors_of(NUMBA_DISABLE_JIT="1")
    assert len(compiled) == 12
    for name, vectors in compiled.items():
        assert np.linalg.norm(interpreted[name] - vectors) <= 1e-2 * np.linalg.norm(vectors), name


@pytest.mark.slow
def test_the_command_line_works_where_nothing_may_be_compiled(tmp_path: Path) -> None:
    (tmp_path / "graph.txt").write_text("".join(f"{i} {(i + step) % 30}\n" for i in range(30) for step in (1, 2)))
    command = ["embed", "graph.txt", "-o", "out.npy", "--parts", "2", "--dim", "4", "--param", "walks=1"]
    done = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-W", "error::RuntimeWarning", "-m", "parge", *command],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out.npy").shape == (30, 4)


@pytest.mark.slow
def test_every_module_can_be_imported_where_nothing_may_be_compiled() -> None:
    script = """
import importlib, pkgutil, parge
for module in pkgutil.walk_packages(parge.__path__, "parge."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
    done = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-c", script], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
