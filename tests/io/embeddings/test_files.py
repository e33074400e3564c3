"""Embedding: laws of the value, round trips through every format, and files that are not what they say."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from tests.examples import examples

import parge
from parge.embedding import Embedding
from parge.errors import InputError, PargeError
from parge.graph.generate import ring_of_cliques
from parge.io.embeddings.files import _FORMATS, check_output, embedding_outputs
from parge.io.graphs.read import read
from parge.io.outputs import check_outputs
from parge.links import LinkHead

SUFFIXES = sorted(_FORMATS)
NAMED = ["ann", "bob ", "zoë", "007", "<b>&\"'", "x" * 200]


def some(ids: list[int] | list[str], dim: int = 3, dtype: type = np.float32) -> Embedding:
    vectors = np.random.default_rng(5).standard_normal((len(ids), dim)).astype(dtype)
    return Embedding(vectors, np.array(ids) if ids else np.zeros(0, np.int64), {"seconds": {"total": 1.5}})


def same(a: Embedding, b: Embedding) -> bool:
    return a.ids.tolist() == b.ids.tolist() and np.array_equal(a.vectors, b.vectors)


def test_rows_come_in_the_order_asked_for() -> None:
    embedding = some([30, 10, 20])
    assert np.array_equal(embedding.rows([20, 30]), embedding.vectors[[2, 0]])
    assert np.array_equal(embedding.vector(10), embedding.vectors[1])
    assert np.array_equal(embedding.vector("10"), embedding.vectors[1])


def test_missing_ids_are_named() -> None:
    with pytest.raises(InputError, match=r"40, 50, 60.* 1 .* 3 ids.* 10, 20, 30"):
        some([10, 20, 30]).rows([40, 50, 10, 60, 70])


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (np.zeros(3), [1, 2, 3], "form a matrix"),
        (np.zeros((3, 0)), [1, 2, 3], "form a matrix"),
        (np.zeros((3, 2)), [1, 2], "3 vectors for 2 ids"),
        (np.zeros((3, 2)), [1, 2, 1], "more than one is given for 1"),
        (np.zeros((2, 2)), ["a", "a"], "more than one is given for 'a'"),
        (np.array([[0, 0], [0, np.nan]]), [1, 2], "row 1 .* holds NaN"),
        (np.zeros((2, 2), complex), [1, 2], "real numbers"),
        (np.zeros((2, 2)), [1.5, 2], "integers or strings"),
    ],
)
def test_the_laws_are_checked(vectors: np.ndarray, ids: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Embedding(vectors, np.array(ids))


def test_nothing_can_be_written_to() -> None:
    given_vectors = np.zeros((2, 2), np.float32)
    embedding = Embedding(given_vectors, np.arange(2))
    with pytest.raises(ValueError, match="read-only"):
        embedding.vectors[0, 0] = 1
    given_vectors[0, 0] = 1  # the caller's own array is not locked


def test_single_precision_unless_double_is_given() -> None:
    assert Embedding(np.ones((1, 2), np.float16), np.arange(1)).vectors.dtype == np.float32
    assert Embedding(np.ones((1, 2), ">f8"), np.arange(1)).vectors.dtype == np.float64
    assert Embedding(np.ones((1, 2), np.int32), np.arange(1)).vectors.dtype == np.float32


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ids", [[5, -3, 2**60], ["a", "ü", "007"], ["12", "x"], []], ids=str)
def test_every_format_gives_back_what_it_was_given(tmp_path: Path, suffix: str, ids: list[int] | list[str]) -> None:
    embedding = some(ids, dim=4)
    embedding.save(tmp_path / f"x{suffix}")
    loaded = Embedding.load(tmp_path / f"x{suffix}")
    assert same(embedding, loaded)
    assert loaded.vectors.dtype == np.float32
    assert loaded.dim == 4
    assert not list(tmp_path.glob(".parge-*"))


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".npy"])
def test_double_precision_and_odd_names_survive_binary_formats(tmp_path: Path, suffix: str) -> None:
    embedding = some(NAMED, dtype=np.float64)
    embedding.save(tmp_path / f"x{suffix}")
    loaded = Embedding.load(tmp_path / f"x{suffix}")
    assert same(embedding, loaded)
    assert loaded.vectors.dtype == np.float64


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_the_report_is_saved(tmp_path: Path, suffix: str) -> None:
    some([1, 2]).save(tmp_path / f"x{suffix}")
    assert Embedding.load(tmp_path / f"x{suffix}").report == {"seconds": {"total": 1.5}}


@examples(40)
@given(
    ids=st.lists(st.text(st.characters(codec="utf-8")), unique=True, max_size=8),
    suffix=st.sampled_from([".npz", ".parquet"]),
)
def test_any_name_survives(tmp_path_factory: pytest.TempPathFactory, ids: list[str], suffix: str) -> None:
    path = tmp_path_factory.mktemp("names") / f"x{suffix}"
    embedding = Embedding(np.ones((len(ids), 2), np.float32), np.array(ids, np.dtypes.StringDType()))
    embedding.save(path)
    assert Embedding.load(path).ids.tolist() == ids


@examples(40)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_text_gives_every_float32_back(tmp_path_factory: pytest.TempPathFactory, numbers: list[float]) -> None:
    path = tmp_path_factory.mktemp("text") / "x.vec"
    embedding = Embedding(np.array([numbers], np.float32), np.array([7]))
    embedding.save(path)
    assert np.array_equal(Embedding.load(path).vectors, embedding.vectors)


def test_npy_is_a_plain_matrix_with_ids_beside_it(tmp_path: Path) -> None:
    embedding = some(["a", "b c"])
    embedding.save(tmp_path / "run.v1.npy")
    assert np.array_equal(np.load(tmp_path / "run.v1.npy"), embedding.vectors)
    assert (tmp_path / "run.v1.ids.txt").read_bytes() == b"a\nb c\n"
    assert isinstance(Embedding.load(tmp_path / "run.v1.npy").vectors, np.memmap)


def test_npy_without_ids_counts_from_zero(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(6.0).reshape(3, 2)))
    assert Embedding.load(tmp_path / "x.npy").ids.tolist() == [0, 1, 2]


def test_word2vec_of_other_tools_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.vec").write_bytes(b"2 3\r\n</s> 1 2 3 \r\nword\t-1e-3 0 4.5\n\n")
    embedding = Embedding.load(tmp_path / "x.vec")
    assert embedding.ids.tolist() == ["</s>", "word"]
    assert embedding.vector("word").tolist() == [np.float32(-1e-3), 0, 4.5]


def test_parquet_lists_of_other_tools_are_read(tmp_path: Path) -> None:
    table = pa.table({"vector": [[1.0, 2.0], [3.0, 4.0]], "id": ["a", "b"]})
    parquet.write_table(table, tmp_path / "x.parquet")
    assert Embedding.load(tmp_path / "x.parquet").vector("b").tolist() == [3, 4]


@pytest.mark.parametrize(
    ("suffix", "name", "message"),
    [
        (".npy", "two\nlines", "cannot hold line breaks"),
        (".npy", "two\rlines", "cannot hold line breaks"),
        (".vec", "two words", r"white space.*Save as \.parquet"),
        (".txt", "no\u00a0break", "white space"),
        (".emb", "", "cannot be empty"),
    ],
)
def test_names_that_a_format_cannot_hold_are_refused(tmp_path: Path, suffix: str, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        some(["a", name]).save(tmp_path / f"x{suffix}")
    assert not list(tmp_path.iterdir())


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array: np.ndarray, *, pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=pickled)
    return buffer.getvalue()


def table(**columns: object) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


class Trap:
    """Unpickling this would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


