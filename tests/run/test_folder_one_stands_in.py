"""A hostile folder that one merely stands in: no module, settings or compiled code of it is loaded by any command."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import parge
from parge.graph.generate import planted

ROOT = Path(parge.__file__).parents[1]

# Modules that parge, its libraries or Python itself import, now or later, if they are there.
TRAPS = [
    "numpy",
    "scipy",
    "pyarrow",
    "numba",
    "sklearn",
    "yaml",
    "kaminpar",
    "pymetis",
    "psutil",
    "threadpoolctl",
    "rich",
]
TRAPS += ["click", "cloudpickle", "torch", "umap", "networkx", "igraph", "pandas", "polars", "zstandard", "ray", "json"]
TRAPS += ["sitecustomize", "usercustomize", "pickle", "shutil", "tempfile", "parge", "matplotlib", "colorama", "h5py"]

COMMANDS = [
    ["embed", "g.mat", "-o", "v.npy", "--technique", "closedform", "--dim", "4", "--parts", "2", "--run-dir", "run"],
    ["status", "run"],
    ["embed-part", "run/parts/000", "--memory", "2GB"],
    ["reconcile", "run", "-o", "w.parquet", "--coordinator-memory", "2GB"],
    ["report", "run", "-o", "page.html"],
    ["neighbors", "v.npy", "1"],
    ["evaluate", "pip", "v.npy", "w.parquet"],
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    matrix = planted(60, 200, communities=2, seed=2).graph.to_scipy()
    scipy.io.savemat(tmp_path / "g.mat", {"network": sp.csc_matrix(matrix, dtype=np.float64)})
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'hacked')!r}, 'a').write({name!r})\n")
    for kind in ("techniques", "engines", "reconcilers", "refiners"):
        plugin = tmp_path / f"evil_{kind}-1.dist-info"
        plugin.mkdir()
        (plugin / "METADATA").write_text(f"Metadata-Version: 2.1\nName: evil-{kind}\nVersion: 1\n")
        (plugin / "entry_points.txt").write_text(f"[parge.{kind}]\nevil = torch:x\n")
    # Read by numba at its import and before it compiles; the folder named there holds pickled code.
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: evil_cache\ndisable_jit: 1\n")
    return tmp_path


def run(start: list[str], place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*start, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=200
    )


@pytest.mark.slow
def test_no_command_loads_anything_of_the_folder_one_stands_in(place: Path) -> None:
    script = (
        "import sys; from parge.cli.main import run; lines = eval(sys.argv[1]); print([run(line) for line in lines])"
    )
    done = run([sys.executable, "-P", "-c", script], place, repr(COMMANDS))
    assert done.stdout.splitlines()[-1] == str([0] * len(COMMANDS)), done.stdout + done.stderr
    assert not (place / "hacked").exists(), (place / "hacked").read_text()
    assert not (place / "evil_cache").exists()
    assert "YAML" not in done.stderr


@pytest.mark.slow
def test_python_m_takes_libraries_from_where_they_are_installed(place: Path) -> None:
    (place / "parge.py").unlink()  # python -m looks for parge itself in that folder first; SECURITY.md says so
    for name in ("json", "pickle", "shutil", "tempfile"):  # what Python imports before us
        (place / f"{name}.py").unlink()
    done = run([sys.executable, "-m", "parge"], place, *COMMANDS[0])
    assert done.returncode == 0, done.stderr
    assert not (place / "hacked").exists(), (place / "hacked").read_text()


def test_numba_keeps_its_settings_from_the_environment(place: Path) -> None:
    script = "import parge.kernels.csr, numba; print(numba.config.CACHE_DIR, numba.config.DISABLE_JIT)"
    for _ in range(2):
        done = run([sys.executable, "-P", "-W", "error", "-c", script], place)
        assert done.stdout.split() == ["0"], done.stdout + done.stderr
    shutil.rmtree(place / "evil_cache", ignore_errors=True)


def test_every_python_that_parge_starts_leaves_the_current_folder_alone() -> None:
    """`parge.testing` is run by authors of plug-ins, in folders of their own."""
    sources = [path for path in (ROOT / "parge").rglob("*.py") if "testing" not in path.parts]
    started = [found for path in sources for found in re.findall(r"sys\.executable,\s*(\S+)", path.read_text())]
    assert len(started) >= 2
    assert set(started) == {'"-P",'}
