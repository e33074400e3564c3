"""Tasks that wait for each other: one that is lost again and again is started again while the others wait."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from parge.engine.base import Task, raise_first
from parge.engine.processes import Processes


def waits(place: str, _progress: Any) -> str:
    until = time.monotonic() + 60
    while not (Path(place) / "there").exists():
        assert time.monotonic() < until, "nobody came"
        time.sleep(0.02)
    return "waited"


def dies_twice(place: str, _progress: Any) -> str:
    lives = len(list(Path(place).glob("life-*")))
    (Path(place) / f"life-{lives}").touch()
    if lives < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    (Path(place) / "there").touch()
    return "came"


def test_a_task_that_others_wait_for_is_started_at_once(tmp_path: Path) -> None:
    retries: list[str] = []
    tasks = [
        Task(0, waits, str(tmp_path), needs_others=True),
        Task(1, dies_twice, str(tmp_path), needs_others=True, on_retry=retries.append),
    ]
    found = {task.key: answer for task, answer in Processes(jobs=2).run(tasks, lambda _task, _share: None)}
    assert found == {0: "waited", 1: "came"}
    assert len(retries) == 2


@pytest.mark.parametrize(("needs_others", "notes"), [(True, []), (False, ["1 more of 2 tasks failed"])])
def test_failures_that_follow_from_the_first_are_not_counted(needs_others: bool, notes: list[str]) -> None:
    tasks = [Task(key, waits, "", needs_others=needs_others) for key in range(2)]
    with pytest.raises(ValueError, match="first") as raised:
        raise_first([ValueError("first"), ValueError("second")], tasks)
    assert getattr(raised.value, "__notes__", []) == notes
