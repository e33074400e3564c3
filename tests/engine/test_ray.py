"""The engine `ray` keeps the laws of engines, places tasks by memory, and survives the loss of a node."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.engine.ray_token import TOKEN

import parge
from parge.cli.main import run
from parge.engine.base import Engine, Progress, Task, WorkerError, failed_task
from parge.engine.ray import Ray
from parge.engine.ray_cluster import _node, on_node
from parge.engine.ray_schedule import RAY_WORKER_BYTES
from parge.errors import InputError, PargeError
from parge.events import Event, Part, silent
from parge.graph.generate import planted
from parge.graph.subgraph import Subgraph
from parge.run.lock import InUseError
from parge.testing.engine import EngineContract, leave_pid_and_sleep
from parge.typing import FloatArray

HAS_RAY = importlib.util.find_spec("ray") is not None


def needs_ray(test: Any) -> Any:
    """Mark a test that starts Ray, and skip it where that is not installed."""
    return pytest.mark.ray(pytest.mark.skipif(not HAS_RAY, reason="Ray is absent: pip install 'parge[ray]'")(test))


MEMORY = {"head": 2_000_000_000, "small": 1_000_000_000}

# Room for the files of two tasks and a half.
STORE, FILES = 100_000_000, 40_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of unequal memory, one of them to be killed; this process is connected to them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # Ray's 15 would starve them beside other tests
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray
        from ray.cluster_utils import Cluster

        def settings(name: str) -> dict[str, Any]:
            own = {"node_name": name, "memory": MEMORY[name], "object_store_memory": STORE}
            return {**own, "num_cpus": 1, "include_dashboard": False, "include_log_monitor": False}

        handler = signal.getsignal(signal.SIGTERM)
        nodes = Cluster(initialize_head=True, head_node_args=settings("head"))
        nodes.add_node(**settings("small"))
        ray.init(nodes.address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
        signal.signal(signal.SIGTERM, handler)
        yield nodes
        ray.shutdown()
        nodes.shutdown()


@needs_ray
@pytest.mark.usefixtures("cluster")
class TestRay(EngineContract):
    def engine(self) -> Engine:
        return Ray()


def die_once(folder: str, _progress: Progress) -> str:
    mark = Path(folder) / "died"
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def grab(size: int, _progress: Progress) -> float:
    return float(np.ones(size // 8).sum())


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_workers_are_capped_and_started_again_as_on_this_machine(tmp_path: Path) -> None:
    heard: list[str] = []
    tasks = [
        Task(0, grab, 2_000_000_000, 10, limit_bytes=600_000_000, label="subgraph 0"),
        Task(1, die_once, str(tmp_path), label="subgraph 1", on_retry=heard.append),
    ]
    done = []
    with pytest.raises(WorkerError, match=r"subgraph 0 needed .*, had 600 MB"):
        for _, result in Ray().run(tasks, lambda _task, _share: None):
            done.append(result)
    assert done == ["alive"]
    assert len(heard) == 1
    assert re.search(r"subgraph 1 .*SIGKILL", heard[0])


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_leaving_early_leaves_nothing_running(tmp_path: Path) -> None:
    tasks = [Task(0, leave_pid_and_sleep, str(tmp_path)), Task(1, lambda _a, _p: 1, None)]
    running = Ray().run(tasks, lambda _task, _share: None)
    next(running)
    while not list(tmp_path.glob("*.pid")):
        pass
    running.close()  # type: ignore[attr-defined]  # run is a generator
    assert not any(Path(f"/proc/{file.stem}").exists() for file in tmp_path.glob("*.pid"))


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_what_fits_no_node_is_refused_before_any_work() -> None:
    tasks = [Task(0, grab, 8, 10), Task(1, grab, 8, 3_000_000_000, label="subgraph 1")]
    with pytest.raises(WorkerError, match=r"subgraph 1 needs 3\.10 GB .*: head 2\.00 GB, small 1\.00 GB\."):
        next(Ray().run(tasks, lambda _task, _share: None))


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_another_version_on_a_node_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parge, "__version__", "9.9")
    with pytest.raises(PargeError, match=r"9\.9.* head .* small "):
        list(Ray().run([Task(0, grab, 8)], lambda _task, _share: None))


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_memory_auto_is_what_the_nodes_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = tmp_path / "edges.txt"
    parge.write(planted(300, 1200, seed=1).graph, edges)
    line = ["plan", str(edges), "--technique", "hope", "--dim", "4", "--engine", "ray", "--memory", "auto", "--json"]
    assert run(line) == 0
    budgets = [part["budget_bytes"] for part in json.loads(capsys.readouterr().out)["parts"]]
    assert budgets == sorted((size - RAY_WORKER_BYTES for size in MEMORY.values()), reverse=True)


@dataclass(frozen=True)
class Carried:
    """An argument with a file that goes along; with a folder that nobody may use where it is said to be taken."""

    folder: Path
    wait: bool = False
    taken: bool = False

    reads: ClassVar[str] = "in"
    writes: ClassVar[str] = "out"

    def as_remote(self, folder: Path) -> "Carried":
        return replace(self, folder=folder)

    @contextmanager
    def locked_for_remote(self) -> Iterator[Any]:
        if self.taken:
            raise InUseError(f"another parge is at work in {self.folder}")
        yield lambda _share: None

    def store(self, files: Any) -> None:
        assert set(files) == {"answer"}


def carried(folder: Path, **how: bool) -> Carried:
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "data").write_bytes(bytes(FILES))
    return Carried(folder, **how)


def answer(job: Carried, progress: Progress) -> int:
    (job.folder / "out").mkdir()
    (job.folder / "out" / "answer").write_text("yes")
    progress(0.5)
    time.sleep(300 * job.wait)
    return (job.folder / "in" / "data").stat().st_size


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_a_task_that_cannot_be_sent_fails_alone(tmp_path: Path) -> None:
    tasks = [Task(i, answer, carried(tmp_path / str(i), taken=i == 1), label=f"subgraph {i}") for i in range(3)]
    done = []
    with pytest.raises(InUseError, match="parge") as caught:
        for task, size in Ray().run(tasks, lambda _task, _share: None):
            assert size == FILES
            done.append(task.key)
    assert sorted(done) == [0, 2]
    assert failed_task(caught.value) == "subgraph 1"


def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def _another_driver(address: str, folder: str) -> None:
    """Send a task that takes long, and say when it has started."""
    task = Task(0, answer, carried(Path(folder), wait=True))

    def tell(_task: Task, share: float) -> None:
        if share:
            sys.stdout.write("started\n")
            sys.stdout.flush()

    list(Ray(address=address).run([task], tell))


@needs_ray
def test_drivers_that_were_killed_leave_room_for_others(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from parge.engine import ray_schedule as module

    monkeypatch.setattr(module, "_BEGIN_SECONDS", 20.0)
    for i in range(2):  # as arguments of a task, their files together leave a node no room for a third's
        call = (cluster.address, str(tmp_path / str(i)))
        code = f"from tests.engine.test_ray import _another_driver; _another_driver(*{call!r})"
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline() == "started\n"
            driver.kill()
    tasks = [Task(i, answer, carried(tmp_path / f"last-{i}"), on_retry=pytest.fail) for i in range(3)]
    assert [size for _, size in Ray().run(tasks, lambda _task, _share: None)] == [FILES] * 3


@needs_ray
@pytest.mark.usefixtures("cluster")
def test_a_node_that_others_use_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    from parge.engine import ray_schedule as module

    (small,) = (_node(entry) for entry in ray.nodes() if entry["Alive"] and entry["NodeName"] == "small")
    others = ray.remote(_sleep).options(num_cpus=1, **on_node(ray, small)).remote(300)
    ray.wait([others], timeout=2.0)
    monkeypatch.setattr(module, "_BEGIN_SECONDS", 1.0)
    heard: list[str] = []
    task = Task(0, answer, carried(tmp_path), label="subgraph 0", on_retry=heard.append)
    try:
        assert [size for _, size in Ray().run([task], lambda _task, _share: None)] == [FILES]
    finally:
        ray.cancel(others, force=True)
    assert heard[0].startswith("small did not start subgraph 0 for 1 s")


@dataclass(frozen=True)
class WaitingToBeKilled(parge.DeepWalk):
    """DeepWalk that gets no further than its beginning, the first time it is at subgraph 0."""

    folder: str = ""

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        mark = Path(self.folder) / "started"
        if subgraph.index == 0 and not mark.exists():
            mark.touch()
            progress(0.5)
            time.sleep(300)
        return super().embed(subgraph, rng, progress=progress)


@needs_ray
def test_a_node_is_killed_while_it_embeds_and_the_bits_are_those_of_serial(cluster: Any, tmp_path: Path) -> None:
    graph = planted(800, 4000, seed=3).graph
    plan = {"capacities": [600, 500], "reconcile": "backbone", "seed": 5}
    technique = {"dim": 16, "walks": 2}
    expected = parge.embed(graph, parge.Plan(parge.DeepWalk(**technique), **plan, engine="serial"))
    waiting = WaitingToBeKilled(**technique, folder=str(tmp_path))
    (victim,) = (node for node in cluster.worker_nodes if node._ray_params.node_name == "small")
    shares: list[float] = []

    def kill(event: Event) -> None:
        """Kill the node with the least memory: it has got the first subgraph, the largest."""
        if isinstance(event, Part) and event.index == 0:
            if event.share == 0.5 and 0.5 not in shares:
                cluster.remove_node(victim, allow_graceful=False)
            shares.append(event.share)

    found = parge.embed(graph, parge.Plan(waiting, **plan, engine="ray"), run_dir=tmp_path / "run", listener=kill)
    assert 0.5 in shares
    assert found.vectors.tobytes() == expected.vectors.tobytes()
    (words,) = found.report.retries
    assert words.startswith("the worker of subgraph 0 on small was lost")


@needs_ray
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:1", r"no Ray cluster answers at 127\.0\.0\.1:1 .*ray start --head --port 1"),
        ("ray://10.0.0.1:10001", "HOST:PORT"),
        ("10.0.0.1", "HOST:PORT"),
    ],
)
def test_an_address_where_nobody_answers_is_refused(address: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(InputError, match=words):
        list(Ray(address=address).run([Task(0, grab, 8)], lambda _task, _share: None))


_AFTER_RAY = """
import os, signal
from parge.engine.base import Task
from parge.engine.ray import Ray

