"""Fork server: one prepared process from which workers are forked, so that none has to import and load by itself.

It imports the libraries, loads compiled code, and then waits, with one thread and no data. For each task it forks a
guard (`parge.engine.guard`), which forks the worker. A worker that starts by itself takes one to two seconds of a core
before its first step; a forked one takes hundredths of a second.

Linux only: the libraries of other systems do not survive a fork. Where the server cannot start, has a second thread,
or has ended, workers start by themselves.
"""

import contextlib
import ctypes
import gc
import json
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import cloudpickle

from parge.engine.guard import MARK, guard
from parge.memory import limit_memory
from parge.process_tree import LINUX, set_process_name

# A larger preparation is not sent.
_MOST_BYTES = 60_000

# So long may a server import and load.
_PREPARE_SECONDS = 120.0
_END_SECONDS = 1.0

# Of /proc/self/stat, after the name of the process: where its environment begins and ends in memory.
_ENVIRONMENT = slice(47, 49)

UNMARKED = "0" * 32
"""The mark of a server, which its workers replace by their own, as long."""


class NoServerError(Exception):
    """The server cannot start a process."""


class Forked:
    """A process that the server started, with the interface of `subprocess.Popen` as far as it is used here."""

    def __init__(self, server: "ForkServer", pid: int, stdin: int) -> None:
        self.pid, self.stdin = pid, os.fdopen(stdin, "wb")
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Return the exit code, as `subprocess` has it, or None while the process runs."""
        if self.returncode is None:
            self._server.listen(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended; return its exit code."""
        until = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            left = None if until is None else max(0.0, until - time.monotonic())
            self._server.listen(left)
            if self.returncode is None and left == 0.0:
                raise subprocess.TimeoutExpired("worker", timeout or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The server as its parent sees it.

    `prepare` is called once in the server, to import and load what all workers need. If it fails, so will the workers,
    and they say why.
    """

    def __init__(self, environment: Mapping[str, str], prepare: Callable[[], None]) -> None:
        payload = cloudpickle.dumps(prepare)
        if not LINUX or len(payload) > _MOST_BYTES:
            raise NoServerError
        self._running: dict[int, Forked] = {}
        self._is_ready = self._is_useless = False
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_PREPARE_SECONDS)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "parge.engine.forkserver", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**environment, MARK: UNMARKED},
            )
            with contextlib.suppress(OSError):  # it died at once, as the first request will show
                self._socket.send(payload)
        except BaseException:
            self._socket.close()
            raise
        finally:
            theirs.close()

    def start(self, limit: int, mark: str, *, output: int, results: int, measures: int) -> Forked:
        """Fork a guard that writes to these pipes; the first call waits until the server is prepared."""
        if self._is_useless:
            raise NoServerError
        reading, stdin = os.pipe()
        try:
            request = json.dumps({"limit": limit, "mark": mark}).encode()
            self._wait_until_prepared()
            socket.send_fds(self._socket, [request], [reading, output, results, measures])
            pid = self._reply("pid")
            if pid is None:  # the system allows no more processes
                raise NoServerError
            child = Forked(self, pid, stdin)
        except BaseException as error:
            os.close(stdin)
            if isinstance(error, OSError):
                self._is_useless = True
                raise NoServerError from error
            raise
        finally:
            os.close(reading)
        self._running[child.pid] = child
        return child

    def _wait_until_prepared(self) -> None:
        if not self._is_ready and not self._reply("ready"):
            raise ConnectionError("the server has a second thread")
        self._is_ready = True

    def listen(self, seconds: float | None) -> None:
        """Wait for messages about processes that have ended. If the server has, its processes count as killed."""
        try:
            ready = select.poll()  # not select(): the number of the socket may be large
            ready.register(self._socket, select.POLLIN)
            while ready.poll(None if seconds is None else 1000 * seconds):
                self._receive()
                seconds = 0.0
        except (OSError, ValueError):  # ValueError: it was closed
            for child in self._running.values():
                child.returncode = -signal.SIGKILL
            self._running.clear()

    def _reply(self, key: str) -> Any:
        while True:
            answer = self._receive()
            if key in answer:
                return answer[key]

    def _receive(self) -> dict[str, Any]:
        message = self._socket.recv(4096)
        if not message:
            raise ConnectionError("the server has ended")
        answer: dict[str, Any] = json.loads(message)
        if "ended" in answer:
            pid, status = answer["ended"]
            if (child := self._running.pop(pid, None)) is not None:
                child.returncode = os.waitstatus_to_exitcode(status)
        return answer

    def close(self) -> None:
        """End the server, and with it what it has started."""
        self._socket.close()
        if self._is_ready:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._process.kill()
        self._process.wait()


# ----------------------------------------------------------------------------------------------- in the server itself


def main() -> None:
    """Prepare, then fork a guard for each request until the parent is gone."""
    given = int(sys.argv[1])
    parent = socket.socket(fileno=os.dup(given))  # the lowest number that is free, and not inherited
    os.close(given)
    set_process_name("parge-server")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    limit_memory(None)  # not that of the parent
    payload = parent.recv(2 * _MOST_BYTES)
    with contextlib.suppress(Exception):
        pickle.loads(payload)()  # from our parent, never from a file
    is_ready = len(os.listdir("/proc/self/task")) == 1 and _mark_place() is not None  # noqa: PTH208
    parent.send(json.dumps({"ready": is_ready}).encode())
    if is_ready:
        gc.collect()
        gc.freeze()  # what is there now stays shared with the workers
        _Server(parent).serve()


class _Server:
    """The loop of the server."""

    def __init__(self, parent: socket.socket) -> None:
        self.parent, self.pid = parent, os.getpid()
        self.guards: set[int] = set()
        self.ended, self.waking = os.pipe()
        for end in (self.ended, self.waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self.waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def serve(self) -> None:
        with contextlib.suppress(OSError):  # the parent is gone
            while True:
                select.select([self.parent.fileno(), self.ended], [], [])
                with contextlib.suppress(BlockingIOError):
                    os.read(self.ended, 4096)
                self._reap()
                if select.select([self.parent], [], [], 0)[0] and not self._fork():
                    break
        for pid in self.guards:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                self.guards.discard(found[0])
                self.parent.send(json.dumps({"ended": found}).encode())

    def _fork(self) -> bool:
        """Answer one request; return False where there are no more."""
        request, pipes, _flags, _address = socket.recv_fds(self.parent, 4096, 4)
        if not request:
            return False
        wanted, pid = json.loads(request), None
        with contextlib.suppress(OSError):  # too many processes: the others go on
            pid = os.fork()
        if pid == 0:
            self._become_guard(wanted["limit"], wanted["mark"], pipes)
        if pid is not None:
            self.guards.add(pid)
        for pipe in pipes:
            os.close(pipe)
        self.parent.send(json.dumps({"pid": pid}).encode())
        return True

    def _become_guard(self, limit: int, mark: str, pipes: list[int]) -> NoReturn:
        """Be a process as if started by itself: its own session, streams, mark and random numbers."""
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            for end in (self.ended, self.waking):
                os.close(end)
            self.parent.close()
            stdin, output, results, measures = pipes
            for old, new in ((stdin, 0), (output, 1), (output, 2)):
                os.dup2(old, new)
            for pipe in (stdin, output):
                os.close(pipe)
            for pipe in (results, measures):
                os.set_inheritable(pipe, False)
            _set_mark(mark)
            if "numpy" in sys.modules:
                sys.modules["numpy"].random.seed()  # `random` itself does so after a fork
            guard(results, measures, self.pid, limit)
        except BaseException:  # noqa: BLE001  whatever happens, this process never serves
            traceback.print_exc()
        os._exit(1)


def _mark_place() -> int | None:
    """Return where in memory the mark of this process stands, as the system shows it to others; None if unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b") ")[2].split()
        first, last = map(int, fields[_ENVIRONMENT])
        if not 0 < first < last:
            return None
        at = ctypes.string_at(first, last - first).find(f"{MARK}={UNMARKED}".encode())
        return None if at < 0 else first + at + len(MARK) + 1
    return None


def _set_mark(mark: str) -> None:
    """Replace the mark in the environment: other processes read it from the system, and what we start inherits it."""
    place = _mark_place()
    if place is not None and len(mark) == len(UNMARKED):
        ctypes.memmove(place, mark.encode(), len(mark))
    os.environ[MARK] = mark


if __name__ == "__main__":
    main()
