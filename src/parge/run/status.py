"""The progress of a run, read from its folder alone; nothing is locked or changed."""

import contextlib
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parge.run import arrays, parts
from parge.run.folder import RunFolder
from parge.run.lock import holder
from parge.run.schema import RESULT, SPACE, SUBGRAPH
from parge.show.text import printable

# From this share on, a worker's progress says how long it will take.
_MEASURED = 0.02


@dataclass(frozen=True)
class PartStatus:
    """One subgraph."""

    index: int
    # ``planned`` (not written yet), ``waiting``, ``running``, ``failed``, ``damaged`` (its files cannot be used and
    # will be written again) or ``done``.
    state: str
    # Its size.
    vertices: int
    edges: int
    disk_bytes: int  # size of its folder on disk
    # Time and memory of the embedding, if it is done.
    seconds: float | None = None
    peak_bytes: int | None = None
    share: float = 0.0  # share that is done, 0 to 1, as its worker reported
    elapsed: float | None = None  # seconds since its worker started
    worker: str = ""  # the process that embeds it
    message: str = ""  # why it failed

    @property
    def work(self) -> int:
        """Measure of the work; the time of an embedding is roughly proportional to it."""
        return self.vertices + self.edges


@dataclass(frozen=True)
class Status:
    """All subgraphs of a run, and whether a process is working on it.

    A `complete` run has its space, which is written last, after the vectors.
    """

    parts: tuple[PartStatus, ...]
    technique: str
    at_work: bool
    seconds_left: float | None
    notices: tuple[str, ...] = ()
    complete: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return plain values, with how many subgraphs are in which state."""
        counts = {state: self.count(state) for state in dict.fromkeys(part.state for part in self.parts)}
        return {**asdict(self), "counts": counts}

    def count(self, state: str) -> int:
        """Return how many subgraphs are in a state."""
        return sum(part.state == state for part in self.parts)

    def sentence(self) -> str:
        """Return the status in one sentence."""
        done = self.count("done")
        text = f"{done} of {len(self.parts)} subgraphs {'is' if done == 1 else 'are'} embedded with {self.technique}"
        for state in ("running", "failed", "damaged"):
            if self.count(state):
                text += f", {self.count(state)} {state}"
        if done < len(self.parts):
            text += "; a process is at work" if self.at_work else "; no process is at work"
        if self.seconds_left:
            text += f"; about {self.seconds_left:.0f} s left"
        return text


def status(path: Path) -> Status:
    """Return the progress of the run in a folder; a result counts as done only if its checksum is right."""
    folder = RunFolder(path)
    folder.check_planned()
    metadata = folder.plan_metadata()
    found = tuple(
        _part(folder, metadata.run, i, *size) for i, size in enumerate(zip(metadata.sizes, metadata.edges, strict=True))
    )
    running = sum(part.state == "running" for part in found)
    at_work = holder(path) is not None or running > 0
    left = _seconds_left(found, max(1, running))
    complete = arrays.exists(path / SPACE) and all(part.state == "done" for part in found)
    return Status(found, printable(metadata.technique.name, 100), at_work, left, folder.notices(), complete)


def _seconds_left(found: tuple[PartStatus, ...], jobs: int) -> float | None:
    """Return the time for the rest with as many jobs at once as now, at the pace so far."""
    paced = [(part.seconds, part.work) for part in found if part.seconds is not None]
    paced += [(part.elapsed / part.share, part.work) for part in found if part.elapsed and part.share >= _MEASURED]
    if not paced:
        return None
    pace = sum(seconds for seconds, _ in paced) / max(1, sum(work for _, work in paced))
    left = [_left(part, pace) for part in found if part.state != "done"]
    return max(sum(left) / jobs, *left, 0.0)


def _left(part: PartStatus, pace: float) -> float:
    """Return the expected time of a subgraph: from the progress of its own worker, or at the pace of the others."""
    own = part.elapsed / part.share if part.elapsed and part.share >= _MEASURED else pace * part.work
    return own * (1 - part.share)


def _part(folder: RunFolder, run: str, i: int, vertices: int, edges: int) -> PartStatus:
    place = folder.part(i)
    disk = _disk_bytes(place)

    def found(state: str, **more: Any) -> PartStatus:
        return PartStatus(i, state, vertices, edges, disk, **more)

    message = ""
    if arrays.exists(place / RESULT):
        try:
            metadata = parts.load_result(place).metadata
        except arrays.DamagedError as error:
            message = str(error)
        else:
            if (metadata.run, metadata.index) == (run, i):
                return found("done", seconds=metadata.seconds, peak_bytes=metadata.peak_bytes, share=1.0)
            message = "its result belongs to another run"
    worker = holder(place)
    if worker is not None:
        elapsed = None if worker.since is None else max(0.0, time.time() - worker.since)
        return found("running", share=worker.share, elapsed=elapsed, worker=str(worker))
    if message:
        return found("damaged", message=message)
    message = parts.failure(place) or ""
    if message:
        return found("failed", message=message)
    return found("waiting" if arrays.exists(place / SUBGRAPH) else "planned")


def _disk_bytes(place: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):  # files come and go while a worker is at it
        for file in place.rglob("*"):
            with contextlib.suppress(OSError):
                total += file.lstat().st_size if file.is_file() else 0
    return total
