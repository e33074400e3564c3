"""An option that was given changes what comes out, or a notice names it, or it is refused; and notices are true."""

from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.examples import slow

import parge
from parge.cli.main import run
from parge.engine.base import make_engine
from parge.errors import InfeasibleError, InputError
from parge.graph.generate import planted
from parge.planning.plan import PRESETS
from parge.planning.summary import IDLE, idle

GRAPH = planted(150, 900, communities=4, mixing=0.3, seed=2).graph

# What else is asked for: every kind of plan in which something may do nothing.
SETTINGS: dict[str, dict[str, Any]] = {
    "one part": {},
    "one capacity": {"capacities": [150]},
    "one part, the paper": {"preset": "paper"},
    "3 parts": {"parts": 3},
    "3 parts, the paper": {"parts": 3, "preset": "paper"},
    "no anchors": {"parts": 3, "anchors": 0},
    "no anchors by share": {"parts": 3, "anchors": "0%"},
    "not reconciled": {"parts": 3, "reconcile": "none"},
    "capacities": {"capacities": [90, 80, 70]},
    "all given": {
        "parts": 3,
        "anchors": 20,
        "anchor_strategy": "degree",
        "partitioner": "random",
        "reconcile": "orthogonal",
        "refine": "none",
    },
    "processes": {"parts": 3, "engine": "processes"},
    "processes, one part": {"engine": "processes"},
    "backbone": {"technique": parge.DeepWalk(dim=4, walks=2, walk_length=8), "parts": 3},
}

# One part, parts with anchors and without, and around landmarks.
QUICK = ("3 parts", "no anchors", "processes, one part", "backbone")

# A value of every field that is nobody's default.
VALUES: dict[str, Any] = {
    "technique": parge.HOPE(dim=4),
    "parts": 2,
    "capacities": [100, 110],
    "memory": ["400MB", "500MB"],
    "anchors": 13,
    "anchor_strategy": "random",
    "partitioner": "random",
    "reconcile": "orthogonal",
    "refine": "propagate",
    "preset": "paper",
    "purpose": "links",
    "engine": "processes",
    "address": "10.0.0.1:6379",
    "jobs": 2,
    "seed": 9,
    "coordinator_memory": "3GB",
}


def plan_of(setting: dict[str, Any]) -> parge.Plan:
    return parge.Plan(**{"technique": parge.ProNE(dim=4), "engine": "serial", "seed": 1, **setting})


