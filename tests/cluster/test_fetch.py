"""Edges of a store: every shard fetches its share of the files, and the vectors are those of local files."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parge
from parge.cli.main import run
from parge.cluster import stages
from parge.cluster.run import embed_sharded
from parge.cluster.source import Source, edge_files
from parge.errors import InputError, PargeError
from parge.graph.generate import planted
from parge.io.stores import Place

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def local(tmp_path: Path) -> Path:
    table = planted(200, 1200, seed=2).graph.to_frame()
    ends = [np.array(table.column(i).to_pylist()) for i in range(2)]
    folder = tmp_path / "edges"
    folder.mkdir()
    for i in range(5):
        some = {"source": ends[0][i::5], "target": ends[1][i::5]}
        pq.write_table(pa.table(some), folder / f"part-{i}.snappy.parquet")
    return folder


@pytest.fixture
def store(local: Path) -> Iterator[str]:
    """The same files in a store of this process."""
    system = fsspec.filesystem("memory")
    for file in local.iterdir():
        system.pipe_file(f"/bucket/{file.name}", file.read_bytes())
    system.pipe_file("/bucket/_SUCCESS", b"")
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def embedded(source: Source, place: Path, **more: Any) -> parge.Embedding:
    plan = parge.Plan(technique=parge.DeepWalk(dim=8, walks=2), parts=3, engine="serial")
    embed_sharded(source, plan, place / "out", run_dir=place / "run", **more)
    return parge.Embedding.load(place / "out")


def check_same(found: parge.Embedding, expected: parge.Embedding) -> None:
    assert found.ids.tolist() == expected.ids.tolist()
    assert np.array_equal(found.vectors, expected.vectors)


def test_files_of_a_store_give_the_vectors_of_local_files(local: Path, store: str, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    expected = embedded(Source(edge_files(local)), tmp_path / "a")
    check_same(embedded(Source((), url=store), tmp_path / "b"), expected)
    assert not list((tmp_path / "b" / "run").glob("fetched/files/*"))


def test_a_run_that_failed_does_not_fetch_again(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_self: Any, _mesh: Any) -> Any:
        raise PargeError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(stages.Read, "__call__", fails)
        with pytest.raises(PargeError, match="stopped"):
            embedded(Source((), url=store), tmp_path)
    there = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "run" / "fetched" / "files").iterdir()}
    assert len(there) == 5
    seen = {}
    whole = stages.Read.__call__

    def looks(self: Any, mesh: Any) -> Any:
        seen.update({Path(file).name: Path(file).stat().st_mtime_ns for file in self.source.files})
        return whole(self, mesh)

    with monkeypatch.context() as patch:
        patch.setattr(stages.Read, "__call__", looks)
        embedded(Source((), url=store), tmp_path, resume=True)
    assert seen == there


def test_a_store_without_the_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="memory:"):
        embedded(Source((), url="memory://nothing/here"), tmp_path)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_given: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_file_of_the_web_is_planned_and_embedded(
    local: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = tmp_path / "edges.parquet"
    pq.write_table(pa.concat_tables([pq.read_table(file) for file in sorted(local.iterdir())]), edges)
    (tmp_path / "a").mkdir()
    expected = embedded(Source(edge_files(edges)), tmp_path / "a")
    with served(tmp_path) as address:
        assert run(["plan", f"{address}/edges.parquet", "--parts", "3", "--sharded"]) == 0
        assert "1,200 edges" in capsys.readouterr().out
        words = f"embed {address}/edges.parquet -o {tmp_path}/vectors --parts 3 --sharded --engine serial"
        assert run([*words.split(), "--dim", "8", "--param", "walks=2"]) == 0
    check_same(parge.Embedding.load(tmp_path / "vectors"), expected)


def test_failed_fetch_says_shard_file_reason_and_remedy(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_self: Any, found: Any, _out: Path) -> None:
        raise InputError(f"{store}: cannot be reached or read: no right to read.")

    monkeypatch.setattr(Place, "copy", fails)
    with pytest.raises(InputError) as caught:
        embedded(Source((), url=store), tmp_path)
    said = str(caught.value)
    order = [said.index(word) for word in ("shard ", "could not copy", ".parquet", "no right to read", "--resume")]
    assert order == sorted(order)
