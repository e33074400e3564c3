"""Text edge lists: what is recognised, and that ids, weights and isolated vertices come back as given."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.graph.sameness import assert_same, edges, parts

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.io.graphs.read import read
from parge.io.graphs.text import has_odd_integers
from parge.testing.graphs import assert_graph_laws

TRIANGLE = {(0, 1), (0, 2), (1, 2)}
NAMED = {("a", "b"), ("a", "c"), ("b", "c")}


def text_file(folder: Path, content: str | bytes, name: str = "edges.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TRIANGLES = {
    "spaces": "0 1\n1 2\n2 0\n",
    "tabs": "0\t1\n1\t2\n2\t0\n",
    "commas": "0,1\n1,2\n2,0\n",
    "commas and blanks": "0, 1\n1 ,2\n 2 , 0 \n",
    "many blanks": "0   1\n1 \t 2\n\t2\t\t0\n",
    "many tabs": "0\t\t1\n1\t2\t\n2\t0\n",
    "blanks around": "  0 1\n1 2   \n 2 0 \n",
    "no last line break": "0 1\n1 2\n2 0",
    "dos": "0 1\r\n1 2\r\n2 0\r\n",
    "dos with commas": "0,1\r\n1,2\r\n2,0\r\n",
    "old mac": "0 1\r1 2\r2 0\r",
    "byte order mark": b"\xef\xbb\xbf0 1\n1 2\n2 0\n",
    "comments before": "# a graph\n% of three\n0 1\n1 2\n2 0\n",
    "comments between": "0 1\n# more\n1 2\n  % and more\n2 0\n# end\n",
    "empty lines": "\n\n0 1\n\n   \n1 2\n\n2 0\n\n",
    "both directions": "0 1\n1 0\n1 2\n2 1\n2 0\n0 2\n",
    "repeats and loops": "0 1\n0 1\n1 1\n1 2\n2 0\n",
    "header of names": "source target\n0 1\n1 2\n2 0\n",
    "header of words": "Person Friend\n0 1\n1 2\n2 0\n",
    "comma header": "from,to\n0,1\n1,2\n2,0\n",
    "quoted header": '"source","target"\n"0","1"\n"1","2"\n"2","0"\n',
    "networkx": "0 1 {}\n1 2 {}\n2 0 {}\n",
    "networkx attributes": "0 1 {'weight': 2.0, 'x': 'a b'}\n1 2 {}\n2 0 {'weight': 1}\n",
    "networkx commas": "0,1,{'a': 1, 'b': 2}\n1,2,{}\n2,0,{}\n",
    "trailing comma": "0,1,\n1,2,\n2,0,\n",
}


@pytest.mark.parametrize("content", TRIANGLES.values(), ids=TRIANGLES)
def test_integer_edges(tmp_path: Path, content: str | bytes) -> None:
    graph = read(text_file(tmp_path, content))
    assert_graph_laws(graph)
    assert edges(graph) == TRIANGLE
    assert graph.ids is None
    assert graph.weights is None


NAMES = {
    "spaces": "a b\nb c\nc a\n",
    "tabs and spaces": "a\tb\nb   c\n c a\t\n",
    "commas": "a,b\nb,c\nc,a\n",
    "comma and blank": "a, b\nb, c\nc, a\n",
    "comments between": "a b\n# not an edge\nb c\nc a\n",
    "comments between commas": "a,b\n# not,edge\nb,c\nc,a\n",
    "header": "src dst\na b\nb c\nc a\n",
    "quotes": '"a","b"\nb,"c"\nc,a\n',
}


@pytest.mark.parametrize("content", NAMES.values(), ids=NAMES)
def test_string_edges(tmp_path: Path, content: str) -> None:
    assert edges(read(text_file(tmp_path, content))) == NAMED


@pytest.mark.parametrize(
    ("content", "name", "wanted"),
    [
        ("Ada L.\tBob\nBob\tCy D.\n", "e.txt", {("Ada L.", "Bob"), ("Bob", "Cy D.")}),
        ('Ada L.,"B, ""x"""\n"Ö",Ada L.\n', "e.csv", {("Ada L.", 'B, "x"'), ("Ada L.", "Ö")}),
        ("1 2\t3 4\n", "e.tsv", {("1 2", "3 4")}),
        ("007 1\n1 08\n", "e.txt", {("007", "1"), ("08", "1")}),
        ("+5 6\n", "e.txt", {("+5", "6")}),
        ("0x1F 6\n", "e.txt", {("0x1F", "6")}),
        ("-0 6\n", "e.txt", {("-0", "6")}),
        ("1.0 2.0\n", "e.txt", {("1.0", "2.0")}),
        ('"007",1\n', "e.csv", {("007", "1")}),
        ("-3 4\n", "e.txt", {(-3, 4)}),
        (f"{2**31} {2**40}\n", "e.txt", {(2**31, 2**40)}),
        (f"{2**63 - 1} {-(2**63)}\n", "e.txt", {(-(2**63), 2**63 - 1)}),
        (f"{2**63} 1\n", "e.txt", {("1", str(2**63))}),
        ("nan NULL\n", "e.txt", {("NULL", "nan")}),
        ("é 漢字\n", "e.txt", {("é", "漢字")}),
        ("u v\nv w\n", "e.txt", {("u", "v"), ("v", "w")}),
    ],
)
def test_ids_come_back_as_given(tmp_path: Path, content: str, name: str, wanted: set[tuple[object, object]]) -> None:
    assert edges(read(text_file(tmp_path, content, name))) == wanted


