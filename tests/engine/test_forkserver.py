"""The fork server: workers as if each had started by itself, and nothing left however it ends."""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.run.commands import alive, guards, wait_for

from parge.engine.base import Progress, Task, WorkerError
from parge.engine.forkserver import UNMARKED
from parge.engine.guard import MARK
from parge.engine.processes import Processes
from parge.process_tree import LINUX

pytestmark = pytest.mark.skipif(not LINUX, reason="workers are forked on Linux only")


def run(function: Any, arguments: list[Any], prepare: Any = None, **settings: Any) -> list[Any]:
    """Return what a function makes of each argument, in a worker each, all at once."""
    tasks = [Task(i, function, argument, **settings) for i, argument in enumerate(arguments)]
    engine = Processes(jobs=len(tasks))
    with nullcontext(engine) if prepare is None else engine.prepared(prepare) as ready:
        done = ready.run(tasks, lambda _task, _share: None)
        return [result for _, result in sorted(done, key=lambda pair: pair[0].key)]


def _ancestors(_argument: Any, _progress: Progress) -> list[str]:
    me = psutil.Process()
    return [me.name(), me.parent().name(), me.parent().parent().name()]


FORKED = ["parge-worker", "parge-guard", "parge-server"]


def test_workers_are_forked_from_one_server() -> None:
    assert run(_ancestors, [0, 1]) == [FORKED, FORKED]


def test_a_single_task_needs_no_server() -> None:
    assert "parge-server" not in run(_ancestors, [0])[0]


def _start_a_thread() -> None:
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


def test_a_server_with_a_second_thread_forks_nothing() -> None:
    for names in run(_ancestors, [0, 1], prepare=_start_a_thread):
        assert names[:2] == FORKED[:2]
        assert names[2] != "parge-server"


def _fail() -> None:
    raise RuntimeError("not prepared")


def test_a_preparation_that_fails_stops_nobody() -> None:
    assert run(_ancestors, [0, 1], prepare=_fail) == [FORKED, FORKED]


def test_a_process_with_many_open_files_has_forked_workers_too() -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit[1] < 4096:
        pytest.skip("this system allows few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, limit[1]))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert run(_ancestors, [0, 1]) == [FORKED, FORKED]
    finally:
        for number in opened:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def _forbid_forks() -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    os.fork = refuse


def test_a_server_that_may_not_fork_leaves_the_start_to_others() -> None:
    for names in run(_ancestors, [0, 1], prepare=_forbid_forks):
        assert names[:2] == FORKED[:2]
        assert names[2] != "parge-server"


def _end() -> None:
    os._exit(3)


def test_work_goes_on_without_a_server_that_ends_while_it_is_prepared() -> None:
    for names in run(_ancestors, [0, 1], prepare=_end):
        assert names[:2] == FORKED[:2]


def _keep() -> None:
    os.environ["PREPARED"] = "yes"


def _prepared(_argument: Any, _progress: Progress) -> str:
    return os.environ.get("PREPARED", "no")


def test_what_was_prepared_is_there() -> None:
    assert run(_prepared, [0, 1], prepare=_keep) == ["yes", "yes"]


def _marks(_argument: Any, _progress: Progress) -> tuple[str, str, str]:
    reported = {process.environ().get(MARK, "") for process in (psutil.Process(), psutil.Process().parent())}
    script = f"import os; print(os.environ[{MARK!r}])"
    started = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return os.environ[MARK], started.stdout.strip(), "/".join(reported)


def test_every_worker_has_a_mark_of_its_own_that_others_see() -> None:
    one, other = run(_marks, [0, 1])
    assert len(set(one)) == len(set(other)) == 1
    assert len({one[0], other[0], UNMARKED}) == 3


def _draws(_argument: Any, _progress: Progress) -> tuple[float, float]:
    return random.random(), float(np.random.random())


def test_workers_draw_different_numbers() -> None:
    one, other = run(_draws, [0, 1])
    assert one[0] != other[0]
    assert one[1] != other[1]


def _grab(size: int, _progress: Progress) -> int:
    return int(np.ones(size, np.uint8).sum())


def test_each_worker_has_its_own_limit() -> None:
    with pytest.raises(WorkerError, match="had 500 MB"):
        run(_grab, [10, 1_000_000_000], limit_bytes=500_000_000)


def _wait_then_answer(folder: str, _progress: Progress) -> int:
    (Path(folder) / str(os.getpid())).touch()
    end = time.monotonic() + 60
    while not (Path(folder) / "go").exists() and time.monotonic() < end:
        time.sleep(0.01)
    return os.getpid()


def _workers(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.iterdir() if path.name != "go"]


def test_work_goes_on_when_the_server_is_killed(tmp_path: Path) -> None:
    def kill() -> None:
        first = wait_for(lambda: _workers(tmp_path) if len(_workers(tmp_path)) == 2 else [])
        (server,) = (each for each in psutil.Process().children() if each.name() == "parge-server")
        server.kill()
        wait_for(lambda: not any(map(alive, first)))
        (tmp_path / "go").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    answers = run(_wait_then_answer, [str(tmp_path), str(tmp_path)])
    killer.join()
    assert set(answers) < set(_workers(tmp_path))  # started again, by themselves
    assert not [pid for pid in _workers(tmp_path) if alive(pid)]


COORDINATOR = """
import sys
from tests.engine.test_forkserver import _wait_then_answer, run
run(_wait_then_answer, [sys.argv[1], sys.argv[1]])
"""


@pytest.mark.parametrize("victim", ["coordinator", "guard", "coordinator, politely"])
def test_nothing_is_left_of_who_is_killed(tmp_path: Path, victim: str) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    line = [sys.executable, "-c", COORDINATOR, str(tmp_path)]
    running = subprocess.Popen(line, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL)
    try:
        first = wait_for(lambda: _workers(tmp_path) if len(_workers(tmp_path)) == 2 else [])
        known = [child.pid for child in psutil.Process(running.pid).children(recursive=True)]
        if victim == "guard":
            guard = guards(running.pid)[0]
            worker = guard.children()[0].pid
            guard.kill()
            wait_for(lambda: len(_workers(tmp_path)) == 3)  # started again
            assert not alive(worker)
            assert sum(map(alive, first)) == 1
            (tmp_path / "go").touch()
            assert running.wait(60) == 0
        else:
            running.send_signal(signal.SIGTERM if "politely" in victim else signal.SIGKILL)
            running.wait(60)
        wait_for(lambda: not [pid for pid in [*known, *_workers(tmp_path)] if alive(pid)], 20)
    finally:
        running.kill()
        running.wait()
