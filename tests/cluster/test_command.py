"""`parge embed --sharded`: what it writes, refuses and starts again."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cluster.named_edges import named_edges

from parge.cli.main import run
from parge.cluster import stages
from parge.errors import PargeError


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return named_edges(tmp_path_factory.mktemp("command"))


@pytest.mark.slow
def test_the_command_line_writes_a_folder_that_every_command_reads(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["embed", str(edges), "-o", str(out), "--parts", "2", "--dim", "8", "--engine", "serial", "--sharded"]
    assert run([*words, "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["vertices"] == 401
    assert len(reported["shards"]) == 2
    assert reported["coordinator"]["peak_bytes"] > 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    assert run(["neighbors", str(out), "v7", "--json"]) == 0
    capsys.readouterr()
    assert run(words) == 0
    assert "is an earlier output of parge and will be replaced" in " ".join(capsys.readouterr().err.split())
    assert run([*words, "--run-dir", str(tmp_path / "kept")]) == 0
    for other in (
        ["reconcile", "kept", "-o", "x.npy"],
        ["embed", "e", "-o", "x.npy", "--run-dir", "kept"],
    ):
        assert run([str(tmp_path / word) if word in ("kept", "x.npy") else word for word in other]) == 2
    assert "in shards" in capsys.readouterr().err
    (out / "mine.txt").write_text("mine")
    assert run([*words, "--overwrite"]) == 2
    assert (out / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(("name", "noticed"), [("out.parquet", True), ("out", False)])
def test_a_folder_with_the_name_of_a_file_is_noticed(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, noticed: bool
) -> None:
    words = ["embed", str(edges), "-o", str(tmp_path / name), "--parts", "2", "--dim", "8", "--engine", "serial"]
    assert run([*words, "--sharded", "--param", "walks=1"]) == 0
    assert (tmp_path / name).is_dir()
    assert ("is a folder of Parquet files" in " ".join(capsys.readouterr().err.split())) == noticed


@pytest.mark.parametrize(
    "more",
    [["--features", "x.npy"], ["--report", "page.html"], ["--vertices", "3"], ["--refine", "propagate"]],
    ids=str,
)
def test_options_that_shards_do_not_know_are_refused(edges: Path, tmp_path: Path, more: list[str]) -> None:
    words = ["embed", str(edges), "-o", str(tmp_path / "out"), "--parts", "2", "--engine", "serial", "--sharded"]
    assert run([*words, *more]) == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--for", "links"], "--for links means the pass blend"),
        (["--faithful"], "--faithful (--refine scale) needs"),
        (["--for", "links", "--refine", "propagate"], "the pass propagate needs"),
    ],
    ids=str,
)
def test_a_refused_pass_is_named_by_the_option_that_asked_for_it(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert run(["embed", str(edges), "-o", str(tmp_path / "out"), "--parts", "2", "--sharded", *more]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_files_with_and_without_weights_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("edges").mkdir()
    for name, columns in (("a", ["source", "target", "weight"]), ("b", ["source", "target"])):
        table = pa.table({column: np.arange(40.0) if column == "weight" else np.arange(40) % 7 for column in columns})
        pq.write_table(table, f"edges/{name}.parquet")
    assert run(["embed", "edges", "-o", "out", "--parts", "2", "--engine", "serial", "--sharded"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(r"weights, such as \S*edges/a\.parquet, and others have none, such as \S*edges/b\.parquet", said)


@pytest.mark.slow
def test_the_corrected_command_starts_again_where_no_graph_was_read(
    edges: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_self: Any, _mesh: Any) -> Any:
        raise PargeError("stopped")

    out, left = tmp_path / "out", tmp_path / "out.run"
    words = ["embed", str(edges), "-o", str(out), "--dim", "8", "--engine", "serial", "--sharded", "--parts"]
    for stage, code in (("Divide", 2), ("Read", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(getattr(stages, stage), "__call__", fails)
            assert run([*words, "3"]) == 1
        assert left.is_dir()
        capsys.readouterr()
        assert run([*words, "2"]) == code  # a graph that was read is work that is kept
        said = " ".join(capsys.readouterr().err.split())
        assert ("--resume" in said) == (code == 2)
        shutil.rmtree(left, ignore_errors=True)
    assert out.is_dir()


def test_outputs_inside_of_inputs_are_refused(edges: Path, tmp_path: Path) -> None:
    words = ["--parts", "2", "--engine", "serial", "--sharded"]
    assert run(["embed", str(edges), "-o", str(edges / "out"), *words]) == 2
    (tmp_path / "file").touch()
    assert run(["embed", str(edges), "-o", str(tmp_path / "file"), *words]) == 2
    assert run(["embed", str(edges), "-o", str(tmp_path / "no" / "out"), *words]) == 2
