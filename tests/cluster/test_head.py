"""The degree head in shards: the same for any number of them, near that of one process, and kept in folders."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import parge
from parge.cli.main import run
from parge.cluster import head as shared
from parge.cluster.cutting import hold
from parge.cluster.head import fit_shared_head
from parge.cluster.mesh import Mesh, run_local
from parge.cluster.redistribute import rows_of_part
from parge.cluster.run import embed_sharded
from parge.cluster.source import Source, edge_files
from parge.errors import InputError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.io.embeddings.folder import MANIFEST
from parge.links import ONLY_COSINE, LinkHead
from parge.space.head import fit_head

N = 600


def vectors_of(graph: Graph, seed: int) -> Any:
    """Return vectors of which neighbours have similar ones."""
    drawn = np.random.default_rng(seed).standard_normal((graph.n_vertices, 7))
    for _ in range(2):
        drawn = drawn + graph.to_scipy() @ drawn / np.maximum(1, graph.degrees)[:, None]
    return drawn.astype(np.float32)


def heads(graph: Graph, vectors: Any, size: int, seed: int = 0) -> list[LinkHead]:
    """Return the head that each shard finds; vertices are on any of the shards."""
    part = np.random.default_rng(size).integers(0, size, graph.n_vertices).astype(np.int32)
    anchors = np.random.default_rng(size).random(graph.n_vertices) < 0.1

    def program(mesh: Mesh) -> LinkHead:
        held = hold(mesh, rows_of_part(graph, part, mesh.rank, anchors))
        return fit_shared_head(mesh, held, vectors[held.part.names], graph.n_vertices, graph.n_edges, seed)

    return run_local(size, program)


@pytest.mark.parametrize("seed", [0, 3])
def test_head_has_the_same_bits_for_any_number_of_shards(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "PAIRS", 900)  # some edges, not all
    monkeypatch.setattr(shared, "_AT_ONCE", 250)
    graph = planted(N, 4000, seed=seed).graph
    vectors = vectors_of(graph, seed)
    alone = heads(graph, vectors, 1, seed)[0]
    assert alone.degree > 0
    assert alone.cosine > 0
    for size in (2, 5):
        assert heads(graph, vectors, size, seed) == [alone] * size
    assert heads(graph, vectors, 2, seed + 1)[0] != alone


def test_head_is_near_that_of_one_process() -> None:
    graph = planted(N, 4000, seed=1).graph
    vectors = vectors_of(graph, 1)
    found, whole = heads(graph, vectors, 3)[0], fit_head(vectors, graph)
    for name in ("cosine", "degree", "constant"):
        assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=0.1)


@pytest.mark.parametrize("graph", [Graph.from_edges([], [], vertices=4), Graph.from_edges([0], [1])])
def test_head_is_the_cosine_where_there_is_nothing_to_tell_apart(graph: Graph) -> None:
    assert heads(graph, np.ones((graph.n_vertices, 2), np.float32), 2) == [ONLY_COSINE] * 2


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Graph]:
    place = tmp_path_factory.mktemp("head")
    graph = planted(300, 1500, seed=2).graph
    (place / "in").mkdir()
    pq.write_table(graph.to_frame(), place / "in" / "e.parquet")
    plan = parge.Plan(technique=parge.DeepWalk(dim=8, walks=2), parts=3, engine="serial")
    embed_sharded(Source(edge_files(place / "in")), plan, place / "out", run_dir=place / "run")
    return place / "out", graph


def test_folder_keeps_head_and_degrees(written: tuple[Path, Graph]) -> None:
    folder, graph = written
    found = parge.Embedding.load(folder)
    assert found.head is not None
    assert found.degrees is not None
    assert found.degrees.tolist() == graph.degrees[found.ids].tolist()
    left, right = found.link_vectors()
    u, v = 5, 70
    cosine = found.vectors[u] @ found.vectors[v] / np.linalg.norm(found.vectors[u]) / np.linalg.norm(found.vectors[v])
    degrees = np.log1p(found.degrees[[u, v]]).sum()
    assert left[u] @ right[v] == pytest.approx(found.head.cosine * cosine + found.head.degree * degrees, rel=1e-4)


def test_commands_score_links_of_a_folder(
    written: tuple[Path, Graph], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = written
    assert run(["neighbors", str(folder), "17", "--for", "links", "--json"]) == 0
    from_folder = capsys.readouterr().out
    whole = parge.Embedding.load(folder)
    whole.save(tmp_path / "all.parquet")
    assert run(["neighbors", str(tmp_path / "all.parquet"), "17", "--for", "links", "--json"]) == 0
    assert json.loads(from_folder) == json.loads(capsys.readouterr().out)


def test_folder_of_an_earlier_version_has_no_head(written: tuple[Path, Graph], tmp_path: Path) -> None:
    folder, _ = written
    manifest = json.loads((folder / MANIFEST).read_text())
    older = tmp_path / "older"
    older.mkdir()
    for shard in manifest["shards"]:
        (older / shard["file"]).write_bytes((folder / shard["file"]).read_bytes())
    without = {name: value for name, value in manifest.items() if name != "head"}
    (older / MANIFEST).write_text(json.dumps(without))
    found = parge.Embedding.load(older)
    assert found.head is None
    with pytest.raises(InputError, match="degree head"):
        found.link_vectors()
    (older / MANIFEST).write_text(json.dumps({**without, "head": {"cosine": 1}}))
    with pytest.raises(InputError, match="constant"):
        parge.Embedding.load(older)


def test_head_without_degrees_is_refused(written: tuple[Path, Graph], tmp_path: Path) -> None:
    folder, _ = written
    torn = tmp_path / "torn"
    torn.mkdir()
    for file in folder.iterdir():
        (torn / file.name).write_bytes(file.read_bytes())
    first = torn / "part-00000.parquet"
    pq.write_table(pq.read_table(first, columns=["id", "vector"]), first)
    with pytest.raises(InputError, match="degrees"):
        parge.Embedding.load(torn)
