"""Base class of engines, which run independent tasks, its laws, and engines by name. Nothing here knows graphs."""

import contextlib
import inspect
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from parge.errors import Extra, InputError, PargeError
from parge.memory import format_bytes
from parge.registry import Registry

Progress = Callable[[float], None]
Watch = Callable[["Task", float], None]
"""Called with a task and the share that is done."""


def _ignore(_value: object) -> None:
    """Ignore a failure or a retry; the default of `on_failure` and `on_retry`."""


@dataclass(frozen=True)
class Task:
    """A call for an engine to run: ``function(argument, progress)``.

    Parameters
    ----------
    key : int
        Number of the task, for messages and results.
    function : callable
        A module-level function, or one that cloudpickle can pickle.
    argument : object
        Small and picklable. Large data is given as a path; if the argument is `parge.engine.remote_task.Portable`,
        it is sent to machines that cannot access the path, unless the argument says that all can.
    projected_bytes : int
        Upper bound on the memory of the task; an engine starts it only where that much is free.
    limit_bytes : int, optional
        Memory limit of the task; if it is exceeded, only this task fails.
    label : str
        Name of the task in messages.
    advice : str, or a function that returns it
        What to do if the task fails; added to its exception as a note. A function is called only then.
    shares_process : bool
        Whether an engine may run it in a process that has run another such task: it is small, and leaves nothing
        behind. A task that is retried has a process of its own.
    needs_others : bool
        Whether the tasks of a run talk to each other. An engine on this machine then starts all at once. One that is
        lost is started again while the others wait for it.
    on_failure : callable
        Called in this process (not where the task runs) with the exception, as soon as it is known.
    on_retry : callable
        Called in this process with a description when an engine retries the task.
    """

    key: int
    function: Callable[[Any, Progress], Any]
    argument: Any
    projected_bytes: int = 0
    limit_bytes: int | None = None
    label: str = "task"
    advice: str | Callable[[], str] = ""
    shares_process: bool = False
    needs_others: bool = False
    on_failure: Callable[[BaseException], None] = _ignore
    on_retry: Callable[[str], None] = _ignore


@dataclass(frozen=True)
class Engine(ABC):
    """Base class of engines: a way to run tasks.

    Laws (held by `parge.testing.EngineContract`):

    * the same results as `serial`, in any order;
    * a failure is the task's own exception with a note that names the task; it is raised after the other tasks end;
    * a task that calls sys.exit() has failed; only KeyboardInterrupt interrupts;
    * when `run` ends, for any reason, nothing is left running.
    """

    name: ClassVar[str] = ""
    needs_extra: ClassVar[Extra | None] = None
    """The optional package that it needs; a plan is refused if that is not installed."""
    joins_cluster: ClassVar[bool] = True
    """False if it works only on this machine, so that there is no address to give."""
    in_this_process: ClassVar[bool] = False
    """True if tasks run one by one in the calling process: `jobs` has no effect, and memory is that of the process."""

    @abstractmethod
    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result, as they finish."""

    @contextlib.contextmanager
    def prepared(self, _prepare: Callable[[], None]) -> Iterator["Engine"]:
        """Yield this engine, with a process in which `prepare` has been called, if workers can be forked from one.

        `prepare` imports and loads what all workers need; it must start no thread. It runs in the background, so that
        other work can go on before `run`.
        """
        yield self

    @contextlib.contextmanager
    def connected(self) -> Iterator["Engine"]:
        """Yield this engine, with what every `run` would connect to kept open between them."""
        yield self

    def at_once(self, n_tasks: int) -> "Engine":
        """Return this engine with room for that many tasks at the same time, for tasks that need each other.

        It sets `jobs`, if the engine has that field. Override it where concurrency is set otherwise.
        """
        names = {field.name for field in fields(self)} & {"jobs", "workers"}
        return replace(self, **dict.fromkeys(names, n_tasks))

    def worker_memory(self) -> list[int]:
        """Return the memory that each machine of the cluster has for one task, in bytes, the largest first."""
        raise InputError(
            f"--memory auto needs a cluster, and the engine {self.name} uses only this machine. Use --engine ray, or "
            "give the memory of each worker, such as --memory 2GB,4GB."
        )


def with_advice(task: Task, failure: BaseException) -> BaseException:
    """Attach the task's advice to the exception after calling `on_failure`; return the exception."""
    advice = task.advice() if callable(task.advice) else task.advice
    if advice:
        failure.add_note(advice)
    with contextlib.suppress(AttributeError):  # a class of exceptions may refuse new attributes
        failure.failed_task = task.label  # type: ignore[attr-defined]
    task.on_failure(failure)
    return failure


def failed_task(error: BaseException) -> str | None:
    """Return the label of the task that raised this exception, or None if no task did."""
    label = getattr(error, "failed_task", None)
    return label if isinstance(label, str) else None


def raise_first(failures: Sequence[BaseException], tasks: Sequence[Task]) -> None:
    """Raise the first failure, with the number of failures as a note; do nothing if there is none.

    Tasks that need each other have no such note: they fail because the first one did.
    """
    if failures:
        if len(failures) > 1 and not all(task.needs_others for task in tasks):
            failures[0].add_note(f"{len(failures) - 1} more of {len(tasks)} tasks failed")
        raise failures[0]


# How often a task is started before it is given up: often where something kills its worker (the system, for want of
# memory; an operator), twice where the worker crashes by itself, which is seldom chance.
ATTEMPTS_KILLED = 5
ATTEMPTS_CRASHED = 2

_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT}


