"""The folder of a run in shards may come from a stranger: nothing outside is touched, and nothing foreign inside."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parge
from parge.cluster.journal import FolderJournal
from parge.cluster.run import ShardedRun, embed_sharded
from parge.cluster.run_folder import check_run_folder, discard, failed_before_reading
from parge.cluster.source import Source
from parge.errors import InputError
from parge.io.embeddings.folder import MANIFEST, is_folder
from parge.planning.plan import Plan
from parge.run import arrays
from parge.run.lock import hold
from parge.run.schema import PLAN, SHARDED

PLAN_OF_TWO = Plan(parge.HOPE(dim=4), parts=2, engine="serial", refine="none", reconcile="orthogonal", anchors=10)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sharded")
    (place / "edges.txt").write_text("".join(f"{i} {(i * 7 + 3) % 60}\n{i} {(i + 1) % 60}\n" for i in range(60)))
    embed_sharded(Source((str(place / "edges.txt"),)), PLAN_OF_TWO, place / "out", run_dir=place / "run")
    return place


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    (home / "result").mkdir(parents=True)
    for name in ("thesis.txt", "lock", "result/vectors.npy", "vectors.npy"):
        (home / name).write_text("mine")
    before = sorted(home.rglob("*"))
    yield home
    assert sorted(home.rglob("*")) == before


def _copied(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "run", tmp_path / "run"))


def test_a_finished_run_is_known_and_removed_whole(finished: Path, tmp_path: Path) -> None:
    run = _copied(finished, tmp_path)
    check_run_folder(run, resume=True)
    assert discard(run) is None
    assert not run.exists()


LEFT = ["done-cut.tmp-1", "merged.old-2", "shared.tmp-3", "shards/000.tmp-4", "rows/001.old-5", "pass/000-1.tmp-6"]
LEFT += ["steps/divide-000/level-1.tmp-7", "parts/000/result.tmp-8"]


def _leave(run: Path) -> None:
    """Leave what killed processes do: half a folder of arrays."""
    for name in LEFT:
        (run / name).mkdir(parents=True)
        (run / name / "vectors.npy").write_text("half")


def test_what_killed_processes_left_goes_when_the_run_is_resumed(finished: Path, tmp_path: Path) -> None:
    run = _copied(finished, tmp_path)
    _leave(run)
    source = Source((str(finished / "edges.txt"),))
    embed_sharded(source, PLAN_OF_TWO, tmp_path / "out", run_dir=run, resume=True)
    assert not [path for kind in ("tmp", "old") for path in run.rglob(f"*.{kind}-*")]


def test_what_killed_processes_left_goes_with_the_run(finished: Path, tmp_path: Path) -> None:
    run = _copied(finished, tmp_path)
    _leave(run)
    assert discard(run) is None
    assert not run.exists()


@pytest.mark.parametrize("name", ["steps/x-000", "steps", "parts/000", "parts", "shards/000", "rows", "pass", "mesh"])
def test_links_are_refused_and_never_followed(finished: Path, tmp_path: Path, victim: Path, name: str) -> None:
    run = _copied(finished, tmp_path)
    place = run / name
    place.parent.mkdir(exist_ok=True)
    if place.exists():
        place.rename(tmp_path / "away")
    place.symlink_to(victim)
    with pytest.raises(InputError):
        check_run_folder(run, resume=True)
    assert not failed_before_reading(run)
    assert discard(run) is not None
    assert arrays.exists(run / PLAN)


def test_a_journal_follows_no_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "x-000").symlink_to(victim)
    FolderJournal(tmp_path / "x-000").discard()
    (tmp_path / "y-000").mkdir()
    (tmp_path / "y-000" / "level").symlink_to(victim)
    FolderJournal(tmp_path / "y-000").discard()


@pytest.mark.parametrize("name", ["shards/notes.txt", "steps/d-000/mine.csv", "shards/000/mine.csv", "parts/000/mine"])
def test_what_parge_did_not_write_stays(tmp_path: Path, name: str) -> None:
    run = tmp_path / "out.run"
    arrays.save(run / PLAN, SHARDED, {}, {})
    (run / name).parent.mkdir(parents=True)
    (run / name).write_text("mine")
    assert not failed_before_reading(run)
    assert discard(run) is not None
    assert (run / name).read_text() == "mine"


def test_a_run_that_was_killed_before_its_plan_starts_again_and_a_folder_of_others_does_not(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "plan.tmp-7").mkdir(parents=True)
    check_run_folder(run, resume=False)
    (run / "thesis.txt").write_text("mine")
    with pytest.raises(InputError):
        check_run_folder(run, resume=False)
    (tmp_path / "link").symlink_to(run)
    with pytest.raises(InputError):
        check_run_folder(tmp_path / "link", resume=False)


def test_a_run_at_work_is_not_removed(tmp_path: Path) -> None:
    run = tmp_path / "out.run"
    arrays.save(run / PLAN, SHARDED, {}, {})
    with hold(run):
        assert not failed_before_reading(run)
        assert discard(run) is not None
        assert arrays.exists(run / PLAN)
    assert failed_before_reading(run)
    assert discard(run) is None


def test_a_folder_of_vectors_names_only_files_of_parge(finished: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(finished / "out", tmp_path / "out"))
    assert is_folder(out)
    (out / "part-00000.parquet").rename(out / "thesis.docx")
    manifest = (out / MANIFEST).read_text().replace("part-00000.parquet", "thesis.docx")
    (out / MANIFEST).write_text(manifest)
    assert not is_folder(out)
    with pytest.raises(InputError):
        parge.Embedding.load(out)


def test_vectors_are_not_gathered_through_a_link(
    finished: Path, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = ShardedRun.opened

    def linked(*given: Any) -> ShardedRun:
        run = usual(*given)
        (tmp_path / f".out.parge-{run.id}").symlink_to(victim)
        return run

    monkeypatch.setattr(ShardedRun, "opened", linked)
    with pytest.raises(InputError):
        embed_sharded(Source((str(finished / "edges.txt"),)), PLAN_OF_TWO, tmp_path / "out", run_dir=tmp_path / "run")
