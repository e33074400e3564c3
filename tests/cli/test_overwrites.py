"""No command writes over its inputs, nor, without --overwrite, over a file that parge did not write."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.outputs import MADE, OUTPUTS, PLAN, refused
from tests.examples import slow

from parge.cli.main import run
from parge.embedding import Embedding
from parge.errors import InputError
from parge.io.graphs.read import read
from parge.io.graphs.write import write

FULL = ["embed", "g.txt", "--vertices", "vertices.txt", "--features", "features.npy", *PLAN]

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


CASES = [(case, name, way) for case, (_, _, names) in INPUTS.items() for name in names for way in WAYS]


@pytest.mark.parametrize(("case", "name", "way"), CASES)
@pytest.mark.parametrize("overwrite", [True, *slow(False)])
def test_inputs_are_never_written_over(
    case: str, name: str, way: str, overwrite: bool, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args, option, _ = INPUTS[case]
    out = WAYS[way](Path(name))
    said = refused(world, [*args, option, out, *(["--overwrite"] if overwrite else [])], capsys)
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


@pytest.mark.parametrize("case", OUTPUTS)
def test_files_of_the_user_s_own_need_the_word_overwrite(
    case: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args, option, suffix = OUTPUTS[case]
    out = world / f"theirs{suffix}"
    _foreign(suffix, out)
    before = out.read_bytes()
    assert "--overwrite" in refused(world, [*args, option, out], capsys)
    assert run([*args, option, str(out), "--overwrite"]) == 0
    assert out.read_bytes() != before


def test_a_folder_that_is_missing_is_named_once(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(world, ["embed", "g.txt", *PLAN, "-o", "missing/v.npy"], capsys)
    assert said.count("Cannot write") == 1
    assert "missing does not exist" in said


SPECIAL: dict[str, Callable[[Path], None]] = {"pipe": os.mkfifo, "folder": Path.mkdir}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("case", OUTPUTS)
def test_only_plain_files_are_written(kind: str, case: str, world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args, option, suffix = OUTPUTS[case]
    out = world / f"special{suffix}"
    SPECIAL[kind](out)
    for more in ([], ["--overwrite"]):
        refused(world, [*args, option, out, *more], capsys)
    (world / f"link{suffix}").symlink_to(out)
    refused(world, [*args, option, world / f"link{suffix}", "--overwrite"], capsys)


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
    args, option, suffix = OUTPUTS[case]
    target, link = world / "sub" / f"target{suffix}", world / f"link{suffix}"
    link.symlink_to(target)
    refused(world, [*args, option, link], capsys)  # it leads nowhere: who made it, and for what?
    _foreign(suffix, target)
    before = target.read_bytes()
    assert "--overwrite" in refused(world, [*args, option, link], capsys)
    assert run([*args, option, str(link), "--overwrite"]) == 0
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
    args = ["generate", "--vertices", "50", "--edges", "5", "-o", "new.txt"]
    assert "new.vertices.txt" in refused(world, args, capsys)
    assert run([*args, "--overwrite"]) == 0


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
