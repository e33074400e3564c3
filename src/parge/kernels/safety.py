"""What numba may load: never the settings, nor the compiled code, that another user put where we look for ours.

numba reads ``.numba_config.yaml`` of the current folder when it is imported, and again before it compiles. Such a file
can name a folder of compiled code, which is pickled: a user whose current folder is a stranger's would run their code.
"""

import os
import stat
import sys
import warnings
from pathlib import Path
from typing import Any

_SETTINGS = ".numba_config.yaml"
_OTHERS_MAY_WRITE = stat.S_IWOTH


def import_numba_alone() -> None:
    """Import numba without the settings of the current folder, where there are some; those of NUMBA_... stay."""
    if "numba" in sys.modules or not Path(_SETTINGS).exists():
        return
    kept: dict[str, Any] = {name: sys.modules[name] for name in ("yaml",) if name in sys.modules}
    sys.modules["yaml"] = None  # type: ignore[assignment]  # its import then fails, and numba goes without the file
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it cannot read the file
            import numba  # noqa: F401
    finally:
        del sys.modules["yaml"]
        sys.modules.update(kept)


def look_at_no_folder() -> None:
    """Keep numba, which is imported, from reading settings of the current folder from now on."""
    import numba.core.config

    numba.core.config._config_fname = ""  # no such file, wherever we stand


def is_safe(folder: Path, source: Path) -> bool:
    """Return whether compiled code in a folder is as trustworthy as the source that it was compiled from.

    The folder must be ours, the system's, or of whoever owns the source. It may be writable by everybody only where the
    source is, too (some file systems say so of all files). One that is not there yet will be ours; what counts then is
    the nearest one above it, in which others may not take our place.
    """
    try:
        known = source.stat()
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        found = there.stat()
    except (OSError, StopIteration):
        return False
    if there == folder and found.st_uid not in {os.getuid(), 0, known.st_uid}:
        return False
    open_to_all = bool(found.st_mode & _OTHERS_MAY_WRITE)
    if there != folder and found.st_mode & stat.S_ISVTX:
        open_to_all = False  # what we make in such a folder (/tmp) nobody else can replace
    return not open_to_all or bool(known.st_mode & _OTHERS_MAY_WRITE)
