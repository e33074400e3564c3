"""Fixtures that several stages share."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from tests.examples import FAST, MOST

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("PARGE_CALIBRATION", "off")  # plans measure nothing, and leave nothing in anybody's cache

settings.register_profile(FAST, max_examples=MOST, deadline=None)

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """Return the path of a shared data set, or skip where it does not exist."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"the shared data set {name} is not beside the project")
        return path

    return find
