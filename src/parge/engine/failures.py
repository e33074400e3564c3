"""What became of a worker, in words that say what was needed, what was there, and what to do."""

import re
import signal
from dataclasses import dataclass
from typing import Any

from parge.engine.base import Task
from parge.errors import PargeError
from parge.memory import format_bytes

# How often a task is begun before it is given up: often where somebody kills its worker (the system, for want of
# memory; an operator), twice where the worker crashes by itself, which is seldom chance.
ATTEMPTS_KILLED = 5
ATTEMPTS_CRASHED = 2

_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT}


# What libraries print before they end a process that was refused memory, instead of raising MemoryError.
_NO_MEMORY = re.compile(r"memory allocation|bad_alloc|out of memory|cannot allocate memory", re.IGNORECASE)


class WorkerError(PargeError):
    """A worker that was killed, ran over its memory, or could not start."""


@dataclass(frozen=True)
class End:
    """How a worker ended: its answer, if it gave one, and what was seen of it.

    Parameters
    ----------
    answer : (kind, value), optional
        ``done`` and the result; ``error`` and (exception or words, traceback); ``over`` and bytes.
    returncode : int
        As `subprocess` has it: minus the signal that ended it, or its exit code.
    peak : int
        The most memory that it and all it started were seen to hold, in bytes.
    last_words : str
        The end of what it printed.
    processes : int
        How many processes held that memory.
    """

    answer: tuple[str, Any] | None
    returncode: int
    peak: int
    last_words: str = ""
    processes: int = 1

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return self.answer is not None and self.answer[0] == "done"

    def attempts(self) -> int:
        """Return how often a task that ends so is worth beginning."""
        if self.answer is not None or self.returncode >= 0:
            return 1
        return ATTEMPTS_KILLED if -self.returncode in _FROM_OUTSIDE else ATTEMPTS_CRASHED

    def retried(self, task: Task, attempt: int) -> str:
        """Say why a task is begun again, for the how manieth time of how many."""
        name = _signal_name(-self.returncode)
        how = "was ended from outside" if -self.returncode in _FROM_OUTSIDE else "crashed"
        return (
            f"the worker of {task.label} {how} by {name}; its memory had reached {format_bytes(self.peak)} of "
            f"{_limit(task)}; attempt {attempt} of {self.attempts()}"
        )

    def failure(self, task: Task) -> BaseException:
        """Return the exception to raise for a task that ended so."""
        nothing: tuple[str, Any] = ("", None)
        kind, value = self.answer or nothing
        if kind == "error":
            error, trace = value
            failure = as_failure(error) if isinstance(error, BaseException) else WorkerError(str(error))
            return with_place(failure, f"in the worker of {task.label}", trace)
        if kind == "over":
            return WorkerError(_over(task, max(value, self.peak), self.processes))
        if task.limit_bytes is not None and _NO_MEMORY.search(self.last_words):
            return WorkerError(f"{_over(task, max(task.limit_bytes, self.peak))}{self._said()}")
        return WorkerError(f"{self._ending(task)}{self._said()}")

    def _ending(self, task: Task) -> str:
        memory = f"its memory had reached {format_bytes(self.peak)} of {_limit(task)}"
        if self.returncode >= 0:
            return f"the worker of {task.label} left without an answer (exit code {self.returncode}); {memory}"
        name = _signal_name(-self.returncode)
        if -self.returncode in _FROM_OUTSIDE:
            return (
                f"the worker of {task.label} was ended from outside {ATTEMPTS_KILLED} times, at last by {name}; "
                f"{memory}. If the system ran out of memory, lower --jobs, or smaller subgraphs"
            )
        return f"the worker of {task.label} crashed {ATTEMPTS_CRASHED} times, at last by {name}; {memory}"

    def _said(self) -> str:
        return f". It last said:\n{self.last_words}" if self.last_words else ""


def as_failure(error: BaseException) -> BaseException:
    """Return what a task raised as something to raise here: no task ends this process by sys.exit()."""
    if isinstance(error, SystemExit):
        return WorkerError(f"the task left by sys.exit({'' if error.code is None else repr(error.code)})")
    return error


def with_place(failure: BaseException, place: str, trace: str) -> BaseException:
    """Return the failure with a note on where it happened, and the traceback unless it explains itself."""
    explained = isinstance(failure, PargeError) and not isinstance(failure, WorkerError)
    failure.add_note(place if explained else f"{place}:\n{trace.rstrip()}")
    return failure


def _over(task: Task, needed: int, processes: int = 1) -> str:
    shown = format_bytes(needed)
    shown = f"over {shown}" if shown == _limit(task) else f"{shown} or more"
    shown += f" in {processes} processes" if processes > 1 else ""
    projected = f" (projected: at most {format_bytes(task.projected_bytes)})" if task.projected_bytes else ""
    return (
        f"{task.label} needed {shown}, had {_limit(task)}{projected}; give that worker more memory, or plan smaller "
        "subgraphs"
    )


def _limit(task: Task) -> str:
    return "no limit" if task.limit_bytes is None else format_bytes(task.limit_bytes)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
