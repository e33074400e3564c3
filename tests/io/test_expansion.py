"""Small files that stand for large ones are refused by their own size, however much memory there is."""

import gzip
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
from tests.examples import slow

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.labels import read_labels
from parge.io import tables
from parge.io.graphs.read import read
from parge.memory import UNPACKED_ARRAYS, UNPACKED_TEXT, VARIABLE, refuse_expansion


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def _gzipped(line: bytes, size: int = 2 * UNPACKED_TEXT) -> bytes:
    lines = line * (4_000_000 // len(line))
    return gzip.compress(lines) * (size // len(lines))


def _zstd(line: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(line * (2 * UNPACKED_TEXT // len(line)), asbytes=True))


def _zeros_npz(path: Path, *, name: str = "x", shape: tuple[int, ...]) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(f"{name}.npy", "w", force_zip64=True) as member,
    ):
        np.lib.format.write_array_header_1_0(member, {"descr": "<f4", "fortran_order": False, "shape": shape})
        left = int(np.prod(shape)) * 4
        while left:
            left -= member.write(bytes(min(left, 1 << 22)))


def _zeros(n_rows: int) -> Any:
    return pa.array(np.zeros(n_rows, np.int32))


def _delta(path: Path, **columns: Any) -> None:
    """Write strings as differences to the one before: equal ones take next to nothing."""
    table = pa.table(columns)
    texts = {name: "DELTA_BYTE_ARRAY" for name in columns if pa.types.is_string(table.schema.field(name).type)}
    pq.write_table(table, path, use_dictionary=False, column_encoding=texts, compression="zstd", store_schema=False)


def _mat(path: Path, size: int) -> None:
    """Write a MATLAB file of version 5 with one compressed variable, of zeros."""
    packer = zlib.compressobj()
    packed = b"".join(packer.compress(bytes(10**6)) for _ in range(size // 10**6)) + packer.flush()
    path.write_bytes(b"MATLAB".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed)


def _edges(folder: Path) -> Path:
    (folder / "edges.txt").write_text("0 1\n1 2\n")
    return folder / "edges.txt"


Make, Read = Callable[[Path], Any], Callable[[Path], Any]
_MANY = UNPACKED_ARRAYS // 16 + 10_000
_LONG = "x" * 1_000_000

BOMBS: dict[str, tuple[Make, Read]] = {
    "labels.txt.gz": (lambda p: p.write_bytes(_gzipped(b"0 1\n")), read_labels),
    "edges.txt.zst": (lambda p: p.write_bytes(_zstd(b"0 1\n")), read),
    "edges.txt.gz": (lambda p: p.write_bytes(_gzipped(b"0 1\n")), read),
    "g.graphml.gz": (lambda p: p.write_bytes(gzip.compress(b"<graphml>") + _gzipped(b"<!-- no edge -->\n")), read),
    "vertices.txt.gz": (lambda p: p.write_bytes(_gzipped(b"12\n")), lambda p: read(_edges(p.parent), vertices=p)),
    "features.npz": (lambda p: _zeros_npz(p, shape=(3, 24_000_000)), lambda p: read(_edges(p.parent), features=p)),
    "e.npz": (lambda p: _zeros_npz(p, name="vectors", shape=(720_000, 100)), Embedding.load),
    "g.mat": (lambda p: scipy.io.savemat(p, {"network": np.zeros((6000, 6000))}, do_compression=True), read),
    "sparse.mat": (lambda p: _mat(p, UNPACKED_ARRAYS + 10**6), read),
    "g.parquet": (
        lambda p: pq.write_table(pa.table({"a": _zeros(_MANY), "b": _zeros(_MANY)}), p, compression="zstd"),
        read,
    ),
    "delta.parquet": (lambda p: _delta(p, a=pa.array([_LONG] * 100), b=_zeros(100)), read),
    "delta.labels.parquet": (lambda p: _delta(p, id=_zeros(100), label=pa.array([_LONG] * 100)), read_labels),
    "list.labels.parquet": (
        lambda p: pq.write_table(
            pa.table({"id": [1, 2], "label": [[_LONG] * 50] * 2}), p, compression="zstd", store_schema=False
        ),
        read_labels,
    ),
}


# One of each kind of file; what it takes is to make them.
QUICK = ("edges.txt.zst", "g.graphml.gz", "e.npz", "delta.parquet")


@pytest.mark.parametrize("name", [*QUICK, *slow(*(name for name in BOMBS if name not in QUICK))])
def test_a_small_file_that_stands_for_a_large_one_is_refused_by_its_size(name: str, tmp_path: Path) -> None:
    make, reader = BOMBS[name]
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 2_000_000
    with pytest.raises(InputError, match=r"250 times") as caught:
        reader(tmp_path / name)
    assert VARIABLE in str(caught.value)
    assert name in str(caught.value)


def test_the_variable_goes_before_the_size_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_expansion(UNPACKED_ARRAYS, 1, "g.txt")
    refuse_expansion(1e9, 4_000_000, "g.txt")
    with pytest.raises(InputError, match=r"g\.txt.* 3,999,999 bytes.* 1\.00 GB"):
        refuse_expansion(1e9, 3_999_999, "g.txt")
    monkeypatch.setenv(VARIABLE, "30MB")
    refuse_expansion(1e12, 1, "g.txt")
    path = tmp_path / "labels.txt.gz"
    path.write_bytes(_gzipped(b"0 1\n", 60_000_000))
    with pytest.raises(InputError, match="30 MB"):
        read_labels(path)


def test_files_that_compress_well_are_read(tmp_path: Path) -> None:
    n = 300_000
    star = tmp_path / "star.txt.zst"
    text = b"".join(b"<http://example.org/hub>\t<http://example.org/leaf/%d>\n" % i for i in range(n))
    assert len(text) > UNPACKED_TEXT * 0.9
    star.write_bytes(pa.Codec("zstd", 9).compress(text, asbytes=True))
    assert read(star).n_edges == n
    sparse = tmp_path / "star.npz"
    hub = sp.csr_matrix((np.ones(n), (np.zeros(n, int), np.arange(n))), shape=(n, n))
    sp.save_npz(sparse, hub)
    assert read(sparse).n_edges == n - 1
    features = tmp_path / "identity.npz"
    np.savez_compressed(features, np.eye(2000))
    (tmp_path / "path.txt").write_text("".join(f"{i} {i + 1}\n" for i in range(1999)))
    assert read(tmp_path / "path.txt", features=features).features.nnz == 2000


def test_strings_stored_as_differences_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_TEXT_AT_ONCE", 20_000)  # some batches of few rows, and some of these joined
    names = [f"http://example.org/{i % 700}" for i in range(2001)]
    edges, labels, vectors = (tmp_path / name for name in ("g.parquet", "l.parquet", "e.parquet"))
    _delta(edges, source=pa.array(names[:-1]), target=pa.array(names[1:]))
    assert read(edges).n_edges == 700
    _delta(labels, id=pa.array(names[:700]), label=pa.array(["red", "blue"] * 350))
    assert len(read_labels(labels)) == 700
    _delta(vectors, id=pa.array(names[:700]), vector=pa.array([[float(i), 1.0] for i in range(700)]))
    found = Embedding.load(vectors)
    assert found.ids.tolist() == names[:700]
    assert found.vectors[:, 0].tolist() == list(range(700))
