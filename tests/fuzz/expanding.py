"""Small inputs that stand for large ones, as a program: ``python -m tests.fuzz.expanding FOLDER``.

Each is made, then read with a small memory budget; a line of JSON says whether it was refused, and what it took.
"""

import gzip
import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io

from parge.cli.main import run
from parge.cli.report import _read_score
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.labels import read_labels
from parge.io.graphs.read import read
from parge.memory import VARIABLE, peak_bytes, reset_peak

BUDGET = 200_000_000
LARGE = 1_000_000_000


def _gzipped(line: bytes, head: bytes = b"", size: int = LARGE // 4) -> bytes:
    """Return gzip data of a line again and again; many short members, as gzip allows, are made fast."""
    lines = line * (1_000_000 // len(line))
    return gzip.compress(head) + gzip.compress(lines) * (size // len(lines))


def _zipped(path: Path, arrays: dict[str, tuple[tuple[int, ...], str]]) -> None:
    """Write an archive of zeros without holding them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (shape, kind) in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                header = {"descr": kind, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, header)
                left = int(np.prod(shape)) * np.dtype(kind).itemsize
                while left:
                    left -= member.write(bytes(min(left, 1 << 22)))


def _npy(path: Path, shape: tuple[int, ...], kind: str = "<f4") -> None:
    """Write a matrix of zeros that takes no room on the disk."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
        file.truncate(file.tell() + int(np.prod(shape)) * np.dtype(kind).itemsize)


def _parquet(path: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), path, store_schema=False)


def _repeated(text: str, count: int) -> Any:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), [text])


def _zeros(count: int) -> Any:
    return pa.array(np.zeros(count, np.int32))


def _mat(path: Path) -> None:
    scipy.io.savemat(path, {"network": np.zeros((6000, 6000))}, do_compression=True)


MTX = "%%MatrixMarket matrix coordinate real general\n"
Make, Read = Callable[[Path], Any], Callable[[Path], Any]


def _command(*line: str) -> Read:
    def ends(path: Path) -> None:
        code = run([word.format(path=path) for word in line])
        if code == InputError.exit_code:
            raise InputError
        assert code == 0, code

    return ends


def _edges(path: Path) -> Path:
    edges = path.with_name("edges.txt")
    edges.write_text("0 1\n1 2\n")
    return edges


