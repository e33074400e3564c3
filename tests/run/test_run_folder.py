"""A run folder is believed only with its checksums, resumed only under its own plan, and moved anywhere."""

import errno
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.cli.main import run
from parge.errors import InputError
from parge.events import ignore
from parge.graph.generate import planted
from parge.run import arrays
from parge.run.folder import RunFolder
from parge.run.lock import InUseError
from parge.run.metadata import record_retries, recorded_retries
from parge.run.open_run import open_planned, open_run
from parge.run.pipeline import embed_parts, embed_to_file, finish, write_subgraphs
from parge.run.status import PartStatus, _seconds_left, status
from parge.run.worker import PartJob, embed_part

GRAPH = planted(200, 900, communities=4, seed=2).graph
PLAN = parge.Plan(technique=parge.DeepWalk(dim=8, walks=1, walk_length=8), parts=3, engine="serial", seed=1)


@pytest.fixture(scope="module")
def reference() -> np.ndarray:  # type: ignore[type-arg]
    return parge.embed(GRAPH, PLAN).vectors


def begin(path: Path) -> None:
    with open_run(GRAPH, PLAN, run_dir=path, resume=False, listener=ignore) as run:
        embed_parts(run, ignore)


def result(path: Path) -> np.ndarray:  # type: ignore[type-arg]
    return parge.embed(GRAPH, PLAN, run_dir=path, resume=True).vectors


def test_parts_embedded_elsewhere_give_the_same_file(tmp_path: Path, reference: np.ndarray) -> None:  # type: ignore[type-arg]
    run, out = tmp_path / "run", tmp_path / "out.npy"
    with open_run(GRAPH, PLAN, run_dir=run, resume=False, listener=ignore) as opened:
        write_subgraphs(opened)
    for i in range(3):
        place = run / "parts" / f"{i:03d}"
        away = tmp_path / f"machine-{i}" / "anywhere"
        shutil.copytree(place, away)
        shutil.rmtree(place)
        embed_part(PartJob(away))
        shutil.copytree(away, place)
    with open_planned(run) as opened:
        finish(opened, out, ignore)
    assert np.array_equal(np.load(out), reference)
    embed_to_file(GRAPH, PLAN, tmp_path / "direct.npy", run_dir=tmp_path / "direct")
    assert out.read_bytes() == (tmp_path / "direct.npy").read_bytes()


def test_resuming_redoes_only_what_is_missing(tmp_path: Path, reference: np.ndarray) -> None:  # type: ignore[type-arg]
    begin(tmp_path)
    kept = [(tmp_path / f"parts/{i:03d}/result/vectors.npy").stat().st_mtime_ns for i in (0, 2)]
    shutil.rmtree(tmp_path / "parts/001/result")
    assert np.array_equal(result(tmp_path), reference)
    assert kept == [(tmp_path / f"parts/{i:03d}/result/vectors.npy").stat().st_mtime_ns for i in (0, 2)]


