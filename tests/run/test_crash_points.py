"""A run survives a death just before any step that it takes on the disk."""

import os
import re
import subprocess
import sys
from pathlib import Path


def test_a_death_before_any_step_on_the_disk_is_survived(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "tests.run.crash_points", str(tmp_path), "1000"]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(line, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = re.match(r"(\d+) steps, (\d+) deaths survived", done.stdout)
    assert found is not None
    assert int(found[1]) > 40
    assert int(found[2]) == 2 * int(found[1])
