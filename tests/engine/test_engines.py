"""Engines keep their laws; a process engine survives what happens to its workers."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from parge.engine.base import Engine, Progress, Task
from parge.engine.processes import Processes, WorkerError
from parge.engine.serial import Serial
from parge.testing.engine import EngineContract, leave_pid_and_sleep


class TestSerial(EngineContract):
    def engine(self) -> Engine:
        return Serial()


class TestProcesses(EngineContract):
    def engine(self) -> Engine:
        return Processes(jobs=2)


def grab(size: int, _progress: Progress) -> float:
    return float(np.ones(size // 8).sum())


def die_once(folder: str, _progress: Progress) -> str:
    mark = Path(folder) / "died"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def die(_argument: None, _progress: Progress) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _run(task: Task) -> object:
    return next(iter(Processes(jobs=1).run([task], lambda _task, _share: None)))[1]


def test_a_worker_over_its_memory_fails_alone_with_both_numbers() -> None:
    tasks = [
        Task(0, grab, 2_000_000_000, 10, limit_bytes=600_000_000, label="subgraph 0"),
        Task(1, grab, 8_000_000, 10, limit_bytes=600_000_000, label="subgraph 1"),
    ]
    done = []
    with pytest.raises(WorkerError, match=r"subgraph 0 needed .*, had 600 MB"):
        for task, _ in Processes(jobs=2).run(tasks, lambda _task, _share: None):
            done.append(task.key)
    assert done == [1]


def test_a_killed_worker_is_tried_again(tmp_path: Path) -> None:
    assert _run(Task(0, die_once, str(tmp_path))) == "alive"


@pytest.mark.slow
def test_a_worker_that_always_dies_is_given_up() -> None:
    with pytest.raises(WorkerError, match="SIGKILL"):
        _run(Task(0, die, None))


def test_functions_of_a_script_are_carried_by_value() -> None:
    factor = 3
    assert _run(Task(0, lambda x, _progress: x * factor, 5)) == 15


def test_leaving_early_leaves_nothing_running(tmp_path: Path) -> None:
    tasks = [Task(0, leave_pid_and_sleep, str(tmp_path)), Task(1, lambda _a, _p: 1, None)]
    running = Processes(jobs=2).run(tasks, lambda _task, _share: None)
    next(running)
    _wait_for(lambda: list(tmp_path.glob("*.pid")))
    running.close()  # type: ignore[attr-defined]  # run is a generator
    assert not any(_alive(int(file.stem)) for file in tmp_path.glob("*.pid"))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_orphan_when_the_parent_is_stopped(tmp_path: Path, how: signal.Signals) -> None:
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells ignore it\n"
        "from parge.engine.processes import Processes; from parge.engine.base import Task\n"
        "from parge.testing.engine import leave_pid_and_sleep as f\n"
        f"list(Processes(jobs=2).run([Task(i, f, {str(tmp_path)!r}) for i in range(2)], lambda t, s: None))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    _wait_for(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
    parent.send_signal(how)
    parent.wait(20)
    _wait_for(lambda: not any(_alive(int(file.stem)) for file in tmp_path.glob("*.pid")))


def _alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def _wait_for(condition: object, seconds: float = 30) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)