def test_order_of_vertices_is_that_of_ids(tmp_path: Path) -> None:
    assert read(text_file(tmp_path, "10 9\n9 100\n")).outside_ids.tolist() == [9, 10, 100]
    assert read(text_file(tmp_path, "10 9\n9 x\n")).outside_ids.tolist() == ["10", "9", "x"]


def test_odd_ids_late_in_a_file_turn_all_into_strings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.io.files.SEGMENT", 1000)
    for odd in ("007", "x1", str(2**70), "0x5"):
        lines = [f"{i} {i + 1}" for i in range(2000)]
        lines[1500] = f"{odd} 3"
        graph = read(text_file(tmp_path, "\n".join(lines)))
        assert odd in graph.outside_ids.tolist()
        assert graph.notices == (
            "ids are read as strings, because line 1,501 has one that is not a plain 64-bit integer",
        )


def test_large_ids_late_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.io.files.SEGMENT", 1000)
    lines = [f"{i} {i + 1}" for i in range(2000)] + [f"{2**40} 3"]
    graph = read(text_file(tmp_path, "\n".join(lines)))
    assert graph.outside_ids.tolist() == [*range(2001), 2**40]
    assert (3, 2**40) in edges(graph)


def weights(graph: Graph) -> dict[tuple[int, int], float]:
    assert graph.weights is not None
    return {
        (u, int(graph.indices[j])): float(graph.weights[j])
        for u in range(graph.n_vertices)
        for j in range(graph.indptr[u], graph.indptr[u + 1])
        if u < graph.indices[j]
    }


@pytest.mark.parametrize(
    "content",
    [
        "0 1 0.5\n1 2 2\n",
        "0\t1\t.5\n1\t2\t2e0\n",
        "0 1\t0.5\n1 2\t2.0\n",
        "source,target,weight\n0,1,0.5\n1,2,2\n",
        "Id,Source,Target,Type,Weight\n7,0,1,Undirected,0.5\n8,1,2,Undirected,2\n",
        "0 1 0.25\n0 1 0.25\n1 2 2\n2 1 1\n",
        "0 1 0.5 12345 x\n1 2 2 12346 y\n",
        "0 1 0.5\n1 2 2\n0 2 0\n",
        "0 1 +0.5\n1 2 2.0000e+00\n",
    ],
)
def test_weights(tmp_path: Path, content: str) -> None:
    path = text_file(tmp_path, content)
    graph = read(path)
    assert_graph_laws(graph)
    assert weights(graph) == {(0, 1): 0.5, (1, 2): 2}
    assert graph.ids is None, "weights such as 1e-05 do not make ids odd"
    assert read(path, weighted=False).weights is None


def test_exponents_in_weights_leave_ids_alone(tmp_path: Path) -> None:
    graph = read(text_file(tmp_path, "0 1 1e-05\n1 2 1e+05\n2 3 0.05\n"))
    assert graph.ids is None
    assert weights(graph)[1, 2] == 1e5


def test_unweighted_reading_does_not_look_at_the_third_column(tmp_path: Path) -> None:
    graph = read(text_file(tmp_path, "0 1 heavy\n1 2 -1\n2 0 nan\n"), weighted=False)
    assert edges(graph) == TRIANGLE
    assert graph.notices == ()


