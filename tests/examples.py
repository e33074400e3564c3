"""Which cases a test tries: a few under `make test`, all of them under `make test-slow` and `make test-all`."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

FAST, MOST = "fast", 12


def examples(count: int, **more: Any) -> settings:
    """Return the settings of a property test that draws this many examples, however long each takes."""
    fast = settings.get_current_profile_name() == FAST
    return settings(deadline=None, max_examples=min(count, MOST) if fast else count, **more)


def slow(*cases: Any) -> list[Any]:
    """Return cases of a parametrised test that `make test` leaves out."""
    return [pytest.param(case, marks=pytest.mark.slow) for case in cases]


def first(cases: Iterable[Any], count: int) -> list[Any]:
    """Return all cases of a parametrised test, of which `make test` tries the first `count`."""
    cases = list(cases)
    return [*cases[:count], *slow(*cases[count:])]
