"""Which entries the folders of a run have; one that holds anything else is refused before it is touched.

The one exception are plain files at the top whose names are not like ours: they are told and left alone.

A run folder may come from a stranger. Links would have parge read or write what is not theirs, and a folder of the
user's own, given by mistake, would lose the files that have names of ours.
"""

import contextlib
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from parge.errors import InputError
from parge.run.lock import LOCK, is_lock
from parge.run.notes import PART_NOTES, RUN_NOTES
from parge.run.schema import GRAPH, MANIFEST, PARTS, PLAN, RESULT, SHARED, SUBGRAPH, is_array_file
from parge.run.words import on_one_line

SCRATCH = "embedding.npy"
"""The file in which vectors are merged."""

TEMPORARY_FOLDER = re.compile(r"(plan|graph|shared|subgraph|result)\.(tmp|old)-[0-9]+")
"""Folders that are being written or removed."""

TEMPORARY_FILE = re.compile(
    rf"({'|'.join(map(re.escape, (*RUN_NOTES, *PART_NOTES)))})\.tmp-[0-9]+|{re.escape(SCRATCH)}|refine-[0-9]\.npy"
)
"""Files that go when the command ends; what a killed one left of them is removed by the next."""

_PART = re.compile(r"[0-9]{3,}")

# Names that begin as one of ours does: some file systems do not tell capitals apart.
_NAMES = (PLAN, GRAPH, SHARED, SUBGRAPH, RESULT, PARTS, MANIFEST, LOCK, SCRATCH, "refine", *RUN_NOTES, *PART_NOTES)
_STEMS = {name.partition(".")[0] for name in _NAMES}
_OURS = re.compile(rf"({'|'.join(sorted(map(re.escape, _STEMS)))})([^a-z0-9]|$)", re.IGNORECASE)


def check_run(folder: Path) -> None:
    """Refuse a run folder that holds a link, or anything that parge does not write there; nothing is changed.

    Plain files at its top that parge does not know, such as the log of a batch system, are no hindrance unless their
    names are like ours (`strays`): nothing opens or removes them.
    """
    for entry in _entries(folder):
        if entry.name == PARTS:
            for part in _entries(entry):
                _refuse_unless(_PART.fullmatch(part.name) is not None, part)
                check_part(part)
        elif not _is_stray(entry):
            _check(entry, (PLAN, GRAPH, SHARED), RUN_NOTES)


def strays(folder: Path) -> list[str]:
    """Return the names of the plain files at the top of a run folder that parge neither writes nor reads."""
    return [entry.name for entry in _entries(folder) if _is_stray(entry)]


def _is_stray(entry: Path) -> bool:
    """Return whether an entry is a plain file whose name is not like any of ours, in capitals or not."""
    if _OURS.match(entry.name):
        return False
    try:
        return stat.S_ISREG(entry.lstat().st_mode)
    except FileNotFoundError:
        return True  # it went meanwhile


def check_part(folder: Path) -> None:
    """Refuse a part folder that holds a link, or anything that parge does not write there; nothing is changed."""
    for entry in _entries(folder):
        _check(entry, (SUBGRAPH, RESULT), PART_NOTES)


def check_unplanned(folder: Path, is_graph: Callable[[Path], bool]) -> None:
    """Refuse a folder without a plan, unless it is empty or holds what a run that was killed before its plan left.

    That is less than the names of a run: a folder of the user's own may well hold an ``embedding.npy``.
    """
    with _as_no_run(folder):
        for entry in _entries(folder):
            left = TEMPORARY_FOLDER.fullmatch(entry.name)
            if left is not None and left[1] in (PLAN, GRAPH):
                _check_arrays(entry)
            elif entry.name == GRAPH:
                _check_arrays(entry)
                _refuse_unless(is_graph(entry), entry)
            else:
                _refuse_unless(entry.name == LOCK and is_lock(entry), entry)


@contextlib.contextmanager
def _as_no_run(folder: Path) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(
            f"{folder} is not empty and holds no run of parge ({error}). Give a new or an empty folder."
        ) from None


def _check(entry: Path, folders: tuple[str, ...], files: tuple[str, ...]) -> None:
    left = TEMPORARY_FOLDER.fullmatch(entry.name)
    if entry.name in folders or (left is not None and left[1] in folders):
        _check_arrays(entry)
        return
    alone = entry.name == LOCK or TEMPORARY_FILE.fullmatch(entry.name) is not None
    _refuse_unless(alone or entry.name in files, entry)
    _check_file(entry, alone=alone)


def _check_arrays(folder: Path) -> None:
    for entry in _entries(folder):
        _refuse_unless(is_array_file(entry.name), entry)
        _check_file(entry)


def _check_file(entry: Path, *, alone: bool = False) -> None:
    """Refuse what is no plain file; and, of those that parge writes and removes in place, one with another name."""
    with contextlib.suppress(FileNotFoundError):
        found = entry.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{on_one_line(entry)} is not a plain file; a run folder holds plain files only")
        if alone and found.st_nlink > 1:
            raise InputError(f"{on_one_line(entry)} has another name elsewhere (a hard link); remove it first")


def _refuse_unless(known: bool, entry: Path) -> None:
    if not known:
        raise InputError(f"parge did not write {on_one_line(entry)}; move it elsewhere")


def _entries(folder: Path) -> Iterator[Path]:
    """Yield what stands in a folder; files come and go while somebody is at work there. Links are refused.

    Hidden plain files are passed over: systems leave them (``.DS_Store``, ``.nfs...``), and parge never opens them.
    """
    try:
        found = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise InputError(f"{on_one_line(folder)} is not a folder; parge has one of that name") from None
    except OSError as error:
        raise InputError(f"{on_one_line(folder)} cannot be read: {error.strerror}") from None
    for entry in found:
        try:
            mode = entry.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            raise InputError(f"{on_one_line(entry)} is a link; a run folder holds plain files only")
        if not (entry.name.startswith(".") and stat.S_ISREG(mode)):
            yield entry
