"""Files read in shards give the graph that one process reads from them."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parge
from parge.cluster.ingest import Counts, Shard, _shares, ingest
from parge.cluster.mesh import run_local
from parge.cluster.rows import Owners
from parge.cluster.source import Source, edge_files
from parge.columns import Wanted
from parge.errors import InputError
from parge.io.files import line_starts, read_segments


def edges(kind: str, n: int = 240) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    source, target = rng.integers(0, 40, (2, n))
    if kind == "strings":
        source, target = (np.array([f"né {v}" for v in side]) for side in (source, target))
    elif kind == "large":
        source, target = source * 10**15 - 7, target * 10**15 - 7
    return {"source": source, "target": target, "weight": rng.random(n).round(2)}


def write(folder: Path, table: dict[str, np.ndarray], suffix: str) -> Path:
    folder.mkdir()
    for i in range(4):
        some = {name: values[i::4] for name, values in table.items()}
        if suffix == ".parquet":
            pq.write_table(pa.table(some), folder / f"e{i}.parquet", row_group_size=25)
        else:
            lines = [",".join(map(str, row)) for row in zip(*some.values(), strict=True)]
            (folder / f"e{i}.csv").write_text("\n".join(["source,target,weight", *lines]) + "\n")
    (folder / "_SUCCESS").touch()
    return folder


def whole(source: Source, size: int, owners: int = 0) -> tuple[Counts, dict[object, dict[object, float]]]:
    """Return the counts, and the neighbours of each id with their weights."""

    def program(mesh: object) -> tuple[Shard, Counts]:
        n = counts.n_vertices if owners else 0
        return ingest(mesh, source, Owners.drawn(n, size, np.random.default_rng(owners)) if owners else None)  # type: ignore[arg-type]

    counts = run_local(1, lambda mesh: ingest(mesh, source))[0][1] if owners else Counts(0, 0)
    found = run_local(size, program)
    ids = {int(v): i for shard, _ in found for v, i in zip(shard.names, shard.ids.tolist(), strict=True)}
    rows: dict[object, dict[object, float]] = {}
    for shard, _ in found:
        for i, v in enumerate(shard.names):
            some = slice(*shard.indptr[i : i + 2])
            weights = np.ones(some.stop - some.start) if shard.weights is None else shard.weights[some]
            names = [ids[int(u)] for u in shard.neighbours[some]]
            rows[ids[int(v)]] = dict(zip(names, weights.tolist(), strict=True))
    return found[0][1], rows


def expected(graph: parge.Graph) -> dict[object, dict[object, float]]:
    ids = graph.outside_ids.tolist()
    weights = np.ones(graph.indices.size) if graph.weights is None else graph.weights
    return {
        ids[v]: {
            ids[graph.indices[j]]: float(weights[j]) for j in range(int(graph.indptr[v]), int(graph.indptr[v + 1]))
        }
        for v in range(graph.n_vertices)
    }


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("kind", ["integers", "strings", "large"])
def test_shards_read_what_one_process_reads(tmp_path: Path, kind: str, suffix: str) -> None:
    table = edges(kind)
    files = edge_files(write(tmp_path / "in", table, suffix))
    graph = parge.Graph.from_edges(*table.values())
    counts, rows = whole(Source(files), 3)
    assert (counts.n_vertices, counts.n_edges) == (graph.n_vertices, graph.n_edges)
    assert counts.notices == graph.notices
    known = expected(graph)
    assert rows.keys() == known.keys()
    for name, row in rows.items():
        assert row == pytest.approx(known[name])
    assert whole(Source(files), 1) == whole(Source(files), 5) == whole(Source(files), 4, owners=2) == (counts, rows)


def test_weights_can_be_ignored_and_isolated_vertices_added(tmp_path: Path) -> None:
    files = edge_files(write(tmp_path / "in", edges("integers"), ".parquet"))
    counts, rows = whole(Source(files, 50, Wanted(weighted=False)), 3)
    assert counts.n_vertices == 50
    assert not counts.weighted
    assert rows[47] == {}
    names = tmp_path / "names.txt"
    names.write_text("x\n3\n")
    counts, rows = whole(Source(files, str(names)), 3)
    assert rows["x"] == {}
    assert "3" in rows


def test_hostile_files_are_refused_on_all_shards(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", edges("integers"), ".parquet")
    files = edge_files(folder)
    with pytest.raises(InputError, match="20"):
        whole(Source(files, 20), 3)
    pq.write_table(pa.table({"source": [1], "target": [2]}), folder / "f.parquet")
    with pytest.raises(InputError, match="weights"):
        whole(Source(edge_files(folder)), 3)
    pq.write_table(pa.table({"source": [1], "target": [2], "weight": [-1.0]}), folder / "f.parquet")
    with pytest.raises(InputError, match="-1"):
        whole(Source(edge_files(folder)), 3)
    (folder / "f.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match=r"f\.parquet"):
        whole(Source(edge_files(folder)), 3)


def test_folders_without_edges_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=tmp_path.name):
        edge_files(tmp_path)
    (tmp_path / "a.npz").touch()
    with pytest.raises(InputError, match="npz"):
        edge_files(tmp_path)
    with pytest.raises(InputError):
        edge_files(tmp_path / "missing")


def texts(folder: Path, *contents: str) -> tuple[str, ...]:
    folder.mkdir()
    for i, content in enumerate(contents):
        (folder / f"e{i}.csv").write_text(content)
    return edge_files(folder)


ODD = {
    "empty file": ["", "1,2\n2,3\n", "# nothing\n"],
    "one header": ["source,target\n1,2\n2,3\n", "7,8\n8,1\n"],
    "a header each": ["source,target\n1,2\n2,3\n", "source,target\n7,8\n8,1\n"],
    "order of columns": ["weight,target,source\n5,1,2\n2,2,3\n", "1,8,7\n3,1,8\n"],
    "strings later": ["1,2\n2,3\n", "x,y\ny,1\n", "3,x\n"],
    "self loop alone": ["1,2\n", "5,5\n"],
    "a star": ["".join(f"0,{v}\n" for v in range(1, 90)), "1,2\n"],
    "components": ["".join(f"{2 * v},{2 * v + 1}\n" for v in range(50)), "1,0\n"],
    "crlf and a mark": ["\ufeffsource,target\r\n1,2\r\n2,3\r\n", "3,4\r\n"],
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_files_are_read_alike_by_any_number_of_shards(tmp_path: Path, kind: str) -> None:
    files = texts(tmp_path / "in", *ODD[kind])
    graph = parge.read(tmp_path / "in")
    for size in (1, 2, 5):
        counts, rows = whole(Source(files), size)
        assert (counts.n_vertices, counts.n_edges) == (graph.n_vertices, graph.n_edges)
        assert rows == expected(graph)


@pytest.mark.parametrize(
    "contents",
    [
        ["source,target\n1,2\n", "weight,target,source\n3,9,8\n"],
        ["1,2,0.5\n", "2,3\n"],
        ["1,2\n", "2,3,0.5\n4,5,x\n"],
        ["1,2,1\n", "2,3,nan\n"],
    ],
    ids=["other columns", "weights missing", "more columns", "nan"],
)
def test_files_that_do_not_belong_together_are_refused_by_any_number_of_shards(
    tmp_path: Path, contents: list[str]
) -> None:
    files = texts(tmp_path / "in", *contents)
    with pytest.raises(InputError):
        parge.read(tmp_path / "in")
    for size in (1, 2, 3):
        with pytest.raises(InputError):
            whole(Source(files), size)


def test_a_header_that_is_read_as_an_edge_is_told_of(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.csv").write_text(f"follower,followee,since\nann,bob,x\nbob,c{i},y\nc{i},ann,z\n")
    files, graph = edge_files(folder), parge.read(folder)
    for size in (1, 4):
        counts, rows = whole(Source(files), size)
        assert "follower" in rows
        assert set(graph.notices) == set(counts.notices)
        assert any("--header" in notice for notice in counts.notices)
    told = whole(Source(files, wanted=Wanted(header=True)), 3)[0]
    assert not any("--header" in notice for notice in told.notices)


@pytest.mark.parametrize("kind", ["numbers", "strings", "one string"])
@pytest.mark.parametrize("header", [True, False])
def test_several_shards_read_one_text_file(tmp_path: Path, kind: str, header: bool) -> None:
    table = edges(kind)
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    if kind == "one string":
        lines[-2] = "x,3,0.5"
    text = "\n".join([*(["source,target,weight"] if header else []), "# a remark, which is skipped", *lines])
    for name, content in (("e.csv", text), ("crlf.csv", text.replace("\n", "\r\n") + "\r\n")):
        path = tmp_path / name
        path.write_bytes(content.encode())
        source = Source(edge_files(path))
        shares = json.loads(_shares(source, 3))
        assert all(len(share) == 1 for share in shares)  # everybody reads some of it
        pieces = sorted(piece for share in shares for _, some in share for piece in some)
        assert pieces[0][0] == 0
        assert [stop for _, stop in pieces] == [*(start for start, _ in pieces[1:]), None]
        assert all(content.encode()[start - 1 : start] == b"\n" for start, _ in pieces[1:])
        expected = whole(source, 1)
        assert expected[0].n_edges > 100
        for size in (2, 3, 7):
            assert whole(source, size) == expected
        graph = parge.read(path)
        assert (expected[0].n_vertices, expected[0].n_edges) == (graph.n_vertices, graph.n_edges)


def test_a_compressed_text_file_is_read_by_one_shard(tmp_path: Path) -> None:
    lines = "".join(f"{u} {v}\n" for u in range(60) for v in range(u))
    (tmp_path / "e.txt.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "e.txt").write_text(lines)
    packed, plain = (Source(edge_files(tmp_path / name)) for name in ("e.txt.gz", "e.txt"))
    assert sum(bool(share) for share in json.loads(_shares(packed, 3))) == 1
    assert sum(bool(share) for share in json.loads(_shares(plain, 3))) == 3
    assert whole(packed, 3) == whole(plain, 3)


@pytest.mark.parametrize("text", ["", "\n", "1 2", "1 2\n", "a\rb\r", "\n" * 50, "1 2\n" * 9])
def test_pieces_of_a_text_file_start_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t"
    path.write_text(text, newline="")
    for n_pieces in (0, 1, 3, 40):
        starts = line_starts(path, n_pieces)
        assert starts == sorted(set(starts))
        assert starts[0] == 0
        assert all(text[start - 1] == "\n" and start < len(text) for start in starts[1:])
        joined = b"".join(
            bytes(segment)
            for start, stop in zip(starts, [*starts[1:], None], strict=True)
            for _, segment in read_segments(path, start, 4, stop=stop)
        )
        assert joined == text.encode()
