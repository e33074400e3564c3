"""What becomes of workers that crash, leave, shout, breed or answer with what cannot be carried."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parge.engine.base import Engine, Progress, Task, failed_task
from parge.engine.processes import Processes, WorkerError
from parge.engine.serial import Serial
from parge.errors import TechniqueError
from parge.memory import LIMITS_HOLD, limit_memory, private_bytes


def _run(function: Callable[[Any, Progress], Any], argument: Any = None, **fields: Any) -> Any:
    tasks = [Task(0, function, argument, label="subgraph 0", **fields)]
    return next(iter(Processes(jobs=1).run(tasks, lambda _task, _share: None)))[1]


def _crash(how: int, _progress: Progress) -> None:
    os.kill(os.getpid(), how)


def _leave(code: int, _progress: Progress) -> None:
    os._exit(code)


def _shout(size: int, _progress: Progress) -> None:
    sys.stdout.write("x" * size)
    sys.stdout.flush()
    sys.stderr.write("my last words")
    sys.stderr.flush()
    os._exit(1)


def _read_parquet(path: str, _progress: Progress) -> int:
    from parge.io.tables import open_table

    with open_table(Path(path)) as table:
        assert sum(len(batch) for batch in table.batches(["source"], 100_000)) == 20_000
    return private_bytes()


def _breed(folder: str, _progress: Progress) -> None:
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    (Path(folder) / f"{child.pid}.pid").touch()
    if not (Path(folder) / "leave").exists():
        time.sleep(600)


def _exit(_argument: None, _progress: Progress) -> None:
    sys.exit("enough")


def _raise_unportable(_argument: None, _progress: Progress) -> None:
    class Local(Exception):  # noqa: N818
        def __reduce__(self) -> Any:
            return print, ("unpickled in the parent",)

    raise Local("known here only")


def _answer_unportable(_argument: None, _progress: Progress) -> Any:
    return (each for each in "abc")


def _technique_error(_argument: None, _progress: Progress) -> None:
    raise TechniqueError("it explains itself")


def _grow(size: int, _progress: Progress) -> int:
    held = [np.ones(size // 100, np.uint8) for _ in range(100)]
    time.sleep(0.5)
    return len(held)


def _report_limit(_argument: None, _progress: Progress) -> tuple[int, int]:
    import resource

    return resource.getrlimit(resource.RLIMIT_DATA)


@pytest.mark.parametrize(
    ("function", "argument", "words"),
    [
        (
            _crash,
            signal.SIGSEGV,
            "the worker of subgraph 0 crashed 2 times, the last time by SIGSEGV; its memory",
        ),
        (_crash, signal.SIGTERM, "was killed from outside 5 times, the last time by SIGTERM.*lower --jobs"),
        (_leave, 7, r"ended without an answer \(exit code 7\)"),
        (_leave, 0, r"ended without an answer \(exit code 0\)"),
        (_shout, 3_000_000, "exit code 1(.|\n)*my last words"),
        (_raise_unportable, None, "Local: known here only"),
        (_answer_unportable, None, "cannot pickle 'generator' object"),
    ],
)
def test_failures_are_told_apart(function: Any, argument: Any, words: str) -> None:
    with pytest.raises((WorkerError, TypeError), match=words) as caught:
        _run(function, argument, advice="try it alone")
    assert "try it alone" in caught.value.__notes__
    assert failed_task(caught.value) == "subgraph 0"
    assert len(str(caught.value)) < 5000


def test_a_new_attempt_is_told_of() -> None:
    heard: list[str] = []
    task = Task(3, _crash, signal.SIGTERM, label="subgraph 3", limit_bytes=2_000_000_000, on_retry=heard.append)
    with pytest.raises(WorkerError):
        list(Processes(jobs=1).run([task], lambda _task, _share: None))
    assert [words[-14:] for words in heard] == [f"attempt {n} of 5" for n in (2, 3, 4, 5)]
    assert heard[0].startswith("the worker of subgraph 3 was killed from outside by SIGTERM; its memory had reached ")
    assert " of 2.00 GB; " in heard[0]


def test_leaving_by_sys_exit_comes_home() -> None:
    with pytest.raises(WorkerError, match=r"sys\.exit"):
        _run(_exit)


@pytest.mark.parametrize("engine", [Serial(), Processes(jobs=1)])
def test_who_waits_is_told_of_a_failure_and_an_error_that_explains_itself_has_no_traceback(engine: Engine) -> None:
    heard: list[BaseException] = []
    task = Task(0, _technique_error, None, label="subgraph 0", on_failure=heard.append)
    with pytest.raises(TechniqueError) as caught:
        list(engine.run([task], lambda _task, _share: None))
    assert heard == [caught.value]
    assert "subgraph 0" in caught.value.__notes__[0]
    assert "Traceback" not in caught.value.__notes__[0]


@pytest.mark.parametrize("leave", [True, False])
def test_what_a_worker_started_ends_with_it(tmp_path: Path, leave: bool) -> None:
    if leave:
        (tmp_path / "leave").touch()
    running = Processes(jobs=2).run(
        [Task(0, _breed, str(tmp_path)), Task(1, _sleep_until, str(tmp_path))], lambda _task, _share: None
    )
    next(running)
    running.close()  # type: ignore[attr-defined]  # run is a generator
    pids = [int(file.stem) for file in tmp_path.glob("*.pid")]
    assert pids
    end = time.monotonic() + 10
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.05)


def _sleep_until(folder: str, _progress: Progress) -> None:
    while not list(Path(folder).glob("*.pid")):
        time.sleep(0.01)


@pytest.mark.parametrize("size", [450_000_000, 3_000_000_000])
def test_a_worker_that_grows_over_its_limit_is_ended_at_it(size: int) -> None:
    with pytest.raises(WorkerError, match=r"subgraph 0 needed (over )?\S+ MB( or more)?, had 400 MB") as caught:
        _run(_grow, size, limit_bytes=400_000_000)
    assert failed_task(caught.value) == "subgraph 0"


def _give_up(words: str, _progress: Progress) -> None:
    sys.stderr.write(words)
    sys.stderr.flush()
    os._exit(1)


def test_a_library_that_ends_the_process_for_want_of_memory_is_understood() -> None:
    words = "OpenBLAS error: Memory allocation still failed after 10 retries, giving up."
    with pytest.raises(WorkerError, match=r"subgraph 0 needed over 400 MB, had 400 MB(.|\n)*OpenBLAS error"):
        _run(_give_up, words, limit_bytes=400_000_000)
    with pytest.raises(WorkerError, match=r"exit code 1(.|\n)*OpenBLAS"):
        _run(_give_up, words)


def test_a_limit_of_the_parent_is_not_that_of_its_workers() -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        limit_memory(16_000_000_000)
        assert _run(_report_limit)[0] == before[1]
        assert _run(_report_limit, limit_bytes=700_000_000)[0] == 700_000_000
    finally:
        limit_memory(None)


def test_a_module_in_the_current_folder_does_not_replace_one_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("numpy", "pickle", "threading", "parge"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert _run(_grow, 1000) == 100


@pytest.mark.skipif(not LIMITS_HOLD, reason="the system does not say what a limit counts")
def test_arrow_takes_no_gigabyte_of_addresses_which_a_limit_would_count(tmp_path: Path) -> None:
    pq.write_table(pa.table({"source": [f"vertex {i}" for i in range(20_000)]}), tmp_path / "edges.parquet")
    assert _run(_read_parquet, str(tmp_path / "edges.parquet")) < 500_000_000