GOOD = np.ones((2, 2), np.float32)
HOSTILE = {
    "empty npy": (".npy", b""),
    "text as npy": (".npy", b"hello"),
    "truncated npy": (".npy", npy(GOOD)[:-3]),
    "flat npy": (".npy", npy(np.ones(4))),
    "scalar npy": (".npy", npy(np.array(1.0))),
    "objects npy": (".npy", npy(np.array([[{}]]), pickled=True)),
    "text matrix npy": (".npy", npy(np.array([["a"]]))),
    "nan npy": (".npy", npy(np.full((2, 2), np.nan))),
    "huge npy": (".npy", npy(GOOD).replace(b"(2, 2)", b"(9999999999, 2)").replace(b" " * 8 + b"\n", b"\n")),
    "empty npz": (".npz", b""),
    "npy as npz": (".npz", npy(GOOD)),
    "truncated npz": (".npz", npz(vectors=GOOD)[:-30]),
    "npz without vectors": (".npz", npz(other=GOOD)),
    "npz of scalars": (".npz", npz(vectors=np.array(1.0))),
    "npz with short ids": (".npz", npz(vectors=GOOD, ids=np.arange(1))),
    "npz with repeated ids": (".npz", npz(vectors=GOOD, ids=np.zeros(2, int))),
    "npz with bad offsets": (".npz", npz(vectors=GOOD, ids_utf8=np.zeros(2, "u1"), ids_offsets=np.array([0, 9, 2]))),
    "npz without offsets": (".npz", npz(vectors=GOOD, ids_utf8=np.zeros(2, "u1"))),
    "npz with bad utf8": (".npz", npz(vectors=GOOD, ids_utf8=np.full(2, 255, "u1"), ids_offsets=np.arange(3))),
    "npz with bad report": (".npz", npz(vectors=GOOD, report=np.full(3, 65, "u1"))),
    "empty parquet": (".parquet", b""),
    "text as parquet": (".parquet", b"PAR1 not really PAR1"),
    "truncated parquet": (".parquet", table(id=[1, 2], vector=[[1.0], [2.0]])[:-9]),
    "parquet of other columns": (".parquet", table(a=[1])),
    "ragged parquet": (".parquet", table(id=[1, 2], vector=[[1.0], [2.0, 3.0]])),
    "ragged parquet of even sum": (".parquet", table(id=[1, 2], vector=[[1.0], [2.0, 3.0, 4.0]])),
    "parquet of missing numbers": (".parquet", table(id=[1, 2], vector=[[1.0], [None]])),
    "parquet of missing vectors": (".parquet", table(id=[1, 2], vector=[[1.0], None])),
    "parquet of missing ids": (".parquet", table(id=[1, None], vector=[[1.0], [1.0]])),
    "parquet of numbers": (".parquet", table(id=[1, 2], vector=[1.0, 2.0])),
    "parquet of words": (".parquet", table(id=[1, 2], vector=[["a"], ["b"]])),
    "parquet of float ids": (".parquet", table(id=[1.5, 2.5], vector=[[1.0], [2.0]])),
    "parquet of empty vectors": (".parquet", table(id=[1], vector=pa.array([[]], pa.list_(pa.float32())))),
    "empty text": (".vec", b""),
    "text without header": (".vec", b"a 1 2\nb 3 4\n"),
    "text with too few lines": (".vec", b"3 2\na 1.0000000 2\nb 3 4\n"),
    "text with too many lines": (".vec", b"1 2\na 1 2\nb 3 4\n"),
    "text with a short line": (".vec", b"2 2\na 1 2\nb 3\n"),
    "text with a word": (".vec", b"2 2\na 1 2\nb 3 x\n"),
    "text with infinity": (".vec", b"1 2\na 1 inf\n"),
    "text too large for single": (".vec", b"1 2\na 1 1e300\n"),
    "text with bad utf8": (".vec", b"1 2\n\xff 1 2\n"),
    "text with a huge promise": (".vec", b"999999999999999 128\na 1\n"),
    "text with repeated ids": (".vec", b"2 1\na 1\na 2\n"),
    "text without columns": (".vec", b"1 0\na\n"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_files_that_are_no_embeddings_are_refused_by_name(tmp_path: Path, case: str) -> None:
    suffix, content = HOSTILE[case]
    path = tmp_path / f"x{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError) as failure:
        Embedding.load(path)
    assert str(path) in str(failure.value)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    array = np.array([[Trap(trap)]], object)
    (tmp_path / "a.npy").write_bytes(npy(array, pickled=True))
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Trap(trap)))
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("vectors.npy", npy(array, pickled=True))
    (tmp_path / "d.npz").write_bytes(pickle.dumps(Trap(trap)))
    for name in ("a.npy", "b.npy", "c.npz", "d.npz"):
        with pytest.raises(InputError):
            Embedding.load(tmp_path / name)
    assert not trap.exists()


