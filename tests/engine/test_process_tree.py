"""A worker and all that it starts: measured together, capped together, ended together, wherever they have gone."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from tests.run.commands import wait_for

from parge.engine.base import Progress, Task, WorkerError
from parge.engine.cgroup import Group
from parge.engine.processes import Processes
from parge.process_tree import LINUX, Tree, looked_at

SIZE = 100_000_000

# Sleeps in a session of its own, with no parent that it could be found by, and says so under its number.
ESCAPE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(f"{sys.argv[1]}/{os.getpid()}.pid", "w").close()
        time.sleep(600)
"""


def _run(function: Callable[[Any, Progress], Any], argument: Any = None, **fields: Any) -> Any:
    tasks = [Task(0, function, argument, label="subgraph 0", **fields)]
    return next(iter(Processes(jobs=1).run(tasks, lambda _task, _share: None)))[1]


def _is_alive(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


def _pids(folder: Path) -> list[int]:
    return [int(file.stem) for file in folder.glob("*.pid")]


def _forks(size: int, *, n: int = 4, seconds: float = 2.0) -> None:
    """Have n forked children hold `size` bytes each for a while."""
    children = []
    for _ in range(n):
        child = os.fork()
        if child == 0:
            held = np.ones(size, np.uint8)
            time.sleep(seconds)
            os._exit(int(held[0]) - 1)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _fork_and_report(size: int, _progress: Progress) -> int:
    from parge.memory import tree_peak_bytes

    _forks(size, seconds=3.0)
    return tree_peak_bytes()


def _share_and_report(size: int, _progress: Progress) -> int:
    from parge.memory import tree_peak_bytes

    held = np.ones(size, np.uint8)
    for child in [_reader(held) for _ in range(4)]:
        os.waitpid(child, 0)
    return tree_peak_bytes()


def _reader(held: "np.ndarray[Any, Any]") -> int:
    child = os.fork()
    if child == 0:
        time.sleep(0.05 * int(held[::4096].max()) * 20)
        os._exit(0)
    return child


def _escape(folder: str) -> None:
    subprocess.run([sys.executable, "-c", ESCAPE, folder], check=True, stdin=subprocess.DEVNULL)
    while not list(Path(folder).glob("*.pid")):
        time.sleep(0.01)


def _escape_and(how: tuple[str, str], _progress: Progress) -> str:
    folder, then = how
    _escape(folder)
    if then == "fail":
        raise ZeroDivisionError("after all")
    if then == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "sleep":
        time.sleep(600)
    return "done"


@pytest.mark.skipif(not LINUX, reason="elsewhere shared pages cannot be told from own ones")
def test_forked_children_over_the_cap_are_ended_and_named() -> None:
    started = time.monotonic()
    words = r"subgraph 0 needed (over )?\S+ MB( or more)? in [2-5] processes, had 250 MB"
    with pytest.raises(WorkerError, match=words):
        _run(lambda size, _progress: _forks(size, seconds=60), SIZE, limit_bytes=250_000_000)
    assert time.monotonic() - started < 50


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="elsewhere shared pages cannot be told from own ones")
def test_the_peak_counts_forked_children_and_what_they_share_once() -> None:
    assert 4 * SIZE <= _run(_fork_and_report, SIZE) < 4 * SIZE + 200_000_000
    assert SIZE <= _run(_share_and_report, SIZE, limit_bytes=3 * SIZE) < 2.5 * SIZE


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="elsewhere shared pages cannot be told from own ones")
def test_children_of_this_very_process_count() -> None:
    # In a process of its own: what tests before this one have freed is given back at any moment.
    script = f"from {__name__} import _grown; _grown()"
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], capture_output=True, check=True
    )
    assert 3 * SIZE <= int(found.stdout) <= 5 * SIZE


def _grown() -> None:
    with looked_at() as peak:
        before = peak()
        _forks(SIZE, seconds=3.0)
        sys.stdout.write(str(peak() - before))


@pytest.mark.skipif(not LINUX, reason="only Linux hands orphans to an ancestor of theirs")
@pytest.mark.parametrize("then", ["answer", "fail", "die"])
def test_what_left_for_another_session_ends_with_the_worker(tmp_path: Path, then: str) -> None:
    with contextlib.suppress(ZeroDivisionError, WorkerError):
        _run(_escape_and, (str(tmp_path), then))
    assert _pids(tmp_path)
    assert not [pid for pid in _pids(tmp_path) if _is_alive(pid)]


@pytest.mark.skipif(not LINUX, reason="only Linux hands orphans to an ancestor of theirs")
def test_what_left_for_another_session_ends_when_the_run_is_left(tmp_path: Path) -> None:
    tasks = [Task(0, _escape_and, (str(tmp_path), "sleep")), Task(1, _until_escaped, str(tmp_path))]
    running = Processes(jobs=2).run(tasks, lambda _task, _share: None)
    next(running)
    running.close()  # type: ignore[attr-defined]  # run is a generator
    assert not [pid for pid in _pids(tmp_path) if _is_alive(pid)]


def _until_escaped(folder: str, _progress: Progress) -> None:
    while not _pids(Path(folder)):
        time.sleep(0.01)


