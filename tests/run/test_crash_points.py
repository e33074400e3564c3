"""A run survives a death just before any step that it takes on the disk."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("points", [4, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_death_before_any_step_on_the_disk_is_survived(points: int, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "tests.run.crash_points", str(tmp_path), str(points)]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(line, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.match(r"(\d+) steps, (\d+) deaths survived", done.stdout)
    assert found is not None
    assert int(found[1]) > 40
    assert int(found[2]) == 2 * min(points, int(found[1]))
