"""The vectors of a frozen space, read from its folder as docs/how-to/space.md describes it. Only read here."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.ids import STRING
from parge.io.embeddings.common import Vectors
from parge.links import LinkHead
from parge.memory import refuse_over_budget
from parge.numbers import is_real
from parge.typing import IdArray

SPACE_MANIFEST = "manifest.json"
_KIND, _FORMAT = "space", 1

# Of an id of text: as a string of Python, and as one of numpy.
_ID_BYTES = 150


def is_space_manifest(found: Any) -> bool:
    """Return whether a parsed ``manifest.json`` is that of a space."""
    body = found.get("body") if isinstance(found, dict) else None
    return isinstance(body, dict) and body.get("kind") == _KIND


def read_space(folder: Path, manifest: dict[str, Any]) -> Vectors:
    """Return the vectors, ids, degree head and degrees of a space; the vectors stay on disk, memory-mapped.

    Each file that is read is checked against its checksum. The rest of the space (its map) is left unread.
    """
    body = manifest["body"]
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    entries = body.get("arrays")
    if manifest.get("sha256") != digest or not isinstance(entries, dict):
        raise InputError(f"{folder} is a damaged space: the checksum of its manifest does not match. Copy it again.")
    if body.get("format") != _FORMAT:
        raise InputError(f"{folder} is a space of another version of parge; this one reads format {_FORMAT}.")
    vectors, indptr = (_array(folder, entries, name) for name in ("vectors", "indptr"))
    if vectors.ndim != 2 or indptr.shape != (len(vectors) + 1,) or indptr.dtype != np.int64:
        raise InputError(f"{folder} is a damaged space: its vectors and its graph do not agree. Copy it again.")
    return Vectors(vectors, _ids(folder, entries, len(vectors)), head=_head(body.get("facts")), degrees=np.diff(indptr))


def _head(metadata: Any) -> LinkHead | None:
    """Return the degree head; older spaces have none."""
    numbers = metadata.get("head") if isinstance(metadata, dict) else None
    if not isinstance(numbers, list) or len(numbers) != 3:
        return None
    return LinkHead(*numbers) if all(is_real(each) and math.isfinite(each) for each in numbers) else None


def _ids(folder: Path, entries: dict[str, Any], n: int) -> IdArray:
    if "ids" in entries:
        return np.asarray(_array(folder, entries, "ids"))
    if "id_ends" not in entries:
        return np.arange(n)
    refuse_over_budget(_ID_BYTES * n, f"{folder} has {n:,} ids of text")
    ends = _array(folder, entries, "id_ends").tolist()
    text = _array(folder, entries, "id_bytes").tobytes()
    return np.array([text[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)], STRING)


def _array(folder: Path, entries: dict[str, Any], name: str) -> np.ndarray[Any, Any]:
    """Return an array of a space after its file was compared with the checksum; it is never unpickled."""
    path, entry = folder / f"{name}.npy", entries.get(name)
    if not isinstance(entry, dict) or path.is_symlink() or not path.is_file():
        raise InputError(f"{folder} is a damaged space: it has no {path.name}. Copy it again.")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != entry.get("sha256"):
            raise InputError(f"{path} was altered or truncated: its checksum does not match. Copy the space again.")
    found: np.ndarray[Any, Any] = np.lib.format.open_memmap(path, mode="r")
    return found
