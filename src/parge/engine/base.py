"""Engine: how independent tasks run, and the laws of it. Nothing here knows what a graph is."""

import contextlib
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from parge.errors import Extra, InputError

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
