"""The report of a run: typed fields, JSON and back, reports of earlier versions, and JSON that is no report."""

import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import parge
from parge.embedding import Embedding
from parge.errors import InputError, PargeError
from parge.graph.generate import ring_of_cliques
from parge.result import Report
from parge.run.pipeline import embed_to_file
from parge.stage_reports import Part, Refined, Seconds, Summary
from parge.values import Settings, Value

GRAPH = ring_of_cliques(12, 10)
PLAN = parge.Plan(technique=parge.HOPE(dim=8), parts=3, anchors=24, engine="serial", seed=5)

NAMES = [item.name for item in fields(Report)]

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of a field's type."""
    if get_origin(kind) is UnionType:
        return st.none() | st.one_of(*(of_type(one) for one in get_args(kind) if one is not NoneType))
    if get_origin(kind) is tuple:
        return st.lists(of_type(get_args(kind)[0]), max_size=3).map(tuple)
    if kind is Settings:
        return st.dictionaries(st.text(min_size=1, max_size=9), PLAIN, max_size=3).map(Settings)
    if issubclass(kind, Value):
        return of_class(kind)
    simple = {int: st.integers(0, 2**60), float: st.floats(allow_nan=False), str: st.text(max_size=9)}
    return simple[kind] if kind in simple else st.booleans()


def of_class(kind: type[Value]) -> st.SearchStrategy[Any]:
    """Return values of a class; what JSON has no key for cannot hide under the name of a field."""
    hints = get_type_hints(kind)
    names = [item.name for item in fields(kind)]
    found = {name: of_type(hints[name]) for name in names}
    if "others" in names:
        strange = st.text(max_size=9).filter(lambda name: name not in names)
        found["others"] = st.dictionaries(strange, PLAIN, max_size=3).map(Settings)
    return st.builds(kind, **found)


@settings(max_examples=40, deadline=None)
@given(of_class(Report))
def test_json_and_back_is_the_same_report(report: Report) -> None:
    text = json.dumps(report.to_json())
    again = Report.from_json(json.loads(text))
    assert again == report
    assert [getattr(again, item.name) for item in fields(again)] == [
        getattr(report, item.name) for item in fields(report)
    ]
    assert json.dumps(again.to_json()) == text == json.dumps(report)
    assert pickle.loads(pickle.dumps(report)) == report


@pytest.fixture(scope="module")
def found() -> Embedding:
    return parge.embed(GRAPH, PLAN)


def test_a_run_tells_all_in_typed_fields(found: Embedding) -> None:
    report = found.report
    assert (report.vertices, report.edges, report.dim) == (120, GRAPH.n_edges, 8)
    assert (report.technique, report.anchors, report.parge) == ("hope", 24, parge.__version__)
    assert [part.vertices for part in report.parts] == [part.own + 24 for part in report.parts]
    assert all(part.peak_bytes and part.seconds and part.seconds > 0 for part in report.parts)
    assert report.worker_seconds == [part.seconds for part in report.parts]
    assert report.seconds.embed is not None
    assert report.seconds.embed >= max(report.worker_seconds)
    assert report.seconds.total == pytest.approx(sum(took for _, took in report.seconds.stages()))
    assert report.reconcile.reconciler == "consensus"
    assert len(report.reconcile.residuals) == 3
    assert report.reconcile.residuals[0].after <= report.reconcile.residuals[0].before
    assert report.reconcile.helped is not None
    assert report.refine.name == "subspace"
    assert report.refine.steps is not None
    assert report.edge_counts is not None
    assert report.lost_edges == pytest.approx(report.edge_counts.lost / GRAPH.n_edges)
    assert (report.plan.seed, report.plan.parts, report.plan.refine) == (5, 3, "subspace")
    assert report.coordinator.peak_bytes
    assert report.is_measured


