"""How far a run in shards is, read from its folder alone: `parge status DIR`. Nothing is locked or changed."""

import contextlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parge.cluster.run_folder import CUT, DIVIDE, FINISH, READ, Folders, inside, settings_in
from parge.run import arrays, parts
from parge.run.folder import is_kind
from parge.run.lock import holder
from parge.run.metadata import described_in
from parge.run.schema import DONE, PARTS, PASS, PLAN, SHARDED, STEPS, check_sharded_run
from parge.text import count, printable

STAGES = ("read", "decompose", "prepare", "embed", "refine")
"""The stages, in order, as a run names them."""

_MARKS = {"read": READ, "decompose": DIVIDE, "prepare": CUT, "refine": FINISH}


@dataclass(frozen=True)
class ShardedStatus:
    """How far a run in shards is.

    Parameters
    ----------
    technique : str
        Embeds the parts.
    shards : int
        How many there are; 0 while the graph is not read.
    done : tuple of str
        The stages that are done.
    stage : str, optional
        The stage that the run is in, or begins with when it is resumed; None if all are done.
    kept : int
        What all shards have kept of that stage: steps of the split, embedded subgraphs, or rounds of the pass.
    at_work : bool
        Whether a process works in the folder.
    """

    technique: str
    shards: int
    done: tuple[str, ...]
    stage: str | None
    kept: int
    at_work: bool

    @property
    def complete(self) -> bool:
        """Whether all stages are done."""
        return self.stage is None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "sharded": True, "complete": self.complete}

    def sentence(self) -> str:
        """Return the status in one sentence."""
        shards = count(self.shards, "shard") if self.shards else "shards"
        text = f"a run in {shards} with {self.technique}: {', '.join(self.done) or 'no stage'} done"
        if self.stage is not None:
            what = {"decompose": "step", "embed": "subgraph", "refine": "round"}.get(self.stage)
            kept = f" ({count(self.kept, what)} kept)" if what else ""
            text += f"; {'now' if self.at_work else 'next'}: {self.stage}{kept}"
        return f"{text}; {'a' if self.at_work else 'no'} process is at work"


def is_sharded(path: Path) -> bool:
    """Return whether a folder holds a run in shards."""
    return is_kind(path / PLAN, SHARDED)


def sharded_status(path: Path) -> ShardedStatus:
    """Return how far the run in a folder is."""
    check_sharded_run(path)
    settings = settings_in(path)
    described = described_in(settings)
    name = settings.get("technique") if described is None else described.name
    shards = _shards(path) if arrays.exists(path / f"done-{READ}") else 0
    kept = {
        "decompose": _steps(path, shards),
        "embed": sum(parts.whole_result(part) is not None for part in inside(path / PARTS)),
        "refine": _rounds(Folders(path), shards),
    }
    done = [stage for stage, mark in _MARKS.items() if arrays.exists(path / f"done-{mark}")]
    if "refine" in done or ("prepare" in done and kept["embed"] == shards):
        done.insert(3, "embed")
    stage = next((stage for stage in STAGES if stage not in done), None)
    who = holder(path)
    return ShardedStatus(
        printable(str(name), 100), shards, tuple(done), stage, kept.get(stage or "", 0), who is not None
    )


def _shards(path: Path) -> int:
    answers = arrays.load(path / f"done-{READ}", DONE)[1].get("answers")
    return len(answers) if isinstance(answers, list) else 0


def _steps(path: Path, shards: int) -> int:
    """Return how many steps of a split all shards have kept."""
    found: list[set[tuple[str, str]]] = [set() for _ in range(shards)]
    for place in inside(path / STEPS):
        key, _, rank = place.name.rpartition("-")
        if int(rank) < shards:
            found[int(rank)] |= {(key, step.name) for step in inside(place) if arrays.exists(step)}
    return len(set.intersection(*found)) if found else 0


def _rounds(folders: Folders, shards: int) -> int:
    """Return the last round, or step of a subspace, that all shards have kept."""
    found = [set(_numbers(folders.kept(rank, place) for place in range(2))) for rank in range(shards)]
    return max(set.intersection(*found), default=0) if found else 0


def _numbers(places: Iterable[Path]) -> Iterable[int]:
    for place in filter(arrays.exists, places):
        with contextlib.suppress(arrays.DamagedError):
            about = arrays.load(place, PASS, arrays=False)[1]
            number = about.get("done", about.get("next"))
            if isinstance(number, int):
                yield number
