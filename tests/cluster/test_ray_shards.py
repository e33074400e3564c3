"""Shards as tasks of a Ray cluster give the bits of one process, whatever is killed."""

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from tests.cluster.test_faults import KILLS, Killed, check_kills, embedded, write_edges
from tests.cluster.test_run import check_same
from tests.engine.ray_token import TOKEN
from tests.engine.test_ray_hosts import HEAD, PARGE, Host, ray_on_hosts

import parge
from parge.engine.remote_task import RemoteTask
from parge.run import pipeline

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is absent: pip install 'parge[ray]'"),
]


# Shards of the test of bits.
MANY = 8


@pytest.fixture
def ray_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster of this machine, with a core for each of eight shards and one more, unless a test asks for others."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", TOKEN)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": getattr(request, "param", MANY + 1), "memory": 6_000_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        ray.init(address=cluster.address)
        yield
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("ray_here", [MANY + 1, 2], indirect=True, ids=["a core each", "two cores"])
def test_eight_shards_on_ray_give_the_same_bits(tmp_path: Path) -> None:
    edges, found = write_edges(tmp_path), {}
    for engine in ("serial", "ray"):
        (tmp_path / engine).mkdir()
        found[engine], _ = embedded(edges, tmp_path / engine, engine, parts=MANY)
    assert found["ray"].ids.tolist() == found["serial"].ids.tolist()
    assert np.array_equal(found["ray"].vectors, found["serial"].vectors)


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("with_ray", [False, True], ids=["shards", "workers of Ray"])
def test_what_is_killed_on_ray_costs_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_ray: bool) -> None:
    retries = check_kills(tmp_path, monkeypatch, "ray", with_ray=with_ray)
    stages = {
        "Read": "read",
        "level-1": "divide",
        "parts-0": "divide",
        "ship": "divide",
        "Cut": "cut",
        "round-2": "finish",
    }
    for step, rank in KILLS.items():
        assert any(f"shard {rank} ({stages[step]})" in words for words in retries), (step, retries)


@dataclass(frozen=True)
class KilledWhileStoring:
    """What embeds a part; at part 1 it dies once, with all files of the result written, and with Ray's own worker."""

    notes: Path

    def __call__(self, job: Any, progress: Any) -> Any:
        from parge.run import arrays
        from parge.run.worker import embed_part

        rename = arrays._rename_to_free

        def dies(temporary: Path, folder: Path) -> None:
            Killed(None, self.notes, {"store": 1}, with_ray=True).note(int(folder.parent.name), "store")
            rename(temporary, folder)

        arrays._rename_to_free = dies
        return embed_part(job, progress)


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("ray_here", [2], indirect=True)
def test_a_worker_of_ray_killed_while_it_stores_a_part_changes_no_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges, sent, found = write_edges(tmp_path), list[Any](), {}
    for name in ("processes", "ray", "notes"):
        (tmp_path / name).mkdir()
    found["processes"], _ = embedded(edges, tmp_path / "processes", "processes")
    for module in (__name__, Killed.__module__):
        cloudpickle.register_pickle_by_value(sys.modules[module])
    monkeypatch.setattr(pipeline, "embed_part", KilledWhileStoring(tmp_path / "notes"))
    of = RemoteTask.of
    monkeypatch.setattr(RemoteTask, "of", lambda task: sent.append((task.label, *of(task))) or sent[-1][1:])
    found["ray"], report = embedded(edges, tmp_path / "ray", "ray")
    check_same(found["ray"], found["processes"])
    (words,) = report.retries
    assert words.startswith("the worker of subgraph 1 on ")
    assert sorted(label for label, _, _ in sent if "subgraph" in label) == [f"subgraph {i}" for i in (0, 1, 1, 2)]
    assert not any(files for _, _, files in sent)
    assert not list((tmp_path / "ray" / "run").rglob("*.tmp-*"))


def at_step(run: Path, name: str, driver: "subprocess.Popen[str]") -> bool:
    """Wait until a run has kept what a pattern names."""
    end = time.monotonic() + 200
    while driver.poll() is None and time.monotonic() < end:
        if list(run.glob(name)):
            return True
        time.sleep(0.01)
    return False


def holder_of_a_shard(hosts: dict[str, Host]) -> str:
    """Return a host on which a shard is at work."""
    for name, host in hosts.items():
        listed = subprocess.run(host.command("ps", "-eo", "comm"), capture_output=True, text=True, check=True).stdout
        if "parge-worker" in listed:
            return name
    pytest.fail("no host has a shard")


MEMORY = {"head": 0, "one": 1_500_000_000, "two": 1_500_000_000, "three": 1_500_000_000}


def test_a_host_that_is_lost_while_its_shard_splits_changes_no_bit(tmp_path: Path) -> None:
    table = parge.graph.generate.planted(3000, 30000, seed=2).graph.to_frame()
    edges = tmp_path / "edges.txt"
    rows = zip(*(table.column(i).to_pylist() for i in range(2)), strict=True)
    edges.write_text("".join(f"{u} {v}\n" for u, v in rows))
    line = f"embed {edges} --sharded --parts 2 --dim 8 --param walks=2 --seed 5 --json".split()
    subprocess.run([*PARGE, *line, "-o", str(tmp_path / "expected")], check=True, capture_output=True)
    with ray_on_hosts(MEMORY) as (_folder, hosts):
        run = tmp_path / "run"
        where = f"-o {tmp_path}/found --engine ray --address {HEAD} --run-dir {run}"
        driver = hosts["head"].start(*PARGE, *line, *where.split())
        if not at_step(run, "steps/*/level-1", driver):
            hosts["head"].kill()
            pytest.fail("the run did not come so far: " + "".join(driver.communicate()))
        lost = holder_of_a_shard(hosts)
        hosts[lost].kill()
        out, err = driver.communicate(timeout=300)
        assert driver.returncode == 0, out + err
        retries = json.loads(out)["retries"]
    assert any(f"on {lost} was lost" in words and "shard" in words for words in retries), retries
    expected, found = (parge.Embedding.load(tmp_path / name) for name in ("expected", "found"))
    assert found.ids.tolist() == expected.ids.tolist()
    assert np.array_equal(found.vectors, expected.vectors)