def test_ids_beside_npy_must_fit_it(tmp_path: Path) -> None:
    some([1, 2, 3]).save(tmp_path / "x.npy")
    (tmp_path / "x.ids.txt").write_text("1\n2\n")
    with pytest.raises(InputError, match=r"3 rows.* x\.ids\.txt .* 2 ids"):
        Embedding.load(tmp_path / "x.npy")


def test_paths_are_checked_before_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.npy, .*\.txt"):
        check_output(tmp_path / "x.csv")
    with pytest.raises(InputError, match="nowhere"):
        check_output(tmp_path / "nowhere" / "x.npy")
    (tmp_path / "x.npy").mkdir()
    with pytest.raises(InputError, match=r"x\.npy"):
        check_output(tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"x\.npy"):
        Embedding.load(tmp_path / "x.npy")
    with pytest.raises(InputError, match=r"y\.npz"):
        Embedding.load(tmp_path / "y.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"x{suffix}"
    some([1, 2]).save(path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(PargeError, match=r"No space left.*Free some space"):
        some([3, 4]).save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_mapped_embedding_may_be_saved_over_itself(tmp_path: Path) -> None:
    some([1, 2, 3]).save(tmp_path / "x.npy")
    mapped = Embedding.load(tmp_path / "x.npy")
    mapped.save(tmp_path / "x.npy")
    assert same(mapped, Embedding.load(tmp_path / "x.npy"))


@pytest.mark.parametrize("shape", [(1000, 100), (10**17, 1000)])
def test_a_matrix_that_is_cut_short_is_refused_with_both_sizes(tmp_path: Path, shape: tuple[int, int]) -> None:
    path = tmp_path / "v.npy"
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        file.write(bytes(400))
    (tmp_path / "g.txt").write_text("0 1\n")
    for reader in (Embedding.load, lambda features: read(tmp_path / "g.txt", features=features)):
        with pytest.raises(InputError, match=rf"v\.npy.* {shape[0] * shape[1] * 4:,} bytes.* 400 follow") as caught:
            reader(path)
        assert "mmap" not in str(caught.value)


def test_a_report_of_too_many_digits_is_told_in_plain_words(tmp_path: Path) -> None:
    path = tmp_path / "v.npz"
    text = ('{"a": ' + "1" * 5000 + "}").encode()
    np.savez(path, vectors=np.ones((2, 2), np.float32), report=np.frombuffer(text, np.uint8))
    with pytest.raises(InputError, match="digits") as caught:
        Embedding.load(path)
    assert "set_int_max_str_digits" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
@pytest.mark.parametrize("ids", [[3, 1, 2], ["c", "a", "b"]])
def test_the_degree_head_comes_back(tmp_path: Path, suffix: str, ids: list[Any]) -> None:
    path, head = tmp_path / f"v{suffix}", LinkHead(2.5, 0.125, -1.0)
    Embedding(np.eye(3, dtype=np.float32), ids, {}, head, np.array([4, 0, 7])).save(path)
    found = Embedding.load(path)
    assert found.for_links()[0] == head
    assert found.for_links()[1].tolist() == [4, 0, 7]
    assert found.ids.tolist() == ids
    check_outputs(embedding_outputs(path))  # a file of ours may be replaced
    Embedding(np.eye(3), ids).save(path)
    assert Embedding.load(path).head is None


@pytest.mark.parametrize("head", ["{}", "[1]", '{"cosine": 1, "degree": "x", "constant": 0}', "not JSON"])
def test_a_damaged_head_is_refused(tmp_path: Path, head: str) -> None:
    path = tmp_path / "v.npz"
    np.savez(path, vectors=np.eye(2), head=np.frombuffer(head.encode(), np.uint8), degrees=np.array([1, 1]))
    with pytest.raises(InputError, match=r"v\.npz"):
        Embedding.load(path)


def test_what_parge_embeds_has_a_head_that_files_keep(tmp_path: Path) -> None:
    graph = ring_of_cliques(8, 6)
    plan = parge.Plan(technique=parge.HOPE(dim=4), parts=2, engine="serial")
    found = parge.embed(graph, plan)
    assert found.degrees is not None
    assert found.degrees.tolist() == graph.degrees.tolist()
    found.save(tmp_path / "v.parquet")
    again = Embedding.load(tmp_path / "v.parquet")
    assert again.head == found.head
    assert np.array_equal(again.link_vectors()[0], found.link_vectors()[0])
