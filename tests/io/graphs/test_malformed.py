"""Every malformed file is refused with one message that says what was found and what to do."""

import gzip
import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp

from parge.errors import InputError
from parge.io.graphs.read import read

MTX = "%%MatrixMarket matrix coordinate real general\n"
GRAPHML = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'

# Name of the file, its content, and what the message has to say.
TEXTS: list[tuple[str, str | bytes, str]] = [
    ("ragged.txt", "0 1\n1 2\n2 3 4\n", "line 3: .*has 2 columns, this one has 3"),
    ("ragged.csv", "a,b\nb,c\nc\n", "line 3: .*has 2 columns, this one has 1"),
    ("short.txt", "0 1 2.5\n1 2\n", "line 2: .*has 3 columns, this one has 2"),
    ("adjacency.txt", "0 1 2 3\n1 0\n", "line 2: .*4 columns"),
    ("one-column.txt", "0\n1\n2\n", "only one column"),
    ("semicolons.csv", "0;1\n1;2\n", "only one column.*split at"),
    ("empty-id.csv", "a,b\n,c\n", "line 2: an id is empty"),
    ("empty-id.tsv", "a\tb\nc\t\n", "line 2: an id is empty"),
    ("blank-id.csv", "a,b\n  ,c\n", "line 2: an id is empty"),
    ("text-weight.txt", "0 1 1.5\n1 2 heavy\n", "line 2: the weight 'heavy' must be a finite.*another.*unweighted"),
    ("nan-weight.txt", "0 1 1.5\n1 2 nan\n", "line 2: the weight 'nan' must be"),
    ("inf-weight.csv", "0,1,1.5\n1,2,inf\n", "line 2: the weight 'inf' must be"),
    ("negative-weight.txt", "# u v w\n0 1 1.5\n1 2 -0.5\n", "line 3: the weight '-0.5' must be"),
    ("huge-weight.txt", "0 1 1.5\n1 2 1e39\n", "line 2: the weight '1e39' must be"),
    ("no-weight.csv", "0,1,1.5\n1,2,\n", "line 2: the weight '' must be"),
    ("comma-weight.txt", "0 1 1,5\n1 2 2,5\n", "line 1: the weight '1,5' must be a finite number"),
    ("latin1.txt", "a b\ncaf\xe9 b\n".encode("latin-1"), "line 2: this is not UTF-8 text .byte 0xe9.*iconv"),
    ("utf16.txt", "0 1\n1 2\n".encode("utf-16"), "UTF-16 text"),
    ("binary.dat", b"\x00\x01\x02\x03" * 100, "is not text"),
    ("quote.csv", 'a,b\n"c,d\ne,f\n', "a quote is not closed"),
    ("line-break.csv", 'a,b\n"c\nd",e\n', "line 2: a quote is not closed.*line breaks"),
    ("empty.txt", "", "is empty.*give its vertices"),
    ("empty.csv.gz", gzip.compress(b""), "no edge between two vertices"),
    ("comments.txt", "# nothing\n% but\n\n# comments\n", "no edge between two vertices"),
    ("header.csv", "source,target,weight\n", "no edge between two vertices"),
    ("loops.txt", "0 0\n1 1\n", "no edge between two vertices .2 self loops dropped"),
    ("truncated.txt.gz", gzip.compress(b"0 1\n" * 10_000)[:-20], "cannot be read as .*[Tt]runcated.*complete"),
    ("damaged.txt.gz", gzip.compress(b"0 1\n" * 10)[:-8] + b"\1\2\3\4\5\6\7\x08", "cannot be read as"),
    ("plain.txt.gz", "0 1\n1 2\n", "suffix .gz but does not hold gzip"),
    ("plain.txt.zst", "0 1\n1 2\n", "suffix .zst but does not hold zstd"),
    ("truncated.zst", pa.compress(b"0 1\n" * 10_000, "zstd", asbytes=True)[:-6], "cannot be read as"),
    ("network.gml", "graph [ ]", ".gml files are not supported"),
    ("graph.npz.gz", gzip.compress(b"x"), "their own compression"),
    ("text.parquet", "0 1\n", "cannot be read as Parquet"),
    ("text.npz", "0 1\n", "cannot be read as npz"),
    ("text.mat", "0 1\n", "cannot be read as MATLAB"),
    ("text.mtx", "0 1\n", "cannot be read as Matrix Market"),
    ("rectangle.mtx", MTX + "2 3 1\n1 2 1.0\n", "must be square; found 2 x 3"),
    ("outside.mtx", MTX + "2 2 1\n1 3 1.0\n", "cannot be read as Matrix Market"),
    ("short.mtx", MTX + "3 3 2\n1 2 1.0\n", "cannot be read as Matrix Market"),
    ("announced.mtx", MTX + "3 3 99999999999\n1 2 1.0\n", "declares 99,999,999,999 entries"),
    ("vertices.mtx", MTX + "999999999999999 999999999999999 1\n1 2 1.0\n", "vertices.*memory"),
    ("negative.mtx", MTX + "2 2 1\n1 2 -1.0\n", "finite .* and not negative; edge 1 has weight -1"),
    ("nan.mtx", MTX + "2 2 1\n1 2 nan\n", "not negative; edge 1 has weight nan|cannot be read"),
    ("complex.mtx", MTX.replace("real", "complex") + "2 2 1\n1 2 1.0 1.0\n", "real numbers; this one holds complex"),
    ("no-edges.mtx", MTX + "2 2 0\n", "no edge between two vertices"),
    ("header.graph", "three edges\n2\n1\n", "starts with its numbers of vertices and edges"),
    ("edges.graph", "2 1\n2\n\n", "declares 1 edge, so 2 neighbours; found 1"),
    ("lines.graph", "3 1\n2\n1\n", "declares 3 vertices, but 2 lines follow"),
    ("more-lines.graph", "2 1\n2\n1\n1\n", "declares 2 vertices, but 3 lines follow"),
    ("range.graph", "2 1\n3\n1\n", "vertex 1 has the neighbour 3; neighbours must lie in 1..2"),
    ("zero.graph", "2 1\n1\n0\n", "vertex 2 has the neighbour 0.*counts from 1"),
    ("asymmetric.graph", "3 2\n2 3\n1\n2\n", "vertices 1 and 3 do not list each other"),
    ("asymmetric-weights.graph", "2 1 1\n2 5\n1 6\n", "vertices 1 and 2 do not list each other"),
    ("twice.graph", "2 2\n2 2\n1 1\n", "listed twice"),
    ("odd.graph", "2 1 001\n2 1 2\n1 1\n", "the line of vertex 1 has 3 numbers.*each neighbour has a weight"),
    ("words.graph", "2 1\n2\nx\n", "line 3: .*whole numbers; found 'x'"),
    ("format.graph", "2 1 7\n2\n1\n", "three digits of 0 and 1"),
    ("sizes.graph", "999999999999999 1\n2\n1\n", "vertices and 1 edge.*bytes can hold"),
    ("other.graphml", "<html></html>", "starts with <graphml>; found <html>"),
    ("cut.graphml", GRAPHML[:-12], "not well-formed XML"),
    ("no-graph.graphml", GRAPHML.format(""), "no <graph> element"),
    ("no-edges.graphml", GRAPHML.format('<graph><node id="a"/></graph>'), "no edge between two vertices"),
    (
        "undeclared.graphml",
        GRAPHML.format('<graph><node id="a"/><edge source="a" target="b"/></graph>'),
        "'b', which no",
    ),
    ("half.graphml", GRAPHML.format('<graph><node id="a"/><edge source="a"/></graph>'), "<edge> has no target"),
    ("twins.graphml", GRAPHML.format('<graph><node id="a"/><node id="a"/></graph>'), "two vertices have the id 'a'"),
    ("two.graphml", GRAPHML.format("<graph></graph><graph></graph>"), "second or nested <graph>"),
    ("hyper.graphml", GRAPHML.format("<graph><hyperedge/></graph>"), "hyperedges"),
    (
        "laughs.graphml",
        '<!DOCTYPE g [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><graphml><graph edgedefault="&b;"/></graphml>',
        "line 1: a document type",
    ),
    (
        "weight.graphml",
        GRAPHML.format(
            '<key id="w" for="edge" attr.name="weight"/><graph><node id="a"/><node id="b"/>'
            '<edge source="a" target="b"><data key="w">much</data></edge></graph>'
        ),
        "the weight 'much' is not a number",
    ),
]


