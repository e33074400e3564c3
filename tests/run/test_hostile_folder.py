"""A run folder from a stranger: refused with one message whatever it holds."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.examples import slow
from tests.run.resealed import GRAPH, PLAN, put, reseal, seal_file

import parge
from parge.cli.main import run as command
from parge.errors import InputError, PargeError
from parge.run import parts
from parge.run.arrays import DamagedError
from parge.run.open_run import open_planned
from parge.run.status import status
from parge.run.worker import PartJob, embed_part


def refused(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Assert that no command makes anything of the folder but a refusal; return what they said."""
    said = ""
    for line in (
        ["status", str(folder)],
        ["reconcile", str(folder), "-o", str(tmp_path / "out.npy")],
        ["embed-part", str(folder / "parts/000")],
    ):
        code = command(line)
        printed = capsys.readouterr()
        assert code in (0, 1, 2)
        assert "Traceback" not in printed.err
        said += printed.err
    assert "Error" in said
    return said


HUGE = 2**45
ARRAYS: dict[str, tuple[str, str, Any, str]] = {
    "pickled": ("subgraph", "indices", np.array([{"evil": 1}], dtype=object), "is not an array"),
    "float indices": ("subgraph", "indices", np.zeros(10), "expected int32 or int64"),
    "matrix of indices": ("subgraph", "indices", np.zeros((2, 5), np.int32), "expected 1 dimensions"),
    "indices beyond": ("subgraph", "indices", np.full(10, 10**6, np.int32), "does not hold a subgraph"),
    "negative indices": ("subgraph", "indices", np.full(10, -1, np.int32), "does not hold a subgraph"),
    "indptr falls": ("subgraph", "indptr", np.array([0, 5, 3]), "does not hold a subgraph"),
    "indptr overshoots": ("subgraph", "indptr", np.array([0, HUGE]), "does not hold a subgraph"),
    "indptr empty": ("subgraph", "indptr", np.zeros(0, np.int64), "does not hold a subgraph"),
    "indptr of bytes": ("subgraph", "indptr", np.zeros(9, np.uint8), "expected int64"),
    "other byte order": ("subgraph", "vertices", np.zeros(9, ">i8"), "expected int64"),
    "few vertices": ("subgraph", "vertices", np.zeros(1, np.int64), "does not hold a subgraph"),
    "records": ("subgraph", "vertices", np.zeros(3, [("a", "i8")]), "expected int64"),
    "weights short": ("subgraph", "weights", np.ones(3, np.float32), "does not hold a subgraph"),
    "features beyond": ("subgraph", "features_indices", np.full(60, 10**6, np.int32), "does not hold a subgraph"),
    "features shape": ("subgraph", "features_shape", np.array([1, 1]), "does not hold a subgraph"),
    "features of one number": ("subgraph", "features_shape", np.array([1]), "does not hold a subgraph"),
    "vectors of doubles": ("result", "vectors", np.zeros((65, 4)), "no intact result"),
    "vectors of columns": ("result", "vectors", np.asfortranarray(np.zeros((65, 4), np.float32)), "no intact result"),
    "vectors few": ("result", "vectors", np.zeros((3, 4), np.float32), "does not belong to subgraph"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_that_parge_never_writes_are_refused(
    case: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, name, array, words = ARRAYS[case]
    put(folder / "parts/000" / kind, name, array)
    assert words in refused(folder, tmp_path, capsys)


PLAN_ARRAYS: dict[str, tuple[str, Any]] = {
    "parts beyond": ("part", np.full(120, 7, np.int32)),
    "parts negative": ("part", np.full(120, -1, np.int32)),
    "parts few": ("part", np.zeros(3, np.int32)),
    "anchors beyond": ("anchors", np.array([0, 10**9])),
    "anchors negative": ("anchors", np.arange(-5, 5)),
    "anchors fall": ("anchors", np.arange(10)[::-1].copy()),
    "no capacities": ("capacities", np.zeros(0, np.int64)),
    "small capacities": ("capacities", np.ones(2, np.int64)),
    "other capacities": ("capacities", np.full(2, 119)),
    "budgets of another": ("budgets", np.ones(5, np.int64)),
    "ids of text that ends nowhere": ("id_ends", np.full(120, HUGE)),
    "too few ids": ("ids", np.arange(3)),
}


@pytest.mark.parametrize("case", PLAN_ARRAYS)
def test_plans_that_contradict_themselves_are_refused(
    case: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(folder / "plan", *PLAN_ARRAYS[case])
    with pytest.raises(PargeError), open_planned(folder):
        pass
    refused(folder, tmp_path, capsys)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "..", "A", "", "a" * 10**5, "\x1b[2J"])
def test_names_of_other_files_are_refused(name: str, folder: Path) -> None:
    place = folder / "parts/000/subgraph"
    reseal(place, lambda body: body["arrays"].update({name: body["arrays"]["indices"]}))
    with pytest.raises(DamagedError, match=place.name) as caught:
        parts.load_subgraph(folder / "parts/000")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


BODIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another format": lambda body: body.update(format=99),
    "no format": lambda body: body.pop("format"),
    "another kind": lambda body: body.update(kind="plan"),
    "kind of a list": lambda body: body.update(kind=[]),
    "no arrays": lambda body: body.update(arrays={}),
    "arrays of a list": lambda body: body.update(arrays=["indices"]),
    "entry of text": lambda body: body["arrays"].update(indices="x"),
    "entry without size": lambda body: body["arrays"].update(indices={"sha256": "x"}),
    "size of text": lambda body: body["arrays"]["indices"].update(bytes="9"),
    "digest of a number": lambda body: body["arrays"]["indices"].update(sha256=9),
    "no facts": lambda body: body.pop("facts"),
    "facts of a list": lambda body: body.update(facts=[]),
    "facts empty": lambda body: body.update(facts={}),
    "own of text": lambda body: body["facts"].update(n_own="many"),
    "own too many": lambda body: body["facts"].update(n_own=10**9),
    "own negative": lambda body: body["facts"].update(n_own=-1),
    "index negative": lambda body: body["facts"].update(index=-3),
    "index huge": lambda body: body["facts"].update(index=2**200),
    "seed of text": lambda body: body["facts"].update(seed="x"),
    "seed true": lambda body: body["facts"].update(seed=True),
    "run of a number": lambda body: body["facts"].update(run=3),
    "technique of text": lambda body: body["facts"].update(technique="deepwalk"),
    "technique unknown": lambda body: body["facts"].update(technique={"technique": "magic", "settings": {}}),
    "technique of a list": lambda body: body["facts"].update(technique={"technique": [], "settings": {}}),
    "settings of a list": lambda body: body["facts"].update(technique={"technique": "sgc", "settings": []}),
    "settings unknown": lambda body: body["facts"].update(technique={"technique": "sgc", "settings": {"x": 1}}),
    "settings of text": lambda body: body["facts"].update(technique={"technique": "sgc", "settings": {"dim": "x"}}),
    "settings negative": lambda body: body["facts"].update(technique={"technique": "sgc", "settings": {"dim": -1}}),
    "settings deep": lambda body: body["facts"].update(technique={"technique": "sgc", "settings": {"dim": _deep(50)}}),
}


@pytest.mark.parametrize("case", BODIES)
def test_facts_of_wrong_types_are_refused(
    case: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reseal(folder / "parts/000/subgraph", BODIES[case])
    with pytest.raises((DamagedError, InputError)):
        embed_part(PartJob(folder / "parts/000"))
    refused(folder, tmp_path, capsys)


RESULT_FACTS: dict[str, Any] = {
    "seconds": "long",
    "peak_bytes": -1,
    "run": None,
    "index": 1,
    "vertices": 2**70,
    "dim": 1.5,
    "versions": "1.0",
    "total_seconds": float("nan"),
}


@pytest.mark.parametrize("name", RESULT_FACTS)
def test_results_that_say_nonsense_are_not_taken(name: str, folder: Path) -> None:
    reseal(folder / "parts/000/result", lambda body: body["facts"].update({name: RESULT_FACTS[name]}))
    with pytest.raises(InputError, match="result"), open_planned(folder):
        pass
    assert status(folder).parts[0].state in {"damaged", "done"}


PLAN_FACTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no settings": lambda metadata: metadata.pop("settings"),
    "settings of a list": lambda metadata: metadata.update(settings=[1]),
    "seed of text": lambda metadata: metadata["settings"].update(seed="x"),
    "preset unknown": lambda metadata: metadata["settings"].update(preset="x"),
    "preset of a list": lambda metadata: metadata["settings"].update(preset=[]),
    "reconciler unknown": lambda metadata: metadata["settings"].update(reconcile="force"),
    "reconciler of a list": lambda metadata: metadata["settings"].update(reconcile=[]),
    "both limits": lambda metadata: metadata["settings"].update(parts=2, capacities=[1]),
    "seconds of text": lambda metadata: metadata.update(decompose_seconds="x"),
    "seconds not a number": lambda metadata: metadata.update(decompose_seconds=float("nan")),
    "technique of text": lambda metadata: metadata.update(technique="sgc"),
    "footprint of one": lambda metadata: metadata["technique"].update(footprint=[1]),
    "footprint negative": lambda metadata: metadata["technique"].update(footprint=[-1, 0, 0]),
    "dim of text": lambda metadata: metadata["technique"].update(dim="x"),
    "sizes negative": lambda metadata: metadata.update(sizes=[-1, 3]),
    "sizes of text": lambda metadata: metadata.update(sizes="xx"),
    "no sizes": lambda metadata: metadata.update(sizes=[], edges=[]),
    "run of a list": lambda metadata: metadata.update(run=[]),
}


@pytest.mark.parametrize("case", PLAN_FACTS)
def test_plans_that_say_nonsense_are_refused(
    case: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reseal(folder / "plan", lambda body: PLAN_FACTS[case](body["facts"]))
    refused(folder, tmp_path, capsys)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "null", "[]", "3", '"x"', "{}", "\xff", "1" * 9999])
