"""What Parquet files say of themselves: as pyarrow reads it where it is right, refused where it is not."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.labels import read_labels
from parge.io.footers import check_pages, read_footer
from parge.io.graphs.read import projected_edges, read
from parge.io.tables import open_table
from parge.io.thrift import Walk, structure

NAMES = pa.array([f"n{i}" for i in range(9)])
TABLE = pa.table(
    {
        "id": NAMES,
        "with.point": NAMES,
        "tags": pa.array([["a", "b"], [], None] * 3),
        "pair": pa.array([{"x": 1, "y": [1.5]}] * 9),
    }
)
WRITERS: list[dict[str, Any]] = [
    {},
    {"row_group_size": 2, "compression": "zstd"},
    {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
    {"data_page_version": "2.0", "write_page_index": True, "write_page_checksum": True},
    {"version": "1.0", "write_statistics": False, "store_schema": False},
]


@pytest.mark.parametrize("options", WRITERS)
def test_a_footer_says_what_pyarrow_reads_in_it(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = TABLE.select(["id", "with.point"]) if "column_encoding" in options else TABLE
    pq.write_table(table, path, **options)
    footer, seen = read_footer(path), pq.read_metadata(path)
    assert footer.n_rows == seen.num_rows == 9
    groups = [seen.row_group(i) for i in range(seen.num_row_groups)]
    assert [group.n_rows for group in footer.groups] == [group.num_rows for group in groups]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    assert [(c.path, c.n_values, c.unpacked) for c in footer.chunks] == [
        (c.path_in_schema, c.num_values, c.total_uncompressed_size) for c in chunks
    ]
    assert [c.is_delta for c in footer.chunks] == ["DELTA_BYTE_ARRAY" in c.encodings for c in chunks]
    assert {c.column for c in footer.chunks} == set(table.column_names)
    check_pages(path, footer, table.column_names)
    with open_table(path) as opened:
        assert sum(len(batch) for batch in opened.batches(table.column_names, 4)) == 9


def _written(table: pa.Table, **options: Any) -> tuple[bytes, bytes]:
    """Return a file before its footer, and the footer."""
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    data = file.getvalue()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return data[:start], data[start:-8]


def _joined(path: Path, before: bytes, footer: bytes) -> Path:
    path.write_bytes(before + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return path


def _numbers(n: int) -> bytes:
    """Return a number as the protocol writes it."""
    n, found = n << 1, bytearray()
    while n > 0x7F:
        found.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*found, n])


EDGES = pa.table({"source": ["a", "b"], "target": ["b", "c"]})
VECTORS = pa.table({"id": [1, 2], "vector": pa.array([[1.0], [2.0]], pa.list_(pa.float32(), 1))})


@pytest.mark.parametrize(
    ("table", "column", "reader"),
    [
        (EDGES, b"source", read),
        (EDGES.rename_columns(["id", "label"]), b"id", read_labels),
        (VECTORS, b"id", Embedding.load),
    ],
)
def test_an_account_that_contradicts_the_schema_does_not_end_the_process(
    table: pa.Table, column: bytes, reader: Any, tmp_path: Path
) -> None:
    """The levels that the account of the column counts are no longer those of the schema: optional became required."""
    before, footer = _written(table, store_schema=False)
    name = b"\x18" + bytes([len(column)]) + column
    assert footer.count(b"\x25\x02" + name) == 1
    with pytest.raises(InputError):
        reader(_joined(tmp_path / "t.parquet", before, footer.replace(b"\x25\x02" + name, b"\x25\x00" + name)))


def test_pages_with_more_values_than_the_account_has_are_refused_unread(tmp_path: Path) -> None:
    n, column = 1_000_000, pa.array([np.zeros(1_000_000, np.int64)])
    before, footer = _written(pa.table({"id": [1], "label": column}))
    honest, lying = b"\x16" + _numbers(n), b"\x16\x8a\x80\x00"  # five, written in as many bytes
    assert footer.count(honest) == 1
    path = _joined(tmp_path / "t.parquet", before, footer)
    read_labels(path)
    _joined(path, before, footer.replace(honest, lying))
    with pytest.raises(InputError, match=r"5 values of 'label'.* hold [12]?[0-9,]{6,}"):
        read_labels(path)


def test_a_column_whose_name_has_a_point_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [1], "a.label": [[1, 2, 3]]}), path)
    assert read_footer(path).n_values(["a.label"]) == 3


@pytest.mark.parametrize("length", [0, 3, 8, 12, 60])
def test_a_file_that_is_cut_is_refused(length: int, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    before, footer = _written(EDGES)
    _joined(path, before, footer)
    path.write_bytes(path.read_bytes()[:length])
    for reader in (read_footer, projected_edges, read, read_labels, Embedding.load):
        with pytest.raises(InputError, match=str(path)):
            reader(path)


def test_a_footer_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    before, footer = _written(EDGES)
    for length in range(len(footer)):
        path = _joined(tmp_path / "t.parquet", before, footer[:length])
        with pytest.raises(InputError):
            read_footer(path)


def test_a_large_footer_is_counted_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARGE_MEMORY_BUDGET", "20MB")
    with pytest.raises(InputError, match="footer of 1,000,000 bytes"):
        read_footer(_joined(tmp_path / "t.parquet", b"PAR1", bytes(1_000_000)))


@pytest.mark.parametrize(
    "data",
    [
        b"\x15\x02\x15\x00\x00",  # (valid, but for the field that is wanted: see below)
        b"\x15" + b"\x80" * 10 + b"\x01\x00",  # a number of eleven bytes
        b"\x15\x01\x00",  # negative
        b"\x18\x01a\x00",  # text for a number
        b"\x15\x02\x05\x02\x04\x00",  # the same field twice
        b"\x2f\x00",  # no such kind
        b"\x1c" * 100,  # structures within each other
        b"\x29\xfc\xff\xff\xff\xff\x07",  # a list of more elements than bytes
        b"\x2b\xff\xff\xff\xff\x07\x55",  # so, too, a map
        b"\x28\xff\xff\xff\xff\x07abc",  # and a string
        b"\x15",
        b"",
    ],
)
def test_bytes_that_mean_nothing_raise_at_once(data: bytes) -> None:
    wanted = {1: ("n", Walk.integer)}
    if data.startswith(b"\x15\x02\x15"):
        assert Walk(data).fields(wanted) == {"n": 1}
        return
    with pytest.raises((ValueError, IndexError)):
        Walk(data).fields({1: ("n", structure(wanted))} if data.startswith(b"\x1c") else wanted)


def test_what_is_not_wanted_is_passed_over() -> None:
    inner = b"\x15\x08\x00"
    values = b"\x21\x12\x13\x07\x17" + bytes(8) + b"\x18\x02ab" + b"\x1c" + inner
    lists = b"\x19\x21\x01\x02" + b"\x19\x1c" + inner + b"\x1b\x01\x85\x01a\x04" + b"\x1b\x00"
    fields = Walk(b"\x15\x06" + values + lists + b"\x05\xc8\x01\x0a\x00").fields(
        {1: ("n", Walk.integer), 100: ("last", Walk.integer)}
    )
    assert fields == {"n": 3, "last": 5}