@pytest.mark.parametrize(("name", "content", "fragment"), TEXTS, ids=[name for name, _, _ in TEXTS])
def test_malformed_text(tmp_path: Path, name: str, content: str | bytes, fragment: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    _refused(path, fragment)


def _refused(path: Path, fragment: str) -> None:
    with pytest.raises(InputError, match=f"(?s){fragment}") as caught:
        read(path)
    assert str(caught.value).startswith(str(path)), "the message names the file first"
    assert caught.value.exit_code == 2


def _parquet(**columns: object) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table(columns), path)


def _npz(**arrays: object) -> Callable[[Path], None]:
    return lambda path: np.savez(path, **arrays)  # type: ignore[arg-type]


def _bomb(path: Path) -> None:
    """Write a member whose header declares far more than any memory, and holds nothing."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", header.getvalue())
        for name, array in (("format", np.bytes_("csr")), ("shape", [2, 2]), ("indices", [1]), ("indptr", [0, 1, 1])):
            member = io.BytesIO()
            np.save(member, np.array(array))
            archive.writestr(f"{name}.npy", member.getvalue())


def _declared_bomb(path: Path) -> None:
    """Write an archive whose directory declares a member of 4 GB that is not there."""
    _bomb(path)
    data = bytearray(path.read_bytes())
    place = data.index(b"PK\x01\x02")  # the first entry of the directory; its size stands at 24
    struct.pack_into("<I", data, place + 24, 0xFFFFFFFE)
    path.write_bytes(bytes(data))


def _v73(path: Path) -> None:
    """Write the first bytes of a MATLAB 7.3 file, which is HDF5."""
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n\x1a\n" + bytes(512))


def _torn(path: Path) -> None:
    pq.write_table(pa.table({"a": range(1000), "b": range(1000)}), path, compression="none")
    path.write_bytes(path.read_bytes()[:-200])


def _damaged(path: Path) -> None:
    numbers = np.random.default_rng(0).integers(0, 2**40, 10_000)
    pq.write_table(pa.table({"a": numbers, "b": numbers}), path, write_page_checksum=True)
    data = bytearray(path.read_bytes())
    data[20_000] ^= 1
    path.write_bytes(data)


CSR = {"format": np.bytes_("csr"), "shape": np.array([2, 2]), "data": np.ones(1), "indptr": np.array([0, 1, 1])}

FILES: list[tuple[str, Callable[[Path], None], str]] = [
    ("torn.parquet", _torn, "cannot be read as Parquet"),
    ("damaged.parquet", _damaged, "cannot be read as Parquet"),
    ("one.parquet", _parquet(a=[1, 2]), "two columns, source and target; found 'a'"),
    ("float.parquet", _parquet(a=[1.0, 2.0], b=[2, 3]), "'a' must be integers or strings; found double"),
    ("null.parquet", _parquet(a=[1, None], b=[2, 3]), "'a' has no value in row 2"),
    (
        "word.parquet",
        _parquet(a=[1], b=[2], weight=["x"]),
        "'weight' must be numbers; found string.*another column",
    ),
    (
        "minus.parquet",
        _parquet(a=[1, 2], b=[2, 3], weight=[1.0, -1.0]),
        "'weight' has the weight -1.0 in row 2.*--unweighted",
    ),
    ("lists.parquet", _parquet(a=[[1]], b=[2]), "'a' must be integers or strings"),
    ("no-edges.parquet", _parquet(a=pa.array([], pa.int64()), b=pa.array([], pa.int64())), "no edge between"),
    ("arrays.npz", _npz(edges=np.ones((3, 2))), "holds edges, which is not a sparse matrix.*save_npz"),
    ("pickled.npz", _npz(**{**CSR, "indices": np.array([{}])}), "cannot be read as npz.*allow_pickle"),
    ("range.npz", _npz(**CSR, indices=np.array([7])), "cannot be read as npz"),
    ("falling.npz", _npz(**{**CSR, "indptr": np.array([0, 5, 1])}, indices=np.array([1])), "cannot be read as npz"),
    ("short.npz", _npz(**CSR), "cannot be read as npz"),
    ("format.npz", _npz(**{**CSR, "format": np.bytes_("xyz")}, indices=np.array([1])), "cannot be read as npz"),
    (
        "rectangle.npz",
        lambda path: sp.save_npz(path, sp.eye(2, 3, format="csr")),
        "must be square; its shape is 2 x 3",
    ),
    ("complex.npz", lambda path: sp.save_npz(path, sp.eye(2, format="csr") * 1j), "real numbers; found complex128"),
    ("nan.npz", lambda path: sp.save_npz(path, sp.csr_matrix([[0, np.nan], [0, 0]])), "finite.*weight nan"),
    ("ids.npz", _npz(**CSR, indices=np.array([1]), ids=np.array([5])), "1 ids for 2 vertices"),
    ("same-ids.npz", _npz(**CSR, indices=np.array([1]), ids=np.array([5, 5])), "more than once: 5"),
    ("bomb.npz", _bomb, "memory|cannot be read as npz|[Ii]s the file complete"),
    ("declared.npz", _declared_bomb, "memory|cannot be read as npz|[Ii]s the file complete"),
    ("vertices.npz", _npz(**{**CSR, "shape": np.array([2**50, 2**50])}, indices=np.array([1])), "vertices.*memory"),
    (
        "no-matrix.mat",
        lambda path: scipy.io.savemat(path, {"x": np.ones(3)}),
        "no square matrix.*found x .1 x 3 double",
    ),
    ("words.mat", lambda path: scipy.io.savemat(path, {"network": "hello"}), "no square matrix"),
    (
        "several.mat",
        lambda path: scipy.io.savemat(path, {"x": sp.eye(2, format="csc"), "y": sp.eye(2, format="csc")}),
        "several square matrices .x, y",
    ),
    ("new.mat", _v73, "version 7.3. Save it again with -v7|cannot be read as MATLAB"),
    ("folder.txt", lambda path: path.mkdir(), "is a folder"),
    ("missing.txt", lambda path: None, "does not exist"),
    ("missing.parquet", lambda path: None, "does not exist"),
]


@pytest.mark.parametrize(("name", "make", "fragment"), FILES, ids=[name for name, _, _ in FILES])
def test_malformed_file(tmp_path: Path, name: str, make: Callable[[Path], None], fragment: str) -> None:
    path = tmp_path / name
    make(path)
    _refused(path, fragment)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    import os

    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    _refused(pipe, "not a regular file")


def test_the_line_is_named_far_into_a_file(tmp_path: Path) -> None:
    lines = [f"{i} {i + 1} 0.5" for i in range(60_000)]
    lines[41_234] = "41234 41235 -1"
    for separator, name in (("\n", "unix.txt"), ("\r\n", "dos.txt")):
        path = tmp_path / name
        path.write_bytes(separator.join(lines).encode())
        _refused(path, "line 41,235: the weight '-1'")


def test_the_line_is_named_beyond_the_first_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.io.files.SEGMENT", 5000)
    lines = ["# comment", *(f"{i}  {i + 1}" for i in range(9000))]
    lines[7000] = "1 2 3"
    path = tmp_path / "long.txt.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    _refused(path, "line 7,001: .*2 columns")


VERTICES: list[tuple[object, str]] = [
    (3, "line 3: 3 vertices are requested, so ids must be 0..2; found the id 5"),
    (-1, "at least 0; got -1"),
    (10**15, "1,000,000,000,000,000 vertices.*memory"),
    (b"0 39\n1 7 8\n", "one id per line; found '0 39'"),
    (b"", "names no vertex"),
    (b"# only\n", "names no vertex"),
    (b"caf\xe9\n", "line 1: this is not UTF-8"),
    (None, "does not exist"),
]


@pytest.mark.parametrize(("vertices", "fragment"), VERTICES)
def test_malformed_vertices(tmp_path: Path, vertices: object, fragment: str) -> None:
    path, vertex_file = tmp_path / "edges.txt", tmp_path / "vertices.txt"
    path.write_text("# 5\n0 1 5\n1 5 1\n")
    if isinstance(vertices, bytes):
        vertex_file.write_bytes(vertices)
    with pytest.raises(InputError, match=fragment):
        read(path, vertices=vertices if isinstance(vertices, int) else vertex_file)


def test_negative_and_string_ids_do_not_fit_a_count(tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    for text, fragment in (
        ("0 1\n-1 1\n", "line 2: .*found the id -1"),
        ("a b\n", "line 1: .*found the id 'a'.*in a file"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=fragment):
            read(path, vertices=5)


FEATURES: list[tuple[str, Callable[[Path], None], str]] = [
    ("f.npz", lambda path: sp.save_npz(path, sp.eye(3, format="csr")), "has 3 rows, but the graph has 2 vertices"),
    ("f.npy", lambda path: np.save(path, np.ones(2)), "must be a matrix of numbers"),
    ("nan.npy", lambda path: np.save(path, np.full((2, 2), np.nan)), "must be finite"),
    ("object.npy", lambda path: np.save(path, np.array([[{}], [{}]]), allow_pickle=True), "cannot be read as features"),
    (
        "two.npz",
        lambda path: np.savez(path, x=np.ones((2, 2)), y=np.ones((2, 2))),
        "holds x, y",
    ),
    ("flat.npz", lambda path: np.savez(path, np.ones(2)), "must be a matrix of numbers"),
    ("words.npz", lambda path: np.savez(path, np.array([["a"], ["b"]])), "must be a matrix of numbers"),
    ("no.npz", lambda path: path.write_bytes(b"no archive"), "cannot be read as features"),
    ("f.txt", lambda path: path.write_text("1 2"), "features are read from .npz"),
    ("missing.npz", lambda path: None, "does not exist"),
]


@pytest.mark.parametrize(("name", "make", "fragment"), FEATURES, ids=[name for name, _, _ in FEATURES])
def test_malformed_features(tmp_path: Path, name: str, make: Callable[[Path], None], fragment: str) -> None:
    (tmp_path / "edges.txt").write_text("0 1\n")
    make(tmp_path / name)
    with pytest.raises(InputError, match=fragment):
        read(tmp_path / "edges.txt", features=tmp_path / name)
