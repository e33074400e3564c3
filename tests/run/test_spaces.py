"""A space on disk: read back as it was; the commands that read and write it."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.run.test_damaged_spaces import reseal
from tests.space.world import N_OLD, N, frozen, pairs

import parge
from parge.cli.main import run
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.run.spaces import check_space_output, open_space, save_space

PLAN = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--anchors", "8", "--engine", "serial"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_space(frozen(), tmp_path / "space")
    return tmp_path / "space"


def test_a_space_is_read_as_it_was_written(folder: Path) -> None:
    space, found = frozen(), open_space(folder)
    for name in ("vectors", "ids", "origin"):
        assert np.array_equal(getattr(found, name), getattr(space, name))
    assert np.array_equal(found.graph.indices, space.graph.indices)
    assert found.history.to_json() == space.history.to_json()
    assert isinstance(found.vectors, np.memmap)
    one, two = (parge.place(s, pairs(new=True)).embedding.vectors for s in (space, found))
    assert np.array_equal(one, two)


def test_names_and_weights_come_back(tmp_path: Path) -> None:
    graph = Graph.from_edges(["zoë", "b", "c"], ["b", "c", "zoë"], [1.0, 2.0, 3.0])
    save_space(parge.Space.of(np.eye(3, dtype=np.float32), graph), tmp_path / "s")
    found = open_space(tmp_path / "s")
    assert found.ids.tolist() == ["b", "c", "zoë"]
    assert found.graph.weights is not None
    grown = found.update([("b", "new")])
    save_space(grown, tmp_path / "t")
    assert open_space(tmp_path / "t").ids.tolist() == ["b", "c", "zoë", "new"]


def test_the_vectors_of_a_space_are_read_as_an_embedding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected, found = open_space(folder).embedding(), parge.Embedding.load(folder)
    assert np.array_equal(found.vectors, expected.vectors)
    assert np.array_equal(found.ids, expected.ids)
    assert found.degrees is not None
    assert np.array_equal(found.degrees, expected.degrees)
    assert isinstance(found.vectors, np.memmap)
    assert run(["neighbors", str(folder), "0", "-k", "3"]) == 0
    assert run(["align", str(folder), str(folder), "-o", str(folder.parent / "turned.npz")]) == 0
    capsys.readouterr()


def test_names_of_a_space_are_read_with_its_vectors(tmp_path: Path) -> None:
    graph = Graph.from_edges(["zoë", "b", "c"], ["b", "c", "zoë"])
    save_space(parge.Space.of(np.eye(3, dtype=np.float32), graph), tmp_path / "s")
    assert parge.Embedding.load(tmp_path / "s").ids.tolist() == ["b", "c", "zoë"]


def test_an_update_says_what_can_be_done_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_space(frozen(), tmp_path / "space")
    (tmp_path / "more.txt").write_text("0 new_1\n1 new_1\n")
    assert run(["update", str(tmp_path / "space"), str(tmp_path / "more.txt"), "-o", str(tmp_path / "space-2")]) == 0
    said = capsys.readouterr().out
    assert f"Next: parge neighbors {tmp_path / 'space-2'} VERTEX" in said
    assert run(["neighbors", str(tmp_path / "space-2"), "new_1", "-k", "3"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("verb", ["update", "place", "drift"])
def test_a_first_line_that_names_columns_does_not_come_into_a_space_of_integers(
    verb: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges, out = folder.parent / "more.csv", folder.parent / ("out" if verb == "update" else "out.npz")
    edges.write_text("von,nach\n0,new_1\n1,new_1\n1,new_2\n")
    words = [verb, str(folder), str(edges), *([] if verb == "drift" else ["-o", str(out)])]
    assert run(words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "give --header" in said
    assert "--no-header" in said
    assert not out.exists()
    assert run([*words, "--header"]) == 0
    assert run([*words, "--no-header"]) == 0
    capsys.readouterr()


def test_in_a_space_of_names_such_a_line_gets_a_notice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph.from_edges(["a", "b", "c", "d"], ["b", "c", "d", "a"])
    save_space(parge.Space.of(np.eye(4, dtype=np.float32), graph), tmp_path / "s")
    (tmp_path / "more.csv").write_text("von,nach\na,e\nb,e\n")
    (tmp_path / "gone.csv").write_text("von,nach\na,b\n")
    words = ["update", str(tmp_path / "s"), str(tmp_path / "more.csv"), "--removed", str(tmp_path / "gone.csv")]
    assert run([*words, "-o", str(tmp_path / "t")]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "give --header" in said
    assert "1 edge of --removed not found: 'nach' - 'von'" in said
    assert run([*words, "-o", str(tmp_path / "u"), "--header"]) == 0
    assert "not found" not in capsys.readouterr().err


def test_only_a_space_is_replaced(folder: Path, tmp_path: Path) -> None:
    save_space(frozen(), folder)  # its own kind
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="notes"):
        save_space(frozen(), folder)
    (tmp_path / "mine").mkdir()
    save_space(frozen(), tmp_path / "mine")  # an empty folder is nobody's
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "other").mkdir()
    np.save(tmp_path / "other" / "vectors.npy", np.eye(2))
    for name in ("file", "link", "other", "no/such"):
        with pytest.raises(InputError):
            save_space(frozen(), tmp_path / name)
    assert np.load(tmp_path / "other" / "vectors.npy").shape == (2, 2)
    with pytest.raises(InputError, match="inside"):
        check_space_output(tmp_path / "new", [tmp_path / "new" / "g.txt"])


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    np.savetxt(tmp_path / "old.txt", pairs(new=False), "%d")
    np.savetxt(tmp_path / "new.txt", pairs(new=True), "%d")
    monkeypatch.chdir(tmp_path)
    assert run(["embed", "old.txt", *PLAN, "-o", "v.npz", "--run-dir", "run", "--space", "space"]) == 0
    return tmp_path


def test_commands_place_update_and_follow(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert open_space("space").vectors.tobytes() == parge.Embedding.load("v.npz").vectors.tobytes()
    capsys.readouterr()
    assert run(["place", "space", "new.txt", "-o", "n.npz", "--json", "--confidence", "c.tsv"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["placed"], told["unreachable"], told["edges"]) == (N - N_OLD, 0, len(pairs(new=True)))
    assert len((world / "c.tsv").read_text().splitlines()) == N - N_OLD + 1
    assert run(["place", "run", "new.txt", "-o", "m.npz"]) == 0  # a kept run has its space, too
    assert (world / "n.npz").read_bytes() == (world / "m.npz").read_bytes()
    capsys.readouterr()
    np.savetxt(world / "gone.txt", pairs(new=False)[:5], "%d")
    assert run(["update", "space", "new.txt", "--removed", "gone.txt", "-o", "space-2", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["placed"], told["removed"], told["version"]) == (N - N_OLD, 5, 2)
    assert run(["update", "space-2", "gone.txt", "-o", "all.npz"]) == 0
    assert open_space("all.npz.space").history.version == 3
    assert len(parge.Embedding.load("all.npz")) == N
    assert open_space("space").history.version == 1


def test_the_page_of_a_run_shows_the_drift_of_its_space(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = ["report", "run", "--projection", "pca"]
    assert run([*pages, "-o", "new.html", "--space", "space"]) == 0
    assert "Drift of the space" not in (world / "new.html").read_text()  # no update yet
    later = pairs(new=True)
    for i, some in enumerate(np.array_split(later[np.argsort(later.max(axis=1), kind="stable")], 2)):
        np.savetxt("day.txt", some, "%d")
        assert run(["update", f"space{i or ''}", "day.txt", "-o", f"space{i + 1}"]) == 0
    assert run([*pages, "-o", "old.html", "--space", "space2"]) == 0
    page = (world / "old.html").read_text()
    assert page.count("Drift of the space") == 2  # the caption, and its name for screen readers
    for age in open_space("space2").history.ages:
        assert f"drift {age.drift:.3f} ± {age.error:.3f}" in page
    older = open_space("space2")
    ages = tuple(replace(age, drift=0.1, is_loss=False) for age in older.history.ages)  # a distance, as 0.3.0 noted it
    save_space(replace(older, history=replace(older.history, ages=ages)), world / "older")
    assert run([*pages, "-o", "older.html", "--space", "older"]) == 0
    assert "Drift of the space" not in (world / "older.html").read_text()
    save_space(frozen(), world / "other")
    capsys.readouterr()
    assert run([*pages, "-o", "x.html", "--space", "other"]) == 2
    assert "not a space of this run" in capsys.readouterr().err
    assert not (world / "x.html").exists()


def test_a_resumed_run_and_reconcile_write_the_same_space(world: Path) -> None:
    before = (world / "run/space/vectors.npy").read_bytes()
    shutil.rmtree(world / "run/space")
    assert run(["embed", "old.txt", *PLAN, "-o", "v.npz", "--run-dir", "run", "--resume"]) == 0
    assert (world / "run/space/vectors.npy").read_bytes() == before
    shutil.rmtree(world / "run/space")
    assert run(["reconcile", "run", "-o", "v.npz"]) == 0
    assert (world / "run/space/vectors.npy").read_bytes() == before


REFUSED: dict[str, list[str]] = {
    "no space": ["place", "nothing", "new.txt", "-o", "o.npz"],
    "a file": ["place", "new.txt", "new.txt", "-o", "o.npz"],
    "no edges": ["place", "space", "nothing.txt", "-o", "o.npz"],
    "only known": ["place", "space", "old.txt", "-o", "o.npz"],
    "inside": ["place", "space", "new.txt", "-o", "space/o.npz"],
    "suffix": ["place", "space", "new.txt", "-o", "o.xyz"],
    "nothing to change": ["update", "space", "-o", "space-2"],
    "onto itself": ["update", "space", "new.txt", "-o", "space"],
    "into itself": ["update", "space", "new.txt", "-o", "space/new"],
    "over an input": ["update", "space", "new.txt", "-o", "new.txt"],
    "two folders": ["update", "space", "new.txt", "-o", "a", "--space", "b"],
    "over a file": ["update", "space", "new.txt", "-o", "v.npz", "--space", "new.txt"],
    "space in a run": ["embed", "old.txt", *PLAN, "-o", "o.npz", "--run-dir", "run-2", "--space", "run-2/space"],
    "space over a run": ["embed", "old.txt", *PLAN, "-o", "o.npz", "--space", "run"],
    "space over a folder of files": ["embed", "old.txt", *PLAN, "-o", "o.npz", "--space", "."],
}


@pytest.mark.parametrize("case", REFUSED)
def test_odd_requests_are_refused_before_anything_is_written(
    case: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def content() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(world.rglob("*")) if path.is_file()}

    before = content()
    capsys.readouterr()
    assert run(REFUSED[case]) == 2
    said = capsys.readouterr().err
    assert said.count("Error") == 1
    assert "Traceback" not in said
    assert content() == before


@pytest.mark.slow
def test_a_memory_limit_changes_no_bit(world: Path) -> None:
    for limit in ([], ["--coordinator-memory", "700MB"]):
        words = [sys.executable, "-m", "parge", "place", "space", "new.txt", "-o", f"n{len(limit)}.npz", *limit]
        assert subprocess.run(words, check=False).returncode == 0
    assert (world / "n0.npz").read_bytes() == (world / "n2.npz").read_bytes()


def test_a_run_is_complete_without_the_space_that_nobody_asked_for(tmp_path: Path) -> None:
    graph = Graph.from_edges(pairs(new=False), vertices=N_OLD)
    plan = parge.Plan(technique=parge.SGC(dim=4), parts=2, anchors=8, engine="serial")
    first = parge.embed(graph, plan, run_dir=tmp_path / "run")
    (tmp_path / "run/space/manifest.json").unlink()
    again = parge.embed(graph, plan, run_dir=tmp_path / "run", resume=True)
    assert np.array_equal(first.vectors, again.vectors)
    assert sum("--space DIR" in notice for notice in again.report.notices) == 1
    assert not any("--space DIR" in notice for notice in first.report.notices)


def test_the_degree_head_stays_where_a_graph_grows(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["update", "space", "new.txt", "-o", "v.parquet", "--space", "space-2"]) == 0
    first = parge.Embedding.load("space").for_links()[0]
    for name in ("space", "space-2", "v.parquet"):
        found = parge.Embedding.load(name)
        head, degrees = found.for_links()
        assert head == first
        assert degrees.sum() == 2 * open_space("space" if name == "space" else "space-2").graph.n_edges
        assert run(["neighbors", name, str(found.ids[0]), "--for", "links"]) == 0
    grown = parge.open_space("space").embedding().update(world / "new.txt")
    assert grown.for_links()[0] == first
    assert len(grown.link_vectors()[0]) == len(grown)
    capsys.readouterr()


def test_a_space_of_an_earlier_version_gets_its_head_when_it_is_opened(tmp_path: Path) -> None:
    old = replace(frozen(), history=replace(frozen().history, head=()))
    save_space(old, tmp_path / "old")
    with pytest.raises(InputError, match="earlier version"):
        parge.Embedding.load(tmp_path / "old").for_links()
    assert open_space(tmp_path / "old").embedding().for_links()[0] == frozen().embedding().head


def test_python_takes_a_space_by_its_path(world: Path) -> None:
    """As the command line does: the folder of a space is one; so is what an update returned."""
    opened, later = open_space("space"), world / "new.txt"
    assert np.array_equal(parge.place("space", later).embedding.vectors, opened.place(later).vectors)
    assert parge.drift(Path("space"), later) == parge.drift(opened, later)
    updated = parge.update("space", later)
    assert np.array_equal(updated.space.vectors, opened.update(later).vectors)
    assert parge.save_space(updated, "saved") > 0
    assert np.array_equal(open_space("saved").vectors, updated.space.vectors)
    assert parge.drift(updated) == parge.drift("saved")
    assert parge.save_space(opened.embedding(), "again") > 0
    with pytest.raises(InputError, match=r"open_space|--space"):
        parge.drift("nowhere")
    with pytest.raises(InputError, match=r"open_space|--space"):
        parge.save_space(7, "x")
    with pytest.raises(InputError, match="open_space"):
        parge.Embedding.load("space").update(later)


def test_a_version_is_not_replaced_without_a_word(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    update = ["update", "space", "new.txt", "-o", "space-1"]
    capsys.readouterr()
    assert run(update) == 0
    assert "replaced" not in capsys.readouterr().err
    for again in (update, ["embed", "old.txt", *PLAN, "-o", "o.npz", "--space", "space-1"]):
        assert run(again) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert "replaced the space that was in space-1: version 2" in said


def test_a_report_says_that_no_update_of_a_space_looked_yet(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savetxt("few.txt", pairs(new=True)[:9], "%d")
    assert run(["update", "space", "few.txt", "-o", "space-1"]) == 0
    assert run(["update", "space-1", "new.txt", "-o", "space-2"]) == 0
    for space, has_none in (("space", True), ("space-1", True), ("space-2", False)):
        capsys.readouterr()
        assert run(["report", "run", "-o", "page.html", "--space", space, "--projection", "pca"]) == 0
        assert (f"parge drift {space}" in " ".join(capsys.readouterr().err.split())) == has_none
        assert ('id="drift"' in (world / "page.html").read_text()) != has_none
    assert (world / "page.html").read_text().count(" on: embed again</title>") == 1  # one bar: the first has no look


def test_an_update_says_whose_drift_it_shows(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That of the last look, where few edges changed since: in JSON, in words, and how to look now."""
    np.savetxt("few.txt", pairs(new=True)[:9], "%d")
    capsys.readouterr()
    assert run(["update", "space", "new.txt", "-o", "space-2", "--json"]) == 0
    looked = capsys.readouterr()
    told = json.loads(looked.out)
    assert told["drift_version"] == told["version"] == 2
    assert "parge drift" not in looked.err
    reseal(Path("space-2"), lambda body: [age.pop("seen") for age in body["facts"]["ages"]])  # as 0.4.0 wrote it
    reseal(Path("space-2"), lambda body: body["facts"].pop("looked"))
    np.savetxt("gone.txt", pairs(new=False)[:9], "%d")
    assert run(["update", "space-2", "--removed", "gone.txt", "-o", "space-3", "--json"]) == 0
    kept = capsys.readouterr()
    assert {name: json.loads(kept.out)[name] for name in ("drift", "drift_version", "version")} == {
        "drift": told["drift"],
        "drift_version": 2,
        "version": 3,
    }
    said = " ".join(kept.err.split())
    assert f"version 2; {9 / (len(pairs(new=False)) + len(pairs(new=True)) - 9):.1%} of the edges" in said
    assert "parge drift space-3" in said
    assert run(["update", "space-3", "few.txt", "-o", "space-4"]) == 0
    assert f"drift {told['drift']:.3f}" in " ".join(capsys.readouterr().out.split())
