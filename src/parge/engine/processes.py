"""One new process per task, its memory limited by the operating system; if one dies, the others continue.

Small tasks that say so (`Task.shares_process`) follow each other in one process; what ends it ends only the task that
it is at. `Child` is one such process, from its start until all the processes that it started have ended.
"""

import contextlib
import os
import pickle
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle
import psutil

from parge.engine.base import End, Engine, Task, Watch, WorkerError, raise_first, with_advice
from parge.engine.cgroup import Group
from parge.engine.forkserver import Forked, ForkServer, NoServerError
from parge.engine.guard import MARK
from parge.process_tree import POLL_SECONDS, Seen, kill_all
from parge.storage import current_folder, machine_cores
from parge.values import takes_workers

__all__ = ["Processes", "WorkerError"]

# Share of the free memory that running tasks may be projected to use together.
_FREE_SHARE = 0.9

# From this attempt on a task runs alone: where the system killed for want of memory, that is what helps.
_ALONE_FROM = 3

# Threads of the numerical libraries in a worker: parallelism comes from subgraphs.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS")

# Of what a worker prints, only the end is kept: days of a progress bar must fill neither memory nor disk.
_LAST_OUTPUT = 2000

# Time for a guard to end its worker and all that it started.
_END_SECONDS = 15.0


