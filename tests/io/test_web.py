"""Files on the web: addresses with questions, compressed bytes, servers that answer oddly; real servers on loopback."""

import datetime
import gzip
import http.server
import io
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parge
from parge.cli.main import run
from parge.errors import InputError
from parge.io.graphs.read import read
from parge.io.stores import Place, shown_url

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

SMALL = ["--technique", "sgc", "--dim", "2", "--engine", "serial"]
EDGES = b"source,target\na,b\nb,c\n"
SECRET = "s3cret"


def _bytes(write: Any) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


FILES = {
    "/edges.csv": EDGES,
    "/edges.csv.gz": gzip.compress(EDGES),
    "/edges.parquet": _bytes(lambda file: pq.write_table(pa.table({"source": ["a", "b"], "target": ["b", "c"]}), file)),
    "/labels.csv": b"id,label\na,x\nb,y\n",
    "/bad.csv": b"source,target\na,b\nb\n",
    "/page.csv": b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
    "/v.npy": _bytes(lambda file: np.save(file, np.eye(2, dtype=np.float32))),
    "/v.ids.txt": b"ann\nbob\n",
}


class Server(http.server.BaseHTTPRequestHandler):
    """Serves `FILES`, and answers some addresses as only some servers do."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/signed.csv":
            # As given, escapes included: a signature is over these very characters.
            right = query == "token=a%2Fb/c.d&x=1"
            self.answer(200 if right else 403, EDGES if right else b"no")
        elif path == "/packed.csv":
            self.answer(200, gzip.compress(EDGES), {"Content-Encoding": "gzip"})
        elif path == "/moved.csv":
            self.answer(302, b"", {"Location": "/edges.csv?z=1"})
        elif path == "/circle.csv":
            self.answer(302, b"", {"Location": "/circle.csv"})
        elif path == "/broken.csv":
            self.answer(500, b"")
        elif path == "/cut.csv":
            self.answer(200, EDGES, length=1000)
            self.close_connection = True
        elif path == "/chunks.csv":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(EDGES), EDGES))
        else:
            self.answer(200 if path in FILES else 404, FILES.get(path, b"no"))

    def do_HEAD(self) -> None:
        self.answer(200 if self.path.partition("?")[0] in FILES else 404, b"")

    def answer(self, code: int, body: bytes, more: dict[str, str] | None = None, length: int | None = None) -> None:
        self.send_response(code)
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


class Quiet(http.server.ThreadingHTTPServer):
    """A server that says nothing of clients that leave."""

    def handle_error(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with Quiet(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "name",
    [
        "edges.csv",
        "edges.csv?token=x&y=[1]*",
        "signed.csv?token=a%2Fb/c.d&x=1",
        "edges.csv.gz",
        "edges.csv.gz?sig=1.parquet",
        "edges.parquet?X-Amz-Expires=60",
        "packed.csv",
        "moved.csv",
        "chunks.csv",
        "edges.csv#top",
    ],
)
def test_an_address_is_read_whatever_follows_the_name(name: str, web: str) -> None:
    graph = read(f"{web}/{name}")
    assert (graph.n_edges, graph.outside_ids.tolist()) == (2, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("nothing.csv", "404"),
        ("edges/*.csv", "own address"),
        ("signed.csv", "403"),
        ("broken.csv", "500"),
        ("circle.csv", "without end"),
        ("cut.csv", "cut"),
        ("page.csv", "web page"),
        ("bad.csv", "line 3"),
    ],
)
def test_what_a_server_answers_is_said_in_one_line_without_secrets(name: str, fragment: str, web: str) -> None:
    address = web.replace("//", f"//me:{SECRET}@")
    with pytest.raises(InputError, match=fragment) as refused:
        read(f"{address}/{name}?token={SECRET}")
    said = str(refused.value)
    assert SECRET not in said
    assert "\n" not in said
    assert f"{web}/{name}" in said


def test_nobody_there_is_said_without_secrets() -> None:
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1/e\.csv") as refused:
        read(f"http://127.0.0.1:1/e.csv?token={SECRET}")
    assert SECRET not in str(refused.value)


def test_labels_and_vectors_come_from_the_web_and_nothing_is_written_there(
    web: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert len(parge.evaluate.read_labels(f"{web}/labels.csv?v=2")) == 2
    for name in ("v.npy", "v.npy?v=2"):
        assert parge.Embedding.load(f"{web}/{name}")["bob"].tolist() == [0, 1]
    assert run(["embed", f"{web}/edges.csv?token={SECRET}", "-o", str(tmp_path / "v.npz"), *SMALL]) == 0
    assert run(["embed", f"{web}/edges.csv", "-o", f"{web}/v.npz", *SMALL]) == 2
    said = capsys.readouterr()
    assert "only be read" in said.err
    assert SECRET not in said.err + said.out


def _certificate(folder: Path) -> Path:
    """Write a certificate of this machine, signed by itself, with its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def test_https_is_read_where_the_certificate_is_trusted_and_refused_elsewhere(tmp_path: Path) -> None:
    certificate = _certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with Quiet(("127.0.0.1", 0), Server) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"https://localhost:{server.server_port}/edges.csv?token={SECRET}"
        with pytest.raises(InputError, match="SSL_CERT_FILE") as refused:
            read(url)
        assert SECRET not in str(refused.value)
        # The client loads the certificates that it trusts once, so another process reads it.
        done = subprocess.run(
            [sys.executable, "-c", f"import parge; print(parge.read({url!r}).n_edges)"],
            env={**os.environ, "SSL_CERT_FILE": str(certificate)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        server.shutdown()
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr


def test_a_store_of_fsspec_is_read_and_written(tmp_path: Path) -> None:
    """The door that ``hf://`` and ``az://`` take, too: fsspec's file system, here one in memory."""
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe({"/w/edges/1.csv.gz": FILES["/edges.csv.gz"], "/w/edges/2.csv": b"source,target\nc,d\n"})
    try:
        assert read("memory://w/edges").n_edges == 3
        assert read("memory://w/edges/?.csv*").n_edges == 3
        assert run(["embed", "memory://w/edges", "-o", "memory://w/v.npz", *SMALL]) == 0
        assert len(parge.Embedding.load("memory://w/v.npz")) == 4
        parge.write(read("memory://w/edges"), tmp_path / "plain.csv.gz")
        assert run(["embed", "memory://w/nothing", "-o", "memory://w/x.npz", *SMALL]) == 2
    finally:
        store.rm("/w", recursive=True)


def test_google_s_store_is_pyarrow_s_own_and_says_what_went_wrong() -> None:
    fs = pytest.importorskip("pyarrow.fs")
    if not hasattr(fs, "GcsFileSystem"):
        pytest.skip("this pyarrow was built without Google's store")
    place = Place.of("gs://anonymous@bucket/a/edges 1.parquet?retry_limit_seconds=1")
    assert isinstance(place._system, fs.GcsFileSystem)
    assert place.path == "bucket/a/edges 1.parquet"
    # Nobody answers at this port, as where there is no network.
    url = "gs://anonymous@bucket/edges.csv?retry_limit_seconds=1&scheme=http&endpoint_override=127.0.0.1:1"
    with pytest.raises(InputError, match=r"^gs://bucket/edges\.csv: .*$"):
        read(url)


def test_hugging_face_without_a_network_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    code = "from parge.cli.main import run; raise SystemExit(run(['plan', 'hf://datasets/someone/edges/part.parquet']))"
    away = {"HF_ENDPOINT": "http://127.0.0.1:1", "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_TELEMETRY": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **away}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "hf://datasets/someone/edges/part.parquet" in " ".join(done.stderr.split())


def test_the_wildcards_of_a_store_are_no_options() -> None:
    place = Place.of("s3://bucket/part-?.csv?region=eu-west-1")
    assert place.path == "bucket/part-?.csv"
    assert shown_url("s3://key:secret@bucket/part-?.csv?region=x") == "s3://bucket/part-?.csv"
