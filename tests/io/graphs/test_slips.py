"""What people hand over by mistake: a clear refusal in one line with its cure, or a result that the docs name."""

import datetime
import decimal
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import parge
from parge.cli.main import run
from parge.errors import InputError, UnknownNameError
from parge.graph.graph import Graph
from parge.io.graphs.read import read

DAYS = pd.to_datetime(["2020-01-01", "2020-01-02"])
DATE = datetime.date(2020, 1, 1)


def _weights(graph: Graph) -> list[float]:
    return [] if graph.weights is None else sorted(set(graph.weights.tolist()))


REFUSED: dict[str, tuple[Any, str]] = {
    "dates as ids": (pd.DataFrame({"source": DAYS, "target": DAYS}), "'source'.*timestamp.*strings"),
    "floats as ids": (pd.DataFrame({"source": [1.0, 2], "target": [2, 3]}), "'source'.*Convert it to integers"),
    "bools as ids": (pd.DataFrame({"source": [True], "target": [False]}), "'source'.*bool.*strings"),
    "NaN as an id": (pd.DataFrame({"source": ["a", np.nan], "target": ["b", "c"]}), "'source'.*row 2"),
    "NA as an id": (pd.DataFrame({"source": pd.array([1, None], "Int64"), "target": [2, 3]}), "'source'.*row 2"),
    "no columns": (pd.DataFrame(), "two columns"),
    "no rows": (pd.DataFrame({"source": [], "target": []}), "no edge"),
    "one name twice": (pd.DataFrame([[1, 2]], columns=["source", "source"]), "own name"),
    "bools as weights": (pd.DataFrame({"source": [1], "target": [2], "weight": [True]}), "'weight'.*bool"),
    "texts as weights": (pd.DataFrame({"source": [1], "target": [2], "weight": ["1"]}), "'weight'.*numbers"),
    "a weight below 0": (pd.DataFrame({"source": [1], "target": [2], "weight": [-1.0]}), "'weight'.*-1.0.*row 1"),
    "a weight of NaN": (pd.DataFrame({"source": [1], "target": [2], "weight": [np.nan]}), "'weight'.*row 1"),
    "weights of 0 only": (pd.DataFrame({"source": [1], "target": [2], "weight": [0.0]}), "weight 0 dropped"),
    "self loops only": (pd.DataFrame({"source": [1], "target": [1]}), "self loop dropped"),
    "a column": (pd.Series([1, 2]), "column for each end"),
    "an index": (pd.MultiIndex.from_tuples([("a", "b")]), "column for each end"),
    "ints and texts in one column": (pd.DataFrame({"source": [1, "a"], "target": ["b", "c"]}), "integers or strings"),
    "a lazy frame": (pl.LazyFrame({"a": [1], "b": [2]}), r"collect\(\)"),
    "lists as ids": (pl.DataFrame({"a": [[1]], "b": [2]}), "'a'.*list"),
    "bytes as ids": (pa.table({"a": [b"1"], "b": [b"2"]}), "'a'.*binary"),
    "a generator": (((i, i + 1) for i in range(3)), r"list\(edges\)"),
    "a set": ({(1, 2)}, r"list\(edges\)"),
    "a dict": ({"source": [1], "target": [2]}, "DataFrame"),
    "an empty list": ([], "empty list"),
    "lines": (["a b", "b c"], "'a b'"),
    "None among ids": ([("a", "b"), ("b", None)], "None"),
    "NaN among names": ([("a", "b"), ("b", float("nan"))], "nan among"),
    "NaN among numbers": ([(1, float("nan"))], "nan"),
    "a bool among names": ([("a", True)], "True"),
    "dates in a list": ([(DATE, DATE)], "date.*strings"),
    "no text": ([("a\ud800", "b")], "UTF-8"),
    "masked": (np.ma.array([[1, 2], [2, 3], [3, 4]], mask=[[0, 0], [0, 1], [0, 0]]), "masked"),
    "two by two": (np.array([[0, 1], [1, 2]]), "from_edges"),
    "three columns": (np.array([[0, 1, 2]] * 4), r"a\[:, 2\]"),
    "a matrix below 0": (sp.csr_matrix(np.array([[0, -1.0], [-1, 0]])), "-1"),
    "the content of a file": ("1 2\n2 3\n", "lines of text"),
    "a class": (pd.DataFrame, "type"),
    "networkx with two kinds of names": (nx.Graph([(1, "a")]), "Relabel"),
    "networkx with a weight of NaN": (nx.Graph([(1, 2, {"weight": float("nan")})]), "nan"),
}  # fmt: skip