def heard(number, frame):
    print("heard", flush=True)
    os._exit(7)

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, heard)
    tasks = [Task(key=0, function=abs, argument=-3, projected_bytes=1, limit_bytes=None, label="one")]
    try:
        list(Ray(address="local").run(tasks, lambda task, share: None))
    except TypeError:  # of abs, which takes no second argument: Ray has ended all the same
        pass
    os.kill(os.getpid(), signal.SIGTERM)
"""


def _ended(folder: Path, script: str) -> tuple[int, list[bytes]]:
    """Return how a script ended that uses a Ray of its own, and the last word it said."""
    (folder / "script.py").write_text(script)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True, check=False)
    return done.returncode, done.stdout.split()[-1:]


@needs_ray
def test_who_is_asked_to_leave_after_ray_has_ended_still_hears_it(tmp_path: Path) -> None:
    """`ray.shutdown` resets the handler of SIGTERM below Python."""
    assert _ended(tmp_path, _AFTER_RAY) == (7, [b"heard"])


_DURING_INIT = """
import os, signal, sys
import ray
from parge.engine.base import Task
from parge.engine.ray import Ray

ours = ray._private.utils.set_sigterm_handler

def heard(number, frame):
    print("heard", flush=True)
    os._exit(7)

def asked_to_leave(handler):
    ours(handler)
    os.kill(os.getpid(), signal.SIGTERM)

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, heard)
    ray._private.utils.set_sigterm_handler = asked_to_leave
    tasks = [Task(key=0, function=abs, argument=-3, projected_bytes=1, limit_bytes=None, label="one")]
    list(Ray(address="local").run(tasks, lambda task, share: None))
"""


@needs_ray
def test_who_is_asked_to_leave_while_joining_a_cluster_hears_it(tmp_path: Path) -> None:
    """`ray.init` has a handler of its own, which exits with 15."""
    assert _ended(tmp_path, _DURING_INIT) == (7, [b"heard"])
