"""Folders of checked arrays, written whole or not at all."""

import contextlib
import errno
import hashlib
import io
import json
import os
import re
import secrets
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from parge.errors import InputError, PargeError, plain_reason, unwritable
from parge.run.schema import LAYOUT, MANIFEST, TEMPORARY_FILE, TEMPORARY_FOLDER, is_array_file, kind_of
from parge.show.text import printable
from parge.storage import create_new, flush, release_pages, reserve_disk, row_blocks

FORMAT = 1

# Bytes of a file that are written together, and read together: a worker on a small graph holds little else.
_BLOCK, _READ = 1 << 20, 1 << 16

# Settings and a few numbers per subgraph; a longer manifest is none of ours.
_MOST_MANIFEST_BYTES = 1 << 26


# numpy parses the header of a file, and Python 3.11 counts how deep it parses for all threads together: two at once
# may fail.
_PARSING = threading.Lock()


class DamagedError(PargeError):
    """A file of a run is missing, truncated, altered, or not written by parge."""

    exit_code = InputError.exit_code


class StorageError(PargeError):
    """A run could not be written: the disk is full, or writing is not permitted."""


class OccupiedError(PargeError):
    """A folder of that name is there already, and was not to be replaced."""


def save(
    folder: Path,
    kind: str,
    arrays: dict[str, np.ndarray[Any, Any]],
    metadata: dict[str, Any],
    *,
    stored: Mapping[str, "Stored"] = MappingProxyType({}),
    replaces: bool = True,
) -> None:
    """Write the arrays and metadata as `folder`, under a temporary name first: no reader sees an unfinished folder.

    All data is flushed to disk before the folder is renamed, so a power failure leaves no folder of empty files.

    `stored` are arrays that another folder of the run holds: their files are linked instead of written again, where the
    file system can do that. A copy of the folder holds them as plain files. Where another process may write the same
    folder without a lock, `replaces` is false: the first one stays, and the others get `OccupiedError`.
    """
    with _made_whole(folder, replaces=replaces) as temporary:
        entries = {name: _write(temporary / f"{name}.npy", array) for name, array in arrays.items()}
        entries |= {name: _link(temporary / f"{name}.npy", source) for name, source in stored.items()}
        body = {"format": FORMAT, "kind": kind, "arrays": entries, "facts": metadata}
        text = json.dumps({"body": body, "sha256": _digest(body)}, indent=1)
        with (temporary / MANIFEST).open("x") as file:
            file.write(text)
            flush(file)


class Stored(NamedTuple):
    """An array in a folder that `load` has checked: its file, its entry in the manifest, and its content."""

    path: Path
    entry: dict[str, Any]
    array: np.ndarray[Any, Any]


def load_stored(folder: Path, kind: str) -> dict[str, Stored]:
    """Return the arrays of a folder, as `load` does, with their files."""
    body = _manifest(folder, kind)
    return {
        name: Stored(folder / f"{name}.npy", entry, _read(folder, kind, name, entry))
        for name, entry in body["arrays"].items()
    }


def stored_as(folder: Path, kind: str, content: Mapping[str, np.ndarray[Any, Any] | None]) -> dict[str, Stored]:
    """Return arrays with the files that hold them, which are not read; empty where the folder has no manifest."""
    if not exists(folder):
        return {}
    known = _manifest(folder, kind)["arrays"]
    return {
        name: Stored(folder / f"{name}.npy", known[name], array)
        for name, array in content.items()
        if array is not None and name in known
    }


def _link(path: Path, stored: Stored) -> dict[str, Any]:
    """Give the file of an array a second name, or write it again; return its checksum and size."""
    try:
        os.link(stored.path, path, follow_symlinks=False)
    except (OSError, NotImplementedError):  # another file system, or one without links
        return _write(path, stored.array)
    return stored.entry


