"""Every export is opened by the library that owns its format, and holds the vectors and the ids."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.cli.main import run
from parge.embedding import Embedding
from parge.errors import InputError
from parge.io.embeddings.common import Vectors
from parge.io.exports.common import Export
from parge.io.exports.files import KINDS, export
from parge.linalg.tall import unit
from parge.links import LinkHead

ROWS = np.random.default_rng(3).standard_normal((400, 8)).astype(np.float32)
IDS: dict[str, Any] = {"numbers": np.arange(400)[::-1] * 3, "names": np.array([f"zoë {i}" for i in range(400)])}


def _installed(suffix: str) -> None:
    needs = KINDS[suffix].needs
    if needs is not None:
        pytest.importorskip(needs.module, reason=f"{suffix} needs {needs.package}")


def _written(tmp_path: Path, suffix: str, ids: str, **asked: Any) -> Path:
    _installed(suffix)
    path = tmp_path / f"v{suffix}"
    embedding = Embedding(ROWS, IDS[ids])
    export(Vectors(embedding.vectors, embedding.ids), path, Export(**asked))
    return path


def _close(found: Any, dtype: str) -> bool:
    return np.allclose(np.asarray(found, np.float32), ROWS, rtol=0, atol=1e-6 if dtype == "float32" else 2e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("ids", IDS)
class TestTables:
    @pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
    def test_own_formats(self, tmp_path: Path, suffix: str, ids: str, dtype: str) -> None:
        path = _written(tmp_path, suffix, ids, dtype=dtype)
        found = Embedding.load(path)
        assert found.ids.tolist() == IDS[ids].tolist()
        assert _close(found.vectors, dtype)
        if suffix == ".npy":
            assert np.load(path).dtype == dtype

    def test_safetensors(self, tmp_path: Path, ids: str, dtype: str) -> None:
        path = _written(tmp_path, ".safetensors", ids, dtype=dtype)
        from safetensors.numpy import load_file

        found = load_file(path)
        assert found["vectors"].dtype == dtype
        assert _close(found["vectors"], dtype)
        if ids == "numbers":
            assert found["ids"].tolist() == IDS[ids].tolist()
        else:
            ends, text = found["ids_offsets"], found["ids_utf8"].tobytes()
            assert [text[a:b].decode() for a, b in pairwise(ends)] == IDS[ids].tolist()

    def test_lance(self, tmp_path: Path, ids: str, dtype: str) -> None:
        path = _written(tmp_path, ".lance", ids, dtype=dtype)
        import lance

        table = lance.dataset(str(path)).to_table()
        assert table["id"].to_pylist() == IDS[ids].tolist()
        assert _close(table["vector"].combine_chunks().flatten().to_numpy().reshape(400, 8), dtype)

    def test_hugging_face(self, tmp_path: Path, ids: str, dtype: str) -> None:
        path = _written(tmp_path, ".hf", ids, dtype=dtype)
        from huggingface_hub import DatasetCard
        from pyarrow.parquet import read_table

        card = DatasetCard.load(path / "README.md")
        assert card.data.to_dict()["configs"][0]["data_files"] == [{"split": "train", "path": "data/train-*"}]
        table = read_table(path / "data" / "train-00000-of-00001.parquet")
        assert table["id"].to_pylist() == IDS[ids].tolist()
        assert _close(table["vector"].combine_chunks().flatten().to_numpy().reshape(400, 8), dtype)


def _ids_of(keys: Any, path: Path, ids: str) -> list[Any]:
    if ids == "numbers":
        return [int(key) for key in keys]
    lines = path.with_name(f"{path.name}.ids.txt").read_text().splitlines()
    return [lines[key] for key in keys]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("metric", ["cosine", "ip"])
@pytest.mark.parametrize("ids", IDS)
class TestIndexes:
    def test_faiss(self, tmp_path: Path, ids: str, metric: str, dtype: str) -> None:
        path = _written(tmp_path, ".faiss", ids, metric=metric, dtype=dtype)
        import faiss

        query = unit(ROWS[7:8].astype(np.float64)).astype(np.float32) if metric == "cosine" else ROWS[7:8]
        _, keys = faiss.read_index(str(path)).search(query, 5)
        assert _ids_of(keys[0], path, ids) == self._nearest(ids, metric)

    def test_usearch(self, tmp_path: Path, ids: str, metric: str, dtype: str) -> None:
        path = _written(tmp_path, ".usearch", ids, metric=metric, dtype=dtype)
        from usearch.index import Index

        found = Index.restore(str(path)).search(ROWS[7], 5, exact=True)
        assert _ids_of(found.keys.tolist(), path, ids) == self._nearest(ids, metric)

    def _nearest(self, ids: str, metric: str) -> list[Any]:
        rows = unit(ROWS.astype(np.float64)) if metric == "cosine" else ROWS.astype(np.float64)
        return list(IDS[ids][np.argsort(-rows @ rows[7], kind="stable")[:5]].tolist())


def test_a_large_index_is_a_graph_of_near_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parge.io.exports.faiss.EXACT_UP_TO", 100)
    for dtype in ("float32", "float16"):
        path = _written(tmp_path, ".faiss", "numbers", dtype=dtype)
        import faiss

        index = faiss.read_index(str(path))
        unit_rows = unit(ROWS.astype(np.float64)).astype(np.float32)
        assert (index.search(unit_rows, 1)[1][:, 0] == IDS["numbers"]).mean() > 0.95


@pytest.mark.parametrize("suffix", KINDS)
def test_outputs_keep_the_rules(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _installed(suffix)
    source, out = tmp_path / "own.npz", tmp_path / f"out{suffix}"
    Embedding(ROWS, IDS["names"]).save(source)
    before = source.read_bytes()
    words = ["export", str(source), "-o", str(out)]
    out.write_text("mine")
    assert run(words) == 2
    assert out.read_text() == "mine"
    if KINDS[suffix].is_folder:
        assert run([*words, "--overwrite"]) == 2
        out.unlink()
        assert run(words) == 0
        assert run([*words, "--overwrite"]) == 2
    else:
        assert run([*words, "--overwrite"]) == 0
    assert run(["export", str(source), "-o", str(source), "--overwrite"]) == 2
    assert source.read_bytes() == before
    assert not list(tmp_path.glob(".parge-*"))
    said = capsys.readouterr().err
    assert "Traceback" not in said


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="float16"):
        export(Vectors(np.full((1, 2), 1e6, np.float32), np.arange(1)), tmp_path / "v.npy", Export("float16"))
    with pytest.raises(InputError, match="dtype"):
        Export("int8")
    with pytest.raises(InputError, match="metric"):
        Export(metric="l2")
    with pytest.raises(InputError, match=r"\.jpg"):
        export(Vectors(ROWS, IDS["numbers"]), tmp_path / "v.jpg", Export())
    (tmp_path / "v.npz").write_bytes(b"")
    assert run(["export", str(tmp_path / "v.npz"), "-o", str(tmp_path / "w.npy")]) == 2
    with pytest.raises(InputError, match="folder"):
        pytest.importorskip("huggingface_hub")
        export(Vectors(ROWS, IDS["numbers"]), "memory://x/v.hf", Export())
    assert run(["export", str(tmp_path / "no.npz"), "-o", str(tmp_path / "w.npy")]) == 2


def _with_head(path: Path) -> Embedding:
    embedding = Embedding(ROWS, IDS["names"], degrees=np.arange(400) % 9 + 1, head=LinkHead(3.0, 0.5, -1.0))
    embedding.save(path)
    return embedding


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_inner_products_of_the_exported_pair_score_links(suffix: str, tmp_path: Path) -> None:
    embedding = _with_head(tmp_path / "v.parquet")
    out = tmp_path / f"links{suffix}"
    assert run(["export", str(tmp_path / "v.parquet"), "-o", str(out), "--for", "links"]) == 0
    searched, asking = Embedding.load(out), Embedding.load(tmp_path / "links.queries.parquet")
    scores = searched.vectors @ asking.vectors[7]
    near = [i for i in searched.ids[np.argsort(-scores, kind="stable")].tolist() if i != IDS["names"][7]][:5]
    assert near == embedding.neighbors(IDS["names"][7], 5, task="links")[0].tolist()
    assert searched.head is None, "the degrees are in the rows already"


@pytest.mark.parametrize("suffix", [".faiss", ".usearch"])
def test_an_index_finds_links_by_inner_product(suffix: str, tmp_path: Path) -> None:
    _installed(suffix)
    embedding = _with_head(tmp_path / "v.parquet")
    out = tmp_path / f"links{suffix}"
    assert run(["export", str(tmp_path / "v.parquet"), "-o", str(out), "--for", "links"]) == 0
    query = Embedding.load(tmp_path / "links.queries.parquet").vectors[7]
    if suffix == ".faiss":
        import faiss

        keys = faiss.read_index(str(out)).search(query[None], 6)[1][0].tolist()
    else:
        from usearch.index import Index

        keys = Index.restore(str(out)).search(query, 6, exact=True).keys.tolist()
    expected = embedding.neighbors(IDS["names"][7], 5, task="links")[0].tolist()
    assert [i for i in _ids_of(keys, out, "names") if i != IDS["names"][7]][:5] == expected


def test_links_without_a_head_or_over_other_files_are_refused(tmp_path: Path) -> None:
    Embedding(ROWS, IDS["names"]).save(tmp_path / "plain.npz")
    assert run(["export", str(tmp_path / "plain.npz"), "-o", str(tmp_path / "l.npz"), "--for", "links"]) == 2
    _with_head(tmp_path / "v.parquet")
    line = ["export", str(tmp_path / "v.parquet"), "-o", str(tmp_path / "l.npz"), "--for", "links"]
    (tmp_path / "l.queries.parquet").write_text("mine")
    assert run(line) == 2
    assert (tmp_path / "l.queries.parquet").read_text() == "mine"
    assert not (tmp_path / "l.npz").exists()
    assert run([*line, "--overwrite"]) == 0
    assert run(["export", str(tmp_path / "v.parquet"), "-o", "memory://x/l.npz", "--for", "links"]) == 2


def test_ids_of_somebody_else_are_not_replaced(tmp_path: Path) -> None:
    Embedding(np.eye(2, dtype=np.float32), np.array(["a", "b"])).save(tmp_path / "v.parquet")
    (tmp_path / "x.ids.txt").write_text("my list\n")
    line = ["export", str(tmp_path / "v.parquet"), "-o", str(tmp_path / "x.npy")]
    assert run(line) == 2
    assert (tmp_path / "x.ids.txt").read_text() == "my list\n"
    assert run([*line, "--overwrite"]) == 0
    assert (tmp_path / "x.ids.txt").read_text() == "a\nb\n"
