"""Bad command lines and bad files: exit code 2, one clear message, no traceback, nothing written."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from parge.cli.main import run

GOOD = "1 2\n2 3\n3 4\n4 1\n"

# What is wrong -> (name of the file, content as text or bytes, words that the message must have).
FILES: dict[str, tuple[str, str | bytes, str]] = {
    "empty": ("g.txt", "", "g.txt"),
    "only comments": ("g.txt", "# a\n# b\n", "g.txt"),
    "one column": ("g.txt", "1\n2\n", "g.txt"),
    "ragged": ("g.txt", "1 2\n3\n4 5\n", "line 2"),
    "ragged later": ("g.txt", "1 2\n3 4\n4 5 6 7\n", "line 3"),
    "negative weight": ("g.txt", "1 2 1.0\n2 3 -1\n", "-1"),
    "nan weight": ("g.txt", "1 2 1.0\n2 3 nan\n", "nan"),
    "infinite weight": ("g.txt", "1 2 1.0\n2 3 inf\n", "inf"),
    "word as weight": ("g.txt", "1 2 1.0\n2 3 heavy\n", "heavy"),
    "empty id": ("g.csv", "a,b\nb,\n", "line 2"),
    "invalid utf-8": ("g.txt", b"a b\n\xff\xfe c\n", "UTF-8"),
    "not gzip": ("g.txt.gz", GOOD, "g.txt.gz"),
    "cut gzip": ("g.txt.gz", gzip.compress(GOOD.encode() * 100)[:30], "g.txt.gz"),
    "not zstd": ("g.txt.zst", GOOD, "g.txt.zst"),
    "not parquet": ("g.parquet", GOOD, "g.parquet"),
    "not npz": ("g.npz", GOOD, "g.npz"),
    "not mtx": ("g.mtx", GOOD, "g.mtx"),
    "not square mtx": ("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 3 1.0\n", "square"),
    "mtx out of range": ("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n", "g.mtx"),
    "not mat": ("g.mat", GOOD, "g.mat"),
    "not graphml": ("g.graphml", GOOD, "g.graphml"),
    "metis header lies": ("g.graph", "3 5\n2\n1 3\n2\n", "g.graph"),
    "metis beyond n": ("g.graph", "2 1\n2\n9\n", "g.graph"),
    "metis words": ("g.graph", "two one\n2\n1\n", "g.graph"),
    "binary rubbish": ("g.txt", bytes(range(256)) * 4, "g.txt"),
}

PLAN_LINES: dict[str, tuple[list[str], str]] = {
    "no such option": (["--part", "3"], "--part"),
    "faithful and another pass": (["--parts", "2", "--faithful", "--refine", "whiten"], "only one"),
    "parts zero": (["--parts", "0"], "parts"),
    "parts words": (["--parts", "many"], "many"),
    "more parts than vertices": (["--parts", "1000000000"], "4 vertices"),
    "capacities words": (["--capacities", "4,x"], "'x'"),
    "capacities hole": (["--capacities", "4,,4"], "empty item"),
    "capacities too small": (["--capacities", "1,1"], "2 vertices short"),
    "capacities and parts": (["--capacities", "4,4", "--parts", "2"], "only one of"),
    "capacities beyond all": (["--capacities", "9223372036854775807,x"], "'x'"),
    "dim beyond all": (["--dim", "99999999999999999999"], "dim"),
    "engine unknown": (["--engine", "steam"], "there is no engine 'steam'; known: processes, ray, serial"),
    "memory words": (["--memory", "much"], "2GB"),
    "memory too small": (["--memory", "1MB,1MB"], "before it holds any vertex"),
    "memory negative": (["--memory", "-4GB"], "4GB"),
    "anchors words": (["--parts", "2", "--anchors", "few"], "few"),
    "memory without unit": (["--memory", "0.5"], "did you mean 0.5GB?"),
    "anchors more than all": (["--parts", "2", "--anchors", "200%"], "a percentage from 0% to 100%"),
    "anchors negative share": (["--parts", "2", "--anchors", "-1%"], "a percentage from 0% to 100%"),
    "anchors too many": (["--parts", "2", "--anchors", "500"], "500"),
    "anchors above the smallest": (["--capacities", "9,1", "--anchors", "2"], "2 anchors"),
    "anchors over all": (["--parts", "2", "--anchors", "150%"], "150%"),
    "no such technique": (["--technique", "magic"], "known: auto"),
    "no such reconciler": (["--reconcile", "magic"], "known: auto, backbone"),
    "no such pass": (["--refine", "magic"], "known: auto, "),
    "no such module": (["--technique", "no_such_module:f"], "no_such_module"),
    "no such function": (["--technique", "math:no_such"], "no_such"),
    "param without value": (["--param", "walks"], "KEY=VALUE"),
    "param unknown": (["--param", "walk=3"], "it has dim, walks"),
    "param words": (["--param", "walks=many"], "whole number"),
    "param out of range": (["--param", "walks=0"], "at least 1"),
    "dim zero": (["--dim", "0"], "dim"),
    "seed negative": (["--seed", "-1"], "seed"),
    "partitioner unknown": (["--partitioner", "knife"], "knife"),
    "reconcile unknown": (["--reconcile", "force"], "force"),
    "preset unknown": (["--preset", "worst"], "worst"),
    "vertices too few": (["--vertices", "3"], "0..2"),
    "vertices missing file": (["--vertices", "no-such-file"], "no-such-file"),
    "features missing file": (["--features", "no-such.npz"], "no-such.npz"),
}

OTHER_LINES: dict[str, tuple[list[str], str]] = {
    "no such command": (["embded"], "embded"),
    "missing graph": (["plan"], "GRAPH"),
    "no such graph": (["plan", "no-such-graph.txt"], "no-such-graph.txt"),
    "graph is an empty folder": (["plan", "empty"], "folder"),
    "embed without out": (["embed", "good.txt"], "--out"),
    "embed to the current folder": (["embed", "good.txt", "-o", "."], ".npy"),
    "embed to the root": (["embed", "good.txt", "-o", "."], ".npy"),
    "embed to unknown suffix": (["embed", "good.txt", "-o", "x.jpg"], ".parquet"),
    "embed to missing folder": (["embed", "good.txt", "-o", "no/such/x.npy"], "does not exist"),
    "status of nothing": (["status", "."], "holds no run"),
    "reconcile nothing": (["reconcile", ".", "-o", "x.npy"], "holds no run"),
    "embed-part of nothing": (["embed-part", "."], "manifest"),
    "neighbors of nothing": (["neighbors", "no-such.npy", "3"], "no-such.npy"),
    "neighbors of nothing, no suffix": (["neighbors", "no-such", "3"], "no such file"),
    "neighbors of another format": (["neighbors", "good.csv", "3"], "no embedding format"),
    "a file of no bytes": (["plan", "zero.csv"], "zero.csv is empty"),
    "a graph without edges": (["plan", "zero.csv"], "--vertices"),
    "no such column": (["plan", "good.csv", "--source", "who"], "--target"),
    "a folder of other files": (
        ["embed", "folder", "-o", "folder", "--parts", "2", "--sharded", "--overwrite"],
        "Choose another name, or move them elsewhere first.",
    ),
    "pip of nothing": (["evaluate", "pip", "no-such.npy", "no-such.npy"], "no-such.npy"),
    "generate labels to missing folder": (
        ["generate", "--vertices", "10", "--edges", "9", "-o", "x.txt", "--labels", "no/such/l.txt"],
        "no/such",
    ),
    "generate over itself": (
        ["generate", "--vertices", "10", "--edges", "9", "-o", "x.txt", "--labels", "x.txt"],
        "two outputs",
    ),
    "generate ring that does not divide": (
        ["generate", "--kind", "ring", "--vertices", "10", "--communities", "3", "-o", "x.txt"],
        "multiple",
    ),
    "generate no vertices": (["generate", "--vertices", "0", "-o", "x.txt"], "vertices"),
    "generate to missing folder": (["generate", "--vertices", "10", "--edges", "9", "-o", "no/such/x.txt"], "no/such"),
}


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str], str], None]:
    """Return a function that runs a command line and asserts that it is refused with those words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.txt").write_text(GOOD)
    (tmp_path / "good.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "zero.csv").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other.csv").write_text("source,target\na,b\n")

    def check(arguments: list[str], words: str) -> None:
        before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
        code = run(arguments)
        printed = capsys.readouterr()
        assert code == 2, printed.err
        assert words in printed.err
        assert "Traceback" not in printed.err
        assert printed.err.count("Error") == 1
        assert printed.out == ""
        assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    return check