@cache
def outcome(setting: str, option: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return all that a plan decides (vectors, who embeds, the coordinator's memory), and what is said of it."""
    plan = plan_of(SETTINGS[setting])
    if option is not None:
        plan = replace(plan, **{option: VALUES[option]})
    # Which engine works changes no bit, so the vectors are computed by the quick one, and the engine is compared.
    found = parge.embed(GRAPH, replace(plan, engine="serial", jobs=None))
    engine = make_engine(plan.engine, jobs=plan.jobs, address=plan.address)
    return (found.vectors.tobytes(), repr(engine), plan.seed, plan.coordinator_limit()), idle(plan)


def test_every_field_has_a_value_here() -> None:
    assert set(VALUES) == {field.name for field in fields(parge.Plan)}


@pytest.mark.parametrize("setting", [*QUICK, *slow(*(name for name in SETTINGS if name not in QUICK))])
@pytest.mark.parametrize("option", VALUES)
def test_an_option_does_something_or_is_named_or_refused(setting: str, option: str) -> None:
    given = {**PRESETS[SETTINGS[setting].get("preset", "best")], **SETTINGS[setting]}
    if given.get(option) == VALUES[option]:
        return  # said already
    before, _ = outcome(setting, None)
    try:
        after, said = outcome(setting, option)
    except InputError:
        return
    typed = {"purpose": "for"}.get(option, option.replace("_", "-"))
    named = any(f"--{typed} has no effect" in words for words in said)
    several = len(SETTINGS[setting].get("capacities", ())) > 1 or SETTINGS[setting].get("parts", 1) > 1
    if option == "jobs" and named and not several and SETTINGS[setting].get("engine"):
        assert after[0] == before[0]  # the engine is told, and has one task
    else:
        assert named != (after != before), (said, "a notice is true, and no silence is")


def test_what_nobody_gave_is_not_told_of() -> None:
    for setting in ({}, {"parts": 3}, {"parts": 1, "anchors": "auto", "reconcile": "auto"}):
        assert idle(parge.Plan(**setting)) == ()


def test_the_table_names_fields() -> None:
    assert {entry.field for entry in IDLE} <= {field.name for field in fields(parge.Plan)}


def test_notices_reach_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = str(tmp_path / "graph.txt")
    assert run(["generate", "--vertices", "60", "--edges", "200", "-o", graph]) == 0
    small = ["--technique", "hope", "--dim", "4", "--anchors", "20", "--engine", "serial"]
    for words in (
        ["plan", graph, *small],
        ["plan", graph, *small, "--json"],
        ["embed", graph, "-o", str(tmp_path / "v.npy"), *small],
        ["decompose", graph, "--run-dir", str(tmp_path / "run"), *small],
        ["evaluate", "links", graph, *small],
    ):
        capsys.readouterr()
        assert run(words) == 0
        assert "--anchors" in capsys.readouterr().err
    assert "--anchors" in " ".join(parge.embed(GRAPH, plan_of({"anchors": 20})).report.notices)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["generate", "--kind", "grid", "--vertices", "12", "--edges", "30", "-o", "g.txt"], "--edges"),
        (["generate", "--kind", "star", "--vertices", "12", "--seed", "3", "-o", "g.txt"], "--seed"),
        (["generate", "--kind", "tree", "--vertices", "40", "--exponent", "3", "-o", "g.txt"], "--exponent"),
    ],
)
def test_generate_names_what_a_kind_does_not_read(
    words: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 0
    assert f"{named} has no effect" in capsys.readouterr().err
    assert run(["generate", "--vertices", "40", "--exponent", "3", "--mixing", "0.1", "-o", "planted.txt"]) == 0
    assert "no effect" not in capsys.readouterr().err


def test_a_partitioner_whose_memory_nobody_projects_is_told_of() -> None:
    for setting, reported in (
        ({"parts": 3, "partitioner": "random"}, True),
        ({"parts": 3, "preset": "paper"}, True),
        ({"partitioner": "random"}, False),
        ({"parts": 3}, False),
        ({"parts": 3, "partitioner": "streaming"}, False),
    ):
        for limit in (None, "90GB"):
            notices = parge.embed(GRAPH, plan_of({**setting, "coordinator_memory": limit})).report.notices
            said = any("--coordinator-memory does not choose the partitioner" in words for words in notices)
            assert said == (reported and limit is not None), (setting, limit, notices)


@pytest.mark.parametrize("partitioner", ["kaminpar-compressed", "streaming"])
def test_a_partitioner_that_does_not_fit_is_refused(partitioner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.decompose.partitioner_choice.private_bytes", lambda: 99_000_000)
    plan = plan_of({"parts": 3, "partitioner": partitioner, "coordinator_memory": "100MB"})
    with pytest.raises(InfeasibleError, match=r"--coordinator-memory \d+MB"):
        parge.embed(GRAPH, plan)
    chosen = parge.embed(GRAPH, replace(plan, coordinator_memory="900MB")).report.coordinator
    assert chosen.partitioner == partitioner


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ({"technique": "auto", "purpose": "links"}, "pass of the chosen technique, which is not done"),
        ({"technique": "auto"}, "may predict labels less well"),
        ({"technique": "prone", "purpose": "links"}, "pass blend, which is not done"),
        ({"technique": "prone", "purpose": "both"}, "may predict labels and links less well"),
    ],
)
def test_faithful_tells_which_pass_is_not_done(setting: dict[str, Any], what: str) -> None:
    said = " ".join(idle(parge.Plan(parts=4, refine="scale", **setting)))
    assert what in said
    assert "--faithful" in said
    assert "not done" not in " ".join(idle(parge.Plan(parts=4, **setting)))
    assert "not done" not in " ".join(idle(parge.Plan(refine="scale", **setting))), "one part: the pass does nothing"


def test_faithful_with_one_part_is_called_so() -> None:
    (said,) = idle(parge.Plan(refine="scale"))
    assert said.startswith("--faithful (--refine scale) has no effect with one part")
