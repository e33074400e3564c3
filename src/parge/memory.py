"""Bytes: parsed, formatted, measured for this process, projected for a worker; and the memory budget.

The budget is how much this process may allocate for what it reads or makes; it is checked before allocation.
"""

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from parge.errors import InputError
from parge.numbers import MOST, check_number, shown
from parge.process_tree import LINUX, looked_at, status_bytes

# What Python, numpy, scipy and the compiled kernels hold before a vertex is looked at (measured: 190-240 MB).
BASE_BYTES = 260_000_000

# A subgraph as the worker holds it: offset, id and parent number of a vertex; two stored neighbours per edge.
GRAPH_BYTES_PER_VERTEX = 24
GRAPH_BYTES_PER_EDGE = 8

# Stack of a further thread (8 MiB, counted whole by a limit on private memory) and the allocator's own for it.
THREAD_BYTES = 12_000_000

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50, "E": 2**60}
_SMALLEST = 10**6
_SHOWN = (("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_LARGEST = 999.5e18  # what is more would be shown in powers of ten, which nobody reads as a size
_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGTPE]?)(I?)B?\s*", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Read a size of memory such as ``2GB``, ``512MiB`` or ``1500000`` (bytes); at least 1 MB.

    >>> parse_bytes("2GB"), parse_bytes("1.5 MiB"), parse_bytes("1500000")
    (2000000000, 1572864, 1500000)
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise InputError(f"expected a size such as 2GB, 512MiB or 1500000 (bytes); got {shown(text)}")
    number, unit, binary = match[1], match[2].upper(), match[3]
    if binary and not unit:
        raise InputError(f"expected a size such as 2GB or 512MiB; got {shown(text)}")
    size = float(number) * (_BINARY[unit] if binary else _UNITS[unit])
    if size < _SMALLEST:
        hint = "" if unit else f". A number without a unit means bytes; did you mean {number[:20]}GB?"
        raise InputError(f"expected at least 1 MB of memory; got {shown(text)}{hint}")
    if not size < MOST:
        raise InputError(f"expected at most {format_bytes(MOST)} of memory; got {shown(text)}")
    return int(size)


def read_size(what: str, size: int | str) -> int:
    """Return a size in bytes, given as a number or as text; `what` names it in messages."""
    return parse_bytes(size) if isinstance(size, str) else int(check_number(what, size, 0, MOST))


def read_sizes(memory: Sequence[int | str] | str) -> list[int]:
    """Return the memory of each worker in bytes; a text such as ``"2GB,4GB"`` is read as a list."""
    return [read_size("memory", size) for size in (memory.split(",") if isinstance(memory, str) else memory)]


def format_bytes(size: float) -> str:
    """Format a size of any magnitude in decimal units.

    >>> [format_bytes(size) for size in (999, 2_340_000, 999_700_000, 2**63, 10**400)]
    ['999 B', '2.34 MB', '1.00 GB', '9.22 EB', 'over 1,000 EB']
    """
    size = float(min(size, 10**30))  # no float is as large as integers can be
    if size >= _LARGEST:
        return "over 1,000 EB"
    for unit, scale in _SHOWN:
        # What would be rounded up to 1,000 of a unit is one of the next.
        if size >= 0.9995 * scale:
            return f"{size / scale:.3g} {unit}" if size >= 9.995 * scale else f"{size / scale:.2f} {unit}"
    return f"{int(size)} B"


def private_bytes() -> int:
    """Return the private memory of this process that a limit counts, or 0 if the system does not report it."""
    return status_bytes("self", b"VmData:")


def reset_peak() -> None:
    """Reset the measurement of `peak_bytes`, if the system allows it (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


LIMITS_HOLD = LINUX
"""Whether the system itself refuses a process memory over its limit; elsewhere it is measured."""

_limit: int | None = None


def limit_memory(limit: int | None) -> None:
    """Limit the private memory of this process to `limit` bytes; None removes the limit.

    The limit is on private memory (RLIMIT_DATA), not on address space: compilers and BLAS reserve addresses that they
    never use. An allocation over the limit raises MemoryError. macOS takes such a limit and does not enforce it, or
    refuses it. There the guard of a worker measures, and ends what is over (`LIMITS_HOLD`).
    """
    global _limit  # noqa: PLW0603  a process has one limit, as it has one memory
    import resource

    _limit = limit
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    asked = hard if limit is None else limit
    cap = asked if hard == resource.RLIM_INFINITY else min(asked, hard)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (cap, hard))
    except (OSError, ValueError):
        if LIMITS_HOLD:
            raise


def return_freed_memory() -> None:
    """Make the C library (glibc) return every large block to the system when it is freed.

    By default it keeps more memory after larger blocks, and a limit counts what is kept.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(-3, 1 << 17)  # M_MMAP_THRESHOLD


