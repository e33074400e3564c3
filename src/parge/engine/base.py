"""Engine: how independent tasks run, and the laws of it. Nothing here knows what a graph is."""

import contextlib
import functools
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from parge.errors import Extra, InputError, PargeError
from parge.memory import format_bytes

Progress = Callable[[float], None]
Watch = Callable[["Task", float], None]
"""Called with a task and the share of it that is done."""


C = TypeVar("C")


def takes_workers(cls: type[C]) -> type[C]:
    """Let a class that is made with `jobs` take it by its former name, `workers`, too, and answer to both.

    >>> @takes_workers
    ... @dataclass(frozen=True)
    ... class Crew:
    ...     jobs: int | None = None
    >>> Crew(workers=3), Crew(jobs=2).workers
    (Crew(jobs=3), 2)
    """
    made: Callable[..., None] = cls.__init__

    @functools.wraps(made)
    def init(self: Any, *args: Any, workers: Any = ..., **settings: Any) -> None:
        if workers is not ...:
            if settings.get("jobs") not in (None, workers):
                raise InputError(f"jobs={settings['jobs']!r} and workers={workers!r} mean the same: give jobs alone")
            settings["jobs"] = workers
        made(self, *args, **settings)

    cls.__init__ = init  # type: ignore[method-assign]
    cls.workers = property(lambda self: self.jobs)  # type: ignore[attr-defined]
    return cls


def _nobody(_news: object) -> None:
    """Tell nobody of a failure, or of a new attempt."""


@dataclass(frozen=True)
class Task:
    """A call that an engine makes somewhere: ``function(argument, progress)``.

    Parameters
    ----------
    key : int
        Number of the task, for people and results.
    function : callable
        A module-level function, or one that cloudpickle can carry.
    argument : object
        Small and picklable; large data is named by a path, and goes along to machines that do not see it where
        the argument is `parge.engine.parcel.Portable`.
    projected_bytes : int
        Memory the task needs at most; an engine starts it only where that is free.
    limit_bytes : int, optional
        Memory the task may use; over it, the task fails alone.
    label : str
        What people call the task.
    advice : str
        What to do should the task fail; noted on its failure.
    on_failure : callable
        Called here (not where the task runs) with the failure, as soon as it is known.
    on_retry : callable
        Called here with words on what happened, when an engine begins the task again.
    """

    key: int
    function: Callable[[Any, Progress], Any]
    argument: Any
    projected_bytes: int = 0
    limit_bytes: int | None = None
    label: str = "task"
    advice: str = ""
    on_failure: Callable[[BaseException], None] = _nobody
    on_retry: Callable[[str], None] = _nobody


@dataclass(frozen=True)
class Engine(ABC):
    """A way to run tasks.

    Laws (held by `parge.testing.EngineContract`):

    * the same results as `serial`, in any order;
    * a failure is the task's own exception with a note that names the task; other tasks finish first;
    * a task that calls sys.exit() has failed; KeyboardInterrupt alone interrupts;
    * when `run` is left, in whichever way, nothing is left running.
    """

    name: ClassVar[str] = ""
    needs_extra: ClassVar[Extra | None] = None
    """The optional package that it cannot work without; a plan is refused where that is missing."""
    joins_cluster: ClassVar[bool] = True
    """False where it works on this machine alone, and there is no address to give."""
    in_this_process: ClassVar[bool] = False
    """True where tasks run one by one in the process that asks: `jobs` does nothing, and memory is that of all."""

    @abstractmethod
    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result, as they finish."""

    def worker_memory(self) -> list[int]:
        """Return the memory that each machine of the cluster has for one task, in bytes, the largest first."""
        raise InputError(
            f"--memory auto asks a cluster what its machines have; the engine {self.name} works on this machine: use "
            "--engine ray, or say what each worker has, as --memory 2GB,4GB"
        )


def settle(task: Task, failure: BaseException) -> BaseException:
    """Return the failure of a task with the task's advice on it, when who wants to know has been told."""
    if task.advice:
        failure.add_note(task.advice)
    with contextlib.suppress(AttributeError):  # a class of exceptions may refuse new attributes
        failure.failed_task = task.label  # type: ignore[attr-defined]
    task.on_failure(failure)
    return failure


def failed_task(error: BaseException) -> str | None:
    """Return the label of the task that raised this, or None where no task did: then it is nobody's but ours."""
    label = getattr(error, "failed_task", None)
    return label if isinstance(label, str) else None


def raise_first(failures: Sequence[BaseException], n_tasks: int) -> None:
    """Raise the first failure, saying how many there were; nothing happens where there was none."""
    if failures:
        if len(failures) > 1:
            failures[0].add_note(f"{len(failures) - 1} more of {n_tasks} tasks failed")
        raise failures[0]


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
