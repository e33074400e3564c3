"""The files and arrays of a run folder, by name; nothing else is read from it."""

import contextlib
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.run.lock import LOCK, is_lock
from parge.run.metadata import PART_NOTES, RUN_NOTES
from parge.show.text import on_one_line
from parge.storage import all_finite

PLAN, GRAPH, SHARED, SUBGRAPH, RESULT, SPACE = "plan", "graph", "shared", "subgraph", "result", "space"
CHANGED, MOVED = "changed", "moved"
PARTS, MANIFEST = "parts", "manifest.json"
SHARDED, DONE, SHARD, ROWS, MERGED, PASS, STEP = "sharded", "done", "shard", "rows", "merged", "pass", "step"


@dataclass(frozen=True)
class Kind:
    """Required type of an array; `finite` arrays must hold neither NaN nor infinity."""

    dtypes: tuple[str, ...]
    ndim: int | None = 1
    needed: bool = False
    finite: bool = False

    def fault(self, array: np.ndarray[Any, Any]) -> str | None:
        """Return what is wrong with an array, or None."""
        if array.dtype not in [np.dtype(name) for name in self.dtypes]:
            return f"expected {' or '.join(self.dtypes)}; it holds {array.dtype}"
        if self.ndim is not None and array.ndim != self.ndim:
            return f"expected {self.ndim} dimensions; it has {array.ndim}"
        if not array.flags.c_contiguous:
            return "its rows are not stored one after another"
        return "it holds NaN or infinity" if self.finite and not all_finite(array) else None


_INTEGERS = ("int32", "int64")
_EDGES = {
    "indptr": Kind(("int64",), needed=True),
    "indices": Kind(_INTEGERS, needed=True),
    "weights": Kind(("float32",)),
}
_IDS = {"ids": Kind(("int64",)), "id_bytes": Kind(("uint8",)), "id_ends": Kind(("int64",))}
_ROWS = {
    **_EDGES,
    "features_indptr": Kind(_INTEGERS),
    "features_indices": Kind(_INTEGERS),
    "features_data": Kind(("float32",)),
    "features_shape": Kind(("int64",)),
}

# Rows of a graph in shards (`parge.cluster`): numbers of the vertices, and neighbours by number.
_SHARD = {
    "names": Kind(("int32",), needed=True),
    "indptr": Kind(("int64",), needed=True),
    "indices": Kind(("int32",), needed=True),
    "weights": Kind(("float32",)),
    **_IDS,
}

LAYOUT: dict[str, dict[str, Kind]] = {
    PLAN: {
        "part": Kind(("int32",), needed=True),
        "anchors": Kind(("int64",), needed=True),
        "capacities": Kind(("int64",), needed=True),
        "budgets": Kind(("int64",)),
        "lump": Kind(("int64",)),
        "halos": Kind(("int64",)),
        "lumped_edges": Kind(("int64",)),
        **_IDS,
    },
    GRAPH: _ROWS,
    SUBGRAPH: {
        **_ROWS,
        "vertices": Kind(("int64",), needed=True),
        "lump": Kind(("int64",)),
        "loops": Kind(("float32",)),
    },
    SHARED: {},
    RESULT: {"vectors": Kind(("float32",), ndim=2, needed=True, finite=True)},
    SPACE: {
        **_EDGES,
        **_IDS,
        "vectors": Kind(("float32",), ndim=2, needed=True, finite=True),
        "origin": Kind(("uint8",), needed=True),
        "stale": Kind(("float32",), needed=True, finite=True),
        "matrix": Kind(("float32",), ndim=2, needed=True, finite=True),
        "offset": Kind(("float32",), needed=True, finite=True),
        "lengths": Kind(("float64",), needed=True, finite=True),
        "confidence": Kind(("float64",), needed=True, finite=True),
    },
    CHANGED: {
        **_EDGES,
        **{name: Kind(("float64",), needed=True, finite=True) for name in ("kept", "before", "after")},
    },
    MOVED: {
        "vectors": Kind(("float32",), ndim=2, needed=True, finite=True),
        "reached": Kind(("bool",), needed=True),
    },
    SHARDED: {},
    DONE: {},
    SHARD: _SHARD,
    ROWS: {**_SHARD, "is_anchor": Kind(("bool",), needed=True), "codes": Kind(("int16",), needed=True)},
    STEP: {  # what one step of a split leaves: a level, with the groups of the level below; or parts and anchors
        **{name: Kind(("int32",)) for name in ("label", "names", "indices", "times", "part", "best_part")},
        **{name: Kind(("int64",)) for name in ("indptr", "loads", "n_lost")},
        **{name: Kind(("bool",)) for name in ("is_anchor", "best_anchors")},
    },
    MERGED: {"between": Kind(("float64",), ndim=2, needed=True, finite=True)},
    PASS: {
        "vectors": Kind(("float32",), ndim=2, needed=True, finite=True),
        "mean": Kind(("float64",), finite=True),  # of rounds that whiten
        "matrix": Kind(("float64",), ndim=2, finite=True),
    },
}
"""Kind of folder -> name of array -> what it must be."""