COORDINATOR = """
import sys
from tests.engine.test_process_tree import _escape_and, _run
_run(_escape_and, (sys.argv[1], "sleep"))
"""


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """A process of its own that has a worker at work, and one of whose processes has left the worker's session."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), *filter(None, sys.path)])
    line = [sys.executable, "-c", COORDINATOR, str(tmp_path)]
    running = subprocess.Popen(line, env={**os.environ, "PYTHONPATH": path})
    wait_for(lambda: _pids(tmp_path))
    yield running
    running.kill()
    running.wait()
    for pid in _pids(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(not LINUX, reason="only Linux hands orphans to an ancestor of theirs")
def test_nothing_is_left_of_a_coordinator_that_is_killed(
    coordinator: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    known = [child.pid for child in psutil.Process(coordinator.pid).children(recursive=True)]
    coordinator.kill()
    coordinator.wait()
    wait_for(lambda: not [pid for pid in [*known, *_pids(tmp_path)] if _is_alive(pid)], 20)


@pytest.mark.skipif(not LINUX, reason="only Linux hands orphans to an ancestor of theirs")
def test_nothing_is_left_when_the_guard_itself_is_killed(
    coordinator: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (first,) = _pids(tmp_path)
    (guard,) = psutil.Process(coordinator.pid).children()
    guard.kill()
    wait_for(lambda: len(_pids(tmp_path)) == 2)  # started again
    assert not _is_alive(first)


def test_a_tree_is_found_on_systems_without_proc_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.process_tree.LINUX", False)
    before = subprocess.Popen(["sleep", "60"])
    own, sleeps = Tree(os.getpid()), "import subprocess; subprocess.run(['sleep', '60'])"
    root = subprocess.Popen([sys.executable, "-c", sleeps], start_new_session=True)
    try:
        tree = Tree(root.pid)
        wait_for(lambda: tree.look().processes == 2 and tree.seen.bytes > 1_000_000)
        assert own.look().processes == 3
        (child,) = psutil.Process(root.pid).children()
        root.kill()
        root.wait()
        assert tree.kill()  # by the group that it shared with its parent
        wait_for(lambda: not _is_alive(child.pid))
        assert _is_alive(before.pid)
    finally:
        for process in (root, before):
            process.kill()
            process.wait()


def test_workers_run_where_the_system_tells_neither_of_cores_nor_of_its_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("sched_getaffinity", "waitid"):  # macOS has neither, before Python 3.13
        monkeypatch.delattr(os, name, raising=False)
    tasks = [Task(i, _twice, i) for i in range(2)]
    assert sorted(result for _, result in Processes().run(tasks, lambda _task, _share: None)) == [0, 2]


def _twice(number: int, _progress: Progress) -> int:
    return 2 * number


def test_looking_at_a_worker_costs_next_to_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as worker:
        tree = Tree(worker.pid, reaper=-1 if LINUX else None)
        started, slept = time.thread_time(), 0.0
        while slept < 3.0:
            tree.look()
            slept += tree.pause  # waited for by nobody here, so that the test is short
        assert tree.seen.bytes > 1_000_000
        assert (time.thread_time() - started) / slept < 0.02
        assert worker.stdin is not None
        worker.stdin.close()


# What a folder of control groups looks like; the kernel makes these files with a group, here they are made with it.
def _cgroups(tmp_path: Path, *, hands_on: str) -> Path:
    above = tmp_path / "app.slice"
    (above / "own.scope").mkdir(parents=True)
    for folder, controllers in ((above, hands_on), (above / "own.scope", "")):
        (folder / "cgroup.subtree_control").write_text(controllers)
    return above


def test_no_control_group_is_made_where_memory_is_not_handed_on(tmp_path: Path) -> None:
    above = _cgroups(tmp_path, hands_on="cpu pids")
    assert Group.make(SIZE, mounted=tmp_path, own="/app.slice/own.scope") is None
    assert Group.make(SIZE, mounted=tmp_path / "nowhere", own="/") is None
    assert [path.name for path in above.iterdir() if path.is_dir()] == ["own.scope"]


def test_a_group_that_cannot_be_capped_is_not_used_and_not_left(tmp_path: Path) -> None:
    above = _cgroups(tmp_path, hands_on="cpu memory pids")  # no kernel here: the new folder has no memory.max
    assert Group.make(SIZE, mounted=tmp_path, own="/app.slice/own.scope") is None
    assert [path.name for path in above.iterdir() if path.is_dir()] == ["own.scope"]


def test_a_group_is_capped_a_little_above_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    above = _cgroups(tmp_path, hands_on="cpu memory pids")
    make = Path.mkdir

    def mkdir(path: Path, *arguments: Any, **more: Any) -> None:
        make(path, *arguments, **more)
        for name in ("memory.max", "memory.swap.max", "cgroup.procs", "cgroup.kill"):
            (path / name).touch()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    group = Group.make(SIZE, mounted=tmp_path, own="/app.slice/own.scope")
    assert group is not None
    assert group.path.parent == above
    assert SIZE < int((group.path / "memory.max").read_text()) < 1.5 * SIZE
    assert (group.path / "memory.swap.max").read_text() == "0"
    group.enter()
    assert (group.path / "cgroup.procs").read_text() == "0"
    assert not group.was_full()
    (group.path / "memory.events").write_text("low 0\nmax 7\noom 1\noom_kill 5\noom_group_kill 1\n")
    assert group.was_full()