class Child:
    """A worker process, its guard (`parge.engine.guard`), and the messages received from both.

    They run in a separate session, so Ctrl-C reaches only the parent. `process` is the guard, which measures the
    worker and the processes it starts, ends them, and then ends as the worker did.
    """

    def __init__(self, task: Task, threads: int, server: ForkServer | None = None) -> None:
        self.task = task
        self.seen = Seen()
        self.answer: tuple[str, Any] | None = None
        self.progress: list[float] = []
        self._heard = bytearray()
        self._printed = bytearray()
        self._measured = bytearray()
        self._mark = secrets.token_hex(16)
        self._group: Group | None = None
        self._is_clean = self._goes_on = False
        (self.results, writing), (self.output, printing), (self.measures, measuring) = os.pipe(), os.pipe(), os.pipe()
        try:
            self.process = self._start(server, threads, printing, writing, measuring)
        except BaseException:
            self._close()
            raise
        finally:
            for end in (writing, printing, measuring):
                os.close(end)
        for pipe in self.pipes:
            os.set_blocking(pipe, False)

    def _start(
        self, server: ForkServer | None, threads: int, output: int, results: int, measures: int
    ) -> "subprocess.Popen[bytes] | Forked":
        """Start the guard: forked from the server, or by itself."""
        limit = self.task.limit_bytes or 0
        if server is not None:
            with contextlib.suppress(NoServerError):
                return server.start(limit, self._mark, output=output, results=results, measures=measures)
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "parge.engine.guard", *map(str, (results, measures, os.getpid(), limit))],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            pass_fds=(results, measures),
            start_new_session=True,
            env=_environment(threads) | {MARK: self._mark},
        )

    @property
    def pipes(self) -> tuple[int, int, int]:
        """The pipes to read: its messages, its output, and the messages of its guard."""
        return self.results, self.output, self.measures

    def _close(self) -> None:
        for pipe in self.pipes:
            os.close(pipe)

    def send(self, *, goes_on: bool = False) -> None:
        """Send the task. The worker ends after it, unless it goes on to the next one (`take`), or ends."""
        task = self.task
        self._goes_on = goes_on
        self._write(cloudpickle.dumps((task.function, task.argument, task.limit_bytes, goes_on)))

    def take(self, task: Task) -> End:
        """Return how the task ended, and send the next one to the same process."""
        end = End(self.answer, 0, self.seen.bytes, processes=self.seen.processes)
        self.task, self.answer = task, None
        self._printed.clear()
        self.send(goes_on=True)
        return end

    def dismiss(self) -> None:
        """Let a worker that waits for the next task end."""
        self._goes_on = False
        self._write(b"")

    @property
    def is_waiting(self) -> bool:
        """Whether the worker has done its task and would take another one."""
        return self._goes_on and self.answer is not None and self.answer[0] == "done"

    def _write(self, payload: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once; its exit code will show why
            self.process.stdin.write(len(payload).to_bytes(8, "little") + payload)
            self.process.stdin.flush()  # and stays open: the worker ends when it is closed

    def receive(self) -> None:
        """Read the messages (frames of a length and a pickled (kind, value)), the output, and the measurements."""
        self._printed += _available(self.output)
        del self._printed[:-_LAST_OUTPUT]
        self._heard += _available(self.results)
        while len(self._heard) >= 8:
            length = int.from_bytes(self._heard[:8], "little")
            if len(self._heard) < 8 + length:
                break
            frame = bytes(self._heard[8 : 8 + length])
            del self._heard[: 8 + length]
            self._understand(frame)
        self._measured += _available(self.measures)
        *lines, rest = self._measured.split(b"\n")
        self._measured = rest
        for line in lines:
            self._understand_guard(line.decode())

    def _understand(self, frame: bytes) -> None:
        kind, value = pickle.loads(frame)  # our own child's words, from a private pipe
        if kind == "progress":
            self.progress.append(value)
        elif self.answer is None:
            self.answer = (kind, _rebuilt(value) if kind == "error" else value)

    def _understand_guard(self, line: str) -> None:
        kind, _, value = line.partition(" ")
        if kind in ("peak", "over"):
            seen = Seen(*map(int, value.split()))
            self.seen = max(self.seen, seen, key=lambda each: each.bytes)
            if kind == "over" and self.answer is None:
                self.answer = ("over", seen.bytes)
        elif kind == "group":
            self._group = Group(Path(value))
        elif kind == "clean":
            self._is_clean = True

    def has_ended(self) -> bool:
        """Return whether the worker and its guard have ended."""
        return self.process.poll() is not None

    def kill(self) -> None:
        """Ask the guard to end the worker and the processes it started."""
        for number in (signal.SIGTERM, signal.SIGCONT):  # one that was stopped would not notice
            self.process.send_signal(number)

    def reap(self) -> End:
        """Wait until all processes of the worker have ended, and return how it ended."""
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.receive()
        if not self._is_clean:
            self._sweep()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        self._close()
        output = self._printed.decode(errors="replace").strip()
        return End(self.answer, self.process.wait(), self.seen.bytes, output, self.seen.processes)

    def _sweep(self) -> None:
        """End the processes that a killed guard could not: those with our mark, or in the control group."""
        if self._group is not None:
            self._group.kill()
        end = time.monotonic() + _END_SECONDS
        while time.monotonic() < end and kill_all(_marked(self._mark)):
            time.sleep(0.01)
        if self._group is not None:
            self._group.remove()


def _marked(mark: str) -> list[int]:
    """Return the processes with that mark in their environment, as far as we may read it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def _available(pipe: int) -> bytes:
    """Return the content of a pipe, without waiting for more."""
    blocks = []
    with contextlib.suppress(BlockingIOError):
        while block := os.read(pipe, 1 << 16):
            blocks.append(block)
    return b"".join(blocks)


def _rebuilt(value: tuple[bytes | None, str, str]) -> tuple[BaseException | str, str]:
    """Return the exception (or its text if it cannot be unpickled here) and its traceback."""
    pickled, message, trace = value
    if pickled is not None:
        with contextlib.suppress(Exception):
            error = pickle.loads(pickled)  # raised in our own child
            if isinstance(error, BaseException):
                return error, trace
    return message, trace


def _environment(threads: int) -> dict[str, str]:
    """Return the environment of a worker: our own module path, few threads, and no allocator that hoards.

    Arrow's own takes a gigabyte of addresses at a time, which a limit counts; what is set outside holds.
    """
    here = str(current_folder() or "")
    path = os.pathsep.join(entry for entry in (found or here for found in sys.path) if entry)
    own = {"ARROW_DEFAULT_MEMORY_POOL": "system"}
    return {**own, **os.environ, **dict.fromkeys(_THREADS, str(threads)), "PYTHONPATH": path}


@takes_workers
@dataclass(frozen=True)
class Processes(Engine):
    """Runs each task in a separate process, as many at once as cores and memory allow.

    Use it on one machine; it is the default. On the command line: ``--engine processes``.

    A forked process costs about 0.05 s of a core, so small tasks that may share one follow each other in it.

    Parameters
    ----------
    jobs : int, optional
        Maximum number of tasks at once; by default one per core.
    threads : int
        Threads of the numerical libraries in each worker.
    """

    name: ClassVar[str] = "processes"
    joins_cluster: ClassVar[bool] = False

    jobs: int | None = None
    threads: int = 1
    server: ForkServer | None = field(default=None, repr=False, compare=False)
    """From which workers are forked; set by `prepared`."""

    @contextlib.contextmanager
    def prepared(self, prepare: Callable[[], None]) -> Iterator[Engine]:
        """Yield this engine with a process from which workers are forked, prepared in the background."""
        server = _server(self.threads, prepare)
        try:
            yield replace(self, server=server)
        finally:
            if server is not None:
                server.close()

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result as it finishes; failures are raised after the last task."""
        failures: list[BaseException] = []
        own = _server(self.threads, _nothing) if self.server is None and len(tasks) > 1 else None
        pool = _Pool(self.jobs or machine_cores(), self.threads, watch, self.server or own)
        try:
            for task, end in pool.run(tasks):
                if end.done and end.answer is not None:
                    yield task, end.answer[1]
                else:
                    failures.append(with_advice(task, end.failure(task)))
        finally:
            pool.stop()
            if own is not None:
                own.close()
        raise_first(failures, tasks)


def _server(threads: int, prepare: Callable[[], None]) -> ForkServer | None:
    """Start a fork server, if that is possible: numerical libraries with threads do not survive a fork."""
    if threads == 1:
        with contextlib.suppress(NoServerError, OSError):
            return ForkServer(_environment(threads), prepare)
    return None


def _nothing() -> None:
    """Prepare nothing."""


class _Pool:
    """The workers that are alive, and the tasks that wait."""

    def __init__(self, most: int, threads: int, watch: Watch, server: ForkServer | None) -> None:
        self.most, self.threads, self.watch, self.server = most, threads, watch, server
        self.alive: list[Child] = []
        self.waiting: list[Task] = []
        self.attempts: Counter[int] = Counter()
        self.selector = selectors.DefaultSelector()
        self.budget = int(psutil.virtual_memory().available * _FREE_SHARE)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, End]]:
        # The largest first: the last to finish decides when all are done.
        self.waiting = waiting = sorted(tasks, key=lambda task: -task.projected_bytes)
        while waiting or self.alive:
            while waiting and self._fits_now(waiting[0]):
                self._start(waiting.pop(0))
            for task, end in self._ended():
                attempts = self.attempts[task.key]
                if not end.done and attempts < end.attempts():
                    task.on_retry(end.retried(task, attempts + 1))
                    waiting.insert(0, task)
                else:
                    yield task, end

    def _fits_now(self, task: Task) -> bool:
        if not self.alive or task.needs_others:
            return True
        if max(self.attempts[other.key] + (other is task) for other in [task, *self._tasks()]) >= _ALONE_FROM:
            return False
        used = sum(other.projected_bytes for other in self._tasks())
        return len(self.alive) < self.most and used + task.projected_bytes <= self.budget

    def _tasks(self) -> list[Task]:
        return [child.task for child in self.alive]

    def _start(self, task: Task) -> None:
        self.attempts[task.key] += 1
        child = Child(task, self.threads, self.server)
        self.alive.append(child)
        for pipe in child.pipes:
            self.selector.register(pipe, selectors.EVENT_READ, child)
        self.watch(task, 0.0)
        child.send(goes_on=task.shares_process and self.attempts[task.key] == 1)

    def _ended(self) -> list[tuple[Task, End]]:
        """Wait briefly for messages; return the tasks whose workers have ended, and how."""
        for key, _ in self.selector.select(POLL_SECONDS):
            key.data.receive()
        ended = []
        for child in list(self.alive):
            if child.has_ended():
                ended.append((child.task, self._reap(child)))
            while child.progress:
                self.watch(child.task, child.progress.pop(0))
            if child in self.alive and child.is_waiting:
                ended += self._go_on(child)
        return ended

    def _go_on(self, child: Child) -> list[tuple[Task, End]]:
        """Give a worker that waits its next task and return how the last one ended; or let it end, to be reaped."""
        last = child.task
        new = next(iter(self.waiting), last)
        if new is last or self.attempts[new.key] or not new.shares_process or new.limit_bytes != last.limit_bytes:
            child.dismiss()
            return []
        self.attempts[self.waiting.pop(0).key] += 1
        ended = [(last, child.take(new))]
        self.watch(new, 0.0)
        return ended

    def _reap(self, child: Child) -> End:
        for pipe in child.pipes:
            self.selector.unregister(pipe)
        self.alive.remove(child)
        return child.reap()

    def stop(self) -> None:
        """End all workers and wait until they have ended."""
        for child in self.alive:
            child.kill()
        for child in list(self.alive):
            self._reap(child)
        self.selector.close()
