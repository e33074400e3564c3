"""Tables, matrices, METIS and GraphML files, as other programs write them."""

from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from tests.graph.sameness import edges

from parge.graph.graph import Graph
from parge.io.graphs.read import read
from parge.testing.graphs import assert_graph_laws

PATH = {(0, 1), (1, 2)}
MATRIX = np.array([[0, 2, 0, 0], [2, 0, 3, 0], [0, 3, 0, 0], [0, 0, 0, 0]], float)
WEIGHTS = [2, 2, 3, 3]


def weights(graph: Graph) -> list[float]:
    assert_graph_laws(graph)
    assert graph.weights is not None
    found: list[float] = graph.weights.tolist()
    return found


class TestParquet:
    def test_of_pandas_and_polars(self, tmp_path: Path) -> None:
        columns = {"src": ["a", "b"], "dst": ["b", "c"]}
        pd.DataFrame(columns).to_parquet(tmp_path / "pandas.parquet")
        pl.DataFrame(columns).write_parquet(tmp_path / "polars.parquet")
        for name in ("pandas", "polars"):
            assert edges(read(tmp_path / f"{name}.parquet")) == {("a", "b"), ("b", "c")}

    def test_columns_by_name_and_by_place(self, tmp_path: Path) -> None:
        table = pa.table({"w": [2.0, 3.0], "target": [1, 2], "source": [0, 1], "note": ["x", "y"]})
        pq.write_table(table, tmp_path / "named.parquet")
        graph = read(tmp_path / "named.parquet")
        assert edges(graph) == PATH
        assert weights(graph) == WEIGHTS
        assert graph.notices == ("column ignored: 'note'",)
        pq.write_table(pa.table({"a": [0, 1], "b": [1, 2]}), tmp_path / "placed.parquet")
        assert edges(read(tmp_path / "placed.parquet")) == PATH

    def test_weights_can_be_left_out(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"a": [0, 1], "b": [1, 2], "weight": [-1.0, None]}), tmp_path / "g.parquet")
        assert read(tmp_path / "g.parquet", weighted=False).weights is None

    def test_many_batches(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("parge.io.graphs.parquet._BATCH", 100)
        for kind in (int, str):
            ends = [kind(i) for i in range(1001)]
            pq.write_table(pa.table({"a": ends[:-1], "b": ends[1:]}), tmp_path / "g.parquet", row_group_size=300)
            graph = read(tmp_path / "g.parquet")
            assert graph.n_edges == 1000
            assert graph.outside_ids.tolist() == sorted(ends)


class TestMatrixMarket:
    @pytest.mark.parametrize("symmetry", ["general", "symmetric"])
    @pytest.mark.parametrize("matrix", [sp.csr_matrix(MATRIX), MATRIX], ids=["coordinate", "array"])
    def test_of_scipy(self, tmp_path: Path, symmetry: Any, matrix: Any) -> None:
        scipy.io.mmwrite(tmp_path / "g.mtx", matrix, symmetry=symmetry)
        graph = read(tmp_path / "g.mtx")
        assert edges(graph) == PATH
        assert weights(graph) == WEIGHTS
        assert graph.n_vertices == 4
        assert graph.notices == ()

    def test_integers_pattern_and_one_direction(self, tmp_path: Path) -> None:
        path = tmp_path / "g.mtx"
        path.write_text("%%MatrixMarket matrix coordinate integer general\n% note\n3 3 2\n1 2 7\n2 3 7\n")
        graph = read(path)
        assert weights(graph) == [7, 7, 7, 7]
        assert "not symmetric" in graph.notices[0]
        path.write_text("%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n")
        assert read(path).weights is None

    def test_weights_can_be_left_out(self, tmp_path: Path) -> None:
        path = tmp_path / "g.mtx"
        path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 -1\n2 3 nan\n2 3 1\n")
        graph = read(path, weighted=False)
        assert edges(graph) == PATH
        assert graph.weights is None

    def test_more_vertices(self, tmp_path: Path) -> None:
        scipy.io.mmwrite(tmp_path / "g.mtx", sp.csr_matrix(MATRIX))
        assert read(tmp_path / "g.mtx", vertices=9).n_vertices == 9
        (tmp_path / "ids.txt").write_text("7\n")
        assert read(tmp_path / "g.mtx", vertices=tmp_path / "ids.txt").outside_ids.tolist() == [0, 1, 2, 3, 7]


class TestNpz:
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
    def test_any_form(self, tmp_path: Path, form: str) -> None:
        sp.save_npz(tmp_path / "g.npz", sp.csr_matrix(MATRIX).asformat(form))
        graph = read(tmp_path / "g.npz")
        assert edges(graph) == PATH
        assert weights(graph) == WEIGHTS

    def test_arrays_of_scipy(self, tmp_path: Path) -> None:
        sp.save_npz(tmp_path / "g.npz", sp.csr_array(MATRIX))
        assert edges(read(tmp_path / "g.npz")) == PATH


class TestMat:
    def test_the_square_sparse_matrix_is_found(self, tmp_path: Path) -> None:
        others = {"group": sp.csc_matrix(np.ones((4, 2))), "note": "hello", "cell": np.array([{}], object)}
        scipy.io.savemat(tmp_path / "g.mat", {**others, "links": sp.csc_matrix(MATRIX)})
        assert weights(read(tmp_path / "g.mat")) == WEIGHTS

    def test_network_goes_before_others(self, tmp_path: Path) -> None:
        other = sp.csc_matrix(np.ones((5, 5)))
        for compressed in (False, True):
            content = {"A": other, "network": sp.csc_matrix(MATRIX), "zz": other}
            scipy.io.savemat(tmp_path / "g.mat", content, do_compression=compressed)
            assert edges(read(tmp_path / "g.mat")) == PATH

    def test_a_dense_matrix_will_do(self, tmp_path: Path) -> None:
        scipy.io.savemat(tmp_path / "g.mat", {"x": MATRIX, "y": np.ones((4, 2))})
        assert weights(read(tmp_path / "g.mat")) == WEIGHTS

    def test_old_format(self, tmp_path: Path) -> None:
        scipy.io.savemat(tmp_path / "g.mat", {"network": sp.csc_matrix(MATRIX)}, format="4")
        assert edges(read(tmp_path / "g.mat")) == PATH


METIS = {
    "plain": "3 2\n2\n1 3\n2\n",
    "comments": "% a\n3 2\n% b\n2\n1 3\n% c\n2\n",
    "blanks": "3  2 \n 2\n1   3 \n2",
    "dos": "3 2\r\n2\r\n1 3\r\n2\r\n",
    "empty lines at the end": "3 2\n2\n1 3\n2\n\n\n",
    "format": "3 2 0\n2\n1 3\n2\n",
    "vertex weights": "3 2 10\n5 2\n6 1 3\n7 2\n",
    "two vertex weights": "3 2 010 2\n5 5 2\n6 6 1 3\n7 7 2\n",
    "sizes and weights": "3 2 110\n9 5 2\n9 6 1 3\n9 7 2\n",
    "all": "3 2 111\n9 5 2 1\n9 6 1 1 3 1\n9 7 2 1\n",
}


@pytest.mark.parametrize("text", METIS.values(), ids=METIS)
def test_metis(tmp_path: Path, text: str) -> None:
    path = tmp_path / "g.graph"
    path.write_bytes(text.encode())
    graph = read(path)
    assert_graph_laws(graph)
    assert edges(graph) == PATH
    assert graph.weights is None


def test_metis_weights_and_isolated_vertices(tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_text("5 2 001\n\n3 2\n2 2 4 3\n3 3\n\n")
    graph = read(path)
    assert graph.n_vertices == 5
    assert weights(graph) == WEIGHTS
    assert read(path, weighted=False).weights is None


def test_metis_says_what_it_ignores(tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_text(METIS["vertex weights"])
    assert read(path).notices == ("vertex sizes and weights ignored",)


GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'


class TestGraphml:
    def test_of_networkx(self, tmp_path: Path) -> None:
        theirs = nx.Graph()
        theirs.add_node(9, colour="red")
        theirs.add_edge(0, 1, weight=2.0)
        theirs.add_edge(1, 2, weight=3.0, note="x")
        nx.write_graphml_xml(theirs, tmp_path / "g.graphml")
        graph = read(tmp_path / "g.graphml")
        assert graph.outside_ids.tolist() == [0, 1, 2, 9]
        assert weights(graph) == WEIGHTS
        assert read(tmp_path / "g.graphml", weighted=False).weights is None

    def test_of_igraph(self, tmp_path: Path) -> None:
        theirs = igraph.Graph(edges=[(0, 1), (1, 2)], edge_attrs={"weight": [2, 3]})
        theirs.write_graphml(str(tmp_path / "g.graphml"))
        graph = read(tmp_path / "g.graphml")
        assert edges(graph) == {("n0", "n1"), ("n1", "n2")}
        assert weights(graph) == WEIGHTS

    def test_directed(self, tmp_path: Path) -> None:
        nx.write_graphml_xml(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")]), tmp_path / "g.graphml")
        graph = read(tmp_path / "g.graphml")
        assert edges(graph) == {("a", "b"), ("b", "c")}
        assert graph.notices[0].startswith("3 directed edges")

    def test_one_directed_edge(self, tmp_path: Path) -> None:
        vertices = "".join(f'<node id="{name}"/>' for name in "abc")
        links = '<edge source="a" target="b" directed="true"/><edge source="b" target="c"/>'
        (tmp_path / "g.graphml").write_text(GRAPHML.format(f"<graph>{vertices}{links}</graph>"))
        assert read(tmp_path / "g.graphml").notices == ("1 directed edge read as undirected",)

    def test_default_weight(self, tmp_path: Path) -> None:
        key = '<key id="w" for="edge" attr.name="weight" attr.type="double"><default> 2 </default></key>'
        vertices = "".join(f'<node id="{name}"/>' for name in "abc")
        links = '<edge source="a" target="b"/><edge source="b" target="c"><data key="w">3</data></edge>'
        (tmp_path / "g.graphml").write_text(GRAPHML.format(f"{key}<graph>{vertices}{links}</graph>"))
        assert weights(read(tmp_path / "g.graphml")) == WEIGHTS

    def test_names_are_data(self, tmp_path: Path) -> None:
        text = '<graph><node id="a &lt; b"/><node id="漢 字"/><edge source="a &lt; b" target="漢 字"/></graph>'
        (tmp_path / "g.graphml").write_text(GRAPHML.format(text), encoding="utf-8")
        assert edges(read(tmp_path / "g.graphml")) == {("a < b", "漢 字")}

    def test_vertices_alone_are_a_graph_when_asked_for(self, tmp_path: Path) -> None:
        (tmp_path / "g.graphml").write_text(GRAPHML.format('<graph><node id="5"/></graph>'))
        graph = read(tmp_path / "g.graphml", vertices=6)
        assert (graph.n_vertices, graph.n_edges) == (6, 0)


def test_features_are_the_only_array_of_an_npz_of_numpy(tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text("0 1\n1 2\n")
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "f.npz", features=np.arange(6.0).reshape(3, 2))
        graph = read(tmp_path / "g.txt", features=tmp_path / "f.npz")
        assert graph.features.toarray().tolist() == [[0, 1], [2, 3], [4, 5]]
