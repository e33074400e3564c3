"""The memory budget: how much this process may allocate for what it reads or makes; checked before allocation."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from parge.errors import InputError
from parge.memory import current_limit, format_bytes, parse_bytes, private_bytes

VARIABLE = "PARGE_MEMORY_BUDGET"
"""The environment variable that sets the budget, such as ``2GB``."""

# Of the memory that is free. The rest is for what a count does not see: arrays that exist twice for a moment, and the
# other programs of the machine.
_SHARE = 0.8

# Smaller sizes are not worth the question.
_ALWAYS_FITS = 10**6

# How many times its size a file may unpack to. Measured: text of edges and labels up to 31 times with gzip, up to 178
# with zstd at level 19 (long labels, all the same); sparse matrices 10 times; Parquet files of pyarrow 16 times.
_MOST_TIMES = 250

UNPACKED_TEXT, UNPACKED_ARRAYS = 16 * 2**20, 256 * 2**20
"""Bytes of text, and of numbers, that may be unpacked from a file of any size; text needs much more in memory."""

REMEDY = f"use a machine with more memory, or set {VARIABLE} (such as 8GB) to change the budget"
"""The remedy for a size that is right but over the budget."""


@dataclass(frozen=True)
class Budget:
    """Bytes that may still be allocated, and the reason for that number."""

    n_bytes: int
    because: str

    def __str__(self) -> str:
        return f"{format_bytes(self.n_bytes)} ({self.because})"


def budget() -> Budget:
    """Return the budget of this process.

    It is the value of `VARIABLE`, if that is set. Otherwise it is the smaller of two numbers: what the limits of this
    process leave (``--coordinator-memory``, ``ulimit -d``, ``ulimit -v``), and 80 % of the free memory of the machine
    or of the control group (container).
    """
    given = os.environ.get(VARIABLE)
    if given:
        return Budget(parse_bytes(given), VARIABLE)
    return min(_rooms(), key=lambda room: room.n_bytes)


def refuse_over_budget(n_bytes: float, what: str, remedy: str = REMEDY) -> None:
    """Raise if a size exceeds the budget, with both numbers in the message; `what` is its start."""
    if n_bytes < _ALWAYS_FITS:
        return
    allowed = budget()
    if n_bytes > allowed.n_bytes:
        size = format_bytes(n_bytes)
        raise InputError(f"{what}: that needs {size} of memory, and the budget is {allowed}. Remedy: {remedy}.")


def refuse_expansion(
    n_bytes: float, packed: int, what: str, *, always: int = UNPACKED_ARRAYS, remedy: str = "unpack the file first"
) -> None:
    """Raise if a file unpacks to many times its size, even if the memory is free; both numbers are in the message.

    No real file reaches this limit; a file made to fill the memory is refused in time. If `VARIABLE` is set, its
    budget is the only limit.

    Parameters
    ----------
    n_bytes : float
        Bytes unpacked so far, or declared.
    packed : int
        Bytes of the packed file.
    what : str
        Start of the message.
    always : int
        Bytes that are allowed for a file of any size.
    remedy : str
        What to do, other than to set the variable.
    """
    if n_bytes <= max(always, _MOST_TIMES * packed) or os.environ.get(VARIABLE):
        return
    size = format_bytes(n_bytes)
    raise InputError(
        f"{what}: {packed:,} bytes of the file unpack to {size} or more, over {_MOST_TIMES} times as much. If the file "
        f"is right, {remedy}, or set {VARIABLE} (such as 8GB)."
    )


def _rooms() -> Iterator[Budget]:
    """Yield every bound on the memory that this process may still allocate."""
    import psutil

    free = int(psutil.virtual_memory().available)
    yield Budget(int(_SHARE * free), f"{100 * _SHARE:.0f} % of {format_bytes(free)} of free memory")
    left = _left_in_group()
    if left is not None:
        yield Budget(int(_SHARE * left), f"{100 * _SHARE:.0f} % of {format_bytes(left)} left in this container")
    limit = current_limit()
    if limit is not None:
        yield Budget(max(0, limit - private_bytes()), f"the memory limit of this process is {format_bytes(limit)}")
    yield from _resource_limits()


def _resource_limits() -> Iterator[Budget]:
    import psutil

    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    for name, taken in (("RLIMIT_DATA", private_bytes()), ("RLIMIT_AS", psutil.Process().memory_info().vms)):
        soft = resource.getrlimit(getattr(resource, name))[0]
        if soft not in (resource.RLIM_INFINITY, -1):
            yield Budget(max(0, soft - taken), f"{name} is {format_bytes(soft)}")


# Where control groups of version 2 and 1 are mounted; their files for the limit and the use; pages that give way.
_GROUPS = (
    ("0::", Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (
        ":memory:",
        Path("/sys/fs/cgroup/memory"),
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def _left_in_group() -> int | None:
    """Return the memory left in the control groups of this process, the smallest of all levels; None if unlimited."""
    found = []
    with suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        for mark, root, *names in _GROUPS:
            group = next((line.partition(mark)[2] for line in lines if mark in line), None)
            if group is not None:
                here = root / group.lstrip("/")
                found += [
                    _left_in(folder, *names) for folder in (here, *here.parents) if root in (folder, *folder.parents)
                ]
    return min((left for left in found if left is not None), default=None)


def _left_in(folder: Path, limit: str, use: str, cached: str) -> int | None:
    """Return the limit of one group minus what it uses; cached pages of files can be freed, so they do not count."""
    with suppress(OSError, ValueError, KeyError):  # no such file, or "max": no limit
        most, used = int((folder / limit).read_text()), int((folder / use).read_text())
        facts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, most - used + int(facts[cached]))
    return None
