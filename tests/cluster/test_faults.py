"""Shards that are killed at every kind of step: at most that step is done again, and no bit changes."""

import os
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import psutil
import pytest

import parge
from parge.cluster import run as sharded
from parge.cluster import split, stages
from parge.cluster.journal import FolderJournal
from parge.cluster.mesh import Mesh, run_local
from parge.cluster.run import embed_sharded
from parge.cluster.source import Source, edge_files
from parge.graph.generate import planted

PARTS = 3
MERGED_EARLY = True


def write_edges(folder: Path) -> Path:
    table = planted(400, 2400, seed=2).graph.to_frame()
    path = folder / "edges.txt"
    path.write_text(
        "".join(f"{u} {v}\n" for u, v in zip(*(table.column(i).to_pylist() for i in range(2)), strict=True))
    )
    return path


def embedded(edges: Path, place: Path, engine: str, *, parts: int = PARTS, **more: Any) -> tuple[parge.Embedding, Any]:
    request = parge.Plan(technique=parge.DeepWalk(dim=8, walks=2), parts=parts, engine=engine)
    report = embed_sharded(Source(edge_files(edges)), request, place / "out", run_dir=place / "run", **more)
    return parge.Embedding.load(place / "out"), report


@dataclass(frozen=True)
class Killed:
    """A stage in which shards kill themselves, each at one step, once; what they compute is written down.

    On Ray, `with_ray` also kills the process of Ray that supervises the shard.
    """

    stage: Any
    notes: Path
    kills: dict[str, int]
    with_ray: bool = False

    def __call__(self, mesh: Mesh) -> dict[str, Any]:
        from parge.cluster import split, stages
        from parge.cluster.journal import FolderJournal
        from parge.refine.whiten import Whiten

        split._GROUPS_A_PART = split._FEWEST_A_PART

        name = type(self.stage).__name__
        kept, round_before, ship_before = FolderJournal.step, Whiten._round, stages.redistribute

        def step(journal: FolderJournal, mesh: Mesh, step: str, compute: Any) -> Any:
            def noted() -> Any:
                self.note(mesh.rank, step)
                return compute()

            return kept(journal, mesh, step, noted)

        def rounded(refiner: Whiten, state: Any, *more: Any) -> Any:
            self.note(mesh.rank, f"round-{state.done}")
            return round_before(refiner, state, *more)

        def shipped(mesh: Mesh, *more: Any) -> Any:
            self.note(mesh.rank, "ship")
            return ship_before(mesh, *more)

        FolderJournal.step, Whiten._round, stages.redistribute = step, rounded, shipped  # type: ignore[method-assign, assignment]
        try:
            self.note(mesh.rank, name)
            return self.stage(mesh)  # type: ignore[no-any-return]
        finally:
            FolderJournal.step, Whiten._round, stages.redistribute = kept, round_before, ship_before  # type: ignore[method-assign]

    def note(self, rank: int, step: str) -> None:
        """Write a step down, and die if this is the time for it."""
        with (self.notes / f"{rank}").open("a") as file:
            file.write(f"{step}\n")
        done = self.notes / f"killed-{step}"
        if self.kills.get(step) == rank and not done.exists():
            done.touch()
            for process in psutil.Process().parents() if self.with_ray else ():
                if process.name().startswith("ray::"):
                    process.kill()
            os.kill(os.getpid(), signal.SIGKILL)

    def counts(self, rank: int) -> Counter[str]:
        return Counter((self.notes / f"{rank}").read_text().split())


KILLS = {"Read": 0, "level-1": 1, "parts-0": 2, "ship": 0, "Cut": 1, "round-2": 2}


def check_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, *, with_ray: bool = False) -> list[str]:
    """Embed while shards are killed at each kind of step: no bit changes. Return what the report says.

    Graphs are merged before they are split, however small.
    """
    monkeypatch.setattr(split, "_GROUPS_A_PART", split._FEWEST_A_PART)
    edges = write_edges(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "notes").mkdir()
    expected, _ = embedded(edges, tmp_path / "a", "serial")
    cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["x"]))
    for stage in ("Read", "Divide", "Cut", "Finish"):
        before = getattr(stages, stage)
        monkeypatch.setattr(
            sharded, stage, lambda *given, before=before: Killed(before(*given), tmp_path / "notes", KILLS, with_ray)
        )
    found, report = embedded(edges, tmp_path / "b", engine)
    assert found.ids.tolist() == expected.ids.tolist()
    assert np.array_equal(found.vectors, expected.vectors)
    assert {file.name for file in (tmp_path / "notes").glob("killed-*")} == {f"killed-{step}" for step in KILLS}
    assert len(report.retries) == len(KILLS)
    whole = {"Read", "Divide", "Cut", "Finish", "first"}  # started again, to read what was kept
    for rank in range(PARTS):
        counts = Killed(None, tmp_path / "notes", KILLS).counts(rank)
        assert {"level-1", "coarsest", "parts-0", "ship", "round-0"} <= counts.keys()
        for step, times in counts.items():
            assert step in whole or times <= (2 if step in KILLS else 1), (rank, step)
    return list(report.retries)


@pytest.mark.slow
def test_a_shard_killed_at_each_kind_of_step_costs_that_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_kills(tmp_path, monkeypatch, "processes")


class StoppedError(Exception):
    """The process ends here."""


@pytest.mark.slow
@pytest.mark.parametrize("last", ["level-1", "coarsest", "parts-0"])
def test_steps_that_all_shards_kept_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    edges, computed = write_edges(tmp_path), list[str]()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    expected, _ = embedded(edges, tmp_path / "a", "serial")
    whole = FolderJournal.step

    def stops(journal: FolderJournal, mesh: Mesh, name: str, compute: Any) -> Any:
        found = whole(journal, mesh, name, lambda: [computed.append(name), compute()][1])
        mesh.share()
        if name == last and "stopped" not in computed and mesh.rank == 1:
            raise StoppedError
        return found

    with monkeypatch.context() as patch:
        patch.setattr(FolderJournal, "step", stops)
        with pytest.raises(StoppedError):
            embedded(edges, tmp_path / "b", "serial")
        before = {name for name in computed if name != "first"}
        assert last in before
        computed[:] = ["stopped"]
        found, _ = embedded(edges, tmp_path / "b", "serial", resume=True)
    assert before.isdisjoint(computed)
    assert np.array_equal(found.vectors, expected.vectors)
    assert not (tmp_path / "b" / "run" / "steps").exists() or not list((tmp_path / "b" / "run" / "steps").iterdir())


def test_a_damaged_or_a_missing_step_is_computed_again(tmp_path: Path) -> None:
    computed = []

    def program(mesh: Mesh) -> list[int]:
        journal = FolderJournal(tmp_path / f"s-{mesh.rank}")

        def compute() -> dict[str, Any]:
            computed.append(mesh.rank)
            return {"part": np.full(3, mesh.count(1), np.int32)}

        return list(journal.step(mesh, "one", compute)["part"].tolist())

    assert run_local(3, program) == [[3, 3, 3]] * 3
    assert run_local(3, program) == [[3, 3, 3]] * 3
    assert sorted(computed) == [0, 1, 2]
    file = tmp_path / "s-1" / "one" / "part.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert run_local(3, program) == [[3, 3, 3]] * 3
    assert sorted(computed) == [0, 0, 1, 1, 2, 2]
    for rank in range(3):
        FolderJournal(tmp_path / f"s-{rank}").discard()
    assert list(tmp_path.iterdir()) == []