NUMBER = st.sampled_from(
    ["0", "10", "-1", "007", "00", "-0", "-05", "0x1", "0.5", "1e-05", "1e+05", "-0.5", "100", "+0"]
)


@given(st.lists(st.tuples(NUMBER, st.sampled_from(" \t\n,")), min_size=1, max_size=30), st.integers(1, 8))
@examples(200)
def test_odd_integers_are_seen_wherever_they_stand(words: list[tuple[str, str]], size: int) -> None:
    text = "".join(word + mark for word, mark in words)[:-1]
    odd = any(re.fullmatch(r"0[0-9x].*|-0.*", word) for word, _ in words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parge.io.graphs.text._SLICE", size)
        assert has_odd_integers(text.encode()) == odd


NAME_IT = "The edges have no weights; to read one as weights, name it (weight=, --weight)"
NOTICES = [
    ("0 1 {}\n", "the {...} after the two ids ignored"),
    ("0 1 2.0 3.0\n", "column ignored: number 4"),
    (
        "a,source,target,when\nx,0,1,2\n",
        "columns ignored: 'a', 'when'. " + NAME_IT,
    ),
    ("0 1\n0 0\n", "1 self loop dropped"),
    ("0 1\n1 0\n", "1 repeated edge merged (an edge given in both directions is one edge)"),
    ("0 1 2\n1 2 0\n", "1 edge of weight 0 dropped"),
]


@pytest.mark.parametrize(("content", "notice"), NOTICES)
def test_what_is_ignored_or_merged_is_told(tmp_path: Path, content: str, notice: str) -> None:
    assert read(text_file(tmp_path, content)).notices == (notice,)


def compressions(content: bytes) -> list[tuple[str, bytes]]:
    return [
        ("e.txt.gz", gzip.compress(content)),
        ("e.zst", pa.compress(content, "zstd", asbytes=True)),
        ("e.txt", gzip.compress(content)),
        ("e.gz", gzip.compress(content[:8]) + gzip.compress(content[8:])),
    ]


def test_compressed_text(tmp_path: Path) -> None:
    for name, content in compressions(b"0 1\n1 2\n2 0\n"):
        assert edges(read(text_file(tmp_path, content, name))) == TRIANGLE


def test_isolated_vertices_by_count_and_by_file(tmp_path: Path) -> None:
    path = text_file(tmp_path, "0 1\n1 2\n2 0\n")
    counted = read(path, vertices=5)
    assert counted.n_vertices == 5
    assert counted.ids is None
    named = read(path, vertices=text_file(tmp_path, "# ids\n7\n 2 \n\n9\n", "ids.txt"))
    assert named.outside_ids.tolist() == [0, 1, 2, 7, 9]
    assert read(text_file(tmp_path, "0 7\n"), vertices=8).degrees.tolist() == [1, 0, 0, 0, 0, 0, 0, 1]
    assert edges(read(text_file(tmp_path, "3 7\n"), vertices=8)) == {(3, 7)}


def test_no_edges_but_vertices(tmp_path: Path) -> None:
    for content in ("", "# nothing\n", "0 0\n"):
        graph = read(text_file(tmp_path, content), vertices=4)
        assert (graph.n_vertices, graph.n_edges) == (4, 0)
    named = read(text_file(tmp_path, ""), vertices=text_file(tmp_path, "b b\na\n", "ids.txt"))
    assert named.outside_ids.tolist() == ["a", "b b"]


ROW = st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 9))
JUNK = st.lists(st.sampled_from(["", "# x y", "  % 1 2 3", "   "]), max_size=2)


