"""Tree: a process and everything that it has started; its members, and what memory they hold together.

Memory that two processes of the tree share, as after a fork, counts once: on Linux each process counts its proportional
share (Pss, and what of it is swapped out). Elsewhere resident memory is added up, which counts shared pages twice.
A process is found when it is looked for; one that starts and ends between two looks is not seen.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

LINUX = sys.platform == "linux"

# How often a tree is looked at, and what that may cost: looking costs less than half a percent of a core, and so does
# measuring several processes page by page, except while they grow, or would be over their limit if nothing were shared.
POLL_SECONDS = 0.05
_SHARE, _SHARE_URGENT = 0.005, 0.1
_GROWTH = 1.02
_LONGEST_PAUSE = 1.0

# Time after which all processes of the machine are gone through, in case the numbers of new ones did not show them.
_ALL_SECONDS = 2.0

# More new processes than this since the last look: go through all instead.
_MANY_NEW = 500

# A number is given to a process a moment before the process can be seen.
_LOOKS_UNTIL_SEEN = 3

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Seen:
    """What was seen of a tree: the most bytes at one time, and by how many processes."""

    bytes: int = 0
    processes: int = 1


class Tree:
    """The processes below `root`, itself included.

    `reaper` is the process that inherits orphans of the tree (see `adopt_orphans`), and has no other children. `limit`
    is what the tree may hold, in bytes.
    """

    def __init__(self, root: int, *, reaper: int | None = None, limit: int | None = None) -> None:
        self.root, self.reaper, self.limit = root, reaper, limit
        self.seen = Seen()
        self.pause = POLL_SECONDS
        self._pages_at, self._pages_most, self._pages_cost = 0.0, 0.0, 0.0
        self._find = _Numbers(root, reaper) if LINUX else _Listed(root)

    def look(self) -> Seen:
        """Measure the tree now; return the most that was ever seen of it. `pause` says when to look again."""
        started = time.thread_time()
        members = self._find.members()
        self._note(Seen(resident_peak(self.root)))
        resident = {pid: size for pid in members if (size := resident_bytes(pid))} if len(members) > 1 else {}
        self.pause = min(_LONGEST_PAUSE, max(POLL_SECONDS, (time.thread_time() - started) / _SHARE))
        most = sum(resident.values())  # as much as can be, if nothing were shared
        if most > self.seen.bytes:
            self._measure_pages(most, resident)
        return self.seen

    def _measure_pages(self, most: int, pids: Iterable[int]) -> None:
        """Measure several processes page by page, unless that would be too often."""
        urgent = most > _GROWTH * self._pages_most or (self.limit is not None and most > self.limit)
        now = time.monotonic()
        if now < self._pages_at + self._pages_cost / (_SHARE_URGENT if urgent else _SHARE):
            return
        started = time.thread_time()
        sizes = [size for pid in pids if (size := _own_bytes(pid))]
        self._note(Seen(sum(sizes), len(sizes)))
        self._pages_at, self._pages_most, self._pages_cost = now, most, time.thread_time() - started

    def _note(self, seen: Seen) -> None:
        if seen.bytes > self.seen.bytes:
            self.seen = seen

    @property
    def is_over(self) -> bool:
        """Whether the tree was seen over its limit."""
        return self.limit is not None and self.seen.bytes > self.limit

    def kill(self) -> bool:
        """Send SIGKILL to all of the tree; return whether there was anybody."""
        return kill_all(self._find.members(thoroughly=True))


def kill_all(pids: Iterable[int]) -> bool:
    """Send SIGKILL to processes; return whether one of them was there and ours."""
    any_there = False
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            any_there = True
    return any_there


def adopt_orphans() -> bool:
    """On Linux, become the parent of every orphan below this process, whatever session it is in; return whether."""
    if not LINUX:
        return False
    import ctypes

    pr_set_child_subreaper = 36
    return bool(ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0) == 0)


def set_process_name(name: str) -> None:
    """On Linux, set the name that ``ps`` and ``top`` show for this process; at most 15 characters."""
    if LINUX:
        import ctypes

        pr_set_name = 15
        ctypes.CDLL(None).prctl(pr_set_name, name.encode(), 0, 0, 0)


# ------------------------------------------------------------------------------------------------- measured one by one


def resident_peak(pid: int) -> int:
    """Return the peak resident memory of a process, or the present one without /proc; 0 if it is gone."""
    if LINUX:
        return status_bytes(pid, b"VmHWM:")
    return resident_bytes(pid)


def status_bytes(pid: int | str, field: bytes) -> int:
    """Return a size that Linux reports of a process, by its name in /proc/PID/status; 0 where it reports none."""
    return _kilobytes(_read(f"/proc/{pid}/status"), field)


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process, pages shared with others included; 0 if it is gone."""
    if LINUX:
        words = _read(f"/proc/{pid}/statm").split()
        return int(words[1]) * _PAGE if len(words) > 1 else 0
    import psutil

    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def _own_bytes(pid: int) -> int:
    """Return the proportional share of a process; its resident memory where the system keeps that to itself."""
    rollup = _read(f"/proc/{pid}/smaps_rollup") if LINUX else b""
    return _kilobytes(rollup, b"Pss:") + _kilobytes(rollup, b"SwapPss:") if rollup else resident_bytes(pid)


def _kilobytes(text: bytes, field: bytes) -> int:
    for line in text.splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0


