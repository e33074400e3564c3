"""Folders and patterns of parts, ``~`` and ``file://``, and an object store for real: moto's server on loopback."""

import contextlib
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parge
from parge.cli.main import run
from parge.errors import InputError, MissingExtraError
from parge.graph.graph import Graph
from parge.io.graphs.read import read
from parge.io.places import delivering, fetched, to_deliver

SMALL = ["--technique", "sgc", "--dim", "2", "--engine", "serial"]
ROWS = [[("a", "b"), ("b", "c")], [], [("c", "d"), ("d", "a")]]


def _parts(folder: Path, suffix: str, *, header: bool = True) -> Path:
    """Write parts as Spark does: a file of accounts, an empty part, a header in every part."""
    folder.mkdir(parents=True)
    (folder / "_SUCCESS").write_text("")
    (folder / f".part-0{suffix}.crc").write_bytes(b"\0\1")
    for number, rows in enumerate(ROWS):
        path = folder / f"part-{number}{suffix}"
        if suffix == ".parquet":
            names = ("source", "target")
            columns = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)}
            pq.write_table(pa.table(columns), path)
        else:
            mark = {".csv": ",", ".tsv": "\t"}.get(suffix, " ")
            lines = [("source", "target")] * (header and (number == 0 or bool(rows))) + rows
            path.write_text("".join(mark.join(line) + "\n" for line in lines))
    return folder


