"""Plans of runs in shards: counted in one pass that keeps no edge, and refused where they cannot fit."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import parge
from parge.cli.main import run
from parge.cluster import forecast
from parge.cluster.counting import Sketch, counted
from parge.cluster.source import Source, edge_files
from parge.errors import InfeasibleError
from parge.estimate import Question, estimate
from parge.graph.generate import planted


@given(
    n=st.integers(0, 3000), repeats=st.integers(1, 3), most=st.sampled_from([64, 256, 4096]), seed=st.integers(0, 99)
)
@examples(30)
def test_different_keys_are_counted_from_a_few(n: int, repeats: int, most: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = np.unique(rng.integers(0, 2**64, n, np.uint64, endpoint=False))
    sketch = Sketch(most)
    for some in np.array_split(rng.permutation(np.tile(keys, repeats)), 7):
        sketch.add(some)
    assert sketch.keys.size <= most
    assert (sketch.times == repeats).all()
    if keys.size < most:
        assert (sketch.estimate, sketch.error) == (keys.size, 0.0)
    else:
        assert sketch.estimate == pytest.approx(keys.size, rel=7 * sketch.error)


def write(folder: Path, n_files: int = 3) -> parge.Graph:
    graph = planted(2000, 9000, seed=1).graph
    frame = graph.to_frame()
    folder.mkdir()
    for i in range(n_files):
        pq.write_table(frame.slice(i * 3000, 3000), folder / f"{i}.parquet", row_group_size=700)
    pq.write_table(frame.slice(0, 50), folder / "again.parquet")
    return graph


def test_one_pass_counts_vertices_edges_and_degrees(tmp_path: Path) -> None:
    graph = write(tmp_path / "in")
    found = counted(Source(edge_files(tmp_path / "in")))
    touched = int((graph.degrees > 0).sum())
    assert (found.vertices, found.edges, found.error) == (touched, graph.n_edges, 0.0)
    assert found.given == graph.n_edges + 50
    assert found.degrees.sum() == 2 * found.given
    assert counted(Source(edge_files(tmp_path / "in"), 5000)).vertices == 5000


def test_integers_and_strings_in_one_graph_are_counted_as_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n2,3\n3,1\n")
    pq.write_table(pa.table({"source": ["x", "1"], "target": ["1", "2"]}), tmp_path / "b.parquet")
    found = counted(Source(edge_files(tmp_path)))
    assert (found.vertices, found.edges) == (4, 4)


@pytest.mark.slow
def test_plans_are_made_from_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = write(tmp_path / "in")
    words = ["plan", str(tmp_path / "in"), "--sharded"]
    assert run([*words, "--parts", "4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["edges"] == graph.n_edges
    assert [stage["name"] for stage in found["stages"]] == ["read", "decompose", "prepare", "embed", "refine, write"]
    assert all(stage["machines"] == 4 and stage["memory"] > 0 and stage["seconds"] > 0 for stage in found["stages"])
    assert found["seconds"] == pytest.approx(found["start"] + sum(stage["seconds"] for stage in found["stages"]))
    assert found["start"] > 5 * min(stage["seconds"] for stage in found["stages"])
    low, high = found["lost_edges"]
    assert 0 <= low < high < 1
    monkeypatch.setattr("parge.cli.plan.usable_cores", lambda: 2)
    assert run([*words, "--parts", "4"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "embed" in said
    assert "with a core for each shard; 2 cores of this machine" in said
    assert run([*words, "--parts", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "in 1 shard;" in said
    assert "a core for each shard" not in said
    assert "lost edges: none" in said
    assert run([*words, "--memory", "100MB,100MB"]) == 2
    assert run([*words, "--memory", "261MB,261MB"]) == InfeasibleError.exit_code
    assert run([*words, "--parts", "4", "--technique", "auto"]) == 2
    assert run(["plan", "s3://bucket/edges", "--parts", "4", "--sharded"]) == 2


@pytest.mark.parametrize("more", [["--memory", "100MB,100MB"], ["--parts", "2", "--refine", "propagate"]], ids=str)
def test_options_are_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    def never(_source: Source) -> None:
        pytest.fail("files were counted")

    write(tmp_path / "in")
    monkeypatch.setattr(forecast, "counted", never)
    assert run(["plan", str(tmp_path / "in"), "--sharded", *more]) == 2
    assert "counting" not in capsys.readouterr().err


@pytest.mark.slow
def test_random_parts_lose_no_more_than_the_forecast_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "in")
    words = [str(tmp_path / "in"), "--parts", "3", "--dim", "8", "--sharded", "--json"]
    assert run(["plan", *words]) == 0
    low, high = json.loads(capsys.readouterr().out)["lost_edges"]
    assert run(["embed", *words, "-o", str(tmp_path / "out"), "--engine", "serial", "--param", "walks=1"]) == 0
    assert low <= json.loads(capsys.readouterr().out)["lost_edges"] <= high


def test_shards_share_every_stage() -> None:
    question = Question(vertices=2 * 10**9, edges=10**12)
    alone = estimate(question, parge.DeepWalk())
    shared = estimate(question, parge.DeepWalk(), sharded=True)
    assert shared.workers == alone.workers
    assert {stage.machines for stage in shared.stages} == {shared.workers}
    assert shared.seconds < alone.seconds / 20
    first = next(item for item in shared.breaks if "pair of parts" in item.what)
    assert first.share == pytest.approx(shared.workers / 1024)
    fewer = estimate(
        Question(vertices=2 * 10**9, edges=10**12, workers=2 * shared.workers), parge.DeepWalk(), sharded=True
    )
    assert fewer.seconds < shared.seconds
    assert max(stage.memory for stage in fewer.stages) < max(stage.memory for stage in shared.stages)
    question = Question(vertices=1000, edges=5000, workers=2)
    small, whole = (estimate(question, parge.DeepWalk(dim=32), sharded=sharded) for sharded in (True, False))
    assert not small.warnings
    assert small.seconds > whole.seconds + 1, "shards start for every stage, which tiny graphs do not repay"
