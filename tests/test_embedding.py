"""An embedding is a mapping of ids to vectors, a matrix, a table, and whatever other libraries read."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import parge
from parge.errors import InputError, UnknownIdError
from parge.links import LinkHead

RNG = np.random.default_rng(5)
NAMES = ["bob", "ann", "<b>cid</b>", "a name of more than fifteen bytes", "e"]
NAMED = parge.Embedding(RNG.standard_normal((5, 3)).astype(np.float32), NAMES)
NUMBERED = parge.Embedding(RNG.standard_normal((6, 3)).astype(np.float32), [40, 10, 30, 20, -1, 2**40])


@pytest.mark.parametrize("embedding", [NAMED, NUMBERED], ids=["names", "numbers"])
def test_it_is_a_mapping_of_ids_to_vectors(embedding: parge.Embedding) -> None:
    assert list(embedding) == list(embedding.keys()) == embedding.ids.tolist()
    for row, id_ in enumerate(embedding):
        assert id_ in embedding
        assert np.array_equal(embedding[id_], embedding.vectors[row])
        assert np.array_equal(embedding[embedding.ids[row]], embedding.vectors[row])
    made = dict(embedding)  # type: ignore[call-overload]
    assert all(np.array_equal(made[id_], vector) for id_, vector in embedding.items())
    backwards = embedding.ids[::-1]
    for asked in (backwards, backwards.tolist(), tuple(backwards.tolist()), pandas.Series(backwards.tolist())):
        assert np.array_equal(embedding[asked], embedding.vectors[::-1])
    assert embedding[[]].shape == (0, 3)
    assert [list(vector) for vector in embedding.values()] == embedding.vectors.tolist()
    assert embedding.get("nobody") is None
    assert embedding.get("nobody", 3) == 3
    assert embedding.neighbors([], 2)[0].shape[0] == 0
    with pytest.raises(InputError, match="flat"):
        embedding.neighbors(np.ones((1, 4), np.int64))


@pytest.mark.parametrize("missing", ["zoe", 7, 1.5, None, (), b"ann", float("nan"), 2**70])
def test_what_is_not_there_is_a_key_error(missing: Any) -> None:
    assert missing not in NAMED
    assert missing not in NUMBERED
    if missing in ("zoe", 7):
        with pytest.raises(UnknownIdError, match=r"ann|40") as raised:
            (NAMED if isinstance(missing, str) else NUMBERED)[missing]
        assert isinstance(raised.value, KeyError)
        assert isinstance(raised.value, InputError)
        assert not str(raised.value).startswith("'")


def test_rows_are_asked_for_as_rows() -> None:
    with pytest.raises(InputError, match="vectors"):
        NAMED[0:2]
    with pytest.raises(InputError):
        NAMED[np.array([True, False, True, False, True])]


def test_it_is_a_matrix() -> None:
    assert np.asarray(NAMED).base is not None
    assert np.shares_memory(np.asarray(NAMED), NAMED.vectors)
    assert np.asarray(NAMED, np.float64).dtype == np.float64
    assert np.array(NAMED).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.asarray(NAMED, np.float64, copy=False)
    assert np.allclose(np.linalg.norm(NAMED, axis=1), np.linalg.norm(NAMED.vectors, axis=1))


def test_dlpack_hands_it_on() -> None:
    assert np.array_equal(np.from_dlpack(NAMED), NAMED.vectors)
    assert NAMED.__dlpack_device__() == (1, 0)
    assert NAMED.__dlpack__() is not None  # for libraries that know no read-only memory: a copy
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert np.array_equal(torch.from_dlpack(NAMED).numpy(), NAMED.vectors)


@pytest.mark.parametrize("embedding", [NAMED, NUMBERED], ids=["names", "numbers"])
def test_it_is_a_table_for_every_library(embedding: parge.Embedding, tmp_path: Path) -> None:
    table = embedding.to_arrow()
    assert table.column_names == ["id", "vector"]
    assert table["id"].to_pylist() == embedding.ids.tolist()
    assert np.array_equal(np.array(table["vector"].to_pylist(), np.float32), embedding.vectors)
    streamed = pa.RecordBatchReader.from_stream(embedding).read_all()
    assert streamed.equals(table)
    frame = embedding.to_polars()
    assert frame["id"].to_list() == embedding.ids.tolist()
    assert np.array_equal(frame["vector"].to_numpy(), embedding.vectors)
    assert np.array_equal(polars.DataFrame(embedding)["vector"].to_numpy(), embedding.vectors)
    wide = embedding.to_pandas()
    assert wide.index.tolist() == embedding.ids.tolist()
    assert wide.index.name == "id"
    assert np.array_equal(wide.to_numpy(), embedding.vectors)
    embedding.save(tmp_path / "vectors.parquet")
    assert pandas.read_parquet(tmp_path / "vectors.parquet")["id"].tolist() == embedding.ids.tolist()


def test_duckdb_reads_it() -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    vectors = NAMED
    found = duckdb.sql("select id, vector[1] as x from vectors order by id").fetchall()
    assert found == sorted((id_, float(vector[0])) for id_, vector in vectors.items())


def test_large_tables_are_streamed_in_batches() -> None:
    large = parge.Embedding(np.zeros((200_000, 16), np.float32), range(200_000))
    batches = list(pa.RecordBatchReader.from_stream(large))
    assert len(batches) > 1
    assert max(batch.num_rows for batch in batches) <= 65_536
    values = large.to_arrow()["vector"].chunk(0).values
    assert values.buffers()[1].address == large.vectors.ctypes.data  # not copied


def brute(embedding: parge.Embedding, questions: Any, without: list[int] | None, k: int) -> list[list[Any]]:
    """Return the nearest ids, as nobody would compute them for many rows."""
    lengths = np.linalg.norm(embedding.vectors, axis=1)
    found = []
    for j, question in enumerate(np.asarray(questions, np.float64)):
        cosine = embedding.vectors @ question / np.where(lengths > 0, lengths, 1) / max(np.linalg.norm(question), 1e-30)
        order = [i for i in np.argsort(-cosine, kind="stable").tolist() if without is None or i != without[j]]
        found.append([embedding.ids[i].item() if not isinstance(embedding.ids[i], str) else embedding.ids[i]
                      for i in order[:k]])  # fmt: skip
    return found


@pytest.mark.parametrize("block_rows", [1, 7, 64, 1000])
@pytest.mark.parametrize("k", [1, 5, 99, 500])
def test_neighbors_of_many_are_those_of_each(block_rows: int, k: int) -> None:
    table = parge.Embedding(np.random.default_rng(1).standard_normal((100, 4)), RNG.permutation(100) + 1000)
    some = table.ids[[3, 99, 0, 3]]
    ids, scores = table.neighbors(some, k, block_rows=block_rows)
    assert ids.shape == scores.shape == (4, min(k, 99))
    assert ids.tolist() == brute(table, table[some], table.row_numbers(some).tolist(), k)
    assert (np.diff(scores, axis=1) <= 0).all()
    alone, score = table.neighbors(int(some[1]), k, block_rows=block_rows)
    assert np.array_equal(alone, ids[1])
    assert np.allclose(score, scores[1], atol=1e-6)
    vectors = np.random.default_rng(2).standard_normal((3, 4))
    near, _ = table.neighbors(vectors, k, block_rows=block_rows)
    assert near.tolist() == brute(table, vectors, None, k)
    assert np.array_equal(table.neighbors(vectors[2], k, block_rows=block_rows)[0], near[2])


def test_ties_are_in_the_order_of_rows_and_zeros_have_no_direction() -> None:
    table = parge.Embedding(np.array([[0, 0], [1, 0], [2, 0], [3, 0], [0, 1]], np.float32), list("zabcd"))
    assert table.neighbors("a", 4)[0].tolist() == ["b", "c", "z", "d"]
    assert table.neighbors([0.0, 0.0], 3)[0].tolist() == ["z", "a", "b"]
    assert table.neighbors(["z"], 2)[1].tolist() == [[0.0, 0.0]]


def test_links_are_for_vertices() -> None:
    degrees = np.array([9, 1, 3, 4, 5])
    table = parge.Embedding(NAMED.vectors, NAMES, head=LinkHead(1.0, 0.5, 0.1), degrees=degrees)
    ids, scores = table.neighbors(["ann", "e"], 2, task="links")
    assert ids.shape == scores.shape == (2, 2)
    assert ids[0].tolist() == parge.neighbors(table, "ann", 2, task="links")[0].tolist()
    with pytest.raises(InputError, match="ids"):
        table.neighbors(NAMED.vectors[:2], task="links")


@pytest.mark.parametrize(
    "wrong", [[[1.0, 2.0]], [1.0], np.full((1, 3), np.nan), np.zeros((2, 2, 3)), "zoe", ["ann", "zoe"], None, [["ann"]]]
)
def test_wrong_questions_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError):
        NAMED.neighbors(wrong)


def test_notebooks_show_names_as_text() -> None:
    shown = NAMED._repr_html_()
    assert "<b>cid" not in shown
    assert "&lt;b&gt;cid" in shown
    assert shown.count("<tr>") == 6
    assert "<table>" in parge.Embedding(np.zeros((0, 2)), [])._repr_html_()
    wide = parge.Embedding(np.zeros((100, 40)), range(100))._repr_html_()
    assert wide.count("<tr>") == 6
    assert wide.count("<th>") < 20


def test_it_survives_pickling() -> None:
    found = pickle.loads(pickle.dumps(NAMED))
    assert found.ids.tolist() == NAMES
    assert np.array_equal(found["ann"], NAMED["ann"])