def _edges(graph: Graph) -> set[tuple[Any, Any]]:
    table = graph.to_frame()
    return set(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


ALL = {("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")}


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv", ".txt", ".edges"])
def test_a_folder_and_a_pattern_of_parts_are_one_graph(suffix: str, tmp_path: Path) -> None:
    folder = _parts(tmp_path / "edges", suffix)
    for name in (folder, f"{folder}/part-*{suffix}", f"{tmp_path}/**/part-[0-9]{suffix}", f"file://{folder}"):
        assert _edges(read(name)) == ALL
    assert _edges(read(folder, coordinator_memory="1MB")) == ALL
    deep = tmp_path / "deep" / "day=1"
    deep.mkdir(parents=True)
    for file in folder.iterdir():
        file.rename(deep / file.name)
    assert _edges(read(tmp_path / "deep")) == ALL


def test_a_header_of_the_first_part_holds_for_all(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("weight,from,to\n2,a,b\n")
    (tmp_path / "2.csv").write_text("3,b,c\n")
    graph = read(f"{tmp_path}/*.csv")
    assert _edges(graph) == {("a", "b"), ("b", "c")}
    assert sorted({*np.asarray(graph.weights)}) == [2, 3]
    (tmp_path / "3.csv").write_text("c,d\n")
    with pytest.raises(InputError, match=r"3\.csv, line 1.*3 columns.*2"):
        read(f"{tmp_path}/*.csv")


def test_ids_of_all_parts_are_of_one_kind(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("1 2\n")
    (tmp_path / "2.txt").write_text("2 3\n3 007\n")
    graph = read(tmp_path)
    assert _edges(graph) == {("1", "2"), ("2", "3"), ("007", "3")}
    assert any("line 2 of 2.txt" in notice for notice in graph.notices)
    with pytest.raises(InputError, match=r"2\.txt, line 1"):
        (tmp_path / "2.txt").write_text("2 3\n")
        read(tmp_path, vertices=3)


@pytest.mark.parametrize(
    ("names", "fragment"),
    [
        ([], "without a file"),
        (["a.csv", "b.parquet"], "one format"),
        (["a.csv", "notes.md"], r"notes\.md"),
        (["a.npz", "b.npz"], "no part"),
        (["_a.csv"], "without a file"),
    ],
)
def test_odd_folders_are_refused(names: list[str], fragment: str, tmp_path: Path) -> None:
    folder = tmp_path / "edges"
    folder.mkdir()
    for name in names:
        if name.endswith(".parquet"):
            pq.write_table(pa.table({"source": [1], "target": [2]}), folder / name)
        else:
            (folder / name).write_text("1,2\n")
    with pytest.raises(InputError, match=fragment):
        read(folder)
    with pytest.raises(InputError, match=r"\*\.nothing"):
        read(f"{folder}/*.nothing")


def test_parts_of_parquet_need_the_same_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"source": [1], "target": [2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"target": [2, 5], "source": [3, None]}), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet.*'source'.*row 2"):
        read(tmp_path)
    pq.write_table(pa.table({"source": [1], "to": [2]}), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet.*'target'.*'source', 'to'"):
        read(tmp_path)


def test_outputs_do_not_become_inputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _parts(tmp_path / "edges", ".parquet")
    before = sorted(folder.iterdir())
    for graph in (str(folder), f"{folder}/*.parquet"):
        for overwrite in ([], ["--overwrite"]):
            assert run(["embed", graph, "-o", str(folder / "v.parquet"), *SMALL, *overwrite]) == 2
            assert "v.parquet" in capsys.readouterr().err
            assert run(["embed", graph, "-o", str(folder / "part-0.parquet"), *SMALL, *overwrite]) == 2
    assert sorted(folder.iterdir()) == before
    assert run(["embed", str(folder), "-o", str(tmp_path / "v.parquet"), *SMALL]) == 0


def test_home_and_file_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my edges.txt").write_text("0 1\n1 2\n")
    (tmp_path / "names.txt").write_text("9\n")
    assert read("~/my edges.txt", vertices="~/names.txt").n_vertices == 4
    assert read(f"file://{tmp_path}/my%20edges.txt").n_edges == 2
    with pytest.raises(InputError, match="three slashes"):
        read("file://edges.txt")
    assert run(["embed", "~/my edges.txt", "-o", f"file://{tmp_path}/v.npz", *SMALL]) == 0
    assert parge.Embedding.load("~/v.npz").dim == 2
    parge.Embedding.load("~/v.npz").save("~/w.parquet")
    assert (tmp_path / "w.parquet").is_file()


def test_an_unknown_scheme_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "nothing://bucket/edges.csv"]) == 2
    assert "nothing" in capsys.readouterr().err
    assert run(["decompose", "g.txt", "--run-dir", "s3://bucket/run"]) == 2
    assert "on this machine" in capsys.readouterr().err


def test_schemes_without_their_package_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(MissingExtraError, match=r"parge\[remote\]"):
        read("hf://datasets/someone/edges/part.parquet")


def test_hugging_face_urls_go_to_its_own_file_system() -> None:
    pytest.importorskip("fsspec")
    hub = pytest.importorskip("huggingface_hub")
    from parge.io.stores import Place

    place = Place.of("hf://datasets/someone/edges/part.parquet")
    assert isinstance(place._system.handler.fs, hub.HfFileSystem)
    assert place.path == "datasets/someone/edges/part.parquet"


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    """A store that speaks S3, with a bucket, and the environment that leads there."""
    server_of = pytest.importorskip(
        "moto.server", reason="the object store is moto's: pip install 'moto[s3]' flask-cors"
    )
    boto3 = pytest.importorskip("boto3")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    given = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    client = boto3.client("s3")
    client.create_bucket(Bucket="bucket")
    yield client
    server.stop()
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _keys(store: Any) -> dict[str, bytes]:
    listed = store.list_objects_v2(Bucket="bucket").get("Contents", [])
    return {each["Key"]: store.get_object(Bucket="bucket", Key=each["Key"])["Body"].read() for each in listed}


@pytest.fixture
def bucket(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)  # where run folders go
    for key in _keys(store):
        store.delete_object(Bucket="bucket", Key=key)
    for file in _parts(tmp_path / "edges", ".parquet").iterdir():
        store.put_object(Bucket="bucket", Key=f"my edges/{file.name}", Body=file.read_bytes())
    store.put_object(Bucket="bucket", Key="labels.csv", Body=b"id,label\na,x\nb,y\nc,x\nd,y\n")
    return store


def test_a_store_is_read_and_written(bucket: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("s3://bucket/my edges", "s3://bucket/my edges/", "s3://bucket/my edges/part-*.parquet"):
        assert _edges(read(name)) == ALL
    assert _edges(read("s3://bucket/my edges/part-0.parquet")) == {("a", "b"), ("b", "c")}
    bucket.put_object(Bucket="bucket", Key="packed/1.csv.gz", Body=gzip.compress(b"source,target\na,b\nb,c\n"))
    for name in ("s3://bucket/packed/1.csv.gz", "s3://bucket/packed/?.csv.*", "s3://bucket/packed?region=us-east-1"):
        assert _edges(read(name)) == {("a", "b"), ("b", "c")}  # the bytes as they are stored
    out = "s3://bucket/out/v.npy"
    assert run(["embed", "s3://bucket/my edges", "-o", out, *SMALL]) == 0
    assert out in " ".join(capsys.readouterr().out.split())  # the URL, not where it was written first
    assert {"out/v.npy", "out/v.ids.txt"} <= set(_keys(bucket))
    vectors = parge.Embedding.load(out)
    assert sorted(vectors.ids) == ["a", "b", "c", "d"]
    assert run(["neighbors", out, "a", "-k", "2", "--json"]) == 0
    assert run(["evaluate", "classify", out, "s3://bucket/labels.csv", "--repeats", "1"]) == 0
    vectors.save("s3://bucket/out/w.parquet")
    assert np.array_equal(parge.Embedding.load("s3://bucket/out/w.parquet").vectors, vectors.vectors)
    assert not list(Path.cwd().glob("*.run"))
    assert "Error" not in capsys.readouterr().err


def test_a_store_keeps_the_rules_of_outputs(bucket: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.put_object(Bucket="bucket", Key="theirs.npz", Body=b"their own")
    before = _keys(bucket)
    graph = "s3://bucket/my edges"
    for out, more in (
        ("s3://bucket/theirs.npz", []),
        ("s3://bucket/my edges/v.parquet", ["--overwrite"]),
        ("s3://bucket/my edges/part-0.parquet", ["--overwrite"]),
        ("s3://no-such-bucket/v.npz", []),
        ("s3://bucket/v.jpg", []),
    ):
        assert run(["embed", graph, "-o", out, *SMALL, *more]) == 2
        assert out in capsys.readouterr().err
    assert _keys(bucket) == before
    assert run(["embed", graph, "-o", "s3://bucket/theirs.npz", *SMALL, "--overwrite"]) == 0
    assert _keys(bucket)["theirs.npz"] != b"their own"
    with pytest.raises(InputError, match=r"s3://bucket/no-such"):
        read("s3://bucket/no-such")


def test_errors_and_copies_of_a_store(bucket: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    bucket.put_object(Bucket="bucket", Key="bad.csv", Body=b"a,b\nb,c\nc\n")
    for url in ("s3://bucket/bad.csv", "s3://test:test@bucket/bad.csv"):
        with pytest.raises(InputError, match=r"s3://bucket/bad\.csv, line 3") as error:
            read(url)
        assert "test:test" not in str(error.value)
    bucket.put_object(Bucket="bucket", Key="x/a b.csv", Body=b"a,b\n")
    with fetched("s3://bucket/x") as folder:
        assert [file.name for file in folder.iterdir()] == ["000000-a b.csv"]
    assert [path for path in tmp_path.iterdir() if path.name.startswith("parge-")] == []
    monkeypatch.setattr("parge.io.stores._SPARE", 10**18)
    with pytest.raises(InputError, match="TMPDIR"):
        read("s3://bucket/my edges")


def test_what_cannot_be_sent_is_kept(bucket: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(parge.errors.PargeError) as error, delivering():
        path = to_deliver("s3://bucket/late.npz")
        path.write_bytes(b"much work")
        bucket.put_object(Bucket="bucket", Key="late.npz", Body=b"theirs")
    assert _keys(bucket)["late.npz"] == b"theirs"
    assert str(path) in " ".join(getattr(error.value, "__notes__", []))
    assert path.read_bytes() == b"much work"
    with contextlib.suppress(OSError):
        path.unlink()
