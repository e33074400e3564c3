"""A newcomer's walk through `parge embed` stays short."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_walk_between_stages_stays_short() -> None:
    script = "from benchmarks.data_walk import between_stages, walked; print(*between_stages(walked()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    n_files, n_changes = map(int, done.stdout.split()[-2:])
    assert 20 < n_files <= 60
    assert 20 < n_changes <= 90
