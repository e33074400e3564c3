"""From a folder of edges to a folder of vectors: the same bits on any engine, resumed, read back, refused."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
import pytest
from tests.cluster.named_edges import named_edges
from tests.examples import slow

import parge
from parge.cluster import run as sharded
from parge.cluster import stages
from parge.cluster.checkpoints import FolderCheckpoint
from parge.cluster.run import embed_sharded
from parge.cluster.source import Source, edge_files
from parge.engine.base import Task
from parge.engine.remote_task import RemoteTask
from parge.errors import InfeasibleError, InputError, PargeError
from parge.io.embeddings.folder import MANIFEST
from parge.memory import VARIABLE
from parge.refine import subspace
from parge.refine.whiten import Whiten

PARTS, DIM = 3, 8


@pytest.fixture(scope="module")
def edges(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return named_edges(tmp_path_factory.mktemp("cluster"))


def plan(engine: str = "serial", **more: Any) -> parge.Plan:
    return parge.Plan(**{"technique": parge.DeepWalk(dim=DIM, walks=2), "parts": PARTS, "engine": engine, **more})


def embedded(edges: Path, place: Path, request: parge.Plan, **more: Any) -> parge.Embedding:
    embed_sharded(Source(edge_files(edges)), request, place / "out", run_dir=place / "run", **more)
    return parge.Embedding.load(place / "out")


@pytest.fixture(scope="module")
def reference(edges: Path, tmp_path_factory: pytest.TempPathFactory) -> parge.Embedding:
    """The vectors as one process gives them in which all shards are threads."""
    return embedded(edges, tmp_path_factory.mktemp("reference"), plan())


def check_same(found: parge.Embedding, expected: parge.Embedding) -> None:
    assert found.ids.tolist() == expected.ids.tolist()
    assert np.array_equal(found.vectors, expected.vectors)


def test_a_folder_of_edges_becomes_a_folder_of_vectors(reference: parge.Embedding) -> None:
    assert len(reference) == 401
    assert reference.dim == DIM
    assert np.isfinite(reference.vector("alone")).all()
    report = reference.report
    assert report.edges == 2400
    assert sum(part.own for part in report.parts) + (report.anchors or 0) == 401
    assert report.reconcile.reconciler == "backbone"
    assert "shards" not in report
    assert report.refine.rounds


def test_neighbours_are_close(edges: Path, reference: parge.Embedding) -> None:
    graph = parge.read(edges / "e0.parquet")
    u, v = reference.row_numbers(graph.outside_ids), np.random.default_rng(0).permutation(len(reference))
    X = reference.vectors / np.linalg.norm(reference.vectors, axis=1, keepdims=True)
    row = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    linked = (X[u[row]] * X[u[graph.indices]]).sum(axis=1).mean()
    drawn = (X * X[v]).sum(axis=1).mean()
    assert linked > drawn + 0.2


@pytest.mark.parametrize("technique", [parge.HOPE(dim=8), *slow(parge.Spectral(dim=8))], ids=lambda one: one.name)
def test_factorisations_have_the_vectors_of_the_whole_graph(edges: Path, tmp_path: Path, technique: Any) -> None:
    found = embedded(edges, tmp_path, plan(technique=technique))
    assert found.report.refine.steps
    graph = parge.read(edges)
    whole = parge.embed(graph, technique=technique, parts=1)
    ids = graph.outside_ids
    X, Y = found.vectors[found.row_numbers(ids)], whole.vectors[whole.row_numbers(ids)]
    assert np.linalg.norm(X @ X.T - Y @ Y.T) <= 0.05 * np.linalg.norm(Y @ Y.T)


@pytest.mark.slow
def test_processes_give_the_same_bits(edges: Path, reference: parge.Embedding, tmp_path: Path) -> None:
    check_same(embedded(edges, tmp_path, plan("processes")), reference)


def test_no_file_of_a_part_passes_through_the_process_that_leads(
    edges: Path, reference: parge.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts are done as a cluster does them: sent, opened, stored by the worker."""
    keys = []

    def sent(_engine: Any, tasks: list[Task], *_more: Any) -> None:
        for task in tasks:
            with task.argument.locked_for_remote():
                remote, files = RemoteTask.of(task)
                assert files == {}
                away = tmp_path / f"away-{task.key}"
                opened = remote.opened(away, files)
                opened.function(opened.argument, lambda _share: None)
                assert remote.results(away) == {}
                task.argument.store({})
            assert not away.exists()
            keys.append(task.key)

    monkeypatch.setattr(sharded, "run_parts", sent)
    check_same(embedded(edges, tmp_path, plan()), reference)
    assert keys == list(range(PARTS))


