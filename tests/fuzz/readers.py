"""Readers under fuzz, as a program of its own: a crash of a parser must not take the tests with it.

``python -m tests.fuzz.readers FOLDER COUNT [NAME...]`` gives every named reader, or all of them, COUNT mutants of valid
files. A mutant is written to ``FOLDER/mutant...`` before it is read, so that it is at hand when the process dies.
"""

import gzip
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.fuzz.mutation import edits, mutated

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.labels import read_labels
from parge.graph.generate import ring_of_cliques
from parge.graph.graph import Graph
from parge.io.graphs.read import read
from parge.io.graphs.write import write
from parge.memory import limit_memory
from parge.testing.graphs import assert_graph_laws

# A mutant may announce any size; what it takes to read it stays below this, or is refused.
MEMORY = 4_000_000_000

PLAIN = ring_of_cliques(3, 4)
NAMED = Graph.from_edges(["a", "b b", "ü", "d"], ["b b", "ü", "d", "a"], [1.5, 2.0, 1.0, 0.25])
LARGE_IDS = Graph.from_edges([10**12, 7, -3], [7, -3, 10**12])
VECTORS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)


def _written(graph: Graph, name: str, folder: Path) -> bytes:
    write(graph, folder / name)
    return (folder / name).read_bytes()


def _graph_files(suffix: str) -> Callable[[Path], list[bytes]]:
    graphs = {".txt": [PLAIN, LARGE_IDS], ".graph": [PLAIN]}.get(suffix, [PLAIN, NAMED, LARGE_IDS])
    return lambda folder: [_written(graph, f"valid{suffix}", folder) for graph in graphs]


def _text(text: str) -> Callable[[Path], list[bytes]]:
    return lambda _folder: [text.encode(), text.replace("\n", "\r\n").encode()]


def _npz(_folder: Path) -> list[bytes]:
    found = []
    for matrix in (PLAIN.to_scipy(), sp.coo_matrix(PLAIN.to_scipy()), sp.csc_matrix(NAMED.to_scipy())):
        for compressed in (True, False):
            file = io.BytesIO()
            sp.save_npz(file, matrix, compressed=compressed)
            found.append(file.getvalue())
    return found


def _npy(_folder: Path) -> list[bytes]:
    found = []
    for matrix in (np.linspace(0, 1, 36).reshape(12, 3), np.eye(12, 5, dtype=np.int8)):
        file = io.BytesIO()
        np.save(file, matrix)
        found.append(file.getvalue())
    return found


def _mat(_folder: Path) -> list[bytes]:
    found = []
    for compression in (True, False):
        file = io.BytesIO()
        scipy.io.savemat(file, {"network": sp.csc_matrix(PLAIN.to_scipy())}, do_compression=compression)
        found.append(file.getvalue())
    return found


def _mtx(_folder: Path) -> list[bytes]:
    found = []
    for matrix in (PLAIN.to_scipy(), PLAIN.to_scipy().toarray()):
        for symmetry in ("general", "symmetric"):
            file = io.BytesIO()
            scipy.io.mmwrite(file, matrix, symmetry=symmetry)
            found.append(file.getvalue())
    return found


def _embedding(suffix: str) -> Callable[[Path], list[bytes]]:
    def files(folder: Path) -> list[bytes]:
        found = []
        for ids in (np.arange(8), np.array([f"v{i}" for i in range(8)])):
            Embedding(VECTORS, ids, {"seed": 1}).save(folder / f"valid{suffix}")
            found.append((folder / f"valid{suffix}").read_bytes())
        return found

    return files


def _label_table(_folder: Path) -> list[bytes]:
    found = []
    for labels in (pa.array(["a", "b", None]), pa.array([["a"], ["a", "b"], []]), pa.array([1, 2, 2])):
        file = io.BytesIO()
        pq.write_table(pa.table({"id": ["x", "y", "z"], "label": labels, "year": [1, 1, 1]}), file)
        found.append(file.getvalue())
    return found


def _read_graph(path: Path) -> None:
    assert_graph_laws(read(path))


def _read_vertices(path: Path) -> None:
    edges = path.with_name("edges.txt")
    edges.write_text("1 2\n2 3\n")
    assert_graph_laws(read(edges, vertices=path))


def _read_features(path: Path) -> None:
    edges = path.with_name("edges.txt")
    edges.write_text("0 11\n")
    graph = read(edges, vertices=12, features=path)
    assert graph.features.shape[0] == 12
    assert np.isfinite(graph.features.data).all()


def _read_embedding(path: Path) -> None:
    found = Embedding.load(path)
    assert found.vectors.shape == (found.ids.size, found.dim)
    assert np.isfinite(found.vectors).all()


def _read_ids(path: Path) -> None:
    np.save(path.with_name("beside.npy"), VECTORS)
    path.with_name("beside.ids.txt").write_bytes(path.read_bytes())
    _read_embedding(path.with_name("beside.npy"))


