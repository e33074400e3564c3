"""How a command ends early: the signals that stop it, and the advice on how to resume."""

import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from parge.errors import PargeError
from parge.memory import bytes_wanted, format_bytes, peak_bytes
from parge.show.text import pasteable

# As `parge.techniques.base` notes it, which is not imported here: --help is to be fast.
BY_TECHNIQUE = "raised by the technique"

# Ctrl-C; asked to end by an operator, a batch system or a closed terminal: all the same.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Have Ctrl-C, SIGTERM and SIGHUP interrupt alike while inside; one that is ignored (nohup) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, _interrupt)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # A library's object that was being made goes away half-made, and says so with a traceback (llvmlite's, numba's).
    sys.unraisablehook = lambda _unraisable: None
    raise KeyboardInterrupt


@contextmanager
def resumable(folder: Path) -> Iterator[None]:
    """Add to every failure inside, and to an interruption, how to go on with the run in `folder`.

    What a technique raised becomes one message with the traceback of its worker, where it happened.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        failure = _explained(error)
        if getattr(failure, "exit_code", 1) != 2 and not _is_in_use(failure):
            failure.add_note(_how_to_resume(folder))
        if failure is error:
            raise
        raise failure from error


def _is_in_use(failure: BaseException) -> bool:
    """Return whether another process is at work on the run: then it has not stopped."""
    from parge.run.lock import InUseError

    return isinstance(failure, InUseError)


def _explained(error: BaseException) -> BaseException:
    """Return what the command line can show: a task's own exception in words, its notes kept."""
    from parge.engine.base import failed_task

    label = failed_task(error)
    if label is None or isinstance(error, PargeError):
        return error
    return _worded(f"{label} failed", error)


def _worded(what: str, error: BaseException) -> PargeError:
    failure = PargeError(f"{what}: {type(error).__name__}: {error}")
    notes = getattr(error, "__notes__", [])
    if isinstance(error, OSError) and not any(note.startswith(BY_TECHNIQUE) for note in notes):
        # The system refused it to parge itself (too many files, no room): its words say all, and --debug the rest.
        notes = [note for note in notes if "Traceback (most recent call last)" not in note]
    for i, note in enumerate(notes):
        if not any(note in later for later in notes[i + 1 :]):  # a traceback repeats the notes before it
            failure.add_note(note)
    return failure


def _how_to_resume(folder: Path) -> str:
    if not (folder / "plan").exists():
        return "Nothing was stored yet. Start again with the same command."
    given = click.get_current_context().find_root().obj
    if not isinstance(given, list):
        return f"To resume where it stopped: the same command with {pasteable('--run-dir', folder)} --resume"
    return f"To resume where it stopped: {resume_line(given)}"


def resume_line(given: Sequence[str]) -> str:
    """Return the command that resumes what some arguments started.

    >>> resume_line(["embed", "edges", "-o", "my vectors"])
    "parge embed edges -o 'my vectors' --resume"
    """
    args = [arg for arg in given if arg != "--resume"]
    end = args.index("--") if "--" in args else len(args)  # what comes after it is no option
    return pasteable("parge", *args[:end], "--resume", *args[end:])


@contextmanager
def recorded(folder: Path) -> Iterator[None]:
    """Have `parge status` show a failure inside, that of the subgraph in `folder`."""
    from parge.run.arrays import DamagedError
    from parge.run.parts import record_failure

    try:
        yield
    except MemoryError as error:
        needed = max(bytes_wanted(error), peak_bytes())
        failure = PargeError(
            f"{folder} needed {format_bytes(needed)} of memory or more; this machine did not have that much"
        )
        record_failure(folder, failure)
        raise failure from error
    except PargeError as error:
        if error.exit_code != 2 or isinstance(error, DamagedError):
            record_failure(folder, error)
        raise
    except Exception as error:
        error.add_note(traceback.format_exc().rstrip())
        failure = _worded(f"{folder} failed", error)
        record_failure(folder, failure)
        raise failure from error