@pytest.mark.parametrize("slip", REFUSED)
def test_a_slip_is_refused_in_one_line(slip: str) -> None:
    source, fragment = REFUSED[slip]
    with pytest.raises(InputError, match=fragment) as refused:
        parge.as_graph(source)
    assert "\n" not in str(refused.value)


DEFINED: dict[str, tuple[Any, list[Any], list[float]]] = {
    "NUL at the end of an id": ([("a\0", "a"), ("a", "b")], ["a", "a\0", "b"], []),
    "integers of 64 bits and more": ([(2**63, 1), (1, 2)], ["1", "2", str(2**63)], []),
    "integers and names": ([(1, "a"), ("b", 2)], ["1", "2", "a", "b"], []),
    "edges with weights": ([("a", "b", 2), ("b", "c", 0.5)], ["a", "b", "c"], [0.5, 2.0]),
    "unsigned": (pl.DataFrame({"a": pl.Series([2**63 + 5], dtype=pl.UInt64), "b": pl.Series([1], dtype=pl.UInt64)}),
                 ["1", str(2**63 + 5)], []),
    "categories": (pd.DataFrame({"a": pd.Categorical(["x"]), "b": pd.Categorical(["y"])}), ["x", "y"], []),
    "decimals as weights": (pa.table({"source": [1], "target": [2], "w": [decimal.Decimal("1.5")]}), [1, 2], [1.5]),
    "whole decimals as ids": (pa.table({"a": [decimal.Decimal(3)], "b": [decimal.Decimal(4)]}), [3, 4], []),
    "wide decimals as ids": (pa.table({"a": [decimal.Decimal(10**30)], "b": [decimal.Decimal(4)]}), [str(10**30), "4"],
                             []),
    "rows with two indexes": (pd.DataFrame({"w": [2.0]}, pd.MultiIndex.from_tuples([("a", "b")], names=["from", "to"])),
                              ["a", "b"], [2.0]),
    "directed and repeated": (nx.MultiDiGraph([(1, 2, {"weight": 2}), (1, 2, {"weight": 3})]), [1, 2], [5.0]),
}  # fmt: skip


@pytest.mark.parametrize("kind", DEFINED)
def test_odd_but_clear_input_is_read(kind: str) -> None:
    source, ids, weights = DEFINED[kind]
    graph = parge.as_graph(source)
    assert sorted(graph.outside_ids.tolist()) == sorted(ids)
    assert _weights(graph) == weights


def test_ids_with_nul_are_found_again() -> None:
    embedding = parge.Embedding(np.eye(3), ["a", "a\0", "b"])
    assert embedding["a\0"].tolist() == [0, 1, 0]
    assert embedding[["a\0", "a"]].tolist() == [[0, 1, 0], [1, 0, 0]]
    assert "a\0\0" not in embedding
    assert None not in embedding


NAMES = [["id", "who", "whom"], ["date", "user", "friend"], ["weight", "a", "b"], ["", "a", "b"], ["a", "time", "b"]]


@pytest.mark.parametrize("names", NAMES, ids=" ".join)
def test_first_columns_that_are_no_ends_are_refused_with_what_to_say(names: list[str], tmp_path: Path) -> None:
    frame = pd.DataFrame([[1, 5, 6], [2, 6, 7]], columns=names)
    frame.to_csv(tmp_path / "g.csv", index=False)
    frame.to_parquet(tmp_path / "g.parquet")
    for source in (frame, tmp_path / "g.csv", tmp_path / "g.parquet"):
        with pytest.raises(InputError, match="source="):
            parge.as_graph(source)
        graph = parge.as_graph(source, source=names[1], target=names[2])
        assert graph.outside_ids.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        (["id", "source", "target", "weight"], [5, 6, 7]),
        (["Id", "SRC", "dst"], [5, 6, 7]),
        (["time", "from", "to"], [5, 6, 7]),
        (["id", "friend"], [1, 2, 5, 6]),
        (["id", "friend", "weight"], [1, 2, 5, 6]),
        (["a", "b", "year"], [1, 2, 5, 6]),
    ],
)
def test_ends_are_found_by_name_else_by_place(names: list[str], ids: list[int]) -> None:
    frame = pd.DataFrame([[1, 5, 6, 2], [2, 6, 7, 3]]).iloc[:, : len(names)].set_axis(names, axis=1)
    assert sorted(parge.as_graph(frame).outside_ids.tolist()) == ids


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_parts_may_have_their_columns_in_another_order(suffix: str, tmp_path: Path) -> None:
    mark = {".csv": ",", ".tsv": "\t", ".txt": " "}[suffix]

    def write(name: str, *rows: str) -> None:
        (tmp_path / f"{name}{suffix}").write_text("".join(row.replace(",", mark) + "\n" for row in rows))

    write("1", "source,target,weight", "a,b,2")
    write("2", "weight,target,source", "3,c,b")
    write("3", "year,source,weight,target", "2020,c,4,d")
    graph = read(tmp_path)
    assert graph.to_frame().to_pydict() == {"source": ["a", "b", "c"], "target": ["b", "c", "d"], "weight": [2, 3, 4]}
    write("3", "from,to,weight", "c,d,4")
    with pytest.raises(InputError, match=rf"3\{suffix}.*'from'.*'source'"):
        read(tmp_path)
    write("1", "a,b,2")
    write("2", "weight,target,source", "3,c,b")
    with pytest.raises(InputError, match=rf"2\{suffix}.*no names"):
        read(tmp_path)
    (tmp_path / f"3{suffix}").unlink()
    assert read(tmp_path, header=False, weighted=False, source=1, target=2).n_edges == 3


