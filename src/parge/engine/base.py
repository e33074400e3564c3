"""Engine: how independent tasks run, and the laws of it. Nothing here knows what a graph is."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

Progress = Callable[[float], None]
Watch = Callable[["Task", float], None]
"""Called with a task and the share of it that is done."""


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
        Small and picklable; large data is named by a path.
    projected_bytes : int
        Memory the task needs at most; an engine starts it only where that is free.
    limit_bytes : int, optional
        Memory the task may use; over it, the task fails alone.
    label : str
        What people call the task.
    """

    key: int
    function: Callable[[Any, Progress], Any]
    argument: Any
    projected_bytes: int = 0
    limit_bytes: int | None = None
    label: str = "task"


@dataclass(frozen=True)
class Engine(ABC):
    """A way to run tasks.

    Laws (held by `parge.testing.EngineContract`):

    * the same results as `serial`, in any order;
    * a failure is the task's own exception with a note that names the task; other tasks finish first;
    * when `run` is left, in whichever way, nothing is left running.
    """

    name: ClassVar[str] = ""

    @abstractmethod
    def run(self, tasks: Sequence[Task], watch: Watch) -> Iterator[tuple[Task, Any]]:
        """Yield each task with its result, as they finish."""


def raise_first(failures: Sequence[BaseException], n_tasks: int) -> None:
    """Raise the first failure, saying how many there were; nothing happens where there was none."""
    if failures:
        if len(failures) > 1:
            failures[0].add_note(f"{len(failures) - 1} more of {n_tasks} tasks failed")
        raise failures[0]
