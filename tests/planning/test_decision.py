"""One decision per run; and what it hangs on are attributes of components, never their names."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import parge
from parge.cli.main import run
from parge.engine.base import engines
from parge.engine.serial import Serial
from parge.errors import InfeasibleError, InputError
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.planning import decision as deciding
from parge.planning import plan as planning
from parge.planning.decision import decide, decompose
from parge.planning.summary import idle
from parge.reconcile.base import IdentityMap, Map, Reconciler, reconcilers
from parge.refine.base import Refiner, Workspace, refiners
from parge.techniques.base import Chooser
from parge.typing import FloatArray

GRAPH = planted(300, 1500, communities=4, seed=3).graph
WALKS = parge.DeepWalk(dim=8, walks=1, walk_length=6)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the plans that are made, resolved, and searched for what is feasible."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def counting(*args: Any, **settings: Any) -> Any:
            counts[name] += 1
            return original(*args, **settings)

        monkeypatch.setattr(owner, name, counting)

    count(planning.Plan, "__post_init__")
    count(planning, "_resolved")
    count(deciding, "_prepare")
    return counts


@pytest.mark.parametrize("how", [["--technique", "hope"], ["--param", "walks=1", "--param", "walk_length=6"]])
def test_a_run_is_planned_resolved_and_searched_once(
    counted: Counter[str], how: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(GRAPH, Path("g.txt"))
    assert run(["embed", "g.txt", "-o", "v.npy", "--parts", "3", "--dim", "8", "--engine", "serial", *how]) == 0
    assert counted == {"__post_init__": 1, "_resolved": 1, "_prepare": 1}


def test_a_run_that_is_taken_up_is_not_searched_again(counted: Counter[str], tmp_path: Path) -> None:
    plan = parge.Plan(WALKS, parts=3, engine="serial")
    first = parge.embed(GRAPH, plan, run_dir=tmp_path / "run")
    again = parge.embed(GRAPH, parge.Plan(WALKS, parts=3, engine="serial"), run_dir=tmp_path / "run", resume=True)
    assert again.vectors.tobytes() == first.vectors.tobytes()
    # The third plan is the one that the folder tells of, which the second is compared with.
    assert counted == {"__post_init__": 3, "_resolved": 2, "_prepare": 1}


def test_the_next_best_is_searched_only_where_the_best_has_no_room(counted: Counter[str]) -> None:
    roomy, narrow = decide(GRAPH, parge.Plan(WALKS, parts=3)), decide(GRAPH, parge.Plan(WALKS, capacities=[105] * 3))
    assert counted["_prepare"] == 3
    assert [plan.reconcile for plan in roomy.others] == ["consensus"]
    assert (roomy.plan.reconcile, roomy.instead_of) == ("backbone", None)
    assert (narrow.plan.reconcile, list(narrow.others)) == ("consensus", [])
    assert isinstance(narrow.instead_of, InfeasibleError)
    assert any(words.startswith("consensus instead") for words in decompose(GRAPH, narrow).decomposition.notices)


def test_what_cannot_be_packed_is_decomposed_as_the_next_best_plan_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    best = decide(GRAPH, parge.Plan(WALKS, parts=3))

    def fails(*_args: Any, **_settings: Any) -> None:
        raise InfeasibleError("7 vertices too many")

    monkeypatch.setattr(type(best.decomposer), "decompose", fails)
    found = decompose(GRAPH, best)
    assert found.plan.reconcile == "consensus"
    assert "consensus instead: 7 vertices too many" in found.decomposition.notices


def test_a_decision_leaves_nothing_open() -> None:
    plan = decide(GRAPH, parge.Plan(WALKS, parts=3, seed=5)).plan
    assert (plan.reconciler.name, plan.refiner.name) == (plan.reconcile, plan.refine) == ("backbone", "whiten")
    assert (plan.n_parts, plan.seed, plan.technique) == (3, 5, WALKS)
    assert None not in {plan.anchor_strategy, plan.partitioner}
    assert set(plan.settings()) == set(parge.Plan().settings())


@pytest.mark.parametrize("technique", [WALKS, "hope", "sgc", "auto"])
@pytest.mark.parametrize("asked", [{}, {"parts": 3}, {"parts": 3, "preset": "paper"}, {"memory": "1GB,1GB"}])
def test_nobody_meets_auto_after_the_request(technique: Any, asked: dict[str, Any]) -> None:
    request = parge.Plan(technique, **asked)
    decision = decide(GRAPH, request)
    for plan in (request.resolved, decision.plan, *decision.others):
        words = [getattr(plan, field.name) for field in fields(plan) if field.name != "request"]
        assert not any(word == "auto" or (isinstance(word, tuple) and "auto" in word) for word in words)
    assert not decision.plan.fallbacks
    assert not isinstance(decision.plan.technique, Chooser)


@dataclass(frozen=True)
class Same(Reconciler):
    """Leaves spaces alone, by a name that parge has never heard of."""

    name: ClassVar[str] = "same"
    is_identity: ClassVar[bool] = True

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        return (IdentityMap(),) * len(anchors)


@dataclass(frozen=True)
class Spine(Same):
    """The backbone of somebody else."""

    name: ClassVar[str] = "spine"
    needs_landmarks: ClassVar[bool] = True


@dataclass(frozen=True)
class Idle(Refiner):
    """A pass that is none."""

    name: ClassVar[str] = "idle"
    is_identity: ClassVar[bool] = True

    def refine(self, graph: Any, vectors: FloatArray, technique: Any, work: Workspace) -> dict[str, Any]:
        raise AssertionError("there is nothing to do")


@pytest.fixture
def _plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for registry, component in ((reconcilers, Same), (reconcilers, Spine), (refiners, Idle)):
        monkeypatch.setitem(registry._known, component.name, component)  # type: ignore[attr-defined]
    return


@pytest.mark.usefixtures("_plugged")
def test_components_of_others_are_judged_by_what_they_say_of_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(GRAPH, Path("g.txt"))
    line = ["embed", "g.txt", "--parts", "3", "--engine", "serial", "--refine", "idle", "--run-dir"]
    assert run([*line, "a", "-o", "a.npy", "--technique", "hope", "--dim", "8", "--reconcile", "same"]) == 0
    said = capsys.readouterr()
    assert "aligning: skipped" in said.err
    assert "as mapped" not in said.out
    walks = ["--dim", "8", "--param", "walks=1", "--param", "walk_length=6"]
    for name in ("spine", "backbone"):
        assert run([*line, name, "-o", f"{name}.npy", *walks, "--reconcile", name]) == 0
        assert "in one space" in capsys.readouterr().err
    np.testing.assert_array_equal(np.load("spine.npy"), np.load("backbone.npy"))
    assert run(["report", "spine", "-o", "spine.html"]) == 0
    assert "As embedded" in Path("spine.html").read_text()
    with pytest.raises(InputError, match="hope"):
        _ = parge.Plan("hope", parts=3, reconcile="spine").resolved
    assert idle(parge.Plan("hope", parts=3, anchors=0, reconcile="same")) == ()
    assert idle(parge.Plan("hope", parts=3, anchors=0, reconcile="linear")) == (
        "--reconcile has no effect without anchors",
    )


def test_jobs_are_taken_by_their_former_name() -> None:
    assert parge.Plan(workers=3) == parge.Plan(jobs=3)  # type: ignore[call-arg]
    assert parge.Plan(jobs=3).workers == 3  # type: ignore[attr-defined]
    assert parge.Plan(jobs=3).settings()["workers"] == 3
    with pytest.raises(InputError, match="jobs"):
        parge.Plan(jobs=3, workers=2)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="jobs"):
        parge.Plan(workers=0)  # type: ignore[call-arg]


@pytest.mark.parametrize("option", ["--jobs", "--workers"])
@pytest.mark.parametrize("keyword", ["jobs", "workers"])
def test_engines_are_told_of_jobs_by_the_name_that_they_know(
    option: str, keyword: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[int | None] = []

    def new(*, jobs: int | None) -> Serial:
        reported.append(jobs)
        return Serial()

    def old(*, workers: int | None) -> Serial:
        reported.append(workers)
        return Serial()

    monkeypatch.setitem(engines._known, "mine", new if keyword == "jobs" else old)
    monkeypatch.chdir(tmp_path)
    write(GRAPH, Path("g.txt"))
    line = ["embed", "g.txt", "-o", "v.npy", "--parts", "2", "--technique", "sgc", "--dim", "4", "--engine", "mine"]
    assert run([*line, option, "3"]) == 0
    assert reported == [3]


def test_an_engine_of_this_process_is_told_of_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Alone(Serial):
        """Another engine that shares this process."""

    monkeypatch.setitem(engines._known, "alone", Alone)
    assert idle(parge.Plan(parts=2, engine="alone", jobs=2)) == ("--jobs has no effect with --engine alone",)
    with pytest.raises(InputError, match="engine alone"):
        _ = parge.Plan(parts=2, engine="alone", address="10.0.0.1:6379").resolved


def test_help_names_jobs_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["embed", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--jobs" in said
    assert "--workers" not in said