def test_weights_that_only_later_parts_have_are_not_lost_without_a_word(tmp_path: Path) -> None:
    plain, weighted = {"source": [1], "target": [2]}, {"source": [2], "target": [3], "weight": [5.0]}
    for suffix in (".csv", ".parquet"):
        folder = tmp_path / suffix
        folder.mkdir()
        for name, table in (("1", plain), ("2", weighted)):
            frame = pd.DataFrame(table)
            if suffix == ".csv":
                frame.to_csv(folder / f"{name}.csv", index=False)
            else:
                frame.to_parquet(folder / f"{name}.parquet")
        with pytest.raises(InputError, match=rf"2\{suffix}.*'weight'.*unweighted"):
            read(folder)
        assert read(folder, weighted=False).n_edges == 2
    nothing = pa.table({"source": pa.array([], pa.null()), "target": pa.array([], pa.null())})
    pq.write_table(nothing, tmp_path / ".parquet" / "1.parquet")
    assert _weights(read(tmp_path / ".parquet")) == [5.0]


def test_a_run_does_not_go_into_the_folder_that_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "edges"
    folder.mkdir()
    (folder / "1.csv").write_text("source,target\na,b\nb,c\nc,a\n")
    small = ["--technique", "sgc", "--dim", "2", "--engine", "serial"]
    inside = str(folder / "deep" / "run")
    assert run(["embed", str(folder), "-o", str(tmp_path / "v.npz"), "--run-dir", inside, *small]) == 2
    assert run(["decompose", str(folder), "--run-dir", inside, *small]) == 2
    assert capsys.readouterr().err.count("run folder") == 2
    for call in (parge.embed, parge.decompose):
        for source in (folder, str(folder), f"file://{folder}"):
            with pytest.raises(InputError, match="run folder"):
                call(source, technique="sgc", dim=2, engine="serial", run_dir=inside, progress=False)
    assert [path.name for path in folder.iterdir()] == ["1.csv"]
    parge.embed(folder, technique="sgc", dim=2, engine="serial", run_dir=tmp_path / "run", progress=False)


def test_a_misspelt_keyword_of_reading_names_the_one_that_is_meant(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a,b\n")
    for slip, meant in (("wieght", "weight"), ("src", "source"), ("nodes", "vertices"), ("delimeter", "delimiter")):
        with pytest.raises(UnknownNameError, match=rf"{slip}.* mean {meant}\?"):
            parge.read(tmp_path / "g.csv", **{slip: "x"})
    with pytest.raises(InputError, match="as_graph"):
        parge.read([(1, 2)])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("pepole.csv", "people.csv"), ("people.cvs", "people.csv"), ("people", "people.csv"), ("others.csv", None)],
)
def test_a_missing_file_is_answered_with_one_of_nearly_its_name(tmp_path: Path, typed: str, meant: str | None) -> None:
    (tmp_path / "people.csv").write_text("a,b\nb,c\n")
    (tmp_path / "peoples").mkdir()
    with pytest.raises(InputError, match=re.escape(typed)) as caught:
        read(tmp_path / typed)
    assert str(caught.value).partition("Did you mean ")[2] == (f"{tmp_path / meant}?" if meant else "")
