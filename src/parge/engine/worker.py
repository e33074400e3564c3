"""What a worker process does: one task, read from standard input and answered on a separate pipe."""

import contextlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

_PROGRESS_SECONDS = 0.2


def work(pipe: int, guard: int, tree_peak: Callable[[], int]) -> NoReturn:
    """Run the task from standard input; send progress, and the result or the error, to the parent.

    `guard` is the process that watches this one (`parge.engine.guard`), and `tree_peak` returns its measurement.
    """
    from parge.memory import guarded_by

    _die_with(guard)
    guarded_by(tree_peak)
    length = int.from_bytes(sys.stdin.buffer.read(8), "little")
    payload = sys.stdin.buffer.read(length)
    if len(payload) < length:
        os._exit(1)  # the parent is gone
    threading.Thread(target=_leave_when_parent_is_gone, daemon=True).start()
    _say(pipe, _answer(payload, pipe))
    os._exit(0)  # not through atexit handlers of libraries, which may hang


def _answer(payload: bytes, pipe: int) -> bytes:
    """Return the message to the parent: the pickled result, or the error."""
    from parge.events import spaced
    from parge.memory import bytes_wanted, limit_memory, over_limit, tree_peak_bytes

    try:
        function, argument, limit = pickle.loads(payload)  # from our parent, never from a file
        limit_memory(limit)  # its own, and not that which the parent may have set for itself
        on_progress = spaced(lambda share: _say(pipe, _frame("progress", share)), _PROGRESS_SECONDS)
        result = function(argument, on_progress)
        return _frame("over", tree_peak_bytes()) if over_limit() else _frame("done", result)
    except MemoryError as error:
        wanted = bytes_wanted(error)
        limit_memory(None)  # the report itself needs a little
        return _frame("over", max(wanted, tree_peak_bytes()))
    except BaseException as error:  # noqa: BLE001  whatever a task raises goes home
        return _frame("error", (_pickled(error), f"{type(error).__name__}: {error}", traceback.format_exc()))


def _frame(kind: str, value: Any) -> bytes:
    return pickle.dumps((kind, value))


def _say(pipe: int, message: bytes) -> None:
    data = memoryview(len(message).to_bytes(8, "little") + message)
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


def _leave_when_parent_is_gone() -> None:
    sys.stdin.buffer.read()  # ends when the parent's end of the pipe closes, however the parent died
    os._exit(1)


def _die_with(parent: int) -> None:
    """On Linux, have the system kill this process when the parent dies, even if Python is busy."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it died before we asked