@pytest.mark.parametrize("case", FILES)
def test_bad_files(case: str, refused: Callable[[list[str], str], None], tmp_path: Path) -> None:
    name, content, words = FILES[case]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(["plan", name], words)


def test_bad_matrices(refused: Callable[[list[str], str], None], tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "wide.npz", sp.csr_matrix(np.ones((2, 3))))
    refused(["plan", "wide.npz"], "square")
    sp.save_npz(tmp_path / "nan.npz", sp.csr_matrix(np.array([[0, np.nan], [np.nan, 0]])))
    refused(["plan", "nan.npz"], "nan")
    np.savez(tmp_path / "pickled.npz", data=np.array([{}], dtype=object))
    refused(["plan", "pickled.npz"], "pickled.npz")


@pytest.mark.parametrize("case", PLAN_LINES)
def test_bad_plans(case: str, refused: Callable[[list[str], str], None]) -> None:
    arguments, words = PLAN_LINES[case]
    refused(["plan", "good.txt", *arguments], words)


@pytest.mark.parametrize("case", OTHER_LINES)
def test_bad_command_lines(case: str, refused: Callable[[list[str], str], None]) -> None:
    refused(*OTHER_LINES[case])


def test_ids_that_the_format_cannot_hold_are_refused_before_any_work(
    tmp_path: Path, refused: Callable[[list[str], str], None]
) -> None:
    (tmp_path / "towns.csv").write_text("source,target\nNew York,Rome\nRome,Bonn\n")
    refused(["embed", "towns.csv", "-o", "v.vec", "--technique", "hope", "--dim", "2"], "hold white space")
    assert not (tmp_path / "v.vec.run").exists()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="private memory is not told here")
def test_a_coordinator_that_is_far_too_small_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rehearse() -> None:
        raise AssertionError("the rehearsal was run")

    monkeypatch.setattr("parge.cli.memory.rehearse", rehearse)
    (tmp_path / "g.txt").write_text(GOOD)
    assert run(["plan", str(tmp_path / "g.txt"), "--coordinator-memory", "1MB"]) == 2
    said = capsys.readouterr().err
    assert "--coordinator-memory 1MB" in said
    assert "reading" not in said


@pytest.mark.parametrize(
    ("slip", "cure"),
    [
        ("--dimensions 64", "--dim"),
        ("--n-components 64", "--dim"),
        ("--n-jobs 2", "--jobs"),
        ("--random-state 1", "--seed"),
        ("--num-walks 9", "--param walks=VALUE"),
        ("--walks 9", "--param walks=VALUE"),
        ("--part 3", "--parts"),
    ],
)
def test_the_options_of_other_tools_are_told_with_ours(
    slip: str, cure: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["embed", "g.txt", "-o", str(tmp_path / "v.npy"), *slip.split()]) == 2
    assert cure in capsys.readouterr().err
