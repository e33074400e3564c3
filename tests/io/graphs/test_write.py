"""What is written is read back as it was, in every format that can hold it."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.graph.sameness import assert_same, edges

from parge.errors import InputError, PargeError
from parge.graph.graph import Graph
from parge.io.graphs.read import read
from parge.io.graphs.write import write
from parge.testing.graphs import graphs

EDGE_LISTS = [f"g{suffix}{packed}" for suffix in (".txt", ".edges", ".tsv", ".csv") for packed in ("", ".gz", ".zst")]
NUMBERED = ["g.mtx", "g.mtx.gz", "g.graph", "g.graph.zst"]
EVERYTHING = ["g.parquet", "g.npz"]

GRAPHS = {
    "triangle": Graph.from_edges([0, 1, 2], [1, 2, 0]),
    "weights": Graph.from_edges([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0]),
    "fractions": Graph.from_edges([0, 1, 2], [1, 2, 0], [0.1, 1e-7, 3e30]),
    "isolated": Graph.from_edges([1, 3], [3, 4], vertices=7),
    "sparse ids": Graph.from_edges([5, 2**40, -7], [2**40, -7, 2**62]),
    "strings": Graph.from_edges(["a", "b", "é"], ["b", "é", "漢"]),
    "isolated strings": Graph.from_edges(["a", "b"], ["b", "c"], vertices=["z", "0 z"]),
    "odd strings": Graph.from_edges(["007", "x", "+1"], ["x", "+1", "1e5"]),
    "integers as strings": Graph.from_edges(["10", "9"], ["9", "x"], vertices=["8"]),
}

BLANKS = {
    "blanks": Graph.from_edges(["a b", "b"], ["b", "c d"]),
    "quotes": Graph.from_edges(['a"b', '"q"'], ['"q"', "it's"]),
    "commas": Graph.from_edges(["a,b", "#x"], ["#x", "%"]),
}


def round_trip(graph: Graph, path: Path) -> Graph:
    written = write(graph, path)
    assert all(file.exists() for file in written)
    assert sorted(path.parent.iterdir()) == sorted(written), "nothing else is left behind"
    return read(path, vertices=written[1] if len(written) > 1 else None)


@pytest.mark.parametrize("name", [*EDGE_LISTS, *EVERYTHING])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_round_trip(tmp_path: Path, name: str, graph: Graph) -> None:
    found = round_trip(graph, tmp_path / name)
    assert_same(found, graph)
    assert found.notices == ()


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("graph", ["triangle", "weights", "isolated"])
def test_round_trip_of_numbered_vertices(tmp_path: Path, name: str, graph: str) -> None:
    found = round_trip(GRAPHS[graph], tmp_path / name)
    assert_same(found, GRAPHS[graph])
    assert found.notices == ()


@pytest.mark.parametrize("name", ["g.csv", "g.csv.gz", *EVERYTHING])
@pytest.mark.parametrize("graph", BLANKS.values(), ids=BLANKS)
def test_round_trip_of_strings_with_blanks_and_quotes(tmp_path: Path, name: str, graph: Graph) -> None:
    assert_same(round_trip(graph, tmp_path / name), graph)


def test_fractions_in_matrix_market(tmp_path: Path) -> None:
    assert_same(round_trip(GRAPHS["fractions"], tmp_path / "g.mtx"), GRAPHS["fractions"])


@given(graphs(min_vertices=2), st.sampled_from(["g.txt", "g.tsv", "g.csv", "g.csv.zst", *EVERYTHING]))
@examples(120)
def test_any_graph_comes_back(tmp_path_factory: pytest.TempPathFactory, graph: Graph, name: str) -> None:
    assume(graph.n_edges)
    folder = tmp_path_factory.mktemp("written")
    with suppress(InputError):  # ids that the format cannot hold
        written = write(graph, folder / name)
        found = read(written[0], vertices=written[1] if len(written) > 1 else None)
        assert found.n_edges == graph.n_edges
        assert set(map(str, found.outside_ids.tolist())) == set(map(str, graph.outside_ids.tolist()))
        if found.outside_ids.dtype == graph.outside_ids.dtype:  # strings that are all integers come back as integers
            assert_same(found, graph)


@given(graphs(min_vertices=2, ids="numbers", weighted=False), st.sampled_from(NUMBERED))
@examples(60)
def test_any_numbered_graph_comes_back(tmp_path_factory: pytest.TempPathFactory, graph: Graph, name: str) -> None:
    path = tmp_path_factory.mktemp("written") / name
    write(graph, path)
    assert_same(read(path, vertices=graph.n_vertices), graph)


def test_a_metis_file_in_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.io.graphs.metis._WRITTEN_AT_ONCE", 64)
    monkeypatch.setattr("parge.io.files.SEGMENT", 500)
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(*rng.integers(0, 300, (2, 2000)), rng.integers(1, 9, 2000), vertices=310)
    assert_same(round_trip(graph, tmp_path / "g.graph"), graph)


def test_other_programs_read_what_is_written(tmp_path: Path) -> None:
    graph = GRAPHS["weights"]
    write(graph, tmp_path / "g.npz")
    write(graph, tmp_path / "g.mtx")
    write(graph, tmp_path / "g.csv")
    assert (sp.load_npz(tmp_path / "g.npz") != graph.to_scipy()).nnz == 0
    assert (scipy.io.mmread(tmp_path / "g.mtx").tocsr() != graph.to_scipy()).nnz == 0
    assert (tmp_path / "g.csv").read_text() == '"source","target","weight"\n0,1,1\n0,2,3\n1,2,2\n'


REFUSED = [
    ("g.xyz", GRAPHS["triangle"], "names no graph format"),
    ("g.parquet.gz", GRAPHS["triangle"], "names no graph format"),
    ("g.txt", BLANKS["blanks"], "'a b' would change"),
    ("g.txt", BLANKS["commas"], "'#x' would change"),
    ("g.tsv", Graph.from_edges(["a\tb"], ["c"]), "would change"),
    ("g.csv", Graph.from_edges(["a\nb"], ["c"]), "would change"),
    ("g.csv", Graph.from_edges([" a"], ["c"]), "would change"),
    ("g.csv", Graph.from_edges(["a"], [""]), "'' would change"),
    ("g.csv", Graph.from_edges(["a"], ["b"], vertices=["#c"]), "'#c' would change.*Write .npz"),
    ("g.mtx", GRAPHS["sparse ids"], "cannot store vertex ids such as -7|cannot store vertex ids such as np"),
    ("g.graph", GRAPHS["strings"], "cannot store vertex ids such as 'a'"),
    ("g.graph", GRAPHS["fractions"], "whole numbers as weights"),
    ("nowhere/g.txt", GRAPHS["triangle"], "folder .*nowhere does not exist"),
]


@pytest.mark.parametrize(("name", "graph", "fragment"), REFUSED)
def test_refused_writes_leave_nothing(tmp_path: Path, name: str, graph: Graph, fragment: str) -> None:
    with pytest.raises(InputError, match=fragment):
        write(graph, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.txt"
    write(GRAPHS["triangle"], path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.csv.write_csv", fail)
    with pytest.raises(PargeError, match="No space left on device"):
        write(GRAPHS["weights"], path)
    assert list(tmp_path.iterdir()) == [path]
    assert edges(read(path)) == {(0, 1), (0, 2), (1, 2)}