def test_shards_may_have_another_current_folder(
    edges: Path, reference: parge.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As workers of a cluster have: names that were typed from here lead to the same files there."""

    def elsewhere(call: Callable[..., Any]) -> Callable[..., Any]:
        def there(*arguments: Any, **more: Any) -> Any:
            with contextlib.chdir("/"):
                return call(*arguments, **more)

        return there

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sharded.ShardLauncher, "run", elsewhere(sharded.ShardLauncher.run))
    monkeypatch.setattr(sharded, "run_parts", elsewhere(sharded.run_parts))
    (tmp_path / "edges").symlink_to(edges)
    check_same(embedded(Path("edges"), Path(), plan()), reference)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["Divide", *slow("Read", "Cut", "Finish")])
def test_a_run_that_failed_is_resumed_with_the_same_bits(
    edges: Path, reference: parge.Embedding, tmp_path: Path, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = getattr(stages, stage).__call__

    def fails(self: Any, mesh: Any) -> Any:
        found = whole(self, mesh)
        if mesh.rank == 1:
            raise PargeError("the disk is full")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(getattr(stages, stage), "__call__", fails)
        with pytest.raises(PargeError, match="disk"):
            embedded(edges, tmp_path, plan())
    assert not (tmp_path / "out").exists()
    for part in (tmp_path / "run" / "parts").glob("*"):
        (part / "result.tmp-7").mkdir()  # of a machine that was lost
    check_same(embedded(edges, tmp_path, plan(), resume=True), reference)
    assert not list((tmp_path / "run").rglob("*.tmp-*"))


def test_rounds_of_a_pass_are_kept(
    edges: Path, reference: parge.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = []

    def counted(*args: Any) -> Any:
        _refiner, state, work, _threads = args
        rounds.append(state.done)
        if rounds[-1] == 2 and work.checkpoint.mesh.rank == 0 and len(rounds) < 99:
            raise PargeError("stopped")
        return whole(*args)

    whole = Whiten._round
    with monkeypatch.context() as patch:
        patch.setattr(Whiten, "_round", counted)
        with pytest.raises(PargeError, match="stopped"):
            embedded(edges, tmp_path, plan())
        rounds[:] = [0] * 99
        again = embedded(edges, tmp_path, plan(), resume=True)
    assert min(rounds[99:]) == 2
    check_same(again, reference)


def test_another_plan_does_not_resume(edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_self: Any, _mesh: Any) -> Any:
        raise PargeError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(stages.Divide, "__call__", fails)
        with pytest.raises(PargeError):
            embedded(edges, tmp_path, plan())
    with pytest.raises(InputError, match="seed"):
        embedded(edges, tmp_path, plan(seed=5), resume=True)
    with pytest.raises(InputError, match="resume"):
        embedded(edges, tmp_path, plan())


def test_a_folder_that_changed_does_not_resume(edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "in"
    shutil.copytree(edges, folder)

    def fails(_self: Any, _mesh: Any) -> Any:
        raise PargeError("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(stages.Divide, "__call__", fails)
        with pytest.raises(PargeError, match="stopped"):
            embedded(folder, tmp_path, plan())
    shutil.copy(folder / "e0.parquet", folder / "e9.parquet")
    with pytest.raises(InputError, match="graph"):
        embedded(folder, tmp_path, plan(), resume=True)


@pytest.mark.parametrize(("text", "vertices"), [("0 1\n", None), ("0 0\n", 30), ("0 1\n2 3\n", 200)], ids=str)
@pytest.mark.parametrize("parts", [1, 2])
def test_graphs_with_hardly_an_edge_are_embedded(tmp_path: Path, text: str, vertices: int | None, parts: int) -> None:
    (tmp_path / "e.txt").write_text(text)
    source = Source(edge_files(tmp_path / "e.txt"), vertices)
    embed_sharded(source, plan(parts=parts), tmp_path / "out", run_dir=tmp_path / "run")
    found = parge.Embedding.load(tmp_path / "out")
    table = pq.read_table(tmp_path / "out")  # other tools read the folder, and skip the manifest
    assert table.num_rows == len(found)
    assert len(found) == (vertices or 2)
    assert np.isfinite(found.vectors).all()


def test_graphs_without_an_edge_need_their_vertices(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("5 5\n")
    with pytest.raises(InputError, match="--vertices"):
        embedded(tmp_path / "e.txt", tmp_path, plan())


@pytest.mark.parametrize(
    "wrong",
    [
        {"technique": parge.HOPE(dim=8), "refine": "propagate"},
        {"partitioner": "random"},
        {"anchor_strategy": "degree"},
        {"parts": 2000},
        {"preset": "paper"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_plans_that_need_the_whole_graph_are_refused_before_any_work(
    edges: Path, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        embedded(edges, tmp_path, plan(**wrong))
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_shards_that_this_machine_cannot_hold_together_are_refused(
    edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "2GB")
    with pytest.raises(InputError, match="100 shards"):
        embedded(edges, tmp_path, plan(parts=100))


def test_limits_are_kept_or_refused(edges: Path, tmp_path: Path) -> None:
    found = embedded(
        edges, tmp_path, plan(parts=None, capacities=[200, 260, 280], technique=parge.HOPE(dim=8), refine="none")
    )
    assert [part.vertices <= part.capacity for part in found.report.parts] == [True] * 3
    assert found.report.reconcile.reconciler == "consensus"
    with pytest.raises(InfeasibleError):
        embedded(edges, tmp_path / "b", plan(parts=None, capacities=[100, 100, 100]))


def test_damaged_folders_of_vectors_are_refused(reference: parge.Embedding, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(InputError, match=MANIFEST):
        parge.Embedding.load(folder)
    for text in ("{", "[]", '{"kind": "parge vectors", "version": 9}', '{"kind": "parge vectors", "version": 1}'):
        (folder / MANIFEST).write_text(text)
        with pytest.raises(InputError):
            parge.Embedding.load(folder)
    body = {"kind": "parge vectors", "version": 1, "rows": 2, "dim": 4}
    for shards in ([{"file": "../x.parquet", "rows": 2}], [{"file": "x.parquet", "rows": 2}], [], [3]):
        (folder / MANIFEST).write_text(json.dumps({**body, "shards": shards}))
        with pytest.raises(InputError):
            parge.Embedding.load(folder)
    parge.Embedding(np.eye(3, 4), [1, 2, 3]).save(folder / "part-00007.parquet")
    (folder / MANIFEST).write_text(json.dumps({**body, "shards": [{"file": "part-00007.parquet", "rows": 2}]}))
    with pytest.raises(InputError, match="3"):
        parge.Embedding.load(folder)


COMMAND = [sys.executable, "-m", "parge"]


def shards_of(pid: int) -> list[psutil.Process]:
    """Return the worker processes below a command."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            if process.name() == "parge-worker":
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.slow
def test_shards_and_commands_that_are_killed_change_no_bit(
    edges: Path, reference: parge.Embedding, tmp_path: Path
) -> None:
    words = ["embed", str(edges), "-o", str(tmp_path / "out"), "--parts", str(PARTS), "--dim", str(DIM), "--sharded"]
    words += ["--param", "walks=2", "--run-dir", str(tmp_path / "run")]
    log = tmp_path / "log"
    with log.open("wb") as file:
        command = subprocess.Popen([*COMMAND, *words], stderr=file, stdout=file)
        killed = _kill_one(command.pid, tmp_path / "run" / "done-read")
        command.wait(240)
    assert command.returncode == 0, log.read_text()
    assert killed
    assert "killed" in log.read_text()
    check_same(parge.Embedding.load(tmp_path / "out"), reference)
    shutil.rmtree(tmp_path / "out")
    shutil.rmtree(tmp_path / "run")
    with log.open("wb") as file:
        command = subprocess.Popen([*COMMAND, *words], stderr=file, stdout=file)
        _wait_for(tmp_path / "run" / "done-divide", command)
        command.send_signal(signal.SIGKILL)
        command.wait(60)
        done = subprocess.run([*COMMAND, *words, "--resume"], stderr=file, stdout=file, timeout=240, check=False)
    assert done.returncode == 0, log.read_text()
    check_same(parge.Embedding.load(tmp_path / "out"), reference)


def _wait_for(place: Path, command: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + 200
    while not place.exists() and time.monotonic() < until and command.poll() is None:
        time.sleep(0.02)


def _kill_one(pid: int, after: Path) -> bool:
    """Kill a shard in the stage that follows."""
    until = time.monotonic() + 200
    while time.monotonic() < until:
        found = shards_of(pid) if after.exists() else []
        if len(found) == PARTS:
            time.sleep(0.3)
            found[-1].kill()
            return True
        time.sleep(0.02)
    return False


def test_a_shard_that_cannot_hold_its_rows_is_refused_before_the_split(
    edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from parge.cluster import run as sharded

    def fails(_self: Any, _mesh: Any) -> Any:
        raise AssertionError("the split has started")

    monkeypatch.setattr(sharded, "split_bytes", lambda arcs, vertices, _parts: 10**9 + 8 * arcs + vertices)
    monkeypatch.setattr(stages.Divide, "__call__", fails)
    with pytest.raises(InfeasibleError, match=r"1\.00 GB.*600 MB"):
        embedded(edges, tmp_path, plan(parts=None, memory="600MB,600MB,600MB"))


@pytest.mark.slow
def test_steps_of_the_pass_subspace_are_kept(edges: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = subspace.leading_eigenpairs
    monkeypatch.setattr(  # no step is the last before the fifth
        subspace, "leading_eigenpairs", lambda *given, **more: pairs(*given, **{**more, "tolerance": -1.0, "steps": 5})
    )
    wanted = plan(technique=parge.Spectral(dim=DIM), refine="subspace")
    kept: list[int] = []

    def counted(self: FolderCheckpoint, step: Any) -> None:
        whole(self, step)
        kept.append(step.next)
        if step.next == 4 and len(kept) < 99:
            raise PargeError("stopped")

    (tmp_path / "a").mkdir()
    expected = embedded(edges, tmp_path / "a", wanted)
    whole = FolderCheckpoint.save_step
    with monkeypatch.context() as patch:
        patch.setattr(FolderCheckpoint, "save_step", counted)
        with pytest.raises(PargeError, match="stopped"):
            embedded(edges, tmp_path, wanted)
        assert {2, 3} <= set(kept)
        kept[:] = [0] * 99
        again = embedded(edges, tmp_path, wanted, resume=True)
    assert kept[99:]
    assert min(kept[99:]) >= 4
    check_same(again, expected)
