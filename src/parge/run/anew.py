"""A run folder that parge named itself, of a command that failed before any part was embedded: nothing to keep."""

from pathlib import Path

from parge.errors import PargeError
from parge.run import arrays, schema
from parge.run.folder import RunFolder
from parge.run.lock import holder
from parge.run.schema import PARTS, RESULT, SHARED, SPACE

# Work on a plan that is done again without asking.
_SECONDS = 60.0


def is_fruitless(path: Path) -> bool:
    """Return whether a folder holds a run without any result, whose plan took less than a minute, and nothing else.

    The corrected command may then begin anew: `RunFolder.discard` removes what the run wrote. False where somebody is
    at work, where the folder holds other files, and where it is no run that this version reads.
    """
    folder = RunFolder(path)
    if path.is_symlink() or not folder.exists or holder(path) is not None:
        return False
    try:
        folder.check()
        is_quick = folder.plan_metadata().decompose_seconds < _SECONDS
    except PargeError:
        return False  # the command itself says what is wrong
    parts = sorted((path / PARTS).iterdir()) if (path / PARTS).is_dir() else []
    has_work = any(arrays.exists(place) for place in (path / SHARED, path / SPACE, *(part / RESULT for part in parts)))
    is_at_work = any(holder(part) is not None for part in parts)
    return is_quick and not has_work and not is_at_work and not schema.strays(path)
