"""Weights do not vanish: the same columns mean the same in every format, and what is not read is told."""

import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.cli.main import run
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.io.graphs.read import read

Table = dict[str, list[Any]]
HEADERS = [
    ["source", "target", "weight"],
    ["Source", "Target", "strength"],
    ["src", "dst", "value", "year"],
    ["a", "b", "c"],
    ["a", "b", "year"],
    ["a", "b", "year", "weight"],
    ["a", "b"],
    ["weight", "from", "to"],
]


def _answer(make: Any) -> tuple[Any, ...]:
    """Return the graph and its notices as values; the kind of refusal where there is one."""
    try:
        graph = make()
    except InputError:
        return ("refused",)
    # Only text has a first line to be in doubt about.
    notices = tuple(notice for notice in graph.notices if "first line" not in notice)
    weights = None if graph.weights is None else graph.weights.tolist()
    return graph.outside_ids.tolist(), graph.indices.tolist(), weights, notices


def _everywhere(table: Table, folder: Path) -> dict[str, tuple[Any, ...]]:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = [list(table), *map(list, zip(*table.values(), strict=True))]
    for suffix, mark in ((".csv", ","), (".tsv", "\t")):
        (folder / f"g{suffix}").write_text("".join(mark.join(map(str, row)) + "\n" for row in rows))
    pq.write_table(pa.table(table), folder / "g.parquet")
    files = {
        suffix: _answer(lambda suffix=suffix: read(folder / f"g{suffix}")) for suffix in (".csv", ".tsv", ".parquet")
    }
    frames = {"pandas": pandas.DataFrame(table), "polars": polars.DataFrame(table), "arrow": pa.table(table)}
    return files | {name: _answer(lambda frame=frame: Graph.from_frame(frame)) for name, frame in frames.items()}


@examples(60)
@given(st.sampled_from(HEADERS), st.integers(1, 6), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_the_same_columns_mean_the_same_in_every_format(
    tmp_path_factory: pytest.TempPathFactory, header: list[str], n_rows: int, seed: int, names: bool, words: bool
) -> None:
    rng = np.random.default_rng(seed)
    ends = {name for name in header if name.lower() in {"source", "target", "src", "dst", "from", "to"}} or {
        *header[:2]
    }
    if names and len(header) == 2 and header == ["a", "b"]:
        names = False  # words over words: a text file cannot tell its header from an edge
    table: Table = {}
    for name in header:
        numbers = rng.integers(0, 9, n_rows).tolist()
        if name in ends:
            # Files without any edge are refused, so that no edge is a loop here.
            numbers = [number + 10 * len(table) for number in numbers]
            table[name] = [f"v{number}" for number in numbers] if names else numbers
        elif words and name == "year":
            table[name] = [f"y{number}" for number in numbers]
        else:
            table[name] = [number + 0.5 for number in numbers]
    if names and words and header[2:3] == ["year"]:
        return  # the same doubt
    found = _everywhere(table, tmp_path_factory.mktemp("table"))
    assert len({repr(answer) for answer in found.values()}) == 1, found


def test_a_third_column_is_the_weight_in_a_frame_as_in_a_file(tmp_path: Path) -> None:
    """The third column of a frame or of Parquet was left out, which the same CSV had as weights."""
    table = {"a": [0, 1], "b": [1, 2], "c": [0.5, 2.0]}
    found = _everywhere(table, tmp_path)
    assert {repr(answer[2]) for answer in found.values()} == {"[0.5, 0.5, 2.0, 2.0]"}


def test_a_third_column_that_is_read_as_weights_is_named(tmp_path: Path) -> None:
    for name, reported in (("year", True), ("Weight", False), ("edge_weight", False)):
        found = _everywhere({"a": [0, 1], "b": [1, 2], name: [2019, 2020]}, tmp_path)
        assert len({repr(answer) for answer in found.values()}) == 1, found
        notices = found[".csv"][3]
        assert any(f"'{name}'" in notice and "--unweighted" in notice for notice in notices) == reported
    path = tmp_path / "g.csv"
    path.write_text("a,b,year\n0,1,2019\n1,2,2020\n")
    for options in ({"weight": "year"}, {"weighted": False}):
        assert not any("'year'" in notice for notice in read(path, **options).notices)  # type: ignore[arg-type]
    path.write_text("0,1,0.5\n1,2,2\n")
    assert read(path).notices == ()


@pytest.mark.parametrize(
    "values",
    [["friend", "foe"], [True, False], [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]],
    ids=["words", "booleans", "dates"],
)
def test_a_third_column_without_numbers_is_ignored_and_named_in_every_format(
    tmp_path: Path, values: list[object]
) -> None:
    """Parquet had yes and no as weights, and refused words."""
    found = _everywhere({"a": [0, 1], "b": [1, 2], "kind": values}, tmp_path)
    assert len({repr(answer) for answer in found.values()}) == 1, found
    assert found[".csv"][2] is None
    assert any("'kind'" in notice and "--weight" in notice for notice in found[".csv"][3])
    refused = _everywhere({"a": [0, 1], "b": [1, 2], "weight": values}, tmp_path)
    assert set(refused.values()) == {("refused",)}
    table = pa.table({"a": [0, 1], "b": [1, 2], "kind": values})
    with pytest.raises(InputError, match="numbers"):
        Graph.from_frame(table, weight="kind")
    path = tmp_path / "g.csv"
    path.write_text("a,b,kind\n" + "".join(f"{i},{i + 1},{value}\n" for i, value in enumerate(values)))
    with pytest.raises(InputError, match=r"line 2.*--weight.*--unweighted"):
        read(path, weight="kind")


@pytest.mark.parametrize("weight", ["0,5", "-1", "1e999", "nan", "0.5.5"])
def test_a_third_column_of_wrong_numbers_is_refused(tmp_path: Path, weight: str) -> None:
    path = tmp_path / "g.txt"
    path.write_text(f"0 1 {weight}\n1 2 {weight}\n")
    with pytest.raises(InputError, match="line 1"):
        read(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".graphml"])
