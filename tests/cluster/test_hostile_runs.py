"""A stopped run in shards from a stranger: strange answers of stages, files and states of a pass are not taken."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cluster.tampering import PARTS, Change, N, cut_short, tamper, write_edges
from tests.examples import slow

import parge
from parge.cluster import stages
from parge.cluster.run import embed_sharded
from parge.cluster.source import Source, edge_files
from parge.cluster.stage_results import CutResult, DivideResult, FinishResult, ReadResult, saved_results, shard_name
from parge.errors import PargeError
from parge.run import arrays
from parge.run.arrays import DamagedError
from parge.run.schema import DONE, PASS, PLAN, RESULT, SHARDED

MERGED_EARLY = True


def embedded(place: Path, **more: Any) -> parge.Embedding:
    request = parge.Plan(technique=parge.DeepWalk(dim=4, walks=1), parts=PARTS, engine="serial")
    source = Source(edge_files(place / "edges.txt"))
    embed_sharded(source, request, place / "out", run_dir=place / "run", **more)
    return parge.Embedding.load(place / "out")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stopped in the middle of the pass, with the vectors of its second round."""
    place = tmp_path_factory.mktemp("stopped")
    write_edges(place / "edges.txt")

    def stops(*_given: Any, **_more: Any) -> Any:
        raise PargeError("the disk is full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "write_parquet", stops)
        with pytest.raises(PargeError, match="disk"):
            embedded(place)
    return place


@pytest.fixture
def place(stopped: Path, tmp_path: Path) -> Path:
    """The same run under another name; its settings name the edges there."""
    found = Path(shutil.copytree(stopped, tmp_path / "stopped"))
    kept = arrays.load(found / "run" / PLAN, SHARDED, arrays=False)[1]
    edges = found / "edges.txt"
    kept["settings"]["graph"]["files"] = [[str(edges), edges.stat().st_size, edges.stat().st_mtime_ns]]
    arrays.save(found / "run" / PLAN, SHARDED, {}, kept)
    return found


KINDS: dict[str, Any] = {"read": ReadResult, "divide": DivideResult, "cut": CutResult, "finish": FinishResult}


def checked_answers(stage: str, about: dict[str, Any]) -> list[dict[str, Any]]:
    return [found.to_json() for found in saved_results(KINDS[stage], stage, about, PARTS)]


def put_answers(place: Path, stage: str, change: Callable[[dict[str, Any]], Any]) -> None:
    folder = place / "run" / f"done-{stage}"
    about = arrays.load(folder, DONE)[1]
    change(about)
    arrays.save(folder, DONE, {}, about)


def test_a_run_under_another_name_is_resumed(place: Path) -> None:
    assert len(embedded(place, resume=True)) == N


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        *(("read", name) for name in ("vertices", "edges", "notices", "weighted", "own", "arcs", "peak_bytes")),
        *(("divide", name) for name in ("reconcile", "anchors")),
        *(("cut", name) for name in ("vertices", "own", "halo", "lumps", "edges", "anchors", "counts", "kept")),
    ],
)
@pytest.mark.parametrize("value", ["x", -1, *slow(None, [1, 2], {"a": 1}, 2**70)], ids=str)
def test_strange_answers_are_refused(stopped: Path, stage: str, name: str, value: Any) -> None:
    about = json.loads(json.dumps(arrays.load(stopped / "run" / f"done-{stage}", DONE)[1]))
    assert checked_answers(stage, about) == about["answers"]
    if (name, value) in (("reconcile", "x"), ("kept", -1)):
        return  # a word, and a share that is wrong and harmless
    about["answers"][1][name] = value
    with pytest.raises(DamagedError):
        checked_answers(stage, about)
    del about["answers"][1][name]
    with pytest.raises(DamagedError):
        checked_answers(stage, about)


@pytest.mark.parametrize("answers", [None, [], {}, "xx", [1, 2], [{}, {}], [[], []]], ids=str)
@pytest.mark.parametrize("stage", ["cut", *slow("read", "divide")])
def test_answers_that_are_none_are_refused(place: Path, stage: str, answers: Any) -> None:
    put_answers(place, stage, lambda about: about.update(answers=answers))
    with pytest.raises(DamagedError, match=f"done-{stage}"):
        embedded(place, resume=True)


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../x.parquet"},
        {"file": "part-00000.parquet"},
        {"sha256": "x"},
        {"rows": -1},
        {"pass": 3},
        {"dim": "4"},
        {"head": [1.0]},
        {"head": [1.0, 0.5, float("inf")]},
    ],
    ids=str,
)
def test_files_of_others_are_refused(change: dict[str, Any]) -> None:
    took = {"peak_bytes": 1, "seconds": 0.5, "sent_bytes": 0}
    right = {"rows": 3, "dim": 4, "sha256": "0" * 64, "pass": {}, "head": [1.0, 0.5, -1.0], **took}
    answers = [{**right, "file": shard_name(rank)} for rank in range(PARTS)]
    assert checked_answers("finish", {"answers": answers}) == answers
    answers[1] |= change
    with pytest.raises(DamagedError):
        checked_answers("finish", {"answers": answers})


def test_a_run_that_is_complete_writes_its_vectors_again(place: Path) -> None:
    first = embedded(place, resume=True)
    shutil.rmtree(place / "out")
    again = embedded(place, resume=True)
    assert again.ids.tolist() == first.ids.tolist()
    assert np.array_equal(again.vectors, first.vectors)


def test_a_plan_without_settings_is_refused(place: Path) -> None:
    arrays.save(place / "run" / PLAN, SHARDED, {}, {})
    with pytest.raises(DamagedError, match="settings"):
        embedded(place, resume=True)


STATES: dict[str, Change] = {
    "too few vectors": cut_short("vectors"),
    "too few means": cut_short("mean"),
    "too few rows of the matrix": cut_short("matrix"),
    "no columns": lambda content: content.update(vectors=content["vectors"][:, :0]),
}


@pytest.mark.parametrize("change", STATES.values(), ids=STATES.keys())
def test_states_of_a_pass_that_do_not_fit_are_not_taken(place: Path, stopped: Path, change: Change) -> None:
    found = sorted((place / "run" / "pass").iterdir())
    assert found
    for folder in found:
        tamper(folder, PASS, change)
    assert len(embedded(place, resume=True)) == N


@pytest.mark.parametrize(
    "change",
    [{"done": "x"}, {"done": -1}, {"rank": 99}, {"changes": 3}, {"length": None}, {"is_over": 2}, {"run": 5}],
    ids=str,
)
def test_numbers_of_a_pass_that_do_not_fit_are_not_taken(place: Path, change: dict[str, Any]) -> None:
    for folder in (place / "run" / "pass").iterdir():
        content, about = arrays.load(folder, PASS)
        arrays.save(folder, PASS, {name: np.array(array) for name, array in content.items()}, {**about, **change})
    assert len(embedded(place, resume=True)) == N


def test_too_few_vectors_of_a_part_are_refused(place: Path) -> None:
    tamper(place / "run" / "parts" / "001" / "result", RESULT, cut_short("vectors"))
    with pytest.raises(DamagedError, match="001"):
        embedded(place, resume=True)
