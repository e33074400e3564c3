"""However a run ends early, nothing stays running, what is done is kept, and the words say how to go on."""

import json
import re
import secrets
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.examples import slow
from tests.run.commands import alive, finish, marked, start, wait_for, workers
from tests.run.odd_techniques import SOURCE

from parge.cli.interrupts import resumable
from parge.cli.main import run as command
from parge.errors import InputError
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.process_tree import LINUX
from parge.run.open_run import open_planned
from parge.run.status import PartStatus, status

PLAN = ["--parts", 3, "--anchors", 10, "--workers", 2, "--partitioner", "random"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph, techniques, and what an undisturbed run answers with any of them but the liar."""
    folder = tmp_path_factory.mktemp("source")
    write(planted(160, 700, communities=4, seed=2).graph, folder / "g.txt")
    (folder / "odd.py").write_text(SOURCE)
    finish(folder, "embed", "g.txt", "-o", "reference.npy", "--technique", "odd:quick", *PLAN, "--engine", "serial")
    return folder


@pytest.fixture
def place(source: Path, tmp_path: Path) -> Path:
    for name in ("g.txt", "odd.py"):
        (tmp_path / name).symlink_to(source / name)
    return tmp_path


@pytest.fixture
def reference(source: Path) -> bytes:
    return (source / "reference.npy").read_bytes()


def parts(place: Path, run: str = "v.npy.run") -> tuple[PartStatus, ...]:
    return status(place / run).parts


def states(place: Path) -> list[str]:
    return [part.state for part in parts(place)]


def named_workers(place: Path) -> list[str]:
    """Return the workers of locks that say by whom they are held: they do so a moment after they are."""
    found = (part.worker or "" for part in parts(place))
    return sorted(worker for worker in found if re.fullmatch(r"process \d+", worker))


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_worker_and_says_how_to_resume(
    place: Path, reference: bytes, how: signal.Signals
) -> None:
    running = start(place, "embed", "g.txt", "-o", "v.npy", "--technique", "odd:slow", *PLAN)
    wait_for(lambda: len(list(place.glob("v.npy.run/parts/*/lock"))) == 2)
    wait_for(lambda: sorted(states(place)) == ["running", "running", "waiting"])  # a lock is there before it is held
    children = workers(running.pid)
    named = sorted(f"process {child.pid}" for child in children)
    wait_for(lambda: named_workers(place) == named)
    running.send_signal(how)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in said
    assert not [child for child in children if alive(child.pid)]
    assert not list(place.glob("v.npy.run/**/*.tmp-*"))
    assert states(place) == ["waiting"] * 3
    words = re.search(r"To resume where it stopped: parge (.*)", said)
    assert words is not None
    finish(place, *shlex.split(words[1]), NAP="0")
    assert (place / "v.npy").read_bytes() == reference
    assert not (place / "v.npy.run").exists()


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="only Linux hands orphans to an ancestor of theirs")
@pytest.mark.parametrize("how", [signal.SIGKILL, *slow("end", "fail", signal.SIGINT)])
def test_nothing_that_a_technique_started_is_left_however_the_run_ends(place: Path, how: str | signal.Signals) -> None:
    mark = secrets.token_hex(8)
    then = how if isinstance(how, str) else "sleep"
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "odd:breeds", *PLAN]
    running = start(place, *line, MARK=mark, THEN=then)
    if not isinstance(how, str):
        wait_for(lambda: len(marked(mark)) == 4)
        running.send_signal(how)
    _, said = running.communicate(timeout=120)
    assert running.returncode == {"end": 0, "fail": 1, signal.SIGINT: 130, signal.SIGKILL: -9}[how], said
    wait_for(lambda: not marked(mark), 20 if how == signal.SIGKILL else 0.1)


@pytest.mark.skipif(not LINUX, reason="elsewhere shared pages cannot be told from own ones")
@pytest.mark.parametrize("engine", ["serial", "processes"])
@pytest.mark.slow
def test_children_of_a_technique_count_in_every_peak_and_under_every_cap(place: Path, engine: str) -> None:
    finish(place, "decompose", "g.txt", "--run-dir", "run", "--technique", "odd:forks", *PLAN)
    line = ["embed-part", "run/parts/001", "--technique", "odd:forks", "--json"]
    cap = ["--memory", "10GB"] if engine == "processes" else []
    assert json.loads(finish(place, *line, *cap).stdout)["peak_bytes"] > 400_000_000
    failed = finish(place, *line, "--memory", "350MB", code=1)
    assert re.search(r"subgraph 1 needed (over )?\S+ MB( or more)? in \d processes, had 350 MB\. Give", failed.stderr)
    whole = ["--technique", "odd:forks", "--parts", 1, "--engine", engine, "--json"]
    report = json.loads(finish(place, "embed", "g.txt", "-o", "v.npy", *whole).stdout)
    assert report["parts"][0]["peak_bytes"] > 400_000_000


def test_handlers_of_signals_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    assert command(["status", "/"]) == 2
    assert before == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]


def test_a_run_interrupted_before_it_is_kept_says_so(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as caught, resumable(tmp_path):
        raise KeyboardInterrupt
    assert caught.value.__notes__ == ["Nothing was stored yet. Start again with the same command."]
    with pytest.raises(InputError) as refused, resumable(tmp_path):
        raise InputError("bad from the start")
    assert not hasattr(refused.value, "__notes__")


@pytest.mark.slow
def test_a_failed_subgraph_is_named_kept_apart_and_can_be_run_alone(place: Path, reference: bytes) -> None:
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "odd:fails", *PLAN]
    failed = finish(place, *line, code=1, FAIL="0")
    assert re.search(r"Error: subgraph \d failed: ZeroDivisionError: this subgraph is not liked", failed.stderr)
    assert 'raise ZeroDivisionError("this subgraph is not liked")' in failed.stderr
    assert set(states(place)) == {"failed", "done"}
    done = states(place).count("done")
    assert "this subgraph is not liked" in finish(place, "status", "v.npy.run").stdout
    alone = re.search(r"to run it alone: parge (.*)", failed.stderr)
    assert alone is not None
    assert "this subgraph is not liked" in finish(place, *shlex.split(alone[1]), code=1, FAIL="0").stderr
    finish(place, *shlex.split(alone[1]))
    assert states(place).count("done") == done + 1
    kept = {path: path.stat().st_mtime_ns for path in place.glob("v.npy.run/parts/*/result/vectors.npy")}
    finish(place, *line, "--resume", "--run-dir", "v.npy.run")
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    assert (place / "v.npy").read_bytes() == reference
    assert not list(place.glob("v.npy.run/parts/*/failure.json"))


@pytest.mark.parametrize("engine", ["processes", *slow("serial")])
@pytest.mark.parametrize("code", ["0", *slow("3")])
def test_a_technique_that_ends_the_process_has_failed(place: Path, engine: str, code: str) -> None:
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "odd:leaves", *PLAN, "--engine", engine]
    failed = finish(place, *line, code=1, CODE=code)
    words = rf"the technique odd:leaves called sys\.exit\({code}\) on subgraph \d \(\d+ vertices, \d+ edges\)"
    assert re.search(words, failed.stderr)
    assert states(place) == ["failed"] * 3
    assert not (place / "v.npy").exists()


@pytest.mark.slow
def test_a_subgraph_that_lied_about_its_memory_fails_alone_with_both_numbers(place: Path) -> None:
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "odd:Liar", "--memory", "300MB,300MB,300MB"]
    failed = finish(place, *line, "--anchors", 10, code=1)
    words = r"subgraph 1 needed (over )?\S+ MB( or more)?, had 300 MB \(projected: at most 200 MB\)"
    assert re.search(words, failed.stderr)
    assert "Traceback" not in failed.stderr
    assert states(place) == ["done", "failed", "done"]
    assert all(part.peak_bytes is None or part.peak_bytes <= 300_000_000 for part in parts(place))


@pytest.mark.slow
def test_no_worker_of_a_run_within_budgets_is_over_its_cap(place: Path) -> None:
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "deepwalk", "--dim", 8, "--memory", "270MB,264MB,262MB"]
    report = json.loads(finish(place, *line, "--anchors", 10, "--json").stdout)
    for part in report["parts"]:
        assert part["peak_bytes"] <= part["projected_bytes"] <= part["budget_bytes"]


@pytest.mark.slow
def test_a_second_run_in_the_folder_is_refused_while_the_first_is_stopped(place: Path, reference: bytes) -> None:
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "odd:slow", *PLAN]
    running = start(place, *line, NAP="2")
    wait_for(lambda: len(list(place.glob("v.npy.run/parts/*/lock"))) == 2)
    wait_for(lambda: len(named_workers(place)) == 2)
    stopped = psutil.Process(running.pid)
    stopped.suspend()
    child = workers(running.pid)[0]
    child.suspend()
    refused = finish(place, *line, "--resume", code=1)
    assert f"process {running.pid}" in refused.stderr
    part = next(part for part in parts(place) if part.worker == f"process {child.pid}")
    refused = finish(place, "embed-part", f"v.npy.run/parts/{part.index:03d}", code=1)
    assert f"process {child.pid}" in refused.stderr
    time.sleep(0.5)
    child.resume()
    stopped.resume()
    _, said = running.communicate(timeout=120)
    assert running.returncode == 0, said
    assert (place / "v.npy").read_bytes() == reference


@pytest.mark.slow
def test_a_part_embedded_alone_keeps_its_limit_too(place: Path) -> None:
    finish(place, "decompose", "g.txt", "--run-dir", "run", "--technique", "odd:Liar", *PLAN)
    allowed = ["--technique", "odd:Liar"]
    failed = finish(place, "embed-part", "run/parts/001", *allowed, "--memory", "300MB", code=1)
    assert re.search(r"Error: subgraph 1 needed (over )?\S+ MB( or more)?, had 300 MB\. Give", failed.stderr)
    assert "Traceback" not in failed.stderr
    assert "embedded subgraph" not in failed.stderr
    assert [part.state for part in parts(place, "run")] == ["waiting", "failed", "waiting"]
    done = finish(place, "embed-part", "run/parts/002", *allowed, "--memory", "300MB")
    assert "embedded subgraph 2 (1 of 1)" in done.stderr
    assert done.stdout.startswith("subgraph 2: ")


@pytest.mark.slow
def test_a_resumed_run_reports_what_the_killed_one_began_again_and_projected(place: Path) -> None:
    line = ["embed", "g.txt", "-o", "v.npy", "--technique", "odd:slow", "--parts", 2, "--anchors", 10, "--workers", 1]
    line += ["--coordinator-memory", "4GB", "--run-dir", "run", "--json"]
    running = start(place, *line)
    wait_for(lambda: [part for part in parts(place, "run") if part.worker] if (place / "run/plan").exists() else [])
    workers(running.pid)[0].kill()
    wait_for((place / "run/retries.json").exists)
    running.kill()
    running.communicate(timeout=60)
    resumed = json.loads(finish(place, *line, "--resume", NAP="0").stdout)
    (words,) = resumed["retries"]
    assert re.match(r"the worker of subgraph \d was killed from outside by SIGKILL", words)
    chosen = resumed["coordinator"]
    assert chosen["partitioner"] == "kaminpar"
    assert chosen["projected_bytes"].keys() == {"kaminpar", "kaminpar-compressed", "streaming"}
    assert [notice for notice in resumed["notices"] if "memory" in notice]
    with open_planned(place / "run") as finished:
        assert finished.retries == resumed["retries"]
        assert replace(finished.coordinator, peak_bytes=chosen["peak_bytes"]).to_json() == chosen


HALF_MADE = """
import os, signal
from parge.cli.interrupts import interrupted_by_signals

signal.signal(signal.SIGINT, signal.default_int_handler)  # some shells ignore it

class Half:
    def __init__(self):
        os.kill(os.getpid(), signal.{name})
        self.whole = True

    def __del__(self):
        assert self.whole

try:
    with interrupted_by_signals():
        Half()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_object_that_an_interruption_left_half_made_goes_without_a_traceback(name: str) -> None:
    line = [sys.executable, "-c", HALF_MADE.replace("{name}", name)]
    found = subprocess.run(line, capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("interrupted\n", "")
