"""Before and after a run in shards: which plans it takes, what its folder may hold, and how that is removed."""

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from parge.cluster.journal import FolderJournal
from parge.cluster.ship import MOST_PARTS
from parge.cluster.source import Source
from parge.errors import InputError, PargeError
from parge.planning.plan import PRESETS, Plan, ResolvedPlan
from parge.refine.subspace import Subspace
from parge.refine.whiten import Whiten
from parge.result import WHERE
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
from parge.techniques.base import Chooser
from parge.techniques.resolve import describe

READ, DIVIDE, CUT, FINISH = "read", "divide", "cut", "finish"
"""The stages that shards take together; `done-NAME` in the run folder has what they answered."""


def checked_plan(plan: Plan) -> ResolvedPlan:
    """Return the plan; refuse what only a process that holds the whole graph can do."""
    found, technique = plan.resolved, plan.resolved.technique
    if found.n_parts > MOST_PARTS:
        raise InputError(f"--sharded takes up to {MOST_PARTS} parts; got {found.n_parts:,}")
    usual = PRESETS[Plan.preset]
    if any(getattr(found, name) != usual[name] for name in ("partitioner", "anchor_strategy")):
        raise InputError(
            "--sharded has its own way to choose parts and anchors: omit --partitioner and --anchor-strategy, and use "
            "--preset best."
        )
    if isinstance(technique, Chooser):
        raise InputError("--technique auto tries techniques on a sample of the whole graph. With --sharded, name one.")
    if technique.shared_shapes:
        raise InputError(
            f"the technique {technique.name} prepares arrays from the whole graph. Use deepwalk, or embed without "
            "--sharded."
        )
    if not found.refiner.is_identity and not isinstance(found.refiner, Whiten | Subspace):
        raise InputError(
            f"the pass {found.refine} needs the whole graph in one process. With --sharded use --refine whiten, "
            "subspace (for hope and spectral) or none."
        )
    return found


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


def settings_of(source: Source, plan: ResolvedPlan) -> dict[str, Any]:
    """Return everything that determines the result, as a file gives it back."""
    settings = {key: value for key, value in plan.settings().items() if key not in WHERE}
    live = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(plan.technique))
    settings["technique"] = describe(plan.technique) or live
    stats = [(name, Path(name).stat()) for name in source.files]
    files = [[name, found.st_size, found.st_mtime_ns] for name, found in stats]
    settings["graph"] = {"files": files, "vertices": source.vertices, "columns": repr(source.wanted)}
    plain: dict[str, Any] = json.loads(json.dumps(settings, default=_plain))
    return plain


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


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
    for meeting in _inside(folder / MESH):
        for file in meeting.iterdir():
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