@given(st.lists(ROW, min_size=1, max_size=40), st.sampled_from(["", "x"]), st.data())
@examples(100)
def test_any_mess_reads_like_the_clean_file(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]], prefix: str, data: st.DataObject
) -> None:
    """Blanks, comments, empty lines and line ends change nothing, whatever the size of a segment."""
    folder = tmp_path_factory.mktemp("mess")
    # Between strings a tab in every line would separate, and the blanks beside it belong to ids.
    blank, edge = st.sampled_from([" ", "   "] if prefix else [" ", "\t", " \t "]), st.sampled_from(["", " ", "  "])
    lines = []
    for u, v, w in rows:
        before, first, second, after = data.draw(st.tuples(edge, blank, blank, edge))
        lines += [*data.draw(JUNK), f"{before}{prefix}{u}{first}{prefix}{v}{second}{w}{after}"]
    clean = "".join(f"{prefix}{u} {prefix}{v} {w}\n" for u, v, w in rows)
    messy = data.draw(st.sampled_from(["\n", "\r\n"])).join(lines)
    vertices = None if any(u != v for u, v, _ in rows) else text_file(folder, "0\n", "vertices.txt")
    wanted = read(text_file(folder, clean, "clean.txt"), vertices=vertices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parge.io.files.SEGMENT", data.draw(st.sampled_from([40, 300, 2**20])))
        found = read(text_file(folder, messy, "mess.txt"), vertices=vertices)
    assert_same(found, wanted)
    assert found.notices == wanted.notices


def test_features_belong_to_vertices_in_order(tmp_path: Path) -> None:
    import numpy as np
    import scipy.sparse as sp

    path = text_file(tmp_path, "0 1\n1 2\n")
    sp.save_npz(tmp_path / "f.npz", sp.csr_matrix(np.arange(6).reshape(3, 2)))
    np.save(tmp_path / "f.npy", np.arange(6).reshape(3, 2))
    for name in ("f.npz", "f.npy"):
        graph = read(path, features=tmp_path / name)
        assert graph.features.toarray().tolist() == [[0, 1], [2, 3], [4, 5]]


def test_small_files_do_not_start_the_compiler(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = text_file(tmp_path, "0 1\n1 2\n")
    script = f"import sys; from parge.io.graphs.read import read; read({str(path)!r}); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.shared
@pytest.mark.parametrize("name", ["blogcatalog", "ca-AstroPh", "cora", "youtube-groups"])
def test_shared_graphs_have_their_published_sizes(shared: Callable[[str], Path], name: str) -> None:
    metadata = json.loads(shared("datasets.json").read_text())[name]
    graph = read(shared(f"{name}.edges.gz"), vertices=metadata["vertices"])
    assert (graph.n_vertices, graph.n_edges) == (metadata["vertices"], metadata["edges"])
    assert graph.degrees.max() == metadata["max_degree"]
    assert int((graph.degrees == 0).sum()) == metadata["isolated"]
    assert graph.notices == ()


def test_matrix_market_is_known_by_its_first_line(tmp_path: Path) -> None:
    content = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 1\n3 2\n"
    assert edges(read(text_file(tmp_path, content, "graph.txt"))) == TRIANGLE


def test_a_path_may_be_a_string(tmp_path: Path) -> None:
    path = text_file(tmp_path, "0 1\n")
    assert parts(read(str(path))) == parts(read(path))


class TestHeadersOfUnknownNames:
    """`follower,followee` over strings is an edge, with a notice; over weights it is surely none."""

    def test_an_edge_that_may_be_a_header_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "g.csv").write_text("follower,followee\na,b\nb,c\n")
        graph = read(tmp_path / "g.csv")
        assert graph.n_edges == 3
        assert any("'follower,followee'" in notice and "source and target" in notice for notice in graph.notices)

    @pytest.mark.parametrize("text", ["a,b\nb,c\nc,a\n", "source,target\na,b\nb,c\n", "a,b\n", "a,b,1\nc,d,2\n"])
    def test_plain_edges_are_not(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "g.csv").write_text(text)
        assert not read(tmp_path / "g.csv").notices

    @pytest.mark.parametrize("name", ["g.csv", "g.tsv", "g.txt"])
    def test_words_over_weights_are_a_header(self, tmp_path: Path, name: str) -> None:
        text = "follower,followee,strength\na,b,2\nb,c,0.5\n"
        (tmp_path / name).write_text(text.replace(",", {"g.csv": ",", "g.tsv": "\t", "g.txt": " "}[name]))
        graph = read(tmp_path / name)
        assert graph.outside_ids.tolist() == ["a", "b", "c"]
        assert graph.weights is not None
        assert any("strength" in notice for notice in graph.notices)

    def test_a_missing_weight_in_the_first_line_is_no_header(self, tmp_path: Path) -> None:
        (tmp_path / "g.csv").write_text("a,b,nan\nb,c,0.5\n")
        with pytest.raises(InputError, match="the weight 'nan'"):
            read(tmp_path / "g.csv")

    def test_semicolons_are_named(self, tmp_path: Path) -> None:
        (tmp_path / "g.csv").write_text("a;b\nb;c\n")
        with pytest.raises(InputError, match=r"--delimiter ';'"):
            read(tmp_path / "g.csv")
        assert read(tmp_path / "g.csv", delimiter=";").n_edges == 2
