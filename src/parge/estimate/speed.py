"""How fast this machine is, against the one on which the constants were measured: looked at once, then kept.

Two loops of a few milliseconds are timed in seconds of a core, so that a busy machine looks no slower. One sums within
the core's cache, as training on walks does. The other reads rows from all over memory, as everything else does. The
answer is a number in a small JSON file in the user's cache. What is not ours there, or damaged, or old, or of another
machine, is measured again; what cannot be written is not kept.
"""

import contextlib
import hashlib
import json
import math
import os
import platform
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from parge.estimate.constants import constants
from parge.kernels.safety import is_safe

VARIABLE = "PARGE_CALIBRATION"
"""The environment variable that leaves the constants as they were measured: ``off``."""

# Raised when the loops change, so that what earlier ones measured is not read.
_VERSION = 1

_KEPT_DAYS = 30.0
_DAY = 86_400.0

# No machine that runs parge is a hundred times faster or slower than another; such a number is damage.
_MOST_TIMES = 100.0
_MOST_BYTES = 4096

# What each loop counts for. Other programs, which use the same memory, made reading rows up to three times
# slower, sums a tenth.
_WEIGHTS = {"probe_sums": 0.75, "probe_rows": 0.25}

_REPEATS = 15
_IN_CACHE, _SUMS = 8192, 1000
_ROWS, _WIDTH, _READ = 1 << 17, 128, 1 << 14


def slowness() -> float:
    """Return how many times longer this machine takes than the one on which the constants were measured.

    It is 1 where the environment says ``PARGE_CALIBRATION=off``, and where there is no memory to measure with.
    """
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no"):
        return 1.0
    path = _file()
    found = None if path is None else _kept(path)
    if found is None:
        try:
            found = measure()
        except MemoryError:
            return 1.0
        if path is not None:
            _keep(path, found)
    return found


def measure() -> float:
    """Return the slowness of this machine, measured now; it takes a fifth of a second."""
    known, now = constants(), probes()
    times: float = math.prod((now[name] / known[name].value) ** weight for name, weight in _WEIGHTS.items())
    return min(_MOST_TIMES, max(1 / _MOST_TIMES, times))


def probes() -> dict[str, float]:
    """Return the seconds of a core that each loop takes, under the name of its constant."""
    return {"probe_sums": _fastest(_sums()), "probe_rows": _fastest(_rows())}


def _sums() -> Callable[[], object]:
    one, other = np.ones(_IN_CACHE, np.float32), np.full(_IN_CACHE, 0.5, np.float32)
    out = np.empty_like(one)

    def run() -> None:
        for _ in range(_SUMS):
            np.multiply(one, other, out=out)
            np.add(one, out, out=out)

    return run


def _rows() -> Callable[[], object]:
    table = np.ones((_ROWS, _WIDTH), np.float32)
    chosen = np.random.default_rng(0).integers(0, _ROWS, _READ)
    out = np.empty((_READ, _WIDTH), np.float32)
    return lambda: np.take(table, chosen, axis=0, out=out, mode="clip")


def _fastest(run: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several calls: what others do on the machine only adds to them."""
    took = []
    for _ in range(_REPEATS):
        started = time.thread_time()
        run()
        took.append(time.thread_time() - started)
    return max(min(took), 1e-9)


def _file() -> Path | None:
    """Return where the number of this machine is kept; None where nobody's home is known, or others may write."""
    try:
        home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    except RuntimeError:
        return None
    asked = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = (asked if asked.is_absolute() else home) / "parge"
    # A home may be shared by machines of several kinds.
    machine = f"{platform.node()} {platform.machine()} {os.cpu_count()} {np.__version__}"
    name = f"speed-{hashlib.sha256(f'{_VERSION} {machine}'.encode()).hexdigest()[:16]}.json"
    return folder / name if is_safe(folder, Path(__file__)) else None


def _kept(path: Path) -> float | None:
    """Return the number that was kept, or None where there is none that is ours, intact and not too old."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_uid not in {os.getuid(), 0} or about.st_mode & stat.S_IWOTH:
                return None
            found = json.loads(file.read(_MOST_BYTES))
        value, age = float(found["slowness"]), time.time() - float(found["measured"])
        if 1 / _MOST_TIMES <= value <= _MOST_TIMES and 0 <= age <= _KEPT_DAYS * _DAY:
            return value
    return None


def _keep(path: Path, slowness: float) -> None:
    """Write the number whole or not at all; where it cannot be written it is measured next time."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".speed-")
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump({"slowness": slowness, "measured": time.time()}, file)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
