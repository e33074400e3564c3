"""A folder of vectors: one Parquet file for each part, and a manifest that names them and holds the report."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError, PargeError
from parge.ids import joined
from parge.io.embeddings.common import Vectors, head_of
from parge.io.embeddings.parquet import read_parquet
from parge.io.embeddings.space import SPACE_MANIFEST, is_space_manifest, read_space
from parge.io.outputs import replacing, tell_replaced
from parge.links import LinkHead
from parge.result import Report
from parge.storage import MEMORY, Files, Storage, release_pages

MANIFEST = "_manifest.json"  # tools that read folders of Parquet skip names with an underscore
_KIND, _VERSION = "parge vectors", 1

# A manifest has a line for each file, and the report; a longer one is none of ours.
_MOST_BYTES = 1 << 26

_SHARD = re.compile(r"part-[0-9]{5,}\.parquet")

# Vectors of more bytes go to a nameless file, of which only the pages in use are in memory.
_IN_MEMORY = 256_000_000
_BLOCK = 1 << 24


def write_manifest(
    folder: Path, shards: Sequence[Mapping[str, Any]], dim: int, report: Report, head: LinkHead | None = None
) -> None:
    """Write what the folder holds; from then on it can be read.

    `shards` have the name, the number of rows and the SHA-256 of each file, in order. With a `head`, the files have
    degrees.
    """
    rows = sum(int(shard["rows"]) for shard in shards)
    body: dict[str, Any] = {"kind": _KIND, "version": _VERSION, "rows": rows, "dim": dim, "shards": list(shards)}
    if head is not None:
        body["head"] = asdict(head)
    with replacing(folder / MANIFEST) as file:
        file.write(json.dumps({**body, "report": report.to_json()}, indent=1).encode())


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what a folder of vectors says that it holds; raise `InputError` where it is none."""
    path, found = folder / MANIFEST, _parsed(folder)
    if not isinstance(found, dict) or found.get("kind") != _KIND or found.get("version") != _VERSION:
        raise InputError(f"{path} is not a manifest of vectors that this version of parge reads")
    shards, counts = found.get("shards"), (found.get("rows"), found.get("dim"))
    if not isinstance(shards, list) or not all(type(count) is int and count >= 0 for count in counts):
        raise InputError(f"{path} does not say what the folder holds")
    for shard in shards:
        name = shard.get("file") if isinstance(shard, dict) else None
        if not isinstance(name, str) or not _SHARD.fullmatch(name) or type(shard.get("rows")) is not int:
            raise InputError(f"{path} names a file that parge does not write")
    return found


def _parsed(folder: Path, name: str = MANIFEST) -> Any:
    path = folder / name
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is larger than any manifest that parge writes")
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{folder} is a folder without {MANIFEST}: it holds no vectors, or they are not complete. Give a folder "
            "that parge embed --sharded wrote, or a space."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def is_folder(path: Path) -> bool:
    """Return whether a folder holds vectors of parge and nothing else, so that it may be replaced."""
    with contextlib.suppress(InputError, OSError):
        known = {MANIFEST, *(shard["file"] for shard in read_manifest(path)["shards"])}
        return all(entry.name in known and entry.is_file() for entry in path.iterdir())
    return False


def read_folder(folder: Path) -> Vectors:
    """Read the vectors of all files; many of them are mapped from a nameless file instead of held in memory.

    A frozen space is such a folder, too: see `parge.io.embeddings.space`.
    """
    if not (folder / MANIFEST).exists() and (folder / SPACE_MANIFEST).is_file():
        given = _parsed(folder, SPACE_MANIFEST)
        if is_space_manifest(given):
            return read_space(folder, given)
    found = read_manifest(folder)
    n, dim, done, ids, degrees = found["rows"], found["dim"], 0, [], []
    head = head_of(found["head"]) if "head" in found else None
    if dim < 1 or n * dim > 2**50:
        raise InputError(f"{folder / MANIFEST} names {n:,} vectors of {dim:,} numbers. Is the file damaged?")
    vectors = _new_array(n * dim).reshape(n, dim)
    for shard in found["shards"]:
        if not (folder / shard["file"]).is_file():
            raise InputError(f"{folder} has no {shard['file']}, which {MANIFEST} names. Copy the folder again.")
        part = read_parquet(folder / shard["file"])
        if len(part.vectors) != shard["rows"] or done + shard["rows"] > n or (len(part.vectors) and part.dim != dim):
            raise InputError(
                f"{folder / shard['file']} has {len(part.vectors):,} vectors of {part.dim} numbers; {MANIFEST} says "
                f"{shard['rows']:,} of {dim}. Copy the folder again."
            )
        if len(part.vectors):
            vectors[done : done + len(part.vectors)] = part.vectors
            ids.append(part.ids)
            degrees.append(part.degrees)
            done += len(part.vectors)
        release_pages(vectors)
    if done != n:
        raise InputError(f"{folder} has {done:,} vectors; {MANIFEST} says {n:,}. Copy the folder again.")
    known = [np.zeros(0, np.int64), *(one for one in degrees if one is not None)]
    if head is not None and len(known) <= len(degrees):
        raise InputError(f"{folder} has a degree head, but a file without degrees. Copy the folder again.")
    return Vectors(
        vectors,
        joined(ids) if ids else np.zeros(0, np.int64),
        Report.from_json(found.get("report") or {}),
        head,
        None if head is None else np.concatenate(known),
    )


def _new_array(n_numbers: int) -> Any:
    storage: Storage = MEMORY
    if 4 * n_numbers > _IN_MEMORY:
        storage = Files(Path(tempfile.gettempdir()), _BLOCK)
    return storage.zeros(n_numbers, np.float32)


def replace_vectors(staged: Path, out: Path) -> None:
    """Give a complete folder of vectors its name; an earlier one of that name goes."""
    try:
        if out.is_dir():
            if not is_folder(out) and any(out.iterdir()):
                raise PargeError(
                    f"{out} was written to by another program while parge was running, so it was not replaced. The "
                    f"result is kept: rename {staged}."
                )
            _remove(out)
        staged.replace(out)
    except OSError as error:
        raise PargeError(f"Cannot write {out}: {error.strerror or error}. The result is kept in {staged}.") from error


def _remove(folder: Path) -> None:
    """Remove a folder of vectors: the manifest first, so that what is left of it is not read."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name != MANIFEST):
        entry.unlink()
    folder.rmdir()


def check_folder_output(out: Path, *, overwrite: bool) -> None:
    """Refuse a place where no folder of vectors can be written, before any work."""
    if not out.name:
        raise InputError(f"Cannot write {str(out)!r}: give the name of a new folder.")
    if not out.parent.is_dir():
        raise InputError(f"Cannot write {out}: the folder {out.parent} does not exist. Create it first.")
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_dir():
        raise InputError(
            f"Cannot write {out}: with --sharded the vectors go to a folder, and it is a file. Choose another name."
        )
    if is_folder(out):
        if not overwrite:
            tell_replaced([out])
    elif any(out.iterdir()):
        hint = ", or move them elsewhere first" if overwrite else ""
        raise InputError(f"{out} holds files that are not vectors of parge. Choose another name{hint}.")
