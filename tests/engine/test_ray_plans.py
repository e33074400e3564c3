"""What is decided for the engine `ray` before it starts: what a plan may ask of it, and where tasks go."""

import sys
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.cli.main import run
from parge.engine.base import Task, engines
from parge.engine.ray_cluster import Node
from parge.engine.ray_schedule import RAY_WORKER_BYTES, Schedule, _check_room, _Sent
from parge.engine.serial import Serial
from parge.errors import InfeasibleError, InputError
from parge.graph.generate import planted


def test_without_ray_one_line_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(["embed", str(tmp_path / "no.txt"), "-o", str(tmp_path / "v.npy"), "--engine", "ray"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "Error: the engine ray needs Ray, which is not installed: pip install 'parge[ray]'"
    ]


def test_an_address_and_memory_auto_are_for_clusters() -> None:
    with pytest.raises(InputError, match=r"processes.*--engine ray"):
        _ = parge.Plan(address="10.0.0.1:6379").resolved
    with pytest.raises(InputError, match="--memory auto"):
        _ = parge.Plan(memory="auto").resolved
    with pytest.raises(InputError, match="--memory auto"):
        _ = parge.Plan(memory=["auto"], engine="serial").resolved


def test_a_resumed_run_keeps_the_memory_that_auto_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [[400_000_000, 300_000_000], [400_000_000]]

    class Changing(Serial):
        def worker_memory(self) -> list[int]:
            return found.pop(0)

    monkeypatch.setitem(engines._known, "changing", lambda **_settings: Changing())
    graph = planted(60, 200, seed=1).graph

    def embedded(resume: bool) -> parge.Embedding:
        plan = parge.Plan(parge.SGC(dim=2), memory="auto", engine="changing")
        return parge.embed(graph, plan, run_dir=tmp_path / "run", resume=resume)

    first, again = embedded(False), embedded(True)
    assert len(again.report.parts) == 2
    assert again.vectors.tobytes() == first.vectors.tobytes()
    assert again.report.plan.memory == (400_000_000, 300_000_000)


def test_auto_plans_as_the_same_sizes_given_and_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [400_000_000, 300_000_000]

    class Sized(Serial):
        def worker_memory(self) -> list[int]:
            return list(sizes)

    monkeypatch.setitem(engines._known, "sized", lambda **_settings: Sized())
    graph = planted(60, 200, seed=1).graph
    # SGC's pass depends on whether there are features.
    graph = graph.with_features(np.random.default_rng(0).random((60, 4), np.float32))

    def embedded(memory: str | list[int], **settings: object) -> parge.Embedding:
        plan = parge.Plan(parge.SGC(dim=4), memory=memory, engine="sized")
        return parge.embed(graph, plan, **settings)  # type: ignore[arg-type]

    given, auto = embedded(sizes), embedded("auto", run_dir=tmp_path / "run")
    again = embedded("auto", run_dir=tmp_path / "run", resume=True)
    assert auto.report.plan == again.report.plan == given.report.plan
    assert auto.vectors.tobytes() == again.vectors.tobytes() == given.vectors.tobytes()


def test_a_node_too_small_for_any_vertex_is_refused_with_the_plan_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Uneven(Serial):
        def worker_memory(self) -> list[int]:
            return [900_000_000, 800_000_000, 100_000_000]

    monkeypatch.setitem(engines._known, "uneven", lambda **_settings: Uneven())
    words = r"100 MB .*deepwalk needs .*--num-cpus=0.* --memory 900000000,800000000"
    with pytest.raises(InfeasibleError, match=words):
        _ = parge.Plan(memory="auto", engine="uneven").resolved


def _placed(
    sizes: list[int], nodes: list[Node], busy: dict[str, int] | None = None, *, needs_others: bool = False
) -> list[str | None]:
    """Return where tasks of these sizes go, the largest first."""
    schedule = object.__new__(Schedule)
    schedule.most, schedule.avoided, schedule.running, schedule.watch = None, {}, {}, lambda _task, _share: None
    for id_, size in (busy or {}).items():
        node = next(node for node in nodes if node.id == id_)
        schedule.running[object()] = _Sent(Task(99, abs, 0, size), node, None, None)  # type: ignore[arg-type]
    schedule.nodes = type("Nodes", (), {"usable": lambda self: nodes})()
    went: dict[int, str] = {}

    def begin(task: Task, node: Node) -> None:
        went[task.key] = node.id
        schedule.running[object()] = _Sent(task, node, None, None)  # type: ignore[arg-type]

    schedule._begin = begin  # type: ignore[method-assign]
    schedule._send([Task(key, abs, 0, size, needs_others=needs_others) for key, size in enumerate(sizes)])
    return [went.get(key) for key in range(len(sizes))]


def test_tasks_go_where_they_fit_and_the_large_ones_find_room() -> None:
    a, b, c = (Node(id_, id_, 1, size + RAY_WORKER_BYTES) for id_, size in (("a", 100), ("b", 200), ("c", 400)))
    assert _placed([400, 200, 100], [a, b, c]) == ["c", "b", "a"]
    assert _placed([90, 80, 70], [a, b, c]) == ["a", "b", "c"]
    assert _placed([300, 150, 150], [a, b, c], busy={"c": 10}) == [None, "b", None]
    two = Node("d", "d", 2, 400 + 2 * RAY_WORKER_BYTES)
    assert _placed([300, 100, 90], [two, b]) == ["d", "b", "d"]
    assert _placed([300, 150], [two], busy={"d": 10}) == ["d", None]


def test_tasks_that_need_each_other_share_cores_evenly() -> None:
    small, large = (Node(id_, id_, cores, 10**12) for id_, cores in (("small", 1), ("large", 3)))
    went = _placed([0] * 24, [small, large], needs_others=True)
    assert (went.count("small"), went.count("large")) == (6, 18)
    assert _placed([0] * 24, [small, large]).count(None) == 20


def test_tasks_that_need_each_other_and_do_not_fit_at_once_are_refused() -> None:
    nodes = [Node(id_, id_, 2, 3 * RAY_WORKER_BYTES) for id_ in "ab"]
    tasks = [Task(key, abs, 0, needs_others=True) for key in range(7)]
    _check_room(tasks[:6], nodes)
    with pytest.raises(InfeasibleError, match=r"7 .* 700 MB"):
        _check_room(tasks, nodes)
