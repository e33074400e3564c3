"""A fresh process for every task, its memory capped by the operating system; one that dies takes nobody with it."""

import contextlib
import os
import pickle
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, ClassVar

import cloudpickle
import psutil

from parge.engine.base import Engine, Task, Watch, raise_first
from parge.errors import PargeError
from parge.memory import format_bytes, process_peak_bytes

# Threads of the numerical libraries in a worker: parallelism comes from subgraphs.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS")

_POLL_SECONDS = 0.1
_ATTEMPTS = 5

# Share of the free memory that running tasks may be projected to use together.
_FREE_SHARE = 0.9


class WorkerError(PargeError):
    """A worker that was killed, ran over its memory, or could not start."""


@dataclass(frozen=True)
class Processes(Engine):
    """Runs each task in a process of its own, as many at once as cores and memory allow.

    Parameters
    ----------
    workers : int, optional
        The most tasks at once; by default one a core.
    threads : int
        Threads of the numerical libraries in each worker.
    """

    name: ClassVar[str] = "processes"

    workers: int | None = None
    threads: int = 1

    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result as it finishes; failures are raised after the last task."""
        pool = _Pool(self.workers or len(os.sched_getaffinity(0)), self.threads, watch)
        failures: list[BaseException] = []
        try:
            for task, result, failure in pool.run(tasks):
                if failure is None:
                    yield task, result
                else:
                    failures.append(failure)
        finally:
            pool.stop()
        raise_first(failures, len(tasks))


@dataclass(eq=False)
class _Worker:
    """A process at work on a task, and what has been heard from it."""

    task: Task
    process: subprocess.Popen[bytes]
    pipe: int
    errors: IO[bytes]
    heard: bytearray = field(default_factory=bytearray)
    answer: tuple[str, Any] | None = None
    peak: int = 0
    last_words: str = ""


class _Pool:
    """The workers that are alive, and the tasks that wait."""

    def __init__(self, most: int, threads: int, watch: Watch) -> None:
        self.most, self.threads, self.watch = most, threads, watch
        self.alive: list[_Worker] = []
        self.selector = selectors.DefaultSelector()
        self.budget = int(psutil.virtual_memory().available * _FREE_SHARE)

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, Any, BaseException | None]]:
        # The largest first: the last to finish decides when all are done.
        waiting = sorted(tasks, key=lambda task: -task.projected_bytes)
        attempts = dict.fromkeys((task.key for task in tasks), 0)
        while waiting or self.alive:
            while waiting and self._has_room(waiting[0]):
                task = waiting.pop(0)
                attempts[task.key] += 1
                self._start(task)
            for worker in self._finished():
                failure = _failure(worker)
                if isinstance(failure, _KilledError) and attempts[worker.task.key] < _ATTEMPTS:
                    waiting.insert(0, worker.task)
                    continue
                result = worker.answer[1] if worker.answer and failure is None else None
                yield worker.task, result, failure

    def _has_room(self, task: Task) -> bool:
        if not self.alive:
            return True
        used = sum(worker.task.projected_bytes for worker in self.alive)
        return len(self.alive) < self.most and used + task.projected_bytes <= self.budget

    def _start(self, task: Task) -> None:
        reading, writing = os.pipe()
        errors = tempfile.TemporaryFile()  # noqa: SIM115  closed when the worker is reaped
        threads = dict.fromkeys(_THREADS, str(self.threads))
        process = subprocess.Popen(
            [sys.executable, "-m", "parge.engine.worker", str(writing), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            pass_fds=(writing,),
            start_new_session=True,
            env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )
        os.close(writing)
        os.set_blocking(reading, False)
        worker = _Worker(task, process, reading, errors)
        self.alive.append(worker)
        self.selector.register(reading, selectors.EVENT_READ, worker)
        self.watch(task, 0.0)
        payload = cloudpickle.dumps((task.function, task.argument, task.limit_bytes))
        try:
            assert process.stdin is not None
            process.stdin.write(len(payload).to_bytes(8, "little") + payload)
            process.stdin.flush()  # and stays open: its end tells the worker that we are gone
        except BrokenPipeError:
            pass  # it died at once; the exit code will tell

    def _finished(self) -> list[_Worker]:
        """Listen for a moment; return the workers that have ended, reaped."""
        for key, _ in self.selector.select(_POLL_SECONDS):
            self._hear(key.data)
        done = []
        for worker in list(self.alive):
            worker.peak = max(worker.peak, process_peak_bytes(worker.process.pid))
            limit = worker.task.limit_bytes
            if limit is not None and worker.peak > limit and worker.answer is None:
                worker.process.kill()
                worker.answer = ("over", worker.peak)
            if worker.process.poll() is not None:
                self._hear(worker)
                self._reap(worker)
                done.append(worker)
        return done

    def _hear(self, worker: _Worker) -> None:
        """Take in what the worker has written: frames of a length and a pickled (kind, value)."""
        while True:
            try:
                block = os.read(worker.pipe, 1 << 16)
            except BlockingIOError:
                break
            if not block:
                break
            worker.heard += block
        while len(worker.heard) >= 8:
            length = int.from_bytes(worker.heard[:8], "little")
            if len(worker.heard) < 8 + length:
                break
            kind, value = pickle.loads(
                bytes(worker.heard[8 : 8 + length])
            )  # our own child's words, from a private pipe
            del worker.heard[: 8 + length]
            if kind == "progress":
                self.watch(worker.task, value)
            elif worker.answer is None:
                worker.answer = (kind, value)

    def _reap(self, worker: _Worker) -> None:
        worker.process.wait()
        if worker.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                worker.process.stdin.close()
        worker.last_words = _tail(worker.errors)
        worker.errors.close()
        self.selector.unregister(worker.pipe)
        os.close(worker.pipe)
        self.alive.remove(worker)

    def stop(self) -> None:
        """End all workers and wait until they are gone."""
        for worker in list(self.alive):
            worker.process.kill()
        for worker in list(self.alive):
            self._reap(worker)
        self.selector.close()


class _KilledError(WorkerError):
    """A worker that somebody killed: worth another try."""


def _failure(worker: _Worker) -> BaseException | None:
    """Return why a worker failed, or None where it did not."""
    task, answer = worker.task, worker.answer
    if answer is not None and answer[0] == "done":
        return None
    if answer is not None and answer[0] == "error":
        error, trace = answer[1]
        failure: BaseException = error if isinstance(error, BaseException) else WorkerError(str(error))
        failure.add_note(f"in the worker of {task.label}:\n{trace.rstrip()}")
        return failure
    if answer is not None and answer[0] in {"over", "memory"}:
        had = "no limit" if task.limit_bytes is None else format_bytes(task.limit_bytes)
        return WorkerError(
            f"{task.label} needed {format_bytes(max(answer[1], worker.peak))} or more, had {had} (projected: at most "
            f"{format_bytes(task.projected_bytes)}); give that worker more memory, or plan smaller tasks"
        )
    words = f" It last said:\n{worker.last_words}" if worker.last_words else ""
    return _KilledError(
        f"the worker of {task.label} was ended from outside, {_ATTEMPTS} times (exit code "
        f"{worker.process.returncode}); its memory had reached {format_bytes(worker.peak)}. If the system ran out of "
        f"memory, use fewer --workers.{words}"
    )


def _tail(file: IO[bytes]) -> str:
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - 2000))
    return file.read().decode(errors="replace").strip()