def test_the_json_has_its_keys_in_their_order(found: Embedding) -> None:
    assert list(found.report.to_json()) == [
        *("vertices", "edges", "dim", "technique", "anchors", "edge_counts", "lost_edges", "parts", "warnings"),
        *("notices", "seconds", "reconcile", "refine", "retries", "coordinator", "plan", "parge"),
    ]
    assert list(found.report.to_json()["parts"][0]) == [
        *("vertices", "own", "halo", "lumps", "capacity", "edges", "projected_bytes", "kept_edges"),
        *("peak_bytes", "seconds"),
    ]
    assert list(found.report["seconds"]) == ["decompose", "prepare", "embed", "reconcile", "refine", "total"]
    assert list(found.report["reconcile"]) == ["reconciler", "residuals", "helped", "gave_way"]
    assert found.report["warnings"] == found.report["retries"] == []
    assert found.report["plan"]["capacities"] is None


def test_a_report_is_read_as_the_dict_that_it_was(found: Embedding) -> None:
    report = found.report
    assert report["parts"][2]["peak_bytes"] == report.parts[2].peak_bytes
    assert report.get("parts") == [part.to_json() for part in report.parts]
    assert report.get("strange") is None
    assert {"seconds", "reconcile"} <= set(report)
    assert json.loads(json.dumps(report)) == report == report.to_json()
    assert {**report} == dict(report)
    assert not Report()


def test_nothing_can_be_changed(found: Embedding) -> None:
    with pytest.raises(FrozenInstanceError):
        found.report.vertices = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        found.report.parts[0].edges = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        found.report.plan.seed = 3
    for change in (
        lambda: found.report.update(vertices=3),
        lambda: found.report.pop("vertices"),
        lambda: found.report.setdefault("mine", 3),
        lambda: found.report.__setitem__("vertices", 3),
        lambda: found.report.__ior__({"vertices": 3}),
    ):
        with pytest.raises(TypeError, match="replace"):
            change()
    assert found.report["vertices"] == found.report.vertices == 120


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_files_hold_what_is_equal_for_equal_runs(found: Embedding, suffix: str, tmp_path: Path) -> None:
    out = tmp_path / f"x{suffix}"
    report = embed_to_file(GRAPH, PLAN, out, run_dir=tmp_path / "run")
    held = Embedding.load(out).report
    assert held == report.reproducible() == found.report.reproducible()
    assert not {"seconds", "coordinator", "notices", "retries"} & set(held)
    assert held["warnings"] == []
    assert [part.seconds for part in held.parts] == [None] * 3
    assert (held.plan.seed, held.plan.engine, "engine" in held.plan) == (5, None, False)
    assert not held.is_measured
    with pytest.raises(InputError, match="how long"):
        _ = held.worker_seconds


OLD = {
    "vertices": 10,
    "edges": 20,
    "dim": 4,
    "technique": "deepwalk",
    "anchors": 2,
    "lost_edges": 0.1,
    "parts": [{"vertices": 6, "capacity": 8, "edges": 9, "projected_bytes": 100, "kept_edges": 0.5}] * 2,
    "warnings": [],
    "reconcile": {
        "reconciler": "orthogonal",
        "residuals": [
            {"before": 1.4, "after": 0.2, "held_out": None, "smallest_singular_value": 0.0, "n_anchors": 2, "dim": 4}
        ],
    },
    "plan": {"parts": 2, "seed": 1},
    "parge": "0.0.1",
}


def test_reports_of_earlier_versions_are_read() -> None:
    report = Report.from_json(OLD)
    assert [(part.own, part.halo, part.supervertices) for part in report.parts] == [(4, 0, 0)] * 2
    assert (report.refine.name, report.edge_counts, report.seconds.prepare) == (None, None, None)
    assert (report.reconcile.helped, report.reconcile.fell_back) == (None, False)
    assert report.reconcile.residuals[0].held_out is None
    assert Report.from_json(report.to_json()) == report


@pytest.mark.parametrize("key", OLD)
def test_any_key_may_be_missing(key: str) -> None:
    report = Report.from_json({name: value for name, value in OLD.items() if name != key})
    assert key not in report or key == "warnings"
    assert Report.from_json({}) == {} == Report()


