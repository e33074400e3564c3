"""Random kills of real processes, a few of them; `make soak` does a thousand."""

import pytest
from benchmarks.soak import soak

pytestmark = pytest.mark.slow


def test_runs_that_are_killed_at_random_come_to_the_same_bits() -> None:
    tally = soak(seed=7, kills=4, minutes=8, lanes=1, ray=False, parts=4)
    assert tally.n_kills >= 4, tally.line()
    assert not tally.wrong, tally.line()
    assert tally.runs >= 1
