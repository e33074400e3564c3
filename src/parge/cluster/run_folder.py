"""The folder of a run in shards: what it may hold before a run starts or resumes, and how its files are removed.

`parge embed --sharded` calls these before and after the run (`parge.cluster.run`).
"""

import contextlib
import os
from pathlib import Path

from parge.cluster.journal import FolderJournal
from parge.errors import InputError, PargeError
from parge.run import arrays
from parge.run.lock import LOCK, hold, holder
from parge.run.metadata import PART_NOTES
from parge.run.schema import (
    MERGED,
    MESH,
    PARTS,
    PLAN,
    RESULT,
    SHARDED,
    SHARDED_FOLDERS,
    SHARED,
    STEPS,
    SUBGRAPH,
    check_sharded_run,
)

READ, DIVIDE, CUT, FINISH = "read", "divide", "cut", "finish"
"""The stages that shards take together; `done-NAME` in the run folder has what they answered."""


def check_run_folder(path: Path, *, resume: bool) -> None:
    """Refuse a folder in which a run in shards can neither start nor resume; nothing in it is changed."""
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not path.is_dir():
        raise InputError(f"{path} cannot be a run folder: it is not a folder. Choose another name.")
    if not arrays.exists(path / PLAN):
        strange = [entry.name for entry in path.iterdir() if entry.name != LOCK]
        if strange:
            raise InputError(f"{path} is not empty and holds no run of parge. Choose a new or an empty folder.")
        return
    arrays.load(path / PLAN, SHARDED, arrays=False)
    check_sharded_run(path)
    if not resume:
        raise InputError(
            f"{path} holds a run already. Resume it with --resume (in Python, resume=True), use another --run-dir, or "
            f"delete {path} if you do not need it"
        )


def is_fruitless(path: Path) -> bool:
    """Return whether a folder holds a run in shards that failed before its graph was read, and nothing else.

    The corrected command may then begin anew: `discard` removes what the run wrote. False where somebody is at work.
    """
    if path.is_symlink() or not arrays.exists(path / PLAN) or holder(path) is not None:
        return False
    try:
        arrays.load(path / PLAN, SHARDED, arrays=False)
        check_sharded_run(path)
    except PargeError:
        return False  # the command itself says what is wrong
    known = {PLAN, LOCK, PARTS, *SHARDED_FOLDERS}
    return all(entry.name in known for entry in path.iterdir())


def discard(folder: Path) -> str | None:
    """Remove the files of a run in shards, and the folder if it is then empty; return a notice if it is kept.

    Only what `check_sharded_run` knows is removed, no link is followed, and nobody else is at work meanwhile.
    """
    with contextlib.suppress(PargeError, OSError):
        check_sharded_run(folder)
        with hold(folder, patience=0):
            _remove(folder)
        folder.rmdir()
    return f"{folder} is kept: it holds files that this run did not write" if folder.exists() else None


def _remove(folder: Path) -> None:
    """Remove the folders of arrays of a run that was checked; its plan last, so that it can be removed again."""
    for steps in _inside(folder / STEPS):
        FolderJournal(steps).discard()
    for rendezvous in _inside(folder / MESH):
        for file in rendezvous.iterdir():
            file.unlink(missing_ok=True)
    for part in _inside(folder / PARTS):
        for name in (SUBGRAPH, RESULT):
            arrays.discard(part / name)
        for name in (LOCK, *PART_NOTES):
            (part / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            part.rmdir()
    for name in SHARDED_FOLDERS:
        for inner in _inside(folder / name):
            arrays.discard(inner)
    for name in (PARTS, *SHARDED_FOLDERS):
        with contextlib.suppress(OSError):
            (folder / name).rmdir()
    for place in [*(folder / f"done-{name}" for name in (READ, DIVIDE, CUT, FINISH)), folder / MERGED, folder / SHARED]:
        arrays.discard(place)
    arrays.discard(folder / PLAN)


def _inside(folder: Path) -> list[Path]:
    """Return the real folders in a folder; none if it is a link, or is not there."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and not entry.is_symlink()]