@pytest.mark.parametrize("kind", ["plan", *slow("parts/000/subgraph", "parts/000/result")])
def test_manifests_that_are_none_are_refused(
    text: str, kind: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / kind / "manifest.json").write_bytes(text.encode("latin-1"))
    refused(folder, tmp_path, capsys)


HEADERS = {
    "huge shape": f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({HUGE},)}}",
    "endless shape": f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({10**40},)}}",
    "negative shape": "{'descr': '<i4', 'fortran_order': False, 'shape': (-5,)}",
    "deep header": "(" * 900 + ")" * 900,
    "code": "__import__('os').system('touch hacked')",
    "odd type": "{'descr': ('<i4', (99999999999,)), 'fortran_order': False, 'shape': (1,)}",
    "strange type": "{'descr': [('a', [('b', '|O')])], 'fortran_order': False, 'shape': (1,)}",
    "empty": "",
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_that_lie_are_refused(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    place = folder / "parts/000/subgraph"
    header = HEADERS[case].encode().ljust(118) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)
    (place / "indices.npy").write_bytes(data)
    seal_file(place, "indices")
    with pytest.raises(DamagedError, match=r"indices\.npy"):
        parts.load_subgraph(folder / "parts/000")
    assert not (folder.parent / "hacked").exists()


