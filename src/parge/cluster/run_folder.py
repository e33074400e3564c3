"""The folder of a run in shards: what it may hold before a run starts or resumes, and how its files are removed.

`parge embed --sharded` calls these before and after the run (`parge.cluster.run`).
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parge.cluster.journal import FolderJournal
from parge.errors import InputError
from parge.run import arrays, parts
from parge.run.folder import RunFolder, check_same, emptied, has_a_run, is_folder, is_left
from parge.run.lock import LOCK
from parge.run.schema import (
    FETCHED,
    MERGED,
    MESH,
    PARTS,
    PLAN,
    SHARDED,
    SHARDED_FOLDERS,
    SHARED,
    STEPS,
    TEMPORARY_OF_ALL_SHARDS,
    TEMPORARY_OF_SHARDS,
    check_sharded_run,
    check_unplanned,
)
from parge.storage import current_folder

READ, DIVIDE, CUT, FINISH = "read", "divide", "cut", "finish"
"""The stages that shards take together; `done-NAME` in the run folder has what they answered."""


@dataclass(frozen=True)
class Folders:
    """Where the shards of a run keep what they have."""

    path: Path

    def shard(self, rank: int) -> Path:
        """Return the folder of what a shard has read."""
        return self.path / "shards" / f"{rank:03d}"

    def rows(self, index: int) -> Path:
        """Return the folder of the rows of a part."""
        return self.path / "rows" / f"{index:03d}"

    def part(self, index: int) -> Path:
        """Return the part folder, as every run has it."""
        return RunFolder(self.path).part(index)

    def steps(self, key: str, rank: int) -> Path:
        """Return the folder in which a shard keeps the steps of a split."""
        return self.path / STEPS / f"{key}-{rank:03d}"

    def kept(self, index: int, place: int) -> Path:
        """Return one of the two folders in which the vectors of a part are kept during a pass."""
        return self.path / "pass" / f"{index:03d}-{place}"

    @property
    def fetched(self) -> Path:
        """The folder of files that were fetched to be read."""
        return self.path / FETCHED / "files"

    @property
    def merged(self) -> Path:
        """The folder of the weights between landmarks."""
        return self.path / MERGED

    @property
    def shared(self) -> Path:
        """The folder of what all workers get."""
        return self.path / SHARED


def check_run_folder(path: Path, *, resume: bool) -> None:
    """Refuse a folder in which a run in shards can neither start nor resume; nothing in it is changed."""
    if not is_folder(path):
        return
    if path.is_symlink():
        raise InputError(f"{path} cannot be the folder of a run in shards: it is a link. Choose another name.")
    if not arrays.exists(path / PLAN):
        check_unplanned(path, lambda graph: False)
        return
    _check(path)
    if not resume:
        raise has_a_run(path)


def _check(path: Path) -> None:
    arrays.load(path / PLAN, SHARDED, arrays=False)
    check_sharded_run(path)


def plan_in(path: Path) -> dict[str, Any]:
    """Return what the plan of the run in a folder says: its settings, and the command that started it, if one did."""
    return arrays.load(path / PLAN, SHARDED, arrays=False)[1]


def settings_in(path: Path) -> dict[str, Any]:
    """Return the settings of the run in a folder."""
    found = plan_in(path).get("settings")
    if not isinstance(found, dict):
        raise arrays.DamagedError(f"{path / PLAN} lacks the settings of the run. Use another run folder.")
    return found


def keep_settings(folder: Path, settings: dict[str, Any], command: Sequence[str]) -> None:
    """Store what determines the result of a new run, and how it was started; refuse to resume one that differs."""
    if arrays.exists(folder / PLAN):
        check_same(settings_in(folder), settings, folder)
        return
    started = {"command": list(command), "folder": str(current_folder() or "")} if command else {}
    arrays.save(folder / PLAN, SHARDED, {}, {"settings": settings, **started})


def failed_before_reading(path: Path) -> bool:
    """Return whether a folder holds a run in shards that failed before its graph was read, and nothing else.

    The corrected command may then start again: `discard` removes what the run wrote. False where a process is at work.
    """
    known = {PLAN, LOCK, PARTS, *SHARDED_FOLDERS}
    return is_left(path, lambda: _check(path)) and all(entry.name in known for entry in path.iterdir())


def sweep(folder: Path) -> None:
    """Remove temporary files and folders that killed processes of a run in shards left; no link is followed."""
    RunFolder(folder).sweep()
    arrays.sweep(folder, TEMPORARY_OF_ALL_SHARDS)
    for place in [folder / name for name in SHARDED_FOLDERS] + inside(folder / STEPS):
        if place.is_dir() and not place.is_symlink():
            arrays.sweep(place, TEMPORARY_OF_SHARDS)


def discard(folder: Path) -> str | None:
    """Remove the files of a run in shards, and the folder if it is then empty; return a notice if it is kept.

    Only what `check_sharded_run` knows is removed, no link is followed, and the folder is locked meanwhile.
    """
    return emptied(folder, lambda: _remove(folder))


def _remove(folder: Path) -> None:
    """Check a run, then remove its folders of arrays; its plan last, so that it can be removed again."""
    check_sharded_run(folder)
    sweep(folder)
    for steps in inside(folder / STEPS):
        FolderJournal(steps).discard()
    for files in (*inside(folder / MESH), *inside(folder / FETCHED)):
        remove_files(files)
    for part in inside(folder / PARTS):
        parts.remove(part)
    for name in SHARDED_FOLDERS:
        for inner in inside(folder / name):
            arrays.discard(inner)
    for name in (PARTS, *SHARDED_FOLDERS):
        with contextlib.suppress(OSError):
            (folder / name).rmdir()
    for place in [*(folder / f"done-{name}" for name in (READ, DIVIDE, CUT, FINISH)), folder / MERGED, folder / SHARED]:
        arrays.discard(place)
    arrays.discard(folder / PLAN)


def remove_files(folder: Path) -> None:
    """Remove plain files of a folder, and the folder if it is then empty."""
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


def inside(folder: Path) -> list[Path]:
    """Return the real folders in a folder; none if it is a link, or is not there."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and not entry.is_symlink()]
