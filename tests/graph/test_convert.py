"""Other libraries' objects become graphs and come back."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from pyarrow import parquet
from tests.examples import examples
from tests.graph.sameness import assert_same, edges

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.io.graphs.read import read
from parge.testing.graphs import assert_graph_laws, graphs

PATH = {(0, 1), (1, 2)}


@given(graphs())
@examples(60)
def test_round_trips(graph: Graph) -> None:
    assert_same(Graph.from_scipy(graph.to_scipy(), ids=graph.outside_ids), graph)
    assert_same(Graph.from_networkx(graph.to_networkx()), graph)
    assert_same(Graph.from_igraph(graph.to_igraph()), graph)
    if graph.ids is None and graph.weights is None:
        assert_same(Graph.from_pyg(graph.to_pyg(), graph.n_vertices), graph)
    if graph.n_edges:
        found = Graph.from_frame(graph.to_frame())
        assert edges(found) == edges(graph)


class TestScipy:
    @pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
    @pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int8, np.bool_])
    def test_any_form_and_kind(self, form: str, kind: type) -> None:
        matrix = sp.csr_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], kind)).asformat(form)
        graph = Graph.from_scipy(matrix)
        assert edges(graph) == PATH
        assert graph.notices == ()
        assert graph.weights is None

    def test_arrays_and_dense_matrices(self) -> None:
        dense = np.array([[0, 2.0], [2.0, 0]])
        for matrix in (dense, sp.csr_array(dense), sp.coo_array(dense), dense.tolist()):
            graph = Graph.from_scipy(matrix)
            assert graph.weights is not None
            assert graph.weights.tolist() == [2, 2]

    def test_an_asymmetric_matrix_is_made_undirected(self) -> None:
        graph = Graph.from_scipy(sp.csr_matrix(np.array([[0, 2, 0], [5, 0, 1], [0, 0, 0]])))
        assert graph.weights is not None
        assert graph.weights.tolist() == [5, 5, 1, 1]
        assert graph.notices == (
            "the matrix is not symmetric. It is read as undirected: an entry in either direction is an edge.",
        )

    def test_self_loops_repeats_and_zeros(self) -> None:
        rows, columns = [0, 0, 0, 1, 1, 2, 2, 1], [0, 1, 1, 0, 0, 2, 1, 2]
        graph = Graph.from_scipy(sp.coo_matrix(([7, 1, 1, 1, 1, 3, 0, 0], (rows, columns)), shape=(3, 3)))
        assert edges(graph) == {(0, 1)}
        assert graph.notices == ("2 self loops dropped",)
        assert graph.weights is not None
        assert graph.weights.tolist() == [2, 2]

    def test_small_integers_do_not_overflow(self) -> None:
        ones = np.ones(300, np.int8)
        matrix = sp.coo_matrix((ones, (np.zeros(300, int), ones)), shape=(2, 2))
        graph = Graph.from_scipy(matrix)
        assert graph.weights is not None
        assert graph.weights.tolist() == [300, 300]

    def test_the_matrix_is_left_alone(self) -> None:
        matrix = sp.csr_matrix(np.array([[3.0, 1], [1, 0]]))
        Graph.from_scipy(matrix)
        assert matrix.toarray().tolist() == [[3, 1], [1, 0]]
        assert matrix.data.flags.writeable

    def test_ids_in_any_order(self) -> None:
        matrix = sp.csr_matrix(np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0]]))
        graph = Graph.from_scipy(matrix, ids=["c", "a", "b"])
        assert graph.outside_ids.tolist() == ["a", "b", "c"]
        assert edges(graph) == {("a", "b"), ("a", "c")}
        assert_graph_laws(graph)

    @pytest.mark.parametrize(
        ("matrix", "ids", "fragment"),
        [
            (np.ones((2, 3)), None, "must be square; its shape is 2 x 3"),
            (np.ones(3), None, "must be square; its shape is 3"),
            (np.eye(2) * 1j, None, "real numbers; found complex128"),
            (np.array([["a", "b"], ["c", "d"]]), None, "real numbers"),
            (np.array([[0, np.nan], [0, 0]]), None, "weight nan"),
            (np.array([[0, -1], [0, 0]]), None, "weight -1"),
            (np.ones((2, 2)), [1], "1 ids for 2 vertices"),
            (np.ones((2, 2)), [1, 1], "more than once: 1"),
        ],
    )
    def test_refusals(self, matrix: Any, ids: Any, fragment: str) -> None:
        with pytest.raises(InputError, match=fragment):
            Graph.from_scipy(matrix, ids=ids)


class TestNetworkx:
    def test_names_weights_and_isolated_vertices(self) -> None:
        theirs = nx.Graph()
        theirs.add_nodes_from(["z", "a b"])
        theirs.add_edge("b", "a", weight=2.5)
        theirs.add_edge("b", "c")
        graph = Graph.from_networkx(theirs)
        assert graph.outside_ids.tolist() == ["a", "a b", "b", "c", "z"]
        assert graph.weights is not None
        assert sorted(graph.weights.tolist()) == [1, 1, 2.5, 2.5]
        assert Graph.from_networkx(theirs, weight=None).weights is None

    def test_a_directed_graph_is_made_undirected(self) -> None:
        graph = Graph.from_networkx(nx.DiGraph([(0, 1), (1, 0), (1, 2)]))
        assert edges(graph) == PATH
        assert graph.notices[0].startswith("3 directed edges")

    def test_parallel_edges_add_up(self) -> None:
        theirs = nx.MultiGraph()
        theirs.add_weighted_edges_from([(0, 1, 1.0), (1, 0, 2.0), (1, 2, 1.0)])
        graph = Graph.from_networkx(theirs)
        assert graph.weights is not None
        assert graph.weights.tolist() == [3, 3, 1, 1]

    def test_large_integers(self) -> None:
        assert Graph.from_networkx(nx.Graph([(2**70, 1)])).outside_ids.tolist() == ["1", str(2**70)]
        assert Graph.from_networkx(nx.Graph([(np.int32(5), -1)])).outside_ids.tolist() == [-1, 5]

    @pytest.mark.parametrize(
        ("pairs", "fragment"),
        [
            ([((0, 1), (0, 2))], r"found \(0, 1\) \(tuple\)\. Relabel"),
            ([(0, "a")], "all integers or all strings"),
            ([(0.5, 1)], "found 0.5 .float"),
            ([(True, 2)], "found True .bool"),
        ],
    )
    def test_refusals(self, pairs: Any, fragment: str) -> None:
        with pytest.raises(InputError, match=fragment):
            Graph.from_networkx(nx.Graph(pairs))

    def test_weights_that_are_no_numbers(self) -> None:
        theirs = nx.Graph()
        theirs.add_edge(0, 1, weight="heavy")
        with pytest.raises(InputError, match=r"'heavy'.*weight=None"):
            Graph.from_networkx(theirs)

    def test_to_networkx(self) -> None:
        theirs = Graph.from_edges([1, 2], [2, 5], [0.5, 1], vertices=[9]).to_networkx()
        assert sorted(theirs.nodes) == [1, 2, 5, 9]
        assert theirs[1][2]["weight"] == 0.5


class TestIgraph:
    def test_names_and_weights(self) -> None:
        theirs = igraph.Graph(edges=[(0, 1), (1, 2)])
        assert edges(Graph.from_igraph(theirs)) == PATH
        theirs.vs["name"] = ["c", "b", "a"]
        theirs.es["weight"] = [2, None]
        graph = Graph.from_igraph(theirs)
        assert edges(graph) == {("a", "b"), ("b", "c")}
        assert graph.weights is not None
        assert graph.weights.tolist() == [1, 1, 2, 2]

    def test_a_directed_graph_is_made_undirected(self) -> None:
        graph = Graph.from_igraph(igraph.Graph(n=4, edges=[(0, 1), (2, 1)], directed=True))
        assert graph.notices == ("2 directed edges read as undirected",)
        assert graph.n_vertices == 4

    def test_no_edges(self) -> None:
        assert Graph.from_igraph(igraph.Graph(n=3)).n_vertices == 3


class Tensor:
    """Behaves as a tensor on a device does: it has to be detached and brought home before it becomes an array."""

    def __init__(self, values: Any, steps: tuple[str, ...] = ()) -> None:
        self._values, self._steps = values, steps

    def detach(self) -> "Tensor":
        return Tensor(self._values, (*self._steps, "detach"))

    def cpu(self) -> "Tensor":
        return Tensor(self._values, (*self._steps, "cpu"))

    def numpy(self) -> Any:
        assert self._steps == ("detach", "cpu")
        return np.array(self._values)


class TestPyg:
    INDEX = ((0, 1, 1, 2), (1, 0, 2, 1))

    def test_arrays_lists_and_tensors(self) -> None:
        for index in (np.array(self.INDEX), self.INDEX, Tensor(self.INDEX)):
            graph = Graph.from_pyg(index)
            assert edges(graph) == PATH
            assert Graph.from_pyg(index, 5).n_vertices == 5

    def test_data(self) -> None:
        data = SimpleNamespace(edge_index=Tensor(self.INDEX), num_nodes=4, edge_weight=Tensor([2, 2, 3, 3]))
        graph = Graph.from_pyg(data)
        assert graph.n_vertices == 4
        assert graph.weights is not None
        assert graph.weights.tolist() == [2, 2, 3, 3]

    def test_yes_and_no_are_no_weights(self) -> None:
        data = SimpleNamespace(edge_index=Tensor(self.INDEX), edge_weight=Tensor([True, True, False, False]))
        with pytest.raises(InputError, match="got bool"):
            Graph.from_pyg(data)

    def test_vertices_below_the_largest_exist(self) -> None:
        graph = Graph.from_pyg(np.array([[1], [5]]))
        assert graph.n_vertices == 6
        assert graph.ids is None

    def test_to_pyg_lists_both_directions(self) -> None:
        index = Graph.from_edges([0, 1], [1, 2]).to_pyg()
        assert index.dtype == np.int64
        assert index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]

    @pytest.mark.parametrize(
        ("index", "n", "fragment"),
        [
            (np.zeros((3, 2), int), None, "must have the shape .2, m."),
            (np.zeros((2, 2)), None, "must hold integers; found float64"),
            (np.array([[0], [-1]]), None, "from 0; found -1"),
            (np.array([[0], [9]]), 5, "found the id 9"),
        ],
    )
    def test_refusals(self, index: Any, n: int | None, fragment: str) -> None:
        with pytest.raises(InputError, match=fragment):
            Graph.from_pyg(index, n)


COLUMNS = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 2.0]}


class TestFrame:
    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
    def test_any_frame(self, frame: Any) -> None:
        graph = Graph.from_frame(frame(COLUMNS))
        assert edges(graph) == {("a", "b"), ("b", "c")}
        assert graph.weights is not None
        assert graph.weights.tolist() == [1, 1, 2, 2]

    def test_columns_by_name(self) -> None:
        table = pa.table({"when": [1, 2], "u": [10, 20], "v": [20, 30], "cost": [5, 6]})
        graph = Graph.from_frame(table, "u", "v", "cost")
        assert edges(graph) == {(10, 20), (20, 30)}
        assert graph.notices == ("column ignored: 'when'",)
        with pytest.raises(InputError, match=r"'w'.*'when', 'u'"):
            Graph.from_frame(table, "u", "w")

    @pytest.mark.parametrize(
        "kind", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
    )
    def test_any_integers(self, kind: Any) -> None:
        table = pa.table({"a": pa.array([0, 1], kind), "b": pa.array([1, 2], kind)})
        assert edges(Graph.from_frame(table)) == PATH

    def test_categories_views_and_large_integers(self) -> None:
        graph = Graph.from_frame(pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": ["y", "z"]}))
        assert edges(graph) == {("x", "y"), ("y", "z")}
        table = pa.table({"a": pa.array([2**63], pa.uint64()), "b": pa.array([1], pa.uint64())})
        assert edges(Graph.from_frame(table)) == {("1", str(2**63))}
        table = pa.table({"a": pa.array(["x"], pa.string_view()), "b": pa.array([7])})
        assert edges(Graph.from_frame(table)) == {("7", "x")}

    @pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["x", "y", "z", "unused"])])
    def test_categories_of_polars(self, kind: Any) -> None:
        frame = pl.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "y"]}).with_columns(pl.col("a").cast(kind))
        twice = pl.concat([frame, frame.reverse()], rechunk=False)
        for each in (frame, twice, twice.with_columns(pl.col("b").cast(kind))):
            assert edges(Graph.from_frame(each)) == {("x", "y"), ("y", "z")}

    def test_categories_of_numbers_stay_numbers(self) -> None:
        frame = pd.DataFrame({"a": pd.Categorical([30, 10]), "b": [10, 20]})
        assert edges(Graph.from_frame(frame)) == {(10, 30), (10, 20)}

    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"a": [], "b": []}),
            pd.DataFrame(columns=["source", "target", "weight"]),
            pd.DataFrame({"a": np.zeros(0, int), "b": np.zeros(0, int)}),
            pl.DataFrame({"a": [], "b": []}),
            pl.DataFrame({"a": [], "b": []}, schema={"a": pl.Categorical, "b": pl.String}),
            Graph.from_edges([], []).to_frame(),
        ],
    )
    def test_a_frame_without_rows_is_a_graph_without_vertices(self, frame: Any) -> None:
        graph = Graph.from_frame(frame)
        assert (graph.n_vertices, graph.n_edges) == (0, 0)

    def test_chunked_columns_with_different_dictionaries(self) -> None:
        first, second = pa.table({"a": ["x"], "b": ["y"]}), pa.table({"a": ["y"], "b": ["z"]})
        assert edges(Graph.from_frame(pa.concat_tables([first, second]))) == {("x", "y"), ("y", "z")}

    @pytest.mark.parametrize(
        ("frame", "fragment"),
        [
            ({"a": [1]}, "two columns"),
            ({"a": [1.5], "b": [2.0]}, "found double. Convert it to integers"),
            ({"a": [1, None], "b": [2, 3]}, "no value in row 2"),
            ({"a": [1], "b": [2], "weight": [-1]}, "the weight -1 in row 1"),
            (5, "edges: the int cannot be read as a frame"),
            (pd.DataFrame(), "edges need two columns, source and target; found none"),
            (pl.LazyFrame({"a": [1], "b": [2]}), "edges: the LazyFrame cannot be read.*collect.. first"),
        ],
    )
    def test_refusals(self, frame: Any, fragment: str) -> None:
        with pytest.raises(InputError, match=fragment):
            Graph.from_frame(frame)

    def test_to_frame(self) -> None:
        table = Graph.from_edges(["b", "c"], ["a", "b"], [0.5, 2]).to_frame()
        assert table.to_pydict() == {"source": ["a", "b"], "target": ["b", "c"], "weight": [0.5, 2]}


def test_no_library_is_imported_for_another() -> None:
    script = (
        "import sys, numpy as np; from parge.graph.graph import Graph; g = Graph.from_pyg(np.array([[0], [1]]));"
        "Graph.from_scipy(g.to_scipy()); g.to_pyg();"
        "print(*{'networkx', 'igraph', 'torch', 'pandas', 'polars', 'numba', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="pip install networkx"):
        Graph.from_edges([0], [1]).to_networkx()


def test_ids_beyond_64_bits_in_a_late_row_make_all_ids_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are read one by one; the kind of ids is decided for all of them."""
    monkeypatch.setattr("parge.io.graphs.parquet._BATCH", 2)
    for place in (0, -1):
        source = np.arange(5, dtype=np.uint64)
        source[place] = 2**63 + 7
        table = pa.table({"source": source, "target": np.arange(10, 15, dtype=np.uint64)})
        parquet.write_table(table, tmp_path / "g.parquet", row_group_size=1)
        found = read(tmp_path / "g.parquet")
        assert (found.n_vertices, found.n_edges) == (10, 5)
        assert found.ids is not None
        assert str(2**63 + 7) in found.ids.tolist()


def test_igraph_names_that_repeat_or_are_missing_are_refused() -> None:
    for names in (["a", "a", "b"], ["a", None, "b"]):
        graph = igraph.Graph([(0, 1), (1, 2)])
        graph.vs["name"] = names
        with pytest.raises(InputError):
            Graph.from_igraph(graph)