LINKS = ["plan", "graph", "parts", "parts/000", "parts/000/subgraph", "parts/000/result", "plan/part.npy", "lock"]
LINKS += ["parts/000/subgraph/indices.npy", "parts/000/subgraph/manifest.json", "parts/000/result/vectors.npy"]


@pytest.mark.parametrize("name", LINKS)
def test_links_are_refused_and_nothing_is_written_through_them(
    name: str, folder: Path, tmp_path: Path, reference: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stolen = tmp_path / "stolen"
    if name == "lock":
        stolen.write_text("precious")
    else:
        shutil.move(folder / name, stolen)
    (folder / name).symlink_to(stolen)
    before = {file: file.read_bytes() for file in [stolen, *stolen.rglob("*")] if file.is_file()}
    if name not in {"parts", "parts/000"}:  # there `embed-part` is given the way through the link by the user
        refused(folder, tmp_path, capsys)
    with contextlib.suppress(PargeError):
        vectors = parge.embed(GRAPH, PLAN, run_dir=folder, resume=True).vectors
        assert np.array_equal(vectors, reference)
    assert before == {file: file.read_bytes() for file in [stolen, *stolen.rglob("*")] if file.is_file()}


@pytest.mark.parametrize(
    "name", ["plan/manifest.json", "parts/000/subgraph/indices.npy", "parts/000/result/vectors.npy"]
)
def test_pipes_and_folders_are_not_opened(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    refused(folder, tmp_path, capsys)
    (folder / name).unlink()
    (folder / name).mkdir()
    refused(folder, tmp_path, capsys)


def test_a_sweep_stays_inside_the_folder(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "000" / "result.tmp-1").mkdir(parents=True)
    shutil.move(folder / "parts", tmp_path / "kept")
    (folder / "parts").symlink_to(outside)
    (folder / "notes.tmp-1").mkdir()
    with pytest.raises(PargeError), open_planned(folder):
        pass
    assert (outside / "000" / "result.tmp-1").exists()
    assert (folder / "notes.tmp-1").exists()


BROKEN: dict[str, Callable[[str], str]] = {
    "no JSON": lambda text: text[:-9],
    "empty": lambda _text: "",
    "a list": lambda _text: "[1]",
    "another number": lambda text: text.replace("1", "2"),
    "no value": lambda text: '{"run": "x"}',
}


@pytest.mark.parametrize("name", ["seconds.json", "retries.json"])
@pytest.mark.parametrize("case", BROKEN)
def test_damaged_records_of_a_run_are_told(
    case: str, name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_planned(folder) as run:
        run.note_retry("subgraph 1 was lost")
        run.seconds["embed"] = 1.5
        run.note_seconds(["embed"])
    lines = (["status", str(folder)], ["reconcile", str(folder), "-o", str(tmp_path / "out.npy")])
    assert command(lines[0]) == 0
    assert name not in capsys.readouterr().err
    for line in lines:
        path = folder / name
        path.write_text(BROKEN[case](path.read_text()))
        assert command(line) == 0
        assert name in "".join(capsys.readouterr().err.split())