# What libraries print before they end a process that was refused memory, instead of raising MemoryError.
_NO_MEMORY = re.compile(r"memory allocation|bad_alloc|out of memory|cannot allocate memory", re.IGNORECASE)


class WorkerError(PargeError):
    """A worker was killed, exceeded its memory limit, or could not start."""


@dataclass(frozen=True)
class End:
    """How a worker ended: its answer, if there is one, and measurements."""

    # (kind, value): ``done`` and the result; ``error`` and (exception or words, traceback); ``over`` and bytes.
    answer: tuple[str, Any] | None
    returncode: int  # as `subprocess` has it: minus the signal that ended it, or its exit code
    peak: int  # measured peak memory of the worker and the processes it started, in bytes
    last_output: str = ""  # the end of its output
    processes: int = 1  # how many processes held that memory

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return self.answer is not None and self.answer[0] == "done"

    def attempts(self) -> int:
        """Return how many attempts a task that ends like this gets."""
        if self.answer is not None or self.returncode >= 0:
            return 1
        return ATTEMPTS_KILLED if -self.returncode in _FROM_OUTSIDE else ATTEMPTS_CRASHED

    def retried(self, task: Task, attempt: int) -> str:
        """Describe the retry: the reason, and attempt k of n."""
        name = _signal_name(-self.returncode)
        how = "was killed from outside" if -self.returncode in _FROM_OUTSIDE else "crashed"
        return (
            f"the worker of {task.label} {how} by {name}; its memory had reached {format_bytes(self.peak)} of "
            f"{_limit(task)}; attempt {attempt} of {self.attempts()}"
        )

    def failure(self, task: Task) -> BaseException:
        """Return the exception to raise for a task that ended like this."""
        nothing: tuple[str, Any] = ("", None)
        kind, value = self.answer or nothing
        if kind == "error":
            error, trace = value
            failure = as_failure(error) if isinstance(error, BaseException) else WorkerError(str(error))
            return with_place(failure, f"in the worker of {task.label}", trace)
        if kind == "over":
            return WorkerError(_over(task, max(value, self.peak), self.processes))
        if task.limit_bytes is not None and _NO_MEMORY.search(self.last_output):
            return WorkerError(f"{_over(task, max(task.limit_bytes, self.peak))}{self._shown_output()}")
        return WorkerError(f"{self._ending(task)}{self._shown_output()}")

    def _ending(self, task: Task) -> str:
        memory = f"its memory had reached {format_bytes(self.peak)} of {_limit(task)}"
        if self.returncode >= 0:
            return f"the worker of {task.label} ended without an answer (exit code {self.returncode}); {memory}"
        name = _signal_name(-self.returncode)
        if -self.returncode in _FROM_OUTSIDE:
            return (
                f"the worker of {task.label} was killed from outside {ATTEMPTS_KILLED} times, the last time by {name}; "
                f"{memory}. If the system ran out of memory, lower --jobs, or plan smaller subgraphs."
            )
        return f"the worker of {task.label} crashed {ATTEMPTS_CRASHED} times, the last time by {name}; {memory}"

    def _shown_output(self) -> str:
        return f"\nIts last output:\n{self.last_output}" if self.last_output else ""


def as_failure(error: BaseException) -> BaseException:
    """Return a task's exception as one to raise here: a task must not end this process by sys.exit()."""
    if isinstance(error, SystemExit):
        return WorkerError(f"the task called sys.exit({'' if error.code is None else repr(error.code)})")
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
        f"{task.label} needed {shown}, had {_limit(task)}{projected}. Give that worker more memory, or plan smaller "
        "subgraphs."
    )


def _limit(task: Task) -> str:
    return "no limit" if task.limit_bytes is None else format_bytes(task.limit_bytes)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


engines: Registry[Callable[..., Engine]] = Registry("engine")
engines.register_at("serial", "parge.engine.serial:Serial")
engines.register_at("processes", "parge.engine.processes:Processes")
engines.register_at("ray", "parge.engine.ray:Ray")


def runs_here(name: str) -> bool:
    """Return whether the tasks of that engine run in this process; False if the engine is not installed.

    >>> runs_here("serial"), runs_here("processes"), runs_here("a plug-in that is not installed")
    (True, False, False)
    """
    return name in engines.names() and bool(_attribute(name, "in_this_process", default=False))


def joins_cluster(name: str) -> bool:
    """Return whether the tasks of that engine may run on other machines.

    >>> joins_cluster("serial"), joins_cluster("processes")
    (False, False)
    """
    return bool(_attribute(name, "joins_cluster", default=True))


def _attribute(name: str, attribute: str, *, default: Any) -> Any:
    """Return an attribute of an engine; the engine of a plug-in may be any callable, without attributes."""
    return getattr(engines.get(name), attribute, default)


def check_engine(name: str, address: str | None = None) -> None:
    """Refuse an unknown engine, one whose extra is not installed, and an address for an engine without a cluster."""
    engines.check(name)
    if address is not None and not joins_cluster(name):
        raise InputError(f"--address is for a cluster, and the engine {name} uses only this machine. Use --engine ray.")
    extra: Extra | None = _attribute(name, "needs_extra", default=None)
    if extra is not None:
        extra.check(f"the engine {name}")


def make_engine(name: str, *, jobs: int | None = None, address: str | None = None) -> Engine:
    """Return the engine of that name; only engines of clusters get an address.

    Older plug-ins take `jobs` under its former name, `workers`.
    """
    check_engine(name, address)
    make = engines.get(name)
    keyword = "jobs" if "jobs" in inspect.signature(make).parameters else "workers"
    return make(**{keyword: jobs}, **({} if address is None else {"address": address}))