def test_weights_are_asked_for_by_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"g{suffix}"
    if suffix == ".csv":
        path.write_text("source,target,strength\n0,1,0.5\n1,2,2\n")
    elif suffix == ".parquet":
        pq.write_table(pa.table({"source": [0, 1], "target": [1, 2], "strength": [0.5, 2.0]}), path)
    else:
        path.write_text(_graphml("strength"))
    plain = read(path)
    assert plain.weights is None
    assert any("'strength'" in notice and "--weight" in notice for notice in plain.notices)
    assert read(path, weighted=False).weights is None
    graph = read(path, weight="strength")
    assert graph.weights is not None
    assert graph.weights.tolist() == [0.5, 0.5, 2, 2]
    assert not any("strength" in notice for notice in graph.notices)
    with pytest.raises(InputError, match=r"'strenght'.*'strength'"):
        read(path, weight="strenght")
    with pytest.raises(InputError, match="strength"):
        read(path, weight="strength", weighted=False)
    assert run(["plan", str(path), "--parts", "1", "--weight", "strenght"]) == 2
    assert run(["plan", str(path), "--parts", "1", "--weight", "strength"]) == 0


def _graphml(name: str, second: str = '<data key="w">2</data>') -> str:
    return f"""<graphml><key id="w" for="edge" attr.name="{name}" attr.type="double"/><graph edgedefault="undirected">
<node id="0"/><node id="1"/><node id="2"/><edge source="0" target="1"><data key="w">0.5</data></edge>
<edge source="1" target="2">{second}</edge></graph></graphml>"""


def test_weights_of_a_text_file_without_header_are_asked_for_by_number(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("0 1 7 0.5\n1 2 7 2\n")
    weights = read(path, weight="4").weights
    assert weights is not None
    assert weights.tolist() == [0.5, 0.5, 2, 2]
    with pytest.raises(InputError, match="no column '5'"):
        read(path, weight="5")


def test_formats_whose_weights_have_no_name_say_so(tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_text("2 1\n2\n1\n")
    with pytest.raises(InputError, match=r"--weight .*\.graph files"):
        read(path, weight="w")


def test_edges_without_a_weight_are_told(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(_graphml("weight", ""))
    graph = read(tmp_path / "g.graphml")
    assert graph.weights is not None
    assert any("'weight'" in notice for notice in graph.notices)


class TestOtherLibraries:
    def test_networkx(self) -> None:
        networkx = pytest.importorskip("networkx")
        graph = networkx.Graph()
        graph.add_edge(0, 1, strength=0.5, kind="x")
        graph.add_edge(1, 2, strength=2)
        with pytest.raises(InputError, match=r"'strenght'.*'strength', 'kind'"):
            Graph.from_networkx(graph, weight="strenght")
        plain = Graph.from_networkx(graph)
        assert plain.weights is None
        assert any("'strength'" in notice and "'kind'" not in notice for notice in plain.notices)
        assert Graph.from_networkx(graph, weight=None).notices == ()
        assert Graph.from_networkx(graph, weight="strength").notices == ()
        graph.add_edge(2, 3)
        assert Graph.from_networkx(graph, weight="strength").notices == (
            "1 edge without the attribute 'strength': given weight 1",
        )
        assert Graph.from_networkx(networkx.empty_graph(3), weight="any").n_edges == 0
        graph.add_edge(3, 4, weight=True)
        with pytest.raises(InputError, match="True"):
            Graph.from_networkx(graph)

    def test_igraph(self) -> None:
        igraph = pytest.importorskip("igraph")
        graph = igraph.Graph(edges=[(0, 1), (1, 2)])
        assert Graph.from_igraph(graph).notices == ()
        graph.es["strength"] = [0.5, 2]
        with pytest.raises(InputError, match=r"'strenght'.*'strength'"):
            Graph.from_igraph(graph, weight="strenght")
        assert any("'strength'" in notice for notice in Graph.from_igraph(graph).notices)
        weights = Graph.from_igraph(graph, weight="strength").weights
        assert weights is not None
        assert weights.tolist() == [0.5, 0.5, 2, 2]

    def test_pyg(self) -> None:
        data = SimpleNamespace(edge_index=np.array([[0], [1]]), num_nodes=2, edge_attr=np.ones((1, 1)))
        assert any("edge_attr" in notice for notice in Graph.from_pyg(data).notices)

    def test_features_of_pyg_come_along(self) -> None:
        data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 0]]), num_nodes=3, x=np.eye(3, 2))
        found = Graph.from_pyg(data).features
        assert found is not None
        assert found.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]
        for wrong in (np.eye(2), np.ones(3), np.array([["a"]] * 3)):
            with pytest.raises(InputError, match=r"\bx\b"):
                Graph.from_pyg(SimpleNamespace(edge_index=data.edge_index, num_nodes=3, x=wrong))

    def test_a_pyg_graph_whose_edges_go_one_way_is_told(self) -> None:
        one_way = np.array([[0, 1, 2, 1, 1], [1, 2, 1, 1, 2]])
        assert any("directed" in notice for notice in Graph.from_pyg(one_way).notices)
        both = np.concatenate([one_way, one_way[::-1]], axis=1)
        assert not any("directed" in notice for notice in Graph.from_pyg(both).notices)
