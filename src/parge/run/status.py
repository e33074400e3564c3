"""How far a run is, read from its folder alone; nothing is locked or changed."""

import fcntl
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from parge.errors import InputError
from parge.run import arrays, parts
from parge.run.folder import RunFolder


@dataclass(frozen=True)
class PartStatus:
    """One subgraph: planned, written, waiting, damaged or done."""

    index: int
    state: str
    vertices: int
    edges: int
    disk_bytes: int
    seconds: float | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True)
class Status:
    """All subgraphs of a run, and whether somebody is at work on it."""

    parts: tuple[PartStatus, ...]
    technique: str
    at_work: bool
    seconds_left: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def sentence(self) -> str:
        """Say it in words."""
        done = sum(part.state == "done" for part in self.parts)
        text = f"{done} of {len(self.parts)} subgraphs are embedded with {self.technique}"
        if done < len(self.parts):
            text += "; somebody is at work" if self.at_work else "; nobody is at work"
        if self.seconds_left:
            text += f"; about {self.seconds_left:.0f} s of work are left"
        return text


def status(path: Path) -> Status:
    """Return how far the run in a folder is; checksums of arrays are left to who reads them."""
    folder = RunFolder(path)
    if not folder.exists:
        raise InputError(f"{path} holds no run: it has no plan")
    decomposition, facts = folder.load_plan()
    sizes = zip(decomposition.sizes.tolist(), decomposition.edges.tolist(), strict=True)
    found = tuple(_part(folder, i, *size) for i, size in enumerate(sizes))
    done = [part for part in found if part.state == "done"]
    pace = sum(part.seconds or 0.0 for part in done) / max(1, sum(part.edges + part.vertices for part in done))
    left = pace * sum(part.edges + part.vertices for part in found if part.state != "done")
    technique = facts["settings"]["technique"]
    name = technique if isinstance(technique, str) else technique.get("name") or technique.get("path")
    return Status(found, str(name), _at_work(path), left if done else None)


def _part(folder: RunFolder, i: int, vertices: int, edges: int) -> PartStatus:
    place = folder.part(i)
    disk = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) if place.exists() else 0
    if not arrays.exists(place / parts.RESULT):
        state = "waiting" if arrays.exists(place / parts.SUBGRAPH) else "planned"
        return PartStatus(i, state, vertices, edges, disk)
    try:
        facts = parts.load_facts(place)
    except arrays.DamagedError:
        return PartStatus(i, "damaged", vertices, edges, disk)
    return PartStatus(i, "done", vertices, edges, disk, facts["seconds"], facts["peak_bytes"])


def _at_work(path: Path) -> bool:
    try:
        descriptor = os.open(path / "lock", os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