@pytest.mark.parametrize("command", ["reconcile", "resume", "report"])
def test_no_file_is_read_twice(tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(tmp_path / "run")
    read, digest = Counter[str](), arrays.file_digest

    def counted(path: Path) -> str:
        read[str(path.relative_to(tmp_path / "run"))] += 1
        return digest(path)

    monkeypatch.setattr(arrays, "file_digest", counted)
    if command == "reconcile":
        assert run(["reconcile", str(tmp_path / "run"), "-o", str(tmp_path / "v.npy")]) == 0
    elif command == "report":
        assert run(["report", str(tmp_path / "run"), "-o", str(tmp_path / "page.html")]) == 0
    else:
        result(tmp_path / "run")
    assert {f"parts/{i:03d}/result/vectors.npy" for i in range(3)} <= set(read)
    assert {name: times for name, times in read.items() if times > 1} == {}


@pytest.mark.parametrize("name", ["result/vectors.npy", "result/manifest.json", "subgraph/indices.npy"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "empty"])
def test_damage_is_found_and_repaired(tmp_path: Path, reference: np.ndarray, name: str, damage: str) -> None:  # type: ignore[type-arg]
    begin(tmp_path)
    if name.startswith("subgraph"):  # a subgraph is read again only where its result is gone
        shutil.rmtree(tmp_path / "parts/001/result")
    spoil(tmp_path / "parts/001" / name, damage)
    assert np.array_equal(result(tmp_path), reference)


@pytest.mark.parametrize("name", ["part.npy", "anchors.npy", "capacities.npy", "manifest.json"])
@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_a_damaged_plan_is_refused(tmp_path: Path, name: str, damage: str) -> None:
    begin(tmp_path)
    spoil(tmp_path / "plan" / name, damage)
    with pytest.raises(arrays.DamagedError, match=name):
        result(tmp_path)


def spoil(path: Path, damage: str) -> None:
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    elif damage == "truncate":
        del data[len(data) // 2 :]
    path.unlink()
    if damage != "delete":
        path.write_bytes(b"" if damage == "empty" else bytes(data))


def test_another_plan_is_refused_with_the_fields_named(tmp_path: Path) -> None:
    begin(tmp_path)
    other = parge.Plan(technique=parge.DeepWalk(dim=8, walks=2, walk_length=8), parts=3, engine="serial", seed=2)
    with pytest.raises(InputError, match=r"seed .*1.*2.* technique\.walks .*1.*2"):
        parge.embed(GRAPH, other, run_dir=tmp_path, resume=True)
    with pytest.raises(InputError, match="graph"):
        parge.embed(planted(200, 900, communities=4, seed=3).graph, PLAN, run_dir=tmp_path, resume=True)
    with pytest.raises(InputError, match="--resume"):
        parge.embed(GRAPH, PLAN, run_dir=tmp_path)


@pytest.mark.parametrize(
    ("started", "resumed"),
    [
        ({"parts": 2, "anchors": 20}, {"parts": 2, "anchors": "20"}),
        ({"parts": 2, "anchors": "10%"}, {"parts": 2, "anchors": "10.0%"}),
        ({"memory": [2_000_000_000, "1GB"]}, {"memory": "2GB,1000MB"}),
    ],
)
def test_a_plan_in_other_words_is_the_same_plan(
    started: dict[str, object], resumed: dict[str, object], tmp_path: Path
) -> None:
    """As when a run that was started in Python is resumed by the command line."""
    first, again = (replace(PLAN, **{"parts": None, **words}) for words in (started, resumed))  # type: ignore[arg-type]
    run, files = tmp_path / "run", [tmp_path / "first.npz", tmp_path / "again.npz"]
    embed_to_file(GRAPH, first, files[0], run_dir=run)
    embed_to_file(GRAPH, again, files[1], run_dir=run, resume=True)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("anchors", [21, "20%", "auto"])
def test_other_anchors_are_another_plan(anchors: int | str, tmp_path: Path) -> None:
    plan = replace(PLAN, anchors=20)
    with open_run(GRAPH, plan, run_dir=tmp_path, resume=False, listener=ignore):
        pass
    with pytest.raises(InputError, match="anchors was 20, now"):
        parge.embed(GRAPH, replace(plan, anchors=anchors), run_dir=tmp_path, resume=True)


def test_another_technique_is_named_with_what_both_have(tmp_path: Path) -> None:
    begin(tmp_path)
    other = parge.Plan(technique=parge.HOPE(dim=4), parts=3, engine="serial", seed=1)
    with pytest.raises(InputError, match=r"technique .*'deepwalk'.*'hope'.* technique\.dim .*8.*4"):
        parge.embed(GRAPH, other, run_dir=tmp_path, resume=True)


def test_results_of_another_run_are_not_taken(tmp_path: Path, reference: np.ndarray) -> None:  # type: ignore[type-arg]
    begin(tmp_path / "mine")
    other = parge.Plan(technique=PLAN.technique, parts=3, engine="serial", seed=9)
    parge.embed(GRAPH, other, run_dir=tmp_path / "other")
    shutil.rmtree(tmp_path / "mine/parts/000/result")
    shutil.copytree(tmp_path / "other/parts/000/result", tmp_path / "mine/parts/000/result")
    assert np.array_equal(result(tmp_path / "mine"), reference)


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with RunFolder(tmp_path).locked(), pytest.raises(InUseError):
        parge.embed(GRAPH, PLAN, run_dir=tmp_path)


def test_status_tells_what_is_done(tmp_path: Path) -> None:
    begin(tmp_path)
    shutil.rmtree(tmp_path / "parts/001/result")
    spoil(tmp_path / "parts/002/result/manifest.json", "flip")
    found = status(tmp_path)
    assert [part.state for part in found.parts] == ["done", "waiting", "damaged"]
    assert "1 of 3 subgraphs" in found.sentence()
    assert found.seconds_left is not None
    spoil(tmp_path / "parts/000/result/vectors.npy", "flip")
    assert status(tmp_path).parts[0].state == "damaged"


def test_the_time_left_is_that_of_the_slowest_worker() -> None:
    def left(*parts: PartStatus, workers: int) -> float | None:
        return _seconds_left(parts, workers)

    done = PartStatus(0, "done", 10, 90, 0, seconds=2.0, share=1.0)
    slow = PartStatus(1, "running", 10, 90, 0, share=0.25, elapsed=30.0)
    waits = PartStatus(2, "waiting", 10, 90, 0)
    assert left(waits, workers=1) is None
    assert left(done, waits, workers=1) == pytest.approx(2.0)
    assert left(done, slow, workers=2) == pytest.approx(90.0)
    assert left(done, replace(slow, share=0.0), workers=1) == pytest.approx(2.0)
    assert left(done, slow, waits, workers=1) == pytest.approx(90.0 + (2.0 + 120.0) / 2)


def test_reconcile_names_what_is_missing(tmp_path: Path) -> None:
    begin(tmp_path)
    shutil.rmtree(tmp_path / "parts/001/result")
    with pytest.raises(InputError, match=r"1 of 3 subgraphs .* 001.*embed-part"), open_planned(tmp_path):
        pass


def test_a_part_folder_of_another_run_is_written_anew(tmp_path: Path, reference: np.ndarray) -> None:  # type: ignore[type-arg]
    begin(tmp_path / "mine")
    other = parge.Plan(technique=PLAN.technique, parts=3, engine="serial", seed=9)
    parge.embed(GRAPH, other, run_dir=tmp_path / "other")
    shutil.rmtree(tmp_path / "mine/parts/000")
    shutil.copytree(tmp_path / "other/parts/000", tmp_path / "mine/parts/000")
    with (
        pytest.raises(InputError, match=r"000.*--resume"),
        open_planned(tmp_path / "mine"),
    ):
        pass
    with open_run(GRAPH, PLAN, run_dir=tmp_path / "mine", resume=True, listener=ignore) as run:
        write_subgraphs(run)
    with pytest.raises(InputError, match=r"embed-part .*000$"), open_planned(tmp_path / "mine"):
        pass
    embed_part(PartJob(tmp_path / "mine/parts/000"))
    with open_planned(tmp_path / "mine") as run:
        finish(run, tmp_path / "out.npy", ignore)
    assert np.array_equal(np.load(tmp_path / "out.npy"), reference)


def test_string_ids_survive(tmp_path: Path) -> None:
    graph = parge.Graph.from_edges(["a b", "ü", "c\nd"], ["ü", "c\nd", "x"])
    plan = parge.Plan(technique=PLAN.technique, parts=2, anchors=1, engine="serial")
    embed_to_file(graph, plan, tmp_path / "a.npz", run_dir=tmp_path / "run")
    with open_planned(tmp_path / "run") as run:
        assert run.decomposition.graph.ids is not None
        assert run.decomposition.graph.ids.tolist() == sorted(["a b", "ü", "c\nd", "x"])


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[1]", '{"run": "other", "retries": ["x"]}', '{"run": "this"}'])
def test_a_record_of_retries_that_is_not_of_this_run_tells_nothing(tmp_path: Path, text: str) -> None:
    record_retries(tmp_path, "this", ["one", "two\x1b"])
    assert recorded_retries(tmp_path, "this") == ["one", "two\\x1b"]
    (tmp_path / "retries.json").write_text(text)
    assert recorded_retries(tmp_path, "this") == []


def _shared_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("parts/*/subgraph/shared_*.npy"))


@pytest.mark.parametrize("can_link", [True, False])
def test_shared_arrays_stand_once_on_the_disk_where_files_can_be_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_link: bool
) -> None:
    def refuse(*_arguments: object, **_settings: object) -> None:
        raise OSError(errno.EXDEV, "another file system")

    if not can_link:
        monkeypatch.setattr("os.link", refuse)
    plan = parge.Plan(parge.DeepWalk(dim=8, walks=1), parts=2, reconcile="backbone")
    graph = planted(400, 1600, seed=1).graph
    with open_run(graph, plan, run_dir=tmp_path / "run", resume=False, listener=ignore) as run:
        write_subgraphs(run)
    whole = {path.name: path for path in (tmp_path / "run" / "shared").glob("*.npy")}
    files = _shared_files(tmp_path / "run")
    assert len(files) == 2 * len(whole) > 0
    for file in files:
        assert file.read_bytes() == whole[file.name].read_bytes()
        assert file.samefile(whole[file.name]) == can_link
    shutil.copytree(tmp_path / "run" / "parts" / "001", tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "run")
    embed_part(PartJob(tmp_path / "elsewhere"))