def _read(path: str) -> bytes:
    """Return a short file of /proc, or nothing where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 1 << 14)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------------------------------------------------- found


class _Numbers:
    """Finds the processes of a tree by the numbers that Linux has given out since the last look.

    The machine may have thousands of processes, and few of them are new.
    """

    def __init__(self, root: int, reaper: int | None) -> None:
        self.reaper = reaper
        self.known: dict[int, bytes] = {}  # number -> time of its start, for numbers are given again
        self.awaited: dict[int, int] = {}  # numbers that nobody answers to yet -> how often they were looked for
        self.last, self.all_at = 0, 0.0
        if start := _start(root):
            self.known[root] = start
        # Children that were there before are none of ours.
        before = _all_numbers() if reaper is None else ()
        self.before = {pid for pid in before if (parent := _parent(pid)) is not None and parent == root}
        self.strangers: set[int] = set()

    def members(self, *, thoroughly: bool = False) -> list[int]:
        """Return the members of the tree now."""
        parents = {}
        for pid in self._new(thoroughly):
            parent, looked = _parent(pid), self.awaited.pop(pid, 0) + 1
            if parent is not None:
                parents[pid] = parent
            elif looked < _LOOKS_UNTIL_SEEN:
                self.awaited[pid] = looked
        while ours := [pid for pid, parent in parents.items() if parent in self.known or parent == self.reaper]:
            self.known |= {pid: _start(pid) for pid in ours if pid != self.reaper}
            parents = {pid: parent for pid, parent in parents.items() if pid not in ours}
        self.strangers |= parents.keys()
        self.known = {pid: start for pid, start in self.known.items() if start and _start(pid) == start}
        return list(self.known)

    def _new(self, thoroughly: bool) -> set[int]:
        """Return the numbers that were not looked at yet."""
        last, now = _last_number(), time.monotonic()
        step, self.last = last - self.last, last
        if not thoroughly and now < self.all_at and 0 <= step <= _MANY_NEW:
            new = set(range(last - step + 1, last + 1))
            self.strangers -= new  # given again
        else:
            new = _all_numbers()
            self.all_at = now + _ALL_SECONDS
            self.strangers &= set() if thoroughly or step < 0 or step > _MANY_NEW else new
        return (new | self.awaited.keys()) - self.strangers - self.before - self.known.keys()


def _parent(pid: int) -> int | None:
    """Return the parent of a process; 0 for what is a thread, None for what is not there."""
    text = _read(f"/proc/{pid}/status")
    if not text:
        return None
    return _number(text, b"PPid:") if _number(text, b"Tgid:") == pid else 0


def _start(pid: int) -> bytes:
    """Return when a process began, in ticks; nothing where it is gone or has ended."""
    _, _, rest = _read(f"/proc/{pid}/stat").rpartition(b") ")  # its name may hold anything
    words = rest.split()
    return words[19] if len(words) > 19 and words[0] not in (b"Z", b"X") else b""


def _number(text: bytes, field: bytes) -> int:
    at = text.find(b"\n" + field) + 1 + len(field)
    return int(text[at : at + 24].split()[0])


def _all_numbers() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208  twenty times a second


def _last_number() -> int:
    """Return the number that a process or thread was given last, or -1 where the system does not give it."""
    if text := _read("/proc/sys/kernel/ns_last_pid"):
        return int(text)
    words = _read("/proc/loadavg").split()
    return int(words[4]) if len(words) > 4 else -1


class _Listed:
    """Finds the processes of a tree by going through all of them, for systems without /proc."""

    def __init__(self, root: int) -> None:
        import psutil

        self.root = root
        self.known: dict[int, Any] = {}
        self.before: set[int] = set()
        with contextlib.suppress(psutil.Error):
            self.known[root] = psutil.Process(root)
            if root == os.getpid():  # it had a life before, and its group may be that of a whole pipeline
                self.before = {child.pid for child in self.known[root].children(recursive=True)}

    def members(self, *, thoroughly: bool = False) -> list[int]:
        """Return the members of the tree now; an orphan only if it was seen before, or is in its group."""
        import psutil

        for process in list(self.known.values()):
            with contextlib.suppress(psutil.Error):
                self.known |= {child.pid: child for child in process.children(recursive=True)}
        for pid in psutil.pids() if self.root != os.getpid() else []:
            with contextlib.suppress(OSError, psutil.Error):
                if pid not in self.known and pid != os.getpid() and os.getpgid(pid) == self.root:
                    self.known[pid] = psutil.Process(pid)
        for pid in self.before:
            self.known.pop(pid, None)
        self.known = {pid: process for pid, process in self.known.items() if _is_running(process)}
        return list(self.known)


def _is_running(process: Any) -> bool:
    import psutil

    with contextlib.suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


# --------------------------------------------------------------------------------------------------- of this process


@contextmanager
def looked_at() -> Iterator[Callable[[], int]]:
    """Look at the tree of this process now and then while inside; what is yielded returns its peak so far, in bytes.

    Processes that it had started before do not count. A thread does the looking: while foreign code holds Python's
    lock nobody looks.
    """
    tree, over, one_by_one = Tree(os.getpid()), threading.Event(), threading.Lock()

    def peak() -> int:
        with one_by_one:
            return tree.look().bytes

    def look() -> None:
        while not over.wait(tree.pause):
            peak()

    thread = threading.Thread(target=look, name="parge-tree", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
