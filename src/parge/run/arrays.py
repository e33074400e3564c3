"""A folder of arrays with a manifest: written whole or not at all, and never believed without its checksum."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import PargeError

FORMAT = 1
MANIFEST = "manifest.json"

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BLOCK = 1 << 22


class DamagedError(PargeError):
    """A file of a run that is missing, truncated, altered, or not ours."""


def save(folder: Path, kind: str, arrays: dict[str, np.ndarray[Any, Any]], facts: dict[str, Any]) -> None:
    """Write the arrays and facts as `folder`, under a temporary name first, so that no reader sees a part of it."""
    temporary = folder.with_name(f"{folder.name}.tmp-{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        entries = {name: _write(temporary / f"{name}.npy", array) for name, array in arrays.items()}
        body = {"format": FORMAT, "kind": kind, "arrays": entries, "facts": facts}
        (temporary / MANIFEST).write_text(json.dumps({"body": body, "sha256": _digest(body)}, indent=1))
        replace_folder(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def replace_folder(temporary: Path, folder: Path) -> None:
    """Give the finished folder its name; a damaged folder that stands there goes away first."""
    if folder.exists():
        doomed = folder.with_name(f"{folder.name}.old-{os.getpid()}")
        folder.rename(doomed)
        shutil.rmtree(doomed, ignore_errors=True)
    temporary.rename(folder)


def load(folder: Path, kind: str, *, arrays: bool = True) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    """Return the arrays (memory-mapped) and facts of a folder, each checked against its checksum.

    With ``arrays=False`` only the manifest is read and checked, for who wants the facts alone.
    """
    body = _manifest(folder, kind)
    found = {name: _read(folder / f"{name}.npy", entry) for name, entry in body["arrays"].items()} if arrays else {}
    return found, body["facts"]


def exists(folder: Path) -> bool:
    """Return whether a finished folder stands there (damaged or not)."""
    return (folder / MANIFEST).exists()


def _manifest(folder: Path, kind: str) -> dict[str, Any]:
    path = folder / MANIFEST
    _refuse_link(folder)
    _refuse_link(path)
    try:
        outer = json.loads(path.read_bytes())
        body, digest = outer["body"], outer["sha256"]
    except FileNotFoundError:
        raise DamagedError(f"{folder} is not finished: it has no {MANIFEST}") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(f"{path} cannot be read: {error}") from None
    if not isinstance(body, dict) or digest != _digest(body):
        raise DamagedError(f"{path} was altered: its checksum does not match")
    if body.get("format") != FORMAT:
        raise DamagedError(f"{path} has format {body.get('format')!r}; this parge reads format {FORMAT}")
    if body.get("kind") != kind:
        raise DamagedError(f"{path} describes a {body.get('kind')!r}; a {kind!r} was expected")
    if not all(isinstance(name, str) and _NAME.fullmatch(name) for name in body["arrays"]):
        raise DamagedError(f"{path} names arrays that parge never writes")
    return body


def _write(path: Path, array: np.ndarray[Any, Any]) -> dict[str, Any]:
    np.save(path, array, allow_pickle=False)
    return {"sha256": file_digest(path), "bytes": path.stat().st_size}


def _read(path: Path, entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    _refuse_link(path)
    try:
        intact = path.stat().st_size == entry["bytes"] and file_digest(path) == entry["sha256"]
    except OSError as error:
        raise DamagedError(f"{path} cannot be read: {error.strerror}") from None
    if not intact:
        raise DamagedError(f"{path} was altered or cut short: its checksum does not match")
    try:
        array: np.ndarray[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise DamagedError(f"{path} is not an array: {error}") from None
    return array


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise DamagedError(f"{path} is a link; a run folder holds plain files only")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