def save_files(folder: Path, files: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write files that were written on another machine, under a temporary name first."""
    with _made_whole(folder) as temporary:
        for name, content in files.items():
            if not is_array_file(name):
                raise DamagedError(f"{printable(repr(name), 200)} is not a valid file name in {folder}")
            with (temporary / name).open("xb") as file:
                file.write(content.data)
                flush(file)


@contextmanager
def _made_whole(folder: Path, *, replaces: bool = True) -> Iterator[Path]:
    """Yield a new folder to fill; it becomes `folder` on success and is removed on failure."""
    temporary = _temporary(folder, "tmp")
    try:
        temporary.mkdir(parents=replaces)  # a process without a lock does not bring back a run that was removed
        yield temporary
        _flush_folder(temporary)
        if replaces:
            replace_folder(temporary, folder)
        else:
            _rename_to_free(temporary, folder)
    except BaseException as error:
        discard(temporary)
        if isinstance(error, OSError):
            raise StorageError(unwritable(folder, error)) from error
        raise


def _temporary(folder: Path, kind: str) -> Path:
    """Return a name for a folder that is being written or removed; processes of other machines have other names."""
    return folder.with_name(f"{folder.name}.{kind}-{secrets.randbelow(1 << 62)}")


def _rename_to_free(temporary: Path, folder: Path) -> None:
    """Rename the finished folder; an existing folder of that name stays, which the system decides in one step."""
    try:
        temporary.rename(folder)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise OccupiedError(f"{folder} is there already") from None
        raise
    _flush_folder(folder.parent)


def replace_folder(temporary: Path, folder: Path) -> None:
    """Rename the finished folder; an existing folder of that name is removed first."""
    if os.path.lexists(folder):
        _clear(folder, folder.name)
    temporary.rename(folder)
    _flush_folder(folder.parent)


def clear(folder: Path) -> None:
    """Remove a folder of arrays from its place, in one step: what cannot be removed has another name then."""
    try:
        _clear(folder, folder.name)
    except OSError as error:
        raise StorageError(unwritable(folder, error)) from error


def _clear(folder: Path, name: str) -> None:
    """Rename a folder to one of that name that is being removed, and discard it."""
    doomed = _temporary(folder.with_name(name), "old")
    folder.rename(doomed)
    discard(doomed)


def discard(folder: Path) -> None:
    """Remove a folder of arrays: the files that parge writes there, then the folder itself if it is empty.

    Other files are kept, subfolders are not removed, and no link is followed.
    """
    with contextlib.suppress(OSError):
        if folder.is_symlink() or not folder.is_dir():
            folder.unlink(missing_ok=True)
            return
        # The manifest first: without it the folder is not one of ours that is whole.
        for file in sorted(folder.iterdir(), key=lambda file: file.name != MANIFEST):
            if is_array_file(file.name):
                file.unlink(missing_ok=True)
        folder.rmdir()


def sweep(folder: Path, known: re.Pattern[str] = TEMPORARY_FOLDER) -> None:
    """Remove temporary files, and folders of `known` names, that killed processes left.

    A folder is renamed first: a process that was thought lost and still fills it cannot make it a finished one that
    lacks files.
    """
    for leftover in list(folder.iterdir()):
        if found := known.fullmatch(leftover.name):
            with contextlib.suppress(OSError):
                _clear(leftover, found[1])
        elif TEMPORARY_FILE.fullmatch(leftover.name):
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)


def load(folder: Path, kind: str, *, arrays: bool = True) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    """Return the arrays (memory-mapped) and metadata of a folder, each checked against its checksum and kind.

    With ``arrays=False`` only the manifest is read and checked; use it for the metadata alone.
    """
    body = _manifest(folder, kind)
    found = {name: _read(folder, kind, name, entry) for name, entry in body["arrays"].items()} if arrays else {}
    return found, body["facts"]


def check_sizes(folder: Path, kind: str) -> None:
    """Raise `DamagedError` unless the manifest of a folder is intact and its files are as long as it says.

    Checksums of arrays are left out: for a look at files that may be large. `load` compares them, too.
    """
    for name, entry in _manifest(folder, kind)["arrays"].items():
        path = folder / f"{name}.npy"
        try:
            size = _size(path)
        except OSError as error:
            raise DamagedError(f"{path} cannot be read: {error.strerror}") from None
        if size != entry["bytes"]:
            raise DamagedError(f"{path} has {size:,} bytes; its manifest says {entry['bytes']:,}")


def exists(folder: Path) -> bool:
    """Return whether there is a finished folder (damaged or not)."""
    return os.path.lexists(folder / MANIFEST)


def _manifest(folder: Path, kind: str) -> dict[str, Any]:
    path = folder / MANIFEST
    _refuse_link(folder)
    if not exists(folder):
        raise DamagedError(f"{folder} is not finished: it has no {MANIFEST}")
    try:
        if _size(path) > _MOST_MANIFEST_BYTES:
            raise DamagedError(f"{path} is larger than any file of that name that parge writes")
        outer = json.loads(path.read_bytes())
        body, digest = outer["body"], outer["sha256"]
        intact = digest == _digest(body)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"{path} cannot be read: {printable(plain_reason(error), 200)}") from None
    if not intact:
        raise DamagedError(f"{path} was altered: its checksum does not match")
    return _checked(path, body, kind)


def _checked(path: Path, body: Any, kind: str) -> dict[str, Any]:
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        found = printable(repr(body.get("format") if isinstance(body, dict) else body), 60)
        raise DamagedError(f"{path} has format {found}; this version of parge reads format {FORMAT}")
    if body.get("kind") != kind:
        raise DamagedError(f"{path} describes a {printable(repr(body.get('kind')), 60)}; expected a {kind!r}")
    entries, metadata = body.get("arrays"), body.get("facts")
    if not isinstance(entries, dict) or not isinstance(metadata, dict):
        raise DamagedError(f"{path} does not list its arrays")
    known = LAYOUT[kind]
    strange = [name for name in entries if kind_of(kind, name) is None]
    if strange:
        raise DamagedError(f"{path} names arrays that parge never writes: {printable(repr(strange[:3]), 200)}")
    missing = [name for name, what in known.items() if what.needed and name not in entries]
    if missing:
        raise DamagedError(f"{path} lacks the arrays {', '.join(missing)}")
    for name, entry in entries.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("bytes"), int):
            raise DamagedError(f"{path} does not say how large {name} is")
    return body


def _write(path: Path, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Write an array as `numpy.save` does; return the checksum and size of the bytes.

    (numpy's own writing does not notice when the disk has no room for the last bytes: they are in a C buffer.)
    """
    if array.dtype.hasobject:
        raise TypeError(f"{path.name} would have to be pickled")
    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    digest = hashlib.sha256()
    with path.open("xb") as file:
        content = array.reshape(-1).view(np.uint8)
        for data in (header.getbuffer(), *(content[some].data for some in row_blocks(content.size, _BLOCK))):
            digest.update(data)
            file.write(data)
            release_pages(array)
        flush(file)
    return {"sha256": digest.hexdigest(), "bytes": header.tell() + array.nbytes}


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    with contextlib.suppress(OSError):  # not every file system flushes folders
        os.fsync(descriptor)
    os.close(descriptor)


def _read(folder: Path, kind: str, name: str, entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    path = folder / f"{name}.npy"
    try:
        intact = _size(path) == entry["bytes"] and file_digest(path) == entry.get("sha256")
    except OSError as error:
        raise DamagedError(f"{path} cannot be read: {error.strerror}") from None
    if not intact:
        raise DamagedError(f"{path} was altered or truncated: its checksum does not match")
    try:
        with _PARSING:
            array: np.ndarray[Any, Any] = np.lib.format.open_memmap(path, mode="r")  # never a pickle
    except Exception as error:  # noqa: BLE001  what numpy raises on a hostile header is not documented
        raise DamagedError(f"{path} is not an array: {printable(plain_reason(error), 200)}") from None
    known = kind_of(kind, name)
    fault = "no array of that name" if known is None else known.fault(array)
    if fault is not None:
        raise DamagedError(f"{path} is not the array that parge writes: {fault}")
    return array


def _size(path: Path) -> int:
    """Return the size of a plain file; anything else is refused before it is opened."""
    _refuse_link(path)
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise DamagedError(f"{path} is not a plain file")
    return found.st_size


def refuse_links(root: Path, path: Path) -> None:
    """Refuse a path any step of which, below `root`, is a link that leads elsewhere."""
    for step in [path, *path.parents]:
        if step == root:
            return
        _refuse_link(step)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise DamagedError(f"{path} is a link; a run folder may hold only plain files")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, read in blocks."""
    digest, block = hashlib.sha256(), memoryview(bytearray(_READ))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(block):
            digest.update(block[:size])
    return digest.hexdigest()


def _digest(body: Any) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def scratch_matrix(path: Path, shape: tuple[int, int], dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Return a new matrix in a new file. Its space is preallocated: a full disk would otherwise raise SIGBUS.

    An existing file is an error: it is not ours, or it is a link to another place.
    """
    size = np.dtype(dtype).itemsize * shape[0] * shape[1]
    try:
        descriptor = create_new(path)
    except OSError as error:
        raise _disk_full(path, size, error) from error
    try:
        # Opened by its descriptor, under its name: numpy keeps the name of what it maps.
        with open(str(path), "r+b", opener=lambda _name, _flags: descriptor) as file:
            header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            start = file.tell()
            file.flush()
            reserve_disk(descriptor, max(1, size), start)
            return np.memmap(file, dtype, mode="r+", offset=start, shape=shape)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise _disk_full(path, size, error) from error


def _disk_full(path: Path, size: int, error: OSError) -> StorageError:
    return StorageError(f"Cannot write {path}: {error.strerror}. Merging the vectors needs {size:,} bytes there.")