def trim_heap() -> None:
    """Return to the system what is free now, where the C library can (glibc): what it keeps counts as in use."""
    import ctypes

    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def current_limit() -> int | None:
    """Return the limit that `limit_memory` set."""
    return _limit


def over_limit() -> bool:
    """Return whether this process and those it started have exceeded the limit, pages of files included."""
    return _limit is not None and tree_peak_bytes() > _limit


def bytes_wanted(error: MemoryError) -> int:
    """Return the private memory that a refused allocation would have needed, as far as it is known."""
    asked = getattr(error, "_total_size", 0)  # numpy's own MemoryError knows
    return max(private_bytes() + (asked if isinstance(asked, int) else 0), _limit or 0)


def peak_bytes() -> int:
    """Return the peak resident memory of this process."""
    if peak := status_bytes("self", b"VmHWM:"):
        return peak
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


_guarded: Callable[[], int] | None = None


def guarded_by(measure: Callable[[], int] | None) -> None:
    """Set the function that measures this process and those it starts: the guard of a worker."""
    global _guarded  # noqa: PLW0603  a process has one guard
    _guarded = measure


def tree_peak_bytes() -> int:
    """Return the peak memory of this process and those it started, as far as it is measured."""
    return max(peak_bytes(), _guarded() if _guarded is not None else 0)


@contextlib.contextmanager
def measured_tree() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the peak of this process and those it starts; without a guard, measure here."""
    if _guarded is not None:
        yield tree_peak_bytes
        return
    with looked_at() as peak:
        yield lambda: max(peak_bytes(), peak())


@dataclass(frozen=True)
class Footprint:
    """Upper bound on memory, linear in the subgraph: ``fixed + per_vertex * n_vertices + per_edge * n_edges``.

    Because it is linear, the memory of a part is a sum over its vertices, and a partitioner that keeps weight limits
    keeps byte budgets exactly, hubs included (see `parge.decompose.limits`).

    >>> Footprint(fixed=100, per_vertex=10, per_edge=2).bytes(n_vertices=5, n_edges=7)
    164
    """

    fixed: int
    per_vertex: float
    per_edge: float

    def bytes(self, n_vertices: int, n_edges: int) -> int:
        """Return the upper bound for a subgraph of that size."""
        return int(self.fixed + self.per_vertex * n_vertices + self.per_edge * n_edges + 0.5)

    def plus(self, fixed: float, per_vertex: float) -> "Footprint":
        """Return the bound with more bytes per worker and per vertex."""
        return Footprint(ceil(self.fixed + fixed), self.per_vertex + per_vertex, self.per_edge)


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

    It is the value of `VARIABLE`, if that is set. Otherwise it is the smaller of two numbers. One is what the limits of
    this process leave (``--coordinator-memory``, ``ulimit -d``, ``ulimit -v``). The other is 80 % of the free memory of
    the machine or of the control group (container).
    """
    given = os.environ.get(VARIABLE)
    if given:
        return Budget(parse_bytes(given), VARIABLE)
    return min(_memory_limits(), key=lambda limit: limit.n_bytes)


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

    `n_bytes` were unpacked so far, or are declared. `always` is allowed for a file of any size. `what` begins the
    message, and `remedy` says what else to do than to set the variable.
    """
    if n_bytes <= max(always, _MOST_TIMES * packed) or os.environ.get(VARIABLE):
        return
    size = format_bytes(n_bytes)
    raise InputError(
        f"{what}: {packed:,} bytes of the file unpack to {size} or more, over {_MOST_TIMES} times as much. If the file "
        f"is right, {remedy}, or set {VARIABLE} (such as 8GB)."
    )


def _memory_limits() -> Iterator[Budget]:
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


# Where control groups of version 2 and 1 are mounted; their files for the limit and the use; pages that can be freed.
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
        metadata = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, most - used + int(metadata[cached]))
    return None
