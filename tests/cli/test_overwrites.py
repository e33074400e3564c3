"""No command writes over its inputs, nor, without --overwrite, over a file that parge did not write."""

import importlib
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse

from parge.cli.main import run
from parge.embedding import Embedding
from parge.errors import InputError
from parge.graph.generate import planted
from parge.io.graphs.read import read
from parge.io.graphs.write import write
from parge.io.labels import write_labels

PLAN = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--anchors", "8", "--engine", "serial"]
FULL = ["embed", "g.txt", "--vertices", "vertices.txt", "--features", "features.npy", *PLAN]
MADE = ["generate", "--vertices", "20", "--edges", "40"]

# What is tried -> the command line without its output, the option that names the output, and the inputs to name.
INPUTS: dict[str, tuple[list[str], str, list[str]]] = {
    "embed": (FULL, "-o", ["g.txt", "vertices.txt", "features.npy"]),
    "embed parquet": (["embed", "g.parquet", *PLAN], "-o", ["g.parquet"]),
    "embed npz": (["embed", "g.npz", *PLAN], "-o", ["g.npz"]),
    "embed, page": (["embed", "g.html", *PLAN, "-o", "new.npy"], "--report", ["g.html"]),
    "embed, page over features": (
        ["embed", "g.txt", "--vertices", "vertices.html", *PLAN, "-o", "new.npy"],
        "--report",
        ["vertices.html"],
    ),
    "align": (["align", "v.npy", "w.parquet"], "-o", ["v.npy", "w.parquet"]),
    "export": (["export", "v.npy"], "-o", ["v.npy"]),
    "neighbors": (["neighbors", "w.parquet", "3"], "-o", ["w.parquet"]),
    "export parquet": (["export", "w.parquet", "--dtype", "float16"], "-o", ["w.parquet"]),
    "place": (["place", "run", "more.txt", "--vertices", "more-ids.txt"], "-o", ["more.txt", "more-ids.txt"]),
    "update": (["update", "run", "more.txt", "--removed", "less.txt"], "-o", ["more.txt", "less.txt"]),
    "align text": (["align", "w.vec", "w.npz"], "-o", ["w.vec", "w.npz"]),
    "reconcile": (["reconcile", "run"], "-o", ["run/parts/000/result/vectors.npy", "run/plan/part.npy"]),
    "report": (
        ["report", "run", "--labels", "labels.html", "--scores", "scores.html"],
        "-o",
        ["labels.html", "scores.html"],
    ),
}
WAYS: dict[str, Callable[[Path], Path]] = {
    "itself": lambda path: path,
    "absolute": lambda path: path.resolve(),
    "roundabout": lambda path: Path("sub", "..", path),
    "link": lambda path: _link(path, Path("link" + path.suffix)),
    "link of a link": lambda path: _link(_link(path, Path("inner" + path.suffix)), Path("outer" + path.suffix)),
    "hard link": lambda path: _hard(path, Path("hard" + path.suffix)),
    "folder that is a link": lambda path: _link(Path(), Path("here")) / path,
}


def _link(path: Path, name: Path) -> Path:
    name.symlink_to(path.resolve())
    return name


