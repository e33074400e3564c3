"""Contract tests for engines: subclass `EngineContract` in your tests and return your engine."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from parge.engine.base import Engine, Progress, Task
from parge.errors import PargeError


def square(number: int, progress: Progress) -> int:
    """Return the square, telling of progress on the way."""
    progress(0.5)
    return number * number


def fail_on_three(number: int, _progress: Progress) -> int:
    """Return the number, unless it is three."""
    if number == 3:
        raise KeyError("three is refused")
    return number


def leave_pid_and_sleep(folder: str, _progress: Progress) -> None:
    """Say in a file which process runs this, then take long."""
    (Path(folder) / f"{os.getpid()}.pid").touch()
    time.sleep(60)


def leave(_argument: None, _progress: Progress) -> None:
    """End the process as if all were well."""
    sys.exit(0)


def interrupt(_argument: None, _progress: Progress) -> None:
    """Do as Ctrl-C does."""
    raise KeyboardInterrupt


class EngineContract:
    """Laws of `Engine`, as tests. Inherit, and override `engine()` to return the engine under test."""

    def engine(self) -> Engine:
        """Return the engine under test."""
        raise TypeError("override engine() to return the engine under test")

    def run(self, tasks: list[Task]) -> dict[int, Any]:
        """Run tasks and return their results by key."""
        return {task.key: result for task, result in self.engine().run(tasks, lambda _task, _share: None)}

    def test_results_are_those_of_plain_calls(self) -> None:
        """Every task is answered once."""
        assert self.run([Task(i, square, i) for i in range(5)]) == {i: i * i for i in range(5)}

    def test_no_task_is_no_result(self) -> None:
        """Nothing to do is not an error."""
        assert self.run([]) == {}

    def test_a_failure_comes_home_after_the_others_finish(self) -> None:
        """The exception keeps its type, names the task, and the other tasks are done."""
        done = []
        tasks = [Task(i, fail_on_three, i, label=f"subgraph {i}") for i in range(5)]
        with pytest.raises(KeyError, match="three is refused") as caught:
            for task, _ in self.engine().run(tasks, lambda _task, _share: None):
                done.append(task.key)
        assert sorted(done) == [0, 1, 2, 4]
        assert "subgraph 3" in "\n".join(caught.value.__notes__)

    def test_a_task_that_ends_the_process_has_failed(self) -> None:
        """The error names the task, and the caller continues; an interruption stays an interruption."""
        with pytest.raises(PargeError, match=r"sys.exit\(0\)") as caught:
            self.run([Task(0, leave, None, label="subgraph 0")])
        assert "subgraph 0" in "\n".join(caught.value.__notes__)
        with pytest.raises(KeyboardInterrupt):
            self.run([Task(0, interrupt, None)])

    def test_progress_is_heard(self) -> None:
        """Shares of the work reach the listener."""
        heard: list[tuple[int, float]] = []
        list(self.engine().run([Task(7, square, 7)], lambda task, share: heard.append((task.key, share))))
        assert (7, 0.5) in heard