def test_what_later_versions_and_other_tools_say_is_kept() -> None:
    reported = {"refine": {"name": "mine", "tries": [1, 2], "steps": "many"}, "shards": [{"peak_bytes": 3}], "by": "me"}
    report = Report.from_json(reported)
    assert report == reported
    assert (report.refine.name, report.refine.steps, report.refine.others.steps) == ("mine", None, "many")
    assert report.others.by == "me"


def test_shards_are_typed_and_measured() -> None:
    took = {"peak_bytes": 3, "seconds": 0.5, "sent_bytes": 2, "rows_bytes": 7}
    reported = {"vertices": 4, "shards": [{"peak_bytes": 3, "stages": {"decompose": took}}]}
    report = Report.from_json(reported)
    assert report == reported
    stages = report.shards[0].stages
    assert stages is not None
    assert stages.read is None
    assert stages.decompose is not None
    assert (stages.decompose.rows_bytes, stages.decompose.arcs) == (7, None)
    assert report.reproducible() == {"vertices": 4}


def change(path: str, value: Any) -> Any:
    """Return the old report with something else at a path."""
    data = json.loads(json.dumps(OLD))
    *steps, last = path.split("/")
    place = data
    for step in steps:
        place = place[int(step)] if step.isdigit() else place[step]
    place[last] = value
    return data


NESTED: list[Any] = []
for _ in range(200):
    NESTED = [NESTED]

HOSTILE: dict[str, Any] = {
    "no object": [],
    "a text": "report",
    "nothing": None,
    "a number": 7,
    "parts that are no list": change("parts", {"0": 1}),
    "a part that is a number": change("parts", [7]),
    "a part without numbers": change("parts", [{}]),
    "a count that is a text": change("parts/0/edges", "9"),
    "a count that is a share": change("vertices", 1.5),
    "a count that is a truth": change("vertices", True),
    "a count beyond numbers": change("vertices", 10**5000),
    "a share that is a list": change("lost_edges", [1]),
    "a residual of text": change("reconcile/residuals", ["far"]),
    "a residual without numbers": change("reconcile/residuals", [{"before": 1}]),
    "a name that is an object": change("technique", {"a": "\x1b[31m"}),
    "warnings that are a text": change("warnings", "all is well"),
    "a warning that is a number": change("warnings", [3]),
    "a plan that is a list": change("plan", [1, 2]),
    "a truth that is a number": change("reconcile/gave_way", 1),
    "a pass without a name of text": change("refine", {"name": 3}),
    "depths": change("plan/seed", NESTED),
    "strange depths": change("strange", NESTED),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_report_is_refused(data: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refusal:
        Report.from_json(data)
    assert len(str(refusal.value)) < 300
    assert str(refusal.value).isprintable()
    with pytest.raises(PargeError):
        Embedding(np.eye(2), [0, 1], data)
    if data != HOSTILE["a count beyond numbers"]:  # which json itself refuses to read
        np.savez(tmp_path / "x.npz", vectors=np.eye(2), report=np.frombuffer(json.dumps(data).encode(), np.uint8))
        with pytest.raises(InputError, match=r"x\.npz"):
            Embedding.load(tmp_path / "x.npz")


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.sampled_from([item.name for item in fields(Report)]) | st.text(max_size=3), PLAIN, max_size=4)
)
def test_any_json_is_a_report_or_refused(data: dict[str, Any]) -> None:
    try:
        report = Report.from_json(data)
    except InputError:
        return
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report


def test_an_embedding_has_a_report_in_any_case() -> None:
    assert Embedding(np.eye(2), [0, 1]).report == Report()
    plain = Embedding(np.eye(2), [0, 1], {"refine": {"name": "none"}})  # type: ignore[arg-type]
    assert isinstance(plain.report, Report)
    assert plain.report.refine == Refined(name="none")


def test_the_summary_of_a_plan_and_the_report_share_the_parts() -> None:
    part = Part(vertices=5, own=3, capacity=6, edges=4, projected_bytes=10, kept_edges=1.0)
    assert {item.name for item in fields(Summary)} <= set(NAMES)
    assert list(replace(part, seconds=2.0).to_json())[-1] == "seconds"
    assert Seconds(total=1.5).to_json() == {"total": 1.5}