# What techniques prepare for every worker (`Technique.prepare`, `LandmarkTechnique.embed_landmarks`): the technique
# declares names and shapes, and `parge.techniques.base.check_shared` compares.
_PREPARED_NAME = re.compile(r"shared_[a-z][a-z0-9_]{0,39}")
_PREPARED = Kind(("float32", "float64", *_INTEGERS, "uint8", "bool"), ndim=None, finite=True)


def kind_of(folder: str, name: str) -> Kind | None:
    """Return the required type of an array in a folder of that kind; None if parge writes no such array."""
    known = LAYOUT[folder].get(name)
    if known is None and folder in (SHARED, SUBGRAPH) and _PREPARED_NAME.fullmatch(name):
        return _PREPARED
    return known


def is_array_file(name: str) -> bool:
    """Return whether a file of that name may be in a folder of arrays."""
    stem, dot, suffix = name.rpartition(".")
    return name == MANIFEST or (dot + suffix == ".npy" and any(kind_of(folder, stem) for folder in LAYOUT))


SCRATCH = "embedding.npy"
"""The file in which vectors are merged."""

TEMPORARY_FOLDER = re.compile(r"(plan|graph|shared|subgraph|result|space|changed|moved)\.(tmp|old)-[0-9]+")
"""Folders that are being written or removed."""

TEMPORARY_FILE = re.compile(
    rf"({'|'.join(map(re.escape, (*RUN_NOTES, *PART_NOTES)))})\.tmp-[0-9]+|{re.escape(SCRATCH)}|refine-[0-9]\.npy"
)
"""Files that go when the command ends; what a killed one left of them is removed by the next."""

_PART = re.compile(r"[0-9]{3,}")

# Names that begin as one of ours does: some file systems ignore case.
_NAMES = (
    PLAN,
    GRAPH,
    SHARED,
    SUBGRAPH,
    RESULT,
    SPACE,
    PARTS,
    MANIFEST,
    LOCK,
    SCRATCH,
    "refine",
    *RUN_NOTES,
    *PART_NOTES,
)
_STEMS = {name.partition(".")[0] for name in _NAMES}
_OURS = re.compile(rf"({'|'.join(sorted(map(re.escape, _STEMS)))})([^a-z0-9]|$)", re.IGNORECASE)


# What a run in shards has besides its parts. What is being written or removed has a number at its end.
STEPS, MESH, FETCHED = "steps", "mesh", "fetched"
SHARDED_FOLDERS = ("shards", "rows", "pass", STEPS, MESH, FETCHED)
_LEFT = r"(\.(tmp|old)-[0-9]+)?"
_OF_ALL_SHARDS = re.compile(rf"({PLAN}|{SHARED}|{MERGED}|done-[a-z]+){_LEFT}")
TEMPORARY_OF_ALL_SHARDS = re.compile(rf"({PLAN}|{SHARED}|{MERGED}|done-[a-z]+)\.(tmp|old)-[0-9]+")
TEMPORARY_OF_SHARDS = re.compile(r"([a-z0-9-]+)\.(tmp|old)-[0-9]+")
"""Folders that are being written or removed: at the top of the run folder, and in the folders of its shards."""

