"""A newcomer's walk through `parge embed` stays short."""

import subprocess
import sys

import pytest

_COUNTS = """
from benchmarks.data_walk import between_stages, files_of_reading, walked
steps, reading = walked()
print(*between_stages(steps), len({step.file for step in steps}), len(files_of_reading(reading)))
"""


@pytest.mark.slow
def test_the_walk_stays_short() -> None:
    done = subprocess.run([sys.executable, "-c", _COUNTS], capture_output=True, text=True, check=True)
    n_files, n_changes, n_files_strictly, n_files_of_reading = map(int, done.stdout.split()[-4:])
    assert 20 < n_files <= 60
    assert 20 < n_changes <= 90
    assert n_files < n_files_strictly <= 85
    assert 3 < n_files_of_reading <= 6
