"""A coordinator under a limit that the |V| x d matrix does not fit under, enforced by the system: same bits."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.run.commands import environment, finish

VERTICES = 170_000  # x 128 x 4 bytes: 87 MB, and 64 to 74 MB are left under the limit
TECHNIQUE = """
import numpy as np
def embed(csr, rng):
    return rng.standard_normal((csr.shape[0], 128), dtype=np.float32)
"""
PLAN = ["--technique", "quick:embed", "--parts", 3, "--anchors", 600, "--anchor-strategy", "random"]
PLAN += ["--partitioner", "random", "--reconcile", "orthogonal", "--workers", 2]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capped")
    (folder / "quick.py").write_text(TECHNIQUE)
    vertex = np.arange(VERTICES)
    np.savetxt(folder / "graph.txt", np.c_[vertex, (vertex + 1) % VERTICES], fmt="%d")
    finish(folder, "embed", "graph.txt", "-o", "free.npy", *PLAN, "--run-dir", "run")
    return folder


@pytest.fixture(scope="module")
def cap(place: Path) -> int:
    """The smallest limit that parge accepts: its libraries, and 64 MB."""

    def least() -> int:
        refused = finish(place, "reconcile", "run", "-o", "x.npy", "--coordinator-memory", "1MB", code=2)
        return int(re.search(r"give (\d+)MB or more", refused.stderr)[1])  # type: ignore[index]  # it must be there

    least()  # kernels that are not in the cache yet are compiled, which takes memory of its own
    return least() + 10  # it differs by a few MB


def test_reconciling_under_the_limit_gives_the_same_file(place: Path, cap: int) -> None:
    finish(place, "reconcile", "run", "-o", "capped.parquet", "--coordinator-memory", f"{cap}MB")
    finish(place, "reconcile", "run", "-o", "free.parquet")
    assert (place / "capped.parquet").read_bytes() == (place / "free.parquet").read_bytes()


def test_embedding_under_the_limit_gives_the_same_file(place: Path, cap: int) -> None:
    size = f"{cap}MB"
    finish(place, "embed", "graph.txt", "-o", "again.npy", *PLAN, "--run-dir", "again", "--coordinator-memory", size)
    assert (place / "again.npy").read_bytes() == (place / "free.npy").read_bytes()


def test_holding_the_matrix_breaks_the_limit_which_is_said(place: Path, cap: int) -> None:
    script = (
        "import sys, numpy as np, parge.pipeline; from parge.cli.main import run\n"
        "parge.pipeline.scratch_matrix = lambda path, shape, dtype=np.float32: np.ones(shape, dtype)\n"
        f"sys.exit(run(['reconcile', 'run', '-o', 'y.npy', '--coordinator-memory', '{cap}MB']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=place,
        env=environment(ARROW_DEFAULT_MEMORY_POOL="system"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert f"the coordinator needed more than the {cap} MB of --coordinator-memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "y.npy").exists()
