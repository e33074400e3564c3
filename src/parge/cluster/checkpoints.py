"""What shards have saved in files, read back and checked: by the next stage, or by a run that is resumed."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TypeVar

import numpy as np

from parge.cluster.checks import check_range, check_rows, demand, refusing
from parge.cluster.ingest import Shard
from parge.cluster.mesh import Mesh
from parge.cluster.redistribute import PartRows
from parge.cluster.run_folder import Folders
from parge.linalg.subspace import Step
from parge.linalg.whitening import Turn
from parge.refine.shards import Checkpoint, PassState
from parge.run import arrays
from parge.run.arrays import DamagedError
from parge.run.codec import Arrays, ids_of
from parge.run.schema import PASS, ROWS, SHARD
from parge.storage import row_blocks
from parge.typing import IdArray
from parge.values import Value

# Codes looked at together.
_CODES = 1 << 20

# A pass is saved after this many rounds: writing the vectors of 10 M edges took 2.1 s of rounds of 30 s.
_SAVED_ROUNDS = 2


def load_shard(folder: Path, n_vertices: int) -> Shard:
    """Return what a shard has read, mapped from its files."""
    content, _ = arrays.load(folder, SHARD)
    with refusing(folder):
        check_rows(content, n_vertices)
        names, indptr = np.array(content["names"]), np.array(content["indptr"])
        return Shard(names, _ids(content), indptr, content["indices"], content.get("weights"))


def load_rows(folder: Path, index: int, n_vertices: int, n_parts: int) -> PartRows:
    """Return the rows of a part, mapped from its files."""
    content, _ = arrays.load(folder, ROWS)
    with refusing(folder):
        check_rows(content, n_vertices)
        codes = content["codes"]
        for block in row_blocks(codes.size, _CODES):
            check_range(codes[block], 2 * n_parts, "a neighbour is in no part")
        return PartRows(
            index,
            np.array(content["names"]),
            np.array(content["is_anchor"]),
            _ids(content),
            np.array(content["indptr"]),
            content["indices"],
            codes,
            content.get("weights"),
        )


@dataclass(frozen=True, kw_only=True)
class _SavedRounds(Value):
    """The numbers of a saved pass; its arrays are next to them."""

    run: str
    done: int
    rank: int
    changes: tuple[float, ...]
    length: float
    is_over: bool

    def check(self, shapes: Mapping[str, tuple[int, ...]], shape: tuple[int, ...]) -> None:
        """Raise ValueError unless it fits vectors of a shape."""
        dim = shape[1]
        expected = {"vectors": shape, "mean": (dim,), "matrix": (dim, dim)}
        demand(dict(shapes) == expected, "its arrays are not those of the pass")
        demand(self.done > 0 and 0 <= self.rank <= dim, "a number of the pass is too small or too large")
        demand(all(map(isfinite, (self.length, *self.changes))), "a number of the pass is not finite")


@dataclass(frozen=True, kw_only=True)
class _SavedStep(Value):
    """The numbers of a saved step; its columns are next to them."""

    run: str
    next: int
    before: float
    low: float
    high: float

    def check(self, shapes: Mapping[str, tuple[int, ...]], shape: tuple[int, ...]) -> None:
        """Raise ValueError unless it fits columns of a shape."""
        demand(dict(shapes) == {"vectors": shape}, "its columns are not those of the pass")
        demand(self.next > 0, "a number of the pass is too small")
        demand(all(map(isfinite, (self.before, self.low, self.high))), "a number of the pass is not finite")


S = TypeVar("S", _SavedRounds, _SavedStep)
T = TypeVar("T")


@dataclass(frozen=True)
class FolderCheckpoint(Checkpoint):
    """Saves the rounds or steps of a pass in two folders of a shard by turns, so that one is complete at any moment."""

    mesh: Mesh  # this shard, and the others: all of them resume from the same round
    folders: Folders  # the run folder
    run: str  # the id of the run; what another run has saved is not loaded
    shape: tuple[int, ...]  # of the vectors of this shard

    def save(self, state: PassState) -> None:
        """Write a state, after every second round."""
        if state.done % _SAVED_ROUNDS or state.turn.matrix is None:
            return
        about = {
            "run": self.run,
            "done": state.done,
            "rank": state.turn.rank,
            "changes": list(state.changes),
            "length": state.length,
            "is_over": state.is_over,
        }
        content: Arrays = {"vectors": state.rows, "mean": state.turn.mean, "matrix": state.turn.matrix}
        arrays.save(self.folders.kept(self.mesh.rank, state.done // _SAVED_ROUNDS % 2), PASS, content, about)

    def load(self) -> PassState | None:
        """Return the last state that all shards have saved, if there is one, and that all take for the end or not."""
        found = [state for place in range(2) if (state := self._rounds(place)) is not None]
        return self._last({2 * state.done + state.is_over: state for state in found})

    def save_step(self, step: Step) -> None:
        """Write a step."""
        about = {"run": self.run, "next": step.next, "before": step.before}
        about |= dict(zip(("low", "high"), map(float, step.interval), strict=True))
        arrays.save(self.folders.kept(self.mesh.rank, step.next % 2), PASS, {"vectors": step.basis}, about)

    def load_step(self, width: int) -> Step | None:
        """Return the last step that all shards have saved, if there is one."""
        found = [step for place in range(2) if (step := self._step(place, width)) is not None]
        return self._last({step.next: step for step in found})

    def _last(self, there: dict[int, T]) -> T | None:
        """Return what has the highest number of those that all shards have."""
        mine = np.array([*there, *[0] * (2 - len(there))], np.int64)
        common = set.intersection(*(set(found[0].tolist()) for found in self.mesh.share(mine))) - {0}
        return there[max(common)] if common else None

    def _rounds(self, place: int) -> PassState | None:
        found = self._load(place, _SavedRounds, self.shape)
        if found is None:
            return None
        saved, content = found
        turn = Turn(np.array(content["mean"]), np.array(content["matrix"]), saved.rank, is_narrow=True)
        return PassState(
            saved.done, np.array(content["vectors"]), turn, saved.changes, float(saved.length), saved.is_over
        )

    def _step(self, place: int, width: int) -> Step | None:
        found = self._load(place, _SavedStep, (self.shape[0], width))
        if found is None:
            return None
        saved, content = found
        interval = float(saved.low), float(saved.high)
        return Step(saved.next, np.array(content["vectors"]), float(saved.before), interval)

    def _load(self, place: int, kind: type[S], shape: tuple[int, ...]) -> tuple[S, Arrays] | None:
        """Return what a folder has, if it is whole and of this run."""
        folder = self.folders.kept(self.mesh.rank, place)
        if not arrays.exists(folder):
            return None
        try:
            content, about = arrays.load(folder, PASS)
            with refusing(folder):
                saved = kind.from_json(about)
                saved.check({name: array.shape for name, array in content.items()}, shape)
        except DamagedError:
            return None
        return (saved, content) if saved.run == self.run else None


def _ids(content: Arrays) -> IdArray:
    found = ids_of(content)
    if found is None:
        raise ValueError("it lacks the ids of its vertices")
    demand(len(found) == content["names"].size, "the number of its ids is not that of its vertices")
    return found