def _hard(path: Path, name: Path) -> Path:
    os.link(path, name)
    return name


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph in several formats, its labels, a kept run, and embeddings of every format."""
    folder = tmp_path_factory.mktemp("prepared")
    made = planted(60, 200, communities=2, seed=2)
    for name in ("g.txt", "g.parquet", "g.npz"):
        write(made.graph, folder / name)
    shutil.copy(folder / "g.txt", folder / "g.html")
    for name in ("vertices.txt", "vertices.html"):
        (folder / name).write_text("".join(f"{i}\n" for i in range(60)))
    np.save(folder / "features.npy", np.eye(60, 5, dtype=np.float32))
    write_labels(folder / "labels.txt", made.graph.outside_ids, made.labels)
    shutil.copy(folder / "labels.txt", folder / "labels.html")
    (folder / "more.txt").write_text("0 100\n1 100\n2 101\n100 101\n")
    (folder / "more-ids.txt").write_text("100\n101\n102\n")
    shutil.copy(folder / "g.txt", folder / "less.txt")
    (folder / "scores.html").write_text('{"micro_f1": 0.5}')
    (folder / "sub").mkdir()
    words = ["embed", str(folder / "g.txt"), "-o", str(folder / "v.npy"), "--run-dir", str(folder / "run"), *PLAN]
    assert run([*words, "--report", str(folder / "page.html")]) == 0
    vectors = Embedding.load(folder / "v.npy")
    for suffix in ("npz", "parquet", "vec"):
        vectors.save(folder / f"w.{suffix}")
    return folder


@pytest.fixture
def world(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = Path(shutil.copytree(prepared, tmp_path / "world"))
    monkeypatch.chdir(place)
    return place


Entry = tuple[int, int, int, bytes]


def snapshot(folder: Path) -> dict[str, Entry]:
    """Return what every name below a folder stands for: its kind, its inode, how many names it has, its content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        what = path.lstat()
        content = b""
        if stat.S_ISREG(what.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(what.st_mode):
            content = os.fsencode(path.readlink())
        names = what.st_nlink if stat.S_ISREG(what.st_mode) else 0
        found[str(path.relative_to(folder))] = (stat.S_IFMT(what.st_mode), what.st_ino, names, content)
    return found


def refused(world: Path, words: list[Any], capsys: pytest.CaptureFixture[str]) -> str:
    """Assert that a command is refused with one message and that nothing in the folder has changed; return it."""
    before = snapshot(world)
    capsys.readouterr()
    code = run([str(word) for word in words])
    said = capsys.readouterr().err
    assert code == 2, said
    assert said.count("Error") == 1
    assert "Traceback" not in said
    assert snapshot(world) == before
    return said


CASES = [(case, name, way) for case, (_, _, names) in INPUTS.items() for name in names for way in WAYS]


@pytest.mark.parametrize(("case", "name", "way"), CASES)
@pytest.mark.parametrize("overwrite", [False, True])
def test_inputs_are_never_written_over(
    case: str, name: str, way: str, overwrite: bool, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, option, _ = INPUTS[case]
    out = WAYS[way](Path(name))
    said = refused(world, [*words, option, out, *(["--overwrite"] if overwrite else [])], capsys)
    assert "No such option" not in said
    assert str(out) in " ".join(said.split())


def test_a_file_beside_an_output_is_an_output_too(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "new.ids.txt").write_text((world / "g.txt").read_text())
    assert "new.ids.txt" in refused(world, ["embed", "new.ids.txt", *PLAN, "-o", "new.npy", "--overwrite"], capsys)
    shutil.copy(world / "v.npy", world / "u.npy")
    shutil.copy(world / "v.ids.txt", world / "u.ids.txt")
    os.link(world / "u.ids.txt", world / "t.ids.txt")
    assert "t.ids.txt" in refused(world, ["align", "u.npy", "w.vec", "-o", "t.npy", "--overwrite"], capsys)
    refused(world, ["report", "run", "--embedding", "u.npy", "--labels", "u.ids.txt", "-o", "u.ids.txt"], capsys)


def _foreign(suffix: str, path: Path) -> None:
    """Write a file of the user's own that has this suffix."""
    if suffix == ".npy":
        np.save(path, np.arange(5))
    elif suffix == ".npz":
        np.savez(path, vectors=np.eye(3), mine=np.arange(3))
    elif suffix == ".parquet":
        pq.write_table(pa.table({"id": [1, 2], "vector": [[1.0], [2.0]]}), path)
    else:
        path.write_text("3 2\n1 2\n2 3\nnotes of my own\n")


OUTPUTS: dict[str, tuple[list[str], str, str]] = {
    **{f"embed {suffix}": (["embed", "g.txt", *PLAN], "-o", suffix) for suffix in (".npy", ".npz", ".parquet")},
    **{f"embed {suffix}": (["embed", "g.txt", *PLAN], "-o", suffix) for suffix in (".vec", ".emb", ".txt")},
    "align": (["align", "v.npy", "w.vec"], "-o", ".npz"),
    "place": (["place", "run", "more.txt"], "-o", ".npz"),
    "update": (["update", "run", "more.txt"], "-o", ".npz"),
    "reconcile": (["reconcile", "run"], "-o", ".parquet"),
    "export": (["export", "w.vec", "--dtype", "float16"], "-o", ".npy"),
    "neighbors": (["neighbors", "v.npy", "3"], "-o", ".parquet"),
    "export npz": (["export", "v.npy"], "-o", ".npz"),
    "embed, page": (["embed", "g.txt", *PLAN, "-o", "new.npy"], "--report", ".html"),
    "report": (["report", "run"], "-o", ".html"),
    "generate": (MADE, "-o", ".txt"),
    "generate npz": (MADE, "-o", ".npz"),
    "generate labels": ([*MADE, "-o", "new.txt"], "--labels", ".txt"),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_files_of_the_user_s_own_need_the_word_overwrite(
    case: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, option, suffix = OUTPUTS[case]
    out = world / f"theirs{suffix}"
    _foreign(suffix, out)
    before = out.read_bytes()
    assert "--overwrite" in refused(world, [*words, option, out], capsys)
    assert run([*words, option, str(out), "--overwrite"]) == 0
    assert out.read_bytes() != before


@pytest.mark.parametrize("case", OUTPUTS)
def test_what_parge_wrote_is_written_again_and_named_first(
    case: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, option, suffix = OUTPUTS[case]
    out = world / f"ours{suffix}"
    for there in (False, True):
        capsys.readouterr()
        assert run([*words, option, str(out)]) == 0
        named = [
            line for line in capsys.readouterr().err.splitlines() if f"{out} " in line and "will be replaced" in line
        ]
        assert len(named) == there
    assert run([*words, option, str(out), "--overwrite"]) == 0  # who says so need not be told
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
    words = ["generate", "--vertices", "40", "--edges", "30", "-o", out, "--labels", "labels.txt"]
    assert run(words) == 0
    assert run(words) == 0
    ours = (world / name).read_bytes()
    line = ours.splitlines(keepends=True)[-1]
    for edited in (ours + line, ours.replace(line, b"1 2\n"), b"# mine\n" + ours, ours[: -len(line)], ours[:-1]):
        (world / name).write_bytes(edited)
        assert name in refused(world, words, capsys)
    (world / name).write_bytes(ours)
    assert run(words) == 0


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
    words = [*MADE, "-o", f"new{suffix}"]
    assert run(words) == 0
    assert not (world / f"new{suffix}").read_text().startswith("#")
    assert "--overwrite" in refused(world, words, capsys)


def test_other_readers_take_marked_files(world: Path) -> None:
    for name in ("new.txt", "new.mtx", "new.npz"):
        assert run([*MADE, "-o", name]) == 0
    assert np.loadtxt(world / "new.txt").shape == (40, 2)
    assert scipy.io.mmread(world / "new.mtx").tocsr().nnz == 80
    assert scipy.sparse.load_npz(world / "new.npz").nnz == 80


@pytest.mark.parametrize("case", OUTPUTS)
def test_an_empty_file_may_be_filled(case: str, world: Path) -> None:
    words, option, suffix = OUTPUTS[case]
    out = world / f"empty{suffix}"
    out.touch()
    assert run([*words, option, str(out)]) == 0
    assert out.stat().st_size


def test_ids_that_stand_alone_are_the_user_s_own_unless_they_are_the_very_ones(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "x.ids.txt").write_text("my own list\n")
    assert "x.ids.txt" in refused(world, ["embed", "g.txt", *PLAN, "-o", "x.npy"], capsys)
    # A run that was killed between its two files leaves the ids alone, and is taken up without another word.
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


def test_a_folder_that_is_missing_is_named_once(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(world, ["embed", "g.txt", *PLAN, "-o", "missing/v.npy"], capsys)
    assert said.count("Cannot write") == 1
    assert "missing does not exist" in said


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


SPECIAL: dict[str, Callable[[Path], None]] = {"pipe": os.mkfifo, "folder": Path.mkdir}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("case", OUTPUTS)
def test_only_plain_files_are_written(kind: str, case: str, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, option, suffix = OUTPUTS[case]
    out = world / f"special{suffix}"
    SPECIAL[kind](out)
    for more in ([], ["--overwrite"]):
        refused(world, [*words, option, out, *more], capsys)
    (world / f"link{suffix}").symlink_to(out)
    refused(world, [*words, option, world / f"link{suffix}", "--overwrite"], capsys)


def test_a_device_is_not_replaced_by_a_file(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    null = world / "null.npy"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("making a device is not permitted here")
    refused(world, ["embed", "g.txt", *PLAN, "-o", null, "--overwrite"], capsys)
    with pytest.raises(InputError, match=null.name):
        Embedding.load(world / "v.npy").save(null)
    null.rename(world / "null.txt")
    refused(world, [*MADE, "-o", "new.txt", "--labels", "null.txt", "--overwrite"], capsys)
    with pytest.raises(InputError, match=r"null\.txt"):
        write(read(world / "g.txt"), world / "null.txt")
    assert stat.S_ISCHR((world / "null.txt").lstat().st_mode)


@pytest.mark.parametrize("case", OUTPUTS)
def test_a_link_is_written_through(case: str, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, option, suffix = OUTPUTS[case]
    target, link = world / "sub" / f"target{suffix}", world / f"link{suffix}"
    link.symlink_to(target)
    refused(world, [*words, option, link], capsys)  # it leads nowhere: who made it, and for what?
    _foreign(suffix, target)
    before = target.read_bytes()
    assert "--overwrite" in refused(world, [*words, option, link], capsys)
    assert run([*words, option, str(link), "--overwrite"]) == 0
    assert link.is_symlink()
    assert target.read_bytes() != before


def test_two_outputs_are_two_files(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "one.txt").touch()
    os.link(world / "one.txt", world / "two.txt")
    (world / "three.txt").symlink_to("one.txt")
    for other in ("one.txt", "two.txt", "three.txt", "sub/../one.txt"):
        refused(world, [*MADE, "-o", "one.txt", "--labels", other, "--overwrite"], capsys)
    refused(world, [*MADE, "-o", "new.txt", "--labels", "new.vertices.txt"], capsys)


def test_isolated_vertices_are_not_written_over_a_file(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "new.vertices.txt").write_text("mine\n")
    words = ["generate", "--vertices", "50", "--edges", "5", "-o", "new.txt"]
    assert "new.vertices.txt" in refused(world, words, capsys)
    assert run([*words, "--overwrite"]) == 0


EMPTY: dict[str, list[str]] = {
    "graph": ["plan", ""],
    "embed graph": ["embed", "", *PLAN, "-o", "new.npy"],
    "embed out": ["embed", "g.txt", *PLAN, "-o", ""],
    "embed run": ["embed", "g.txt", *PLAN, "-o", "new.npy", "--run-dir", ""],
    "embed page": ["embed", "g.txt", *PLAN, "-o", "new.npy", "--report", ""],
    "embed vertices": ["embed", "g.txt", *PLAN, "-o", "new.npy", "--vertices", ""],
    "embed features": ["embed", "g.txt", *PLAN, "-o", "new.npy", "--features", ""],
    "decompose run": ["decompose", "g.txt", *PLAN, "--run-dir", ""],
    "align source": ["align", "", "v.npy", "-o", "new.npy"],
    "align reference": ["align", "v.npy", "", "-o", "new.npy"],
    "align out": ["align", "v.npy", "v.npy", "-o", ""],
    "embed space": ["embed", "g.txt", *PLAN, "-o", "new.npy", "--space", ""],
    "place space": ["place", "", "g.txt", "-o", "new.npy"],
    "place edges": ["place", "run", "", "-o", "new.npy"],
    "place out": ["place", "run", "more.txt", "-o", ""],
    "update space": ["update", "", "more.txt", "-o", "new"],
    "update out": ["update", "run", "more.txt", "-o", ""],
    "update removed": ["update", "run", "--removed", "", "-o", "new"],
    "drift": ["drift", ""],
    "reconcile run": ["reconcile", "", "-o", "new.npy"],
    "reconcile out": ["reconcile", "run", "-o", ""],
    "report run": ["report", "", "-o", "new.html"],
    "report out": ["report", "run", "-o", ""],
    "report labels": ["report", "run", "-o", "new.html", "--labels", ""],
    "report embedding": ["report", "run", "-o", "new.html", "--embedding", ""],
    "report scores": ["report", "run", "-o", "new.html", "--scores", ""],
    "generate out": [*MADE, "-o", ""],
    "generate labels": [*MADE, "-o", "new.txt", "--labels", ""],
    "demo out": ["demo", "--graph", "g.txt", "-o", ""],
    "demo graph": ["demo", "--graph", "", "-o", "demo"],
    "demo labels": ["demo", "--graph", "g.txt", "--labels", "", "-o", "demo"],
    "status": ["status", ""],
    "embed-part": ["embed-part", ""],
    "neighbors": ["neighbors", "", "3"],
    "classify": ["evaluate", "classify", "", "labels.txt"],
    "classify labels": ["evaluate", "classify", "v.npy", ""],
    "pip": ["evaluate", "pip", "", "v.npy"],
    "bound": ["evaluate", "bound", "g.txt", "--embedding", ""],
}


@pytest.mark.parametrize("case", EMPTY)
def test_an_empty_name_is_no_name(case: str, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "empty" in refused(world, EMPTY[case], capsys)


def test_the_help_of_every_command_that_writes_tells_of_overwrite(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("embed", "align", "place", "update", "reconcile", "report", "generate", "demo"):
        assert run([command, "--help"]) == 0
        assert "--overwrite" in capsys.readouterr().out, command


SMALL_DEMO = ["demo", "--parts", "2", "--dim", "4", "-o", "demo"]


@pytest.fixture
def quick_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo of 60 vertices: with fewer parts than 8 it takes a tenth."""
    monkeypatch.setattr("parge.cli.demo._VERTICES", 600)
    monkeypatch.setattr("parge.cli.demo._EDGES", 2400)
    monkeypatch.setattr("parge.cli.demo._COMMUNITIES", 2)


@pytest.mark.usefixtures("quick_demo")
@pytest.mark.slow
def test_the_demo_runs_again_and_keeps_what_others_put_into_its_folder(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "demo").mkdir()
    (world / "demo/notes.txt").write_text("mine")
    assert run(SMALL_DEMO) == 0
    assert run([*SMALL_DEMO, "--seed", "3"]) == 0
    assert (world / "demo/notes.txt").read_text() == "mine"
    for name in ("graph.txt", "labels.txt", "report.html", "embedding.parquet"):
        ours = (world / "demo" / name).read_bytes()
        (world / "demo" / name).write_text("1 2\n2 3\n")
        assert name in refused(world, SMALL_DEMO, capsys)
        (world / "demo" / name).write_bytes(ours)
    assert read(world / "demo/graph.txt").n_edges == 240


@pytest.mark.usefixtures("quick_demo")
@pytest.mark.slow
def test_the_demo_runs_again_where_vertices_are_isolated(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.cli.demo._EDGES", 400)
    for _ in range(2):
        assert run(SMALL_DEMO) == 0
    found = read(world / "demo/graph.txt", vertices=world / "demo/graph.vertices.txt")
    assert (found.n_vertices, found.n_edges) == (60, 40)


def test_the_demo_of_a_graph_does_not_write_over_it(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "demo").mkdir()
    for name in ("report.html", "embedding.parquet"):
        shutil.copy(world / ("g.html" if name.endswith("html") else "g.parquet"), world / "demo" / name)
        refused(world, [*SMALL_DEMO, "--graph", f"demo/{name}", "--overwrite"], capsys)
        (world / "demo" / name).unlink()
    shutil.copy(world / "labels.txt", world / "demo/report.html")
    refused(world, [*SMALL_DEMO, "--graph", "g.txt", "--labels", "demo/report.html", "--overwrite"], capsys)
    (world / "file").write_text("mine")
    refused(world, ["demo", "--graph", "g.txt", "-o", "file", "--overwrite"], capsys)
