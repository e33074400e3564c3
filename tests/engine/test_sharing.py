"""Small tasks share a process, and each still fails, is killed and is started again alone."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.engine.base import Progress, Task, failed_task
from parge.engine.processes import Processes, WorkerError

LIMIT = 2_000_000_000


def _pid(_argument: Any, progress: Progress) -> int:
    progress(0.5)
    return os.getpid()


def _raise(_argument: Any, _progress: Progress) -> None:
    raise ValueError("not this one")


def _grow(_argument: Any, _progress: Progress) -> int:
    return int(np.ones(LIMIT, np.uint8).sum())


def _die_once(path: str, _progress: Progress) -> int:
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def run(tasks: list[Task], jobs: int = 1) -> dict[int, Any]:
    return {task.key: pid for task, pid in Processes(jobs=jobs).run(tasks, lambda _task, _share: None)}


def small(key: int, function: Any = _pid, argument: Any = None, **fields: Any) -> Task:
    settings = {"shares_process": True, "label": f"subgraph {key}", "projected_bytes": 100 - key, **fields}
    return Task(key, function, argument, **settings)


def test_small_tasks_share_as_many_processes_as_there_are_jobs() -> None:
    assert len(set(run([small(i) for i in range(5)]).values())) == 1
    assert len(set(run([small(i) for i in range(5)], jobs=2).values())) <= 2


def test_a_task_that_does_not_share_and_one_with_another_limit_have_processes_of_their_own() -> None:
    pids = run([small(0), small(1, shares_process=False), small(2, limit_bytes=LIMIT), small(3, limit_bytes=LIMIT)])
    assert len(pids) == 4
    assert pids[2] == pids[3]
    assert len(set(pids.values())) == 3


@pytest.mark.parametrize("function", [_raise, _grow])
def test_a_task_that_fails_fails_alone(function: Any) -> None:
    done: list[int] = []
    tasks = [small(i, function if i == 1 else _pid, limit_bytes=LIMIT) for i in range(4)]
    with pytest.raises((ValueError, WorkerError)) as caught:
        for task, _ in Processes(jobs=1).run(tasks, lambda _task, _share: None):
            done.append(task.key)
    assert failed_task(caught.value) == "subgraph 1"
    assert done == [0, 2, 3]


def test_a_task_that_is_killed_is_started_again_in_a_process_of_its_own(tmp_path: Path) -> None:
    heard: list[str] = []
    tasks = [small(i) for i in (0, 1, 3, 4)]
    pids = run([*tasks, small(2, _die_once, str(tmp_path / "died"), on_retry=heard.append)])
    assert len(pids) == 5
    assert pids[0] == pids[1]
    assert list(pids.values()).count(pids[2]) == 1
    assert len(heard) == 1
    assert re.search(r"subgraph 2 .*SIGKILL", heard[0])
