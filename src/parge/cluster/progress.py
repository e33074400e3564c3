"""How far a run in shards is, read from its folder alone: `parge status DIR`. Nothing is locked or changed.

A stage counts as done if what its shards answered is intact. Of the files that the next stage reads, manifests are
checked, and how long each file is. Checksums of large files are compared when the run is resumed.
"""

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parge.cluster.run_folder import CUT, DIVIDE, FINISH, READ, Folders, inside, plan_in, settings_in
from parge.cluster.stage_results import CutResult, DivideResult, FinishResult, ReadResult, ShardResult, saved_results
from parge.run import arrays, parts
from parge.run.folder import is_kind
from parge.run.lock import holder
from parge.run.metadata import described_in
from parge.run.schema import DONE, PARTS, PASS, PLAN, ROWS, SHARD, SHARDED, STEPS, SUBGRAPH, check_sharded_run
from parge.show.text import count, printable

STAGES = ("read", "decompose", "prepare", "embed", "refine")
"""The stages, in order, as a run names them."""

_MARKS: dict[str, tuple[str, type[ShardResult]]] = {
    "read": (READ, ReadResult),
    "decompose": (DIVIDE, DivideResult),
    "prepare": (CUT, CutResult),
    "refine": (FINISH, FinishResult),
}


@dataclass(frozen=True)
class ShardedStatus:
    """How far a run in shards is."""

    technique: str  # embeds the parts
    shards: int  # how many there are; 0 while the graph is not read
    done: tuple[str, ...]  # the stages that are done
    stage: str | None  # the stage that the run is in, or begins with when it is resumed; None if all are done
    kept: int  # what all shards have kept of that stage: steps of the split, embedded subgraphs, or rounds of the pass
    at_work: bool  # whether a process works in the folder
    damaged: str | None = None  # why the run cannot be resumed, where a file that it needs is damaged
    command: tuple[str, ...] = ()  # the words that started the run, secrets left out; none if Python did
    folder: str = ""  # the folder that it was started in

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
        if self.damaged is not None:
            text += f"; {self.stage}: damaged"
        elif self.stage is not None:
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
    about, settings = plan_in(path), settings_in(path)
    described = described_in(settings)
    name = settings.get("technique") if described is None else described.name
    done, shards, damaged = _done(path)
    kept = {
        "decompose": _steps(path, shards),
        "embed": sum(parts.whole_result(part) is not None for part in inside(path / PARTS)),
        "refine": _rounds(Folders(path), shards),
    }
    if "refine" in done or ("prepare" in done and kept["embed"] == shards):
        done.insert(3, "embed")
    stage = next((stage for stage in STAGES if stage not in done), None)
    command = about.get("command")
    return ShardedStatus(
        printable(str(name), 100),
        shards,
        tuple(done),
        stage,
        kept.get(stage or "", 0),
        holder(path) is not None,
        damaged or _input_damaged(path, stage, shards),
        tuple(map(str, command)) if isinstance(command, list) else (),
        str(about.get("folder", "")),
    )


def _done(path: Path) -> tuple[list[str], int, str | None]:
    """Return the stages that are done, the number of shards, and what is wrong with the answers of the next."""
    done, shards = list[str](), 0
    for stage, (mark, kind) in _MARKS.items():
        place = path / f"done-{mark}"
        if not arrays.exists(place):
            break
        try:
            metadata = arrays.load(place, DONE)[1]
            answers = metadata.get("answers")
            shards = shards or (len(answers) if isinstance(answers, list) else 0)
            saved_results(kind, mark, metadata, shards)
        except arrays.DamagedError as error:
            return done, shards, printable(error, 500)
        done.append(stage)
    return done, shards, None


def _input_damaged(path: Path, stage: str | None, shards: int) -> str | None:
    """Return what is wrong with the files that a stage begins from; None if they seem whole."""
    folders = Folders(path)
    inputs: dict[str, list[tuple[Callable[[int], Path], str]]] = {
        "decompose": [(folders.shard, SHARD)],
        "prepare": [(folders.rows, ROWS)],
        "embed": [(lambda rank: folders.part(rank) / SUBGRAPH, SUBGRAPH), (folders.rows, ROWS)],
        "refine": [(folders.rows, ROWS)],
    }
    try:
        for place, kind in inputs.get(stage or "", []):
            for rank in range(shards):
                arrays.check_sizes(place(rank), kind)
    except arrays.DamagedError as error:
        return printable(error, 500)
    return None


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
