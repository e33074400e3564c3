"""Guard: a small process between a worker and the process that wants its answer.

It starts the worker, and measures it and the processes it starts. It ends them when they exceed the worker's limit,
when the worker has ended, on SIGTERM, and when its own parent has ended for any reason. On Linux it inherits every
orphan below it, so that no process escapes by another session or a second fork.
"""

import contextlib
import mmap
import os
import select
import signal
import struct
import sys
import time
from typing import Any

from parge.engine.cgroup import Group
from parge.process_tree import LINUX, Tree, adopt_orphans, kill_all, set_process_name

_END_SECONDS = 10.0
_END_PAUSE = 0.005

# Peaks are reported when they have grown by that much.
_REPORT_GROWTH = 1.01


MARK = "PARGE_WORKER"
"""In the environment of a worker and of all that it starts: how to find them should their guard be killed."""


def guard(results: int, measures: int, parent: int, limit: int) -> None:
    """Fork: the child becomes the worker, this process its guard, and ends as the worker does.

    `results` and `measures` are pipes, for what the worker returns and for what the guard measures. `limit` is in
    bytes; 0 is no limit.
    """
    set_process_name("parge-guard")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    ready, waking = os.pipe()
    for end in (ready, waking, measures):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    adopt_orphans()
    peak = mmap.mmap(-1, mmap.PAGESIZE)  # shared with the worker
    group = Group.make(limit) if limit and LINUX else None
    me, worker = os.getpid(), os.fork()
    if worker == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        for end in (ready, waking, measures):
            os.close(end)
        set_process_name("parge-worker")
        os.setpgid(0, 0)
        if group is not None:
            group.enter()
        from parge.engine.worker import work

        work(results, me, lambda: int(struct.unpack_from("q", peak)[0]))
    _close_input()
    watcher = _Guard(worker, parent, limit or None, measures, peak, group)
    try:
        status = watcher.watch(ready, asked)
    finally:
        watcher.end()
    _leave_as(status)


class _Guard:
    """A worker that is watched."""

    def __init__(
        self, worker: int, parent: int, limit: int | None, measures: int, peak: mmap.mmap, group: Group | None
    ) -> None:
        self.worker, self.parent, self.measures, self.peak, self.group = worker, parent, measures, peak, group
        self.tree = Tree(worker, reaper=os.getpid() if LINUX else None, limit=limit)
        self.status: int | None = None
        self.reported = 0
        if group is not None:
            self._report("group", group.path)

    def watch(self, ready: int, asked: list[int]) -> int:
        """Watch the worker until it ends; return its wait status, or the signal that ended it."""
        while True:
            self._reap()
            if self.status is not None:
                return self.status
            if asked or os.getppid() != self.parent:
                return signal.SIGTERM
            self.measure()
            if self.tree.is_over:
                self._over()
                return signal.SIGKILL
            select.select([ready], [], [], self.tree.pause)
            with contextlib.suppress(BlockingIOError):
                os.read(ready, 4096)

    def measure(self) -> None:
        """Measure the tree of processes, and report to the worker and the parent."""
        seen = self.tree.look()
        struct.pack_into("q", self.peak, 0, seen.bytes)
        if seen.bytes > self.reported * _REPORT_GROWTH:
            self.reported = seen.bytes
            self._report("peak", seen.bytes, seen.processes)

    def _over(self) -> None:
        seen = self.tree.seen
        self._report("over", seen.bytes, seen.processes)

    def _reap(self) -> bool:
        """Reap the processes that have ended; return whether any is left."""
        try:
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self.worker:
                    self.status = status
                    self._measure_last(usage)
        except ChildProcessError:
            return False

    def _measure_last(self, usage: Any) -> None:
        """Report the worker's peak memory up to its end, which may fall between two measurements."""
        if self.group is not None and self.group.was_full():
            self._over()
        held = usage.ru_maxrss * (1024 if LINUX else 1)
        if held > self.reported:
            self.reported = held
            self._report("peak", held, 1)

    def end(self) -> None:
        """End all remaining processes; report to the parent when none is left."""
        until = time.monotonic() + _END_SECONDS
        if self.group is not None:
            self.group.kill()
        while time.monotonic() < until:
            left = self.tree.kill()
            if self.status is None:
                kill_all([self.worker])
            if not self._reap() and not left:
                self._report("clean")
                break
            time.sleep(_END_PAUSE)
        if self.group is not None:
            self.group.remove()

    def _report(self, *values: object) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self.measures, f"{' '.join(map(str, values))}\n".encode())


def _close_input() -> None:
    """Close our copy of the task's pipe, so that the writer notices the worker's death."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _leave_as(status: int) -> None:
    """End as the worker did."""
    import resource

    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one such file is enough
        with contextlib.suppress(OSError, ValueError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(max(code, 0))


if __name__ == "__main__":
    guard(*map(int, sys.argv[1:5]))
