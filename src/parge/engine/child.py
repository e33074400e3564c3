"""Child: a process of our own that is at work on one task, from its start until nothing of it is left."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloudpickle

from parge.engine.base import Task
from parge.engine.failures import End
from parge.memory import process_peak_bytes

# Threads of the numerical libraries in a worker: parallelism comes from subgraphs.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS")

# Of what a worker prints, only the end is kept: days of a progress bar must fill neither memory nor disk.
_LAST_WORDS = 2000


class Child:
    """A worker process and what has been heard from it.

    It runs in a session of its own, so that Ctrl-C reaches the parent alone and everything it starts can be
    ended with it.
    """

    def __init__(self, task: Task, threads: int) -> None:
        self.task = task
        self.peak = 0
        self.answer: tuple[str, Any] | None = None
        self.progress: list[float] = []
        self._heard = bytearray()
        self._printed = bytearray()
        self.words, writing = os.pipe()
        self.prints, printing = os.pipe()
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "parge.engine.worker", str(writing), str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=printing,
                stderr=printing,
                pass_fds=(writing,),
                start_new_session=True,
                env=_environment(threads),
            )
        except BaseException:
            os.close(self.words)
            os.close(self.prints)
            raise
        finally:
            os.close(writing)
            os.close(printing)
        os.set_blocking(self.words, False)
        os.set_blocking(self.prints, False)

    def send(self) -> None:
        """Hand the task over."""
        task = self.task
        payload = cloudpickle.dumps((task.function, task.argument, task.limit_bytes))
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once; its exit code will tell
            self.process.stdin.write(len(payload).to_bytes(8, "little") + payload)
            self.process.stdin.flush()  # and stays open: its end tells the worker that we are gone

    def hear(self) -> None:
        """Take in what has been said: frames of a length and a pickled (kind, value); and what was printed."""
        self._printed += _available(self.prints)
        del self._printed[:-_LAST_WORDS]
        self._heard += _available(self.words)
        while len(self._heard) >= 8:
            length = int.from_bytes(self._heard[:8], "little")
            if len(self._heard) < 8 + length:
                break
            frame = bytes(self._heard[8 : 8 + length])
            del self._heard[: 8 + length]
            self._understand(frame)

    def _understand(self, frame: bytes) -> None:
        kind, value = pickle.loads(frame)  # our own child's words, from a private pipe
        if kind == "progress":
            self.progress.append(value)
        elif self.answer is None:
            self.answer = (kind, _rebuilt(value) if kind == "error" else value)

    def look(self) -> None:
        """Measure its memory; over the limit it is ended."""
        self.peak = max(self.peak, process_peak_bytes(self.process.pid))
        limit = self.task.limit_bytes
        if limit is not None and self.peak > limit and self.answer is None:
            self.answer = ("over", self.peak)
            self.kill()

    def has_ended(self) -> bool:
        """Return whether the process is over; it is not reaped yet, so that its number is still its own."""
        if self.process.returncode is not None:
            return True
        state = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return state is not None

    def kill(self) -> None:
        """End the process and all that it has started."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()

    def reap(self) -> End:
        """Wait until the process is gone, end what it left behind, and return how it ended."""
        if not self.has_ended():
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.hear()
        self.process.wait()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        os.close(self.words)
        os.close(self.prints)
        words = self._printed.decode(errors="replace").strip()
        return End(self.answer, self.process.returncode, self.peak, words)


def _available(pipe: int) -> bytes:
    """Return what stands in a pipe, without waiting for more."""
    blocks = []
    with contextlib.suppress(BlockingIOError):
        while block := os.read(pipe, 1 << 16):
            blocks.append(block)
    return b"".join(blocks)


def _rebuilt(value: tuple[bytes | None, str, str]) -> tuple[BaseException | str, str]:
    """Return the exception, or its words where it cannot be rebuilt here; and its traceback."""
    pickled, words, trace = value
    if pickled is not None:
        with contextlib.suppress(Exception):
            error = pickle.loads(pickled)  # raised in our own child
            if isinstance(error, BaseException):
                return error, trace
    return words, trace


def _environment(threads: int) -> dict[str, str]:
    """Return the environment of a worker: our own module path, and few threads."""
    here = str(Path.cwd())
    path = os.pathsep.join(entry or here for entry in sys.path)
    return {**os.environ, **dict.fromkeys(_THREADS, str(threads)), "PYTHONPATH": path}