_OF_SHARDS = {
    "shards": re.compile(rf"[0-9]{{3,}}{_LEFT}"),
    "rows": re.compile(rf"[0-9]{{3,}}{_LEFT}"),
    "pass": re.compile(rf"[0-9]{{3,}}-[0-9]{_LEFT}"),
    STEPS: re.compile(r"[a-z0-9-]+-[0-9]{3,}"),
    MESH: re.compile(r"[a-z0-9-]+"),
    FETCHED: re.compile(r"files"),
}
_MESH_FILE = re.compile(r"[0-9]{5,}\.(json|answer|[0-9a-f]+)|[0-9a-f]+\.failed|finished")
_FETCHED_FILE = re.compile(r"\.?[0-9]{5,}(\.[^/]*)?")
_STEP_NAME = re.compile(rf"[a-z0-9-]+{_LEFT}")


def check_run(folder: Path) -> None:
    """Refuse a run folder that holds a link, or anything that parge does not write there; nothing is changed.

    Unknown plain files at its top, such as the log of a batch system, are allowed unless their names are similar to
    ours (`strays`): parge neither opens nor removes them.
    """
    for entry in _entries(folder):
        if entry.name == PARTS:
            _check_parts(entry)
        elif not _is_stray(entry):
            _check(entry, (PLAN, GRAPH, SHARED, SPACE), RUN_NOTES)


def check_sharded_run(folder: Path) -> None:
    """Refuse the folder of a run in shards that holds a link, or anything that parge does not write there.

    As `check_run`: nothing is changed, and plain files at its top are allowed if their names are not similar to ours.
    """
    for entry in _entries(folder):
        if entry.name == PARTS:
            _check_parts(entry)
        elif entry.name in SHARDED_FOLDERS:
            for inner in _entries(entry):
                _refuse_unless(_OF_SHARDS[entry.name].fullmatch(inner.name) is not None, inner)
                _check_shard(entry.name, inner)
        elif _OF_ALL_SHARDS.fullmatch(entry.name):
            _check_arrays(entry)
        elif not _is_stray(entry):
            _check(entry, (), ())


def _check_parts(folder: Path) -> None:
    for part in _entries(folder):
        _refuse_unless(_PART.fullmatch(part.name) is not None, part)
        check_part(part)


def _check_shard(kind: str, folder: Path) -> None:
    if kind == STEPS:
        for step in _entries(folder):
            _refuse_unless(_STEP_NAME.fullmatch(step.name) is not None, step)
            _check_arrays(step)
    elif kind in (MESH, FETCHED):
        for file in _entries(folder):
            known = _MESH_FILE if kind == MESH else _FETCHED_FILE
            _refuse_unless(known.fullmatch(file.name) is not None, file)
            _check_file(file)
    else:
        _check_arrays(folder)


def strays(folder: Path) -> list[str]:
    """Return the names of the plain files at the top of a run folder that parge neither writes nor reads."""
    return [entry.name for entry in _entries(folder) if _is_stray(entry)]


def _is_stray(entry: Path) -> bool:
    """Return whether an entry is a plain file whose name is not similar to any of ours, ignoring case."""
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
    """Refuse a folder without a plan, unless it is empty or holds only what a run killed before its plan leaves.

    These are fewer names than those of a run: a folder of the user may well hold an ``embedding.npy``.
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
            f"{folder} is not empty and holds no run of parge ({error}). Choose a new or an empty folder."
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
    """Refuse entries that are not plain files, and hard links of files that parge changes or removes."""
    with contextlib.suppress(FileNotFoundError):
        found = entry.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{on_one_line(entry)} is not a plain file; a run folder may hold only plain files")
        if alone and found.st_nlink > 1:
            raise InputError(f"{on_one_line(entry)} has another name (a hard link); remove it first")


def _refuse_unless(known: bool, entry: Path) -> None:
    if not known:
        raise InputError(f"parge did not write {on_one_line(entry)}; move it out of the run folder")


def _entries(folder: Path) -> Iterator[Path]:
    """Yield the entries of a folder; files may appear and disappear while another process works. Links are refused.

    Hidden plain files are skipped: systems create them (``.DS_Store``, ``.nfs...``), and parge never opens them.
    """
    try:
        found = sorted(folder.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise InputError(f"{on_one_line(folder)} must be a folder, and is not") from None
    except OSError as error:
        raise InputError(f"{on_one_line(folder)} cannot be read: {error.strerror}") from None
    for entry in found:
        try:
            mode = entry.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            raise InputError(f"{on_one_line(entry)} is a link; a run folder may hold only plain files")
        if not (entry.name.startswith(".") and stat.S_ISREG(mode)):
            yield entry
