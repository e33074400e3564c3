"""Files read in shards give the graph that one process reads from them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parge
from parge.cluster.ingest import Counts, Shard, ingest
from parge.cluster.mesh import run_local
from parge.cluster.rows import Owners
from parge.cluster.source import Source, edge_files
from parge.columns import Wanted
from parge.errors import InputError


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