CASES: dict[str, tuple[Make, Read]] = {
    "labels.txt.gz": (lambda p: p.write_bytes(_gzipped(b"0 1\n")), read_labels),
    "labels.csv.gz": (lambda p: p.write_bytes(_gzipped(b"ann,red\n")), read_labels),
    "labels.parquet": (lambda p: _parquet(p, id=_zeros(8_000_000), label=_zeros(8_000_000)), read_labels),
    "row.labels.parquet": (
        lambda p: _parquet(p, id=[1], label=pa.array([np.zeros(60_000_000, np.int64)])),
        read_labels,
    ),
    "long.labels.parquet": (lambda p: _parquet(p, i=_zeros(9000), l=_repeated("x" * 100_000, 9000)), read_labels),
    "many.labels.parquet": (
        lambda p: _parquet(p, id=_repeated("x" * 1000, 150_000), label=_repeated("a", 150_000)),
        read_labels,
    ),
    "edges.txt.gz": (lambda p: p.write_bytes(_gzipped(b"0 1\n")), read),
    "names.csv.gz": (lambda p: p.write_bytes(_gzipped(b"a b,c d\n")), read),
    "g.parquet": (lambda p: _parquet(p, a=_zeros(20_000_000), b=_zeros(20_000_000)), read),
    "long.parquet": (lambda p: _parquet(p, a=_repeated("x" * 100_000, 9000), b=_repeated("y", 9000)), read),
    "g.mtx": (lambda p: p.write_text(MTX + "900000000 900000000 1\n1 2 1.0\n"), read),
    "g.mtx.gz": (lambda p: p.write_bytes(_gzipped(b"1 2 1\n", MTX.encode() + b"9 9 99999999\n")), read),
    "dense.mtx": (lambda p: p.write_text(MTX.replace("coordinate", "array") + "90000 90000\n1\n"), read),
    "g.graph": (lambda p: p.write_text("900000000 1\n2\n1\n"), read),
    "g.graph.gz": (lambda p: p.write_bytes(_gzipped(b"1 2 3\n", b"900000 9000000\n")), read),
    "g.graphml.gz": (
        lambda p: p.write_bytes(_gzipped(b'<edge source="a" target="b"/>\n', b'<graphml><graph><node id="a"/>\n')),
        read,
    ),
    "tag.graphml.gz": (lambda p: p.write_bytes(_gzipped(b"a", b'<graphml><graph><node id="')), read),
    "weight.graphml.gz": (
        lambda p: p.write_bytes(
            _gzipped(
                b"1 ",
                b'<graphml><key id="w" for="edge" attr.name="weight"/><graph><node id="a"/><edge source="a" target="a">'
                b'<data key="w">',
            )
        ),
        read,
    ),
    "g.mat": (_mat, read),
    "g.npz": (
        lambda p: _zipped(p, {"format": ((), "|S3"), "shape": ((2,), "<i8"), "data": ((LARGE // 4,), "<f4")}),
        read,
    ),
    "vertices.txt.gz": (lambda p: p.write_bytes(_gzipped(b"1\n")), lambda p: read(_edges(p), vertices=p)),
    "count": (lambda p: None, lambda p: read(_edges(p), vertices=10**9)),
    "largest count": (lambda p: None, lambda p: read(_edges(p), vertices=2**63 - 1)),
    "features.npz": (
        lambda p: _zipped(p, {"x": ((3, LARGE // 12), "<f4")}),
        lambda p: read(_edges(p), features=p),
    ),
    "features.npy": (lambda p: _npy(p, (3, LARGE // 12)), lambda p: read(_edges(p), features=p)),
    "e.npz": (lambda p: _zipped(p, {"vectors": ((LARGE // 400, 100), "<f4")}), Embedding.load),
    "e.npy": (lambda p: _npy(p, (LARGE // 10, 1)), Embedding.load),
    "empty.npy": (lambda p: _npy(p, (10**12, 0)), Embedding.load),
    "e.parquet": (
        lambda p: _parquet(
            p,
            id=pa.array(np.arange(40_000)),
            vector=pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(20_000_000, np.float32)), 500),
        ),
        Embedding.load,
    ),
    "long.e.parquet": (
        lambda p: _parquet(
            p,
            id=_repeated("x" * 100_000, 9000),
            vector=pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(9000, np.float32)), 1),
        ),
        Embedding.load,
    ),
    "many.e.parquet": (
        lambda p: _parquet(
            p,
            id=_repeated("x" * 1000, 300_000),
            vector=pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(300_000, np.float32)), 1),
        ),
        Embedding.load,
    ),
    "e.vec": (lambda p: p.write_text("99999999 99\n1 2\n"), Embedding.load),
    "wide.vec": (
        lambda p: p.write_bytes(b"3000 3\na " + b"1" * 10_000_000 + b" 1 1\n" + b"b 1 1 1\n" * 2999),
        Embedding.load,
    ),
    "s.json": (
        lambda p: p.write_bytes(b"[" + b"[]," * 9_000_000 + b"[]]"),
        _read_score,
    ),
    **{
        f"{kind} {n}": (lambda p: None, _command("generate", "--kind", kind, "--vertices", n, "-o", "{path}.txt"))
        for kind in ("planted", "tree", "ring", "grid", "star", "path", "disconnected")
        for n in ("1000000007", "9223372036854775807")
    },
    "edges": (lambda p: None, _command("generate", "--vertices", "100000", "--edges", "99999999", "-o", "{path}.txt")),
    "labels": (
        lambda p: None,
        _command("generate", "--vertices", "100000", "--labels-per-vertex", "70", "-o", "{path}.txt"),
    ),
}


def _lines(count: int, line: Callable[[int], str], head: str = "", tail: str = "") -> Make:
    return lambda p: p.write_text(head + "".join(map(line, range(count))) + tail)


def _generate(kind: str, n: int, *more: str) -> Read:
    return _command("generate", "--kind", kind, "--vertices", str(n), "-o", "{path}.txt", *more)


# Counted as most of the budget, and read.
FITTING: dict[str, tuple[Make, Read]] = {
    "fits.txt": (_lines(3_500_000, lambda i: f"{i} {i + 1}\n"), read),
    "weights.txt": (_lines(3_500_000, lambda i: f"{i} {i + 1} 0.5\n"), read),
    "wide.txt": (_lines(1_200_000, lambda i: f"{i + 1}000000 {i + 1}000001\n"), read),
    "names.txt": (_lines(700_000, lambda i: f"n{i} n{i + 1}\n"), read),
    "fits.labels": (_lines(750_000, lambda i: f"n{i} {i % 7}\n"), read_labels),
    "fits.mtx": (_lines(1_800_000, lambda i: f"{i + 1} {i + 2} 0.5\n", MTX + "1800001 1800001 1800000\n"), read),
    "fits.graph": (
        _lines(1_000_000, lambda i: f"{(i ^ 1) + 1}\n", "1000000 500000\n"),
        read,
    ),
    "fits.graphml": (
        _lines(
            280_000,
            lambda i: f'<node id="n{i}"/><edge source="n{i}" target="n0"/>\n',
            "<graphml><graph><node id='x'/>",
            "</graph></graphml>",
        ),
        read,
    ),
    "fits.vertices": (_lines(1_200_000, lambda i: f"{i}\n"), lambda p: read(_edges(p), vertices=p)),
    "fitting count": (lambda p: None, lambda p: read(_edges(p), vertices=8_000_000)),
    "fits.parquet": (
        lambda p: _parquet(p, a=pa.array(np.arange(3_500_000)), b=pa.array(np.arange(3_500_000) + 1)),
        read,
    ),
    "fits.vec": (_lines(400_000, lambda i: f"n{i} 1 2 3 4 5 6 7 8\n", "400000 8\n"), Embedding.load),
    "fits.e.npz": (lambda p: _zipped(p, {"vectors": ((200_000, 100), "<f4")}), Embedding.load),
    **{
        f"{kind} fits": (lambda p: None, _generate(kind, n, *more))
        for kind, n, *more in [
            ("planted", 250_000),
            ("tree", 700_000),
            ("ring", 40_000, "--communities", "400"),
            ("grid", 750_000),
            ("star", 1_000_000),
            ("path", 1_000_000),
            ("disconnected", 550_000),
        ]
    },
}
ALL = CASES | FITTING


def main() -> None:
    """Make and read every case."""
    folder = Path(sys.argv[1])
    names = sys.argv[2:] or list(ALL)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w")  # a command that is refused closes its own
    for name in names:
        make, _ = ALL[name]
        make(folder / name)
    read(_edges(folder / "x"))
    wide = folder / "wide first.txt"  # compiles what numbers such ids, which takes memory once
    wide.write_text("".join(f"{i + 1}000000 {i + 1}000001\n" for i in range(250_000)))
    read(wide)
    os.environ[VARIABLE] = str(BUDGET)
    for name in names:
        path = folder / name
        size = path.stat().st_size if path.exists() else 0
        reset_peak()
        before = psutil.Process().memory_info().rss
        try:
            ALL[name][1](path)
        except InputError as error:
            refused: str | None = str(error)
        else:
            refused = None
        took = peak_bytes() - before
        sys.stderr.flush()
        out.write(json.dumps({"case": name, "refused": refused, "took": took, "size": size}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