def _read_labels(path: Path) -> None:
    found = read_labels(path)
    assert found.indicator.shape == (found.ids.size, found.classes.size)


METIS = b"3 2 011\n4 2 1\n4 1 1 3 2\n1 2 2\n"
LINES = "# a comment\n1 2 0.5\n2 3 1\n3 1 2.25\n4 1 1e-3\n"
CSV = b'source,"target",weight\nx,y,1\n"y z",x,2\n'
GRAPHML = """<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="edge" attr.name="weight" attr.type="double"><default>2</default></key>
<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>
<edge source="a" target="b"><data key="w">1.5</data></edge><edge source="b" target="c"/></graph></graphml>"""


def _compressed(pack: Callable[[bytes], bytes]) -> Callable[[Path], list[bytes]]:
    return lambda _folder: [pack(LINES.encode()), pack(LINES.encode() * 50)]


Case = tuple[str, Callable[[Path], list[bytes]], Callable[[Path], None]]
CASES: dict[str, Case] = {
    "text": (".txt", lambda folder: [*_graph_files(".txt")(folder), LINES.encode()], _read_graph),
    "csv": (".csv", lambda folder: [*_graph_files(".csv")(folder), CSV], _read_graph),
    "gzip": (".txt.gz", _compressed(gzip.compress), _read_graph),
    "zstd": (".csv.zst", _compressed(lambda data: pa.compress(data, "zstd", asbytes=True)), _read_graph),
    "metis": (".graph", lambda folder: [*_graph_files(".graph")(folder), METIS], _read_graph),
    "graphml": (".graphml", _text(GRAPHML), _read_graph),
    "mtx": (".mtx", _mtx, _read_graph),
    "npz": (".npz", _npz, _read_graph),
    "parquet": (".parquet", _graph_files(".parquet"), _read_graph),
    "mat": (".mat", _mat, _read_graph),
    "vertices": (".txt", _text("1\n2\n3\n\n# none\n7\n"), _read_vertices),
    "features": (".npz", lambda folder: _npz(folder)[:4], _read_features),
    "features npy": (".npy", _npy, _read_features),
    "embedding npy": (".npy", _embedding(".npy"), _read_embedding),
    "embedding ids": (".txt", _text("".join(f"name {i}\n" for i in range(8))), _read_ids),
    "embedding npz": (".npz", _embedding(".npz"), _read_embedding),
    "embedding parquet": (".parquet", _embedding(".parquet"), _read_embedding),
    "embedding text": (".vec", _embedding(".vec"), _read_embedding),
    "labels csv": (".csv", _text("id,subject,year\nann,red,7\nbob,\"a, b\",8\n"), _read_labels),
    "labels parquet": (".parquet", _label_table, _read_labels),
    "labels": (".txt", _text("1 red\n1 blue\n2 red\n# no\n3\n4,green\n"), _read_labels),
}  # fmt: skip


def swept(data: bytes, count: int) -> Iterator[bytes]:
    """Yield prefixes of a file and the file with one byte changed: every one of a short file, some of a long one."""
    step = max(1, len(data) // max(1, count // 2))
    for place in range(0, len(data), step):
        yield data[:place]
        for byte in (b"\0", b"\n", b"9", b"-", b"\xff")[: 5 if step == 1 else 2]:
            yield data[:place] + byte + data[place + 1 :]


def fuzz(name: str, folder: Path, count: int) -> tuple[int, int]:
    """Give a reader that many mutants; return how many it read and how many it refused."""
    suffix, valid, reader = CASES[name]
    files = valid(folder)
    path = folder / f"mutant{suffix}"
    outcomes = {"read": 0, "refused": 0}

    @seed(2020)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(files), edits(), st.sampled_from(files))
    def check(data: bytes, changes: Any, other: bytes) -> None:
        path.write_bytes(mutated(data, changes, other))
        try:
            reader(path)
        except InputError as error:
            refusal: str | None = str(error)
        else:
            refusal = None
        outcomes["read" if refusal is None else "refused"] += 1
        assert refusal is None or 0 < len(refusal) < 3000

    for data in files:
        path.write_bytes(data)
        reader(path)
    for data in swept(min(files, key=len), count):
        path.write_bytes(data)
        try:
            reader(path)
        except InputError:
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
    check()
    return outcomes["read"], outcomes["refused"]


def main() -> None:
    """Fuzz the readers named on the command line."""
    warnings.simplefilter("error")
    limit_memory(MEMORY)
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    for name in sys.argv[3:] or CASES:
        sys.stdout.write(f"{name}: ")
        sys.stdout.flush()
        read_, refused = fuzz(name, folder, count)
        sys.stdout.write(f"{read_} read, {refused} refused\n")


if __name__ == "__main__":
    main()