FAILING = "def fails(csr, rng):\n    raise ValueError('a wrong setting')\n"


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_the_corrected_command_begins_anew_where_no_part_had_a_result(
    resume: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "wrong_setting.py").write_text(FAILING)
    (tmp_path / "g.txt").write_text("".join(f"{i} {(i + step) % 60}\n" for i in range(60) for step in (1, 2)))
    words = ["embed", "g.txt", "-o", "v.npz", "--anchors", "8", "--engine", "serial"]
    left = tmp_path / "v.npz.run"
    assert run([*words, "--parts", "3", "--technique", "wrong_setting:fails"]) == 1
    assert left.is_dir()
    corrected = [*words, "--parts", "2", "--technique", "sgc", "--dim", "4", *resume]
    assert run([*corrected, "--delimiter", "??"]) == 2  # a refused command removes nothing
    assert RunFolder(left).exists
    assert run(corrected) == 0
    assert not left.exists()
    capsys.readouterr()


def test_a_run_that_holds_a_result_or_was_named_by_the_user_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.txt").write_text("".join(f"{i} {(i + step) % 60}\n" for i in range(60) for step in (1, 2)))
    words = [
        "embed",
        "g.txt",
        "-o",
        "v.npz",
        "--anchors",
        "8",
        "--engine",
        "serial",
        "--technique",
        "sgc",
        "--dim",
        "4",
    ]
    assert run([*words, "--parts", "2", "--run-dir", "v.npz.run"]) == 0
    before = sorted(path for path in (tmp_path / "v.npz.run").rglob("*"))
    for more in (["--parts", "3"], ["--parts", "3", "--resume"]):
        capsys.readouterr()
        assert run([*words, *more]) == 2
        assert "delete v.npz.run" in " ".join(capsys.readouterr().err.split())
    for name in ("000", "001"):
        shutil.rmtree(tmp_path / "v.npz.run" / "parts" / name / "result")
    shutil.rmtree(tmp_path / "v.npz.run" / "space")
    assert run([*words, "--parts", "3", "--run-dir", "v.npz.run"]) == 2  # named by the user
    (tmp_path / "v.npz.run" / "mine.log").write_text("mine")
    assert run([*words, "--parts", "3"]) == 2
    assert set(tmp_path.glob("v.npz.run/plan/*")) <= set(before)
    assert RunFolder(tmp_path / "v.npz.run").exists
    capsys.readouterr()
