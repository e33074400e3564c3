"""What a worker process does: tasks, mostly one, read from standard input and answered on a separate pipe."""

import contextlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NoReturn

_PROGRESS_SECONDS = 0.2

# Bytes before a task or a message: its length.
_HEADER = 8


def work(pipe: int, guard: int, tree_peak: Callable[[], int]) -> NoReturn:
    """Run the task from standard input; send progress, and the result or the error, to the parent.

    After a task that shares its process, wait for the next one. `guard` is the process that watches this one
    (`parge.engine.guard`), and `tree_peak` returns its measurement.
    """
    from parge.memory import guarded_by

    _die_with(guard)
    guarded_by(tree_peak)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(tasks,), daemon=True).start()
    goes_on = True
    while goes_on:
        message, goes_on = _answer(tasks.get(), pipe)
        _send(pipe, message)
    os._exit(0)  # not through atexit handlers of libraries, which may hang


def _receive(tasks: "SimpleQueue[bytes]") -> None:
    """Read tasks until the parent sends an empty one, or closes its end of the pipe, however it died."""
    stdin = sys.stdin.buffer
    while len(header := stdin.read(_HEADER)) == _HEADER:
        length = int.from_bytes(header, "little")
        if not length:
            os._exit(0)
        if len(payload := stdin.read(length)) < length:
            break
        tasks.put(payload)
    os._exit(1)


def _answer(payload: bytes, pipe: int) -> tuple[bytes, bool]:
    """Return the message to the parent, the pickled result or the error, and whether another task may follow."""
    from parge.events import spaced
    from parge.memory import bytes_wanted, limit_memory, over_limit, tree_peak_bytes

    try:
        function, argument, limit, shares = pickle.loads(payload)  # from our parent, never from a file
        limit_memory(limit)  # its own, and not that which the parent may have set for itself
        on_progress = spaced(lambda share: _send(pipe, _frame("progress", share)), _PROGRESS_SECONDS)
        result = function(argument, on_progress)
        return (_frame("over", tree_peak_bytes()), False) if over_limit() else (_frame("done", result), shares)
    except MemoryError as error:
        wanted = bytes_wanted(error)
        limit_memory(None)  # the report itself needs a little
        return _frame("over", max(wanted, tree_peak_bytes())), False
    except BaseException as error:  # noqa: BLE001  whatever a task raises is sent back
        message = f"{type(error).__name__}: {error}"
        return _frame("error", (_pickled(error), message, traceback.format_exc())), False


def _frame(kind: str, value: Any) -> bytes:
    return pickle.dumps((kind, value))


def _send(pipe: int, message: bytes) -> None:
    data = memoryview(len(message).to_bytes(_HEADER, "little") + message)
    with contextlib.suppress(BrokenPipeError):
        while data:
            data = data[os.write(pipe, data) :]


def _pickled(error: BaseException) -> bytes | None:
    """Return the pickled exception for the parent, or None if it cannot be pickled."""
    with contextlib.suppress(Exception):
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
        return pickled
    return None


def _die_with(parent: int) -> None:
    """On Linux, have the system kill this process when the parent dies, even if Python is busy."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before we asked
