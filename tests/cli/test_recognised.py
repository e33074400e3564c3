"""Files that parge wrote are recognised and replaced; those that were edited, or appear meanwhile, stay."""

import importlib
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse
from tests.cli.outputs import MADE, OUTPUTS, PLAN, refused

from parge.cli.main import run
from parge.embedding import Embedding
from parge.io.graphs.read import read
from parge.io.graphs.write import write


@pytest.mark.parametrize("case", OUTPUTS)
def test_what_parge_wrote_is_written_again_and_named_first(
    case: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args, option, suffix = OUTPUTS[case]
    out = world / f"ours{suffix}"
    for there in (False, True):
        capsys.readouterr()
        assert run([*args, option, str(out)]) == 0
        named = [
            line for line in capsys.readouterr().err.splitlines() if f"{out} " in line and "will be replaced" in line
        ]
        assert len(named) == there
    assert run([*args, option, str(out), "--overwrite"]) == 0  # who says so need not be told
    assert "will be replaced" not in capsys.readouterr().err


MARKED = [".txt", ".edges", ".txt.gz", ".edgelist.zst", ".mtx", ".mtx.gz", ".graph", ".npz", ".parquet"]


@pytest.mark.parametrize("suffix", MARKED)
def test_a_generated_graph_is_written_again_unless_it_was_changed(
    suffix: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = world / f"ours{suffix}"
    few = ["generate", "--vertices", "40", "--edges", "30", "-o", str(out)]  # some vertices are isolated
    for seed in ("1", "2"):
        assert run([*few, "--seed", seed]) == 0
    assert read(out).n_edges == 30
    write(read(out), out)  # the very graph, without the mark
    assert out.name in refused(world, few, capsys)


@pytest.mark.parametrize("name", ["new.txt", "new.mtx", "new.graph", "labels.txt", "new.vertices.txt"])
def test_a_generated_file_that_was_edited_is_the_user_s_own(
    name: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = name if name not in ("labels.txt", "new.vertices.txt") else "new.txt"
    (world / "labels.txt").unlink()
    args = ["generate", "--vertices", "40", "--edges", "30", "-o", out, "--labels", "labels.txt"]
    assert run(args) == 0
    assert run(args) == 0
    ours = (world / name).read_bytes()
    line = ours.splitlines(keepends=True)[-1]
    for edited in (ours + line, ours.replace(line, b"1 2\n"), b"# mine\n" + ours, ours[: -len(line)], ours[:-1]):
        (world / name).write_bytes(edited)
        assert name in refused(world, args, capsys)
    (world / name).write_bytes(ours)
    assert run(args) == 0


def test_generated_archives_and_tables_that_were_edited_are_the_user_s_own(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*MADE, "-o", "new.parquet"]) == 0
    table = pq.read_table(world / "new.parquet")
    pq.write_table(table.slice(0, 39), world / "new.parquet")  # pyarrow keeps what the schema says
    assert b"parge" in pq.read_schema(world / "new.parquet").metadata
    assert "new.parquet" in refused(world, [*MADE, "-o", "new.parquet"], capsys)
    pq.write_table(table, world / "new.parquet")
    assert run([*MADE, "-o", "new.parquet"]) == 0
    assert run([*MADE, "-o", "new.npz"]) == 0
    with zipfile.ZipFile(world / "new.npz", "a") as archive:
        archive.writestr("notes.txt", "mine")
    assert "new.npz" in refused(world, [*MADE, "-o", "new.npz"], capsys)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_formats_without_a_place_for_a_mark_need_the_word_overwrite(
    suffix: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = [*MADE, "-o", f"new{suffix}"]
    assert run(args) == 0
    assert not (world / f"new{suffix}").read_text().startswith("#")
    assert "--overwrite" in refused(world, args, capsys)


def test_other_readers_take_marked_files(world: Path) -> None:
    for name in ("new.txt", "new.mtx", "new.npz"):
        assert run([*MADE, "-o", name]) == 0
    assert np.loadtxt(world / "new.txt").shape == (40, 2)
    assert scipy.io.mmread(world / "new.mtx").tocsr().nnz == 80
    assert scipy.sparse.load_npz(world / "new.npz").nnz == 80


@pytest.mark.parametrize("case", OUTPUTS)
def test_an_empty_file_may_be_filled(case: str, world: Path) -> None:
    args, option, suffix = OUTPUTS[case]
    out = world / f"empty{suffix}"
    out.touch()
    assert run([*args, option, str(out)]) == 0
    assert out.stat().st_size


def test_ids_that_stand_alone_are_the_user_s_own_unless_they_are_the_very_ones(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "x.ids.txt").write_text("my own list\n")
    assert "x.ids.txt" in refused(world, ["embed", "g.txt", *PLAN, "-o", "x.npy"], capsys)
    # A run that was killed between its two files leaves the ids alone, and is resumed without another word.
    shutil.copy(world / "v.ids.txt", world / "x.ids.txt")
    assert run(["embed", "g.txt", *PLAN, "-o", "x.npy"]) == 0
    (world / "x.npy").unlink()
    assert run(["reconcile", "run", "-o", "x.npy"]) == 0
    (world / "x.npy").unlink()
    (world / "x.ids.txt").write_text("my own list\n")
    assert "x.ids.txt" in refused(world, ["reconcile", "run", "-o", "x.npy"], capsys)
    assert "x.ids.txt" in refused(world, ["align", "w.vec", "v.npy", "-o", "x.npy"], capsys)
    assert run(["align", "w.vec", "v.npy", "-o", "x.npy", "--overwrite"]) == 0


@pytest.mark.parametrize("edges", ["3 1\n1 2\n2 3\n3 1\n", "4 2\n1 2 0.5\n2 3 0.5\n", "2 2\n1 2 0.5\n2 3 x\n"])
def test_edges_are_not_taken_for_vectors(edges: str, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "edges.txt").write_text(edges)
    assert "--overwrite" in refused(world, ["embed", "g.txt", *PLAN, "-o", "edges.txt"], capsys)


def test_arrays_of_the_user_s_own_are_not_taken_for_vectors(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(world / "mine.npz", vectors=np.ones((2, 2)), report=np.array("hello"), ids=np.arange(2))
    np.save(world / "m.npy", np.ones((5, 3)))
    (world / "m.ids.txt").write_text("my notes, not ids\n")
    (world / "mine.vec").write_text("3 2\na 0.1 0.2\nb 1 2\nc 3 4\n")
    for out in ("mine.npz", "m.npy", "mine.vec"):
        assert "--overwrite" in refused(world, ["embed", "g.txt", *PLAN, "-o", out], capsys)


def _taken(monkeypatch: pytest.MonkeyPatch, where: str, *files: Path) -> None:
    """Have another program write files while a command is at work."""
    module, _, name = where.rpartition(".")
    meant = getattr(importlib.import_module(module), name)

    def and_write(*args: Any, **options: Any) -> Any:
        for file in files:
            file.write_text("mine")
        return meant(*args, **options)

    monkeypatch.setattr(where, and_write)


LATE = [".npy", ".npz", ".parquet", ".vec", ".ids.txt"]


@pytest.mark.parametrize("command", [["embed", "g.txt", *PLAN], ["reconcile", "run"]])
@pytest.mark.parametrize("suffix", LATE)
def test_a_file_that_appears_while_vectors_are_computed_stays(
    suffix: str, command: list[str], world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, theirs = f"new{suffix.replace('.ids.txt', '.npy')}", world / f"new{suffix}"
    assert run([*command, "-o", f"undisturbed{Path(out).suffix}"]) == 0
    whole = Embedding.load(f"undisturbed{Path(out).suffix}")
    _taken(monkeypatch, "parge.run.pipeline.merge_parts", theirs)
    capsys.readouterr()
    assert run([*command, "-o", out]) == 1
    assert theirs.read_text() == "mine"
    (kept,) = world.glob(f"kept-*-{out}")
    assert kept.name in "".join(capsys.readouterr().err.split())
    assert np.array_equal(Embedding.load(kept).vectors, whole.vectors)
    assert np.array_equal(Embedding.load(kept).ids, whole.ids)
    assert not (out != theirs.name and (world / out).exists())
    assert not list(world.glob(".parge-*"))
    theirs.unlink()
    assert run([*command, "-o", out, "--overwrite", *(["--resume"] if command[0] == "embed" else [])]) == 0
    assert np.array_equal(Embedding.load(out).vectors, whole.vectors)


def test_a_generated_graph_or_page_leaves_files_alone_that_appear_meanwhile(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _taken(monkeypatch, "parge.graph.generate.planted", world / "new.txt", world / "new.html")
    assert run([*MADE, "-o", "new.txt"]) == 1
    (kept,) = world.glob("kept-*-new.txt")
    assert read(kept).n_edges == 40
    (world / "new.html").unlink()
    _taken(monkeypatch, "parge.report.page.collect", world / "new.html")
    assert run(["report", "run", "-o", "new.html"]) == 1
    assert [(world / name).read_text() for name in ("new.txt", "new.html")] == ["mine", "mine"]


def test_a_file_that_is_changed_while_a_command_is_at_work_stays(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run([*MADE, "-o", "new.txt"]) == 0
    _taken(monkeypatch, "parge.graph.generate.planted", world / "new.txt")
    assert run([*MADE, "-o", "new.txt"]) == 1
    assert (world / "new.txt").read_text() == "mine"


def test_pages_and_archives_that_were_edited_are_the_user_s_own(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (world / "page.html").read_bytes()
    mine = b"<!DOCTYPE html>\n<head>\n" + page.splitlines(keepends=True)[8] + b"<p>my notes</p>"
    for edited in (page.replace(b"</body>", b"<p>my notes</p></body>"), page[:-1], b"\n" + page, mine):
        (world / "page.html").write_bytes(edited)
        assert "page.html" in refused(world, ["report", "run", "-o", "page.html"], capsys)
    (world / "page.html").write_bytes(page)
    assert run(["report", "run", "-o", "page.html"]) == 0
    with np.load(world / "w.npz") as loaded:
        arrays = dict(loaded)
    np.savez(world / "mine.npz", **{**arrays, "vectors": 2 * arrays["vectors"]})
    assert "mine.npz" in refused(world, ["reconcile", "run", "-o", "mine.npz"], capsys)
    with zipfile.ZipFile(world / "mine.npz", "a") as mine_too, zipfile.ZipFile(world / "w.npz") as ours:
        mine_too.comment = ours.comment
    assert "mine.npz" in refused(world, ["reconcile", "run", "-o", "mine.npz"], capsys)
