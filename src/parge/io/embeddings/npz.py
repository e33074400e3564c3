"""``.npz``: the arrays ``vectors`` and ``ids``, the report, and degrees with their head; without a pickle."""

import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError
from parge.ids import STRING
from parge.io.archive import declared_arrays
from parge.io.embeddings.common import (
    Vectors,
    containing,
    head_bytes,
    read_head,
    read_report,
    report_bytes,
    write_matrix,
)
from parge.io.marks import is_marked_archive, mark_archive
from parge.io.outputs import replacing
from parge.memory import refuse_over_budget
from parge.typing import IdArray

# Ids up to this many characters are stored in .npz as a plain numpy array, longer ones as bytes and offsets:
# a fixed-width array spends 4 bytes a character of its longest id on every id.
_FIXED_WIDTH = 64

# What the mark of an archive says that it holds.
_WHAT = "vectors"


def write_npz(table: Vectors, path: Path) -> None:
    """Write one archive of plain arrays."""
    others: dict[str, NDArray[Any]] = {"report": np.frombuffer(report_bytes(table.report), np.uint8)}
    if table.head is not None and table.degrees is not None:
        others |= {"degrees": table.degrees, "head": np.frombuffer(head_bytes(table.head), np.uint8)}
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        with archive.open("vectors.npy", "w", force_zip64=True) as member:
            write_matrix(member, table.vectors)
        for name, array in {**others, **_ids_as_arrays(table.ids)}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        mark_archive(archive, _WHAT)


def is_npz(path: Path) -> bool:
    """Return whether an archive is one of `write_npz`, with the members that it had then and no others."""
    return is_marked_archive(path, _WHAT)


def _ids_as_arrays(ids: IdArray) -> dict[str, NDArray[Any]]:
    if ids.dtype != STRING:
        return {"ids": ids}
    longest = int(np.strings.str_len(ids).max(initial=0))
    if longest <= _FIXED_WIDTH and not containing(ids, "\0").any():
        return {"ids": ids.astype(f"<U{max(1, longest)}")}
    encoded = [text.encode() for text in ids.tolist()]
    offsets = np.cumsum([0, *map(len, encoded)])
    return {"ids_utf8": np.frombuffer(b"".join(encoded), np.uint8), "ids_offsets": offsets}


def read_npz(path: Path) -> Vectors:
    """Read an archive with an array ``vectors``; without ids, row i belongs to vertex i."""
    if path.is_file() and not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not an .npz archive")
    if path.is_file():
        declared_arrays(path)
    with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:  # numpy leaves a bad file open
        if "vectors" not in archive:
            raise InputError(f"an array 'vectors' is needed; found: {', '.join(archive) or 'nothing'}")
        vectors = archive["vectors"]
        refuse_over_budget(24 * len(vectors) if vectors.ndim else 0, f"{path} has {len(vectors):,} rows")
        ids = _ids_from_arrays(archive, len(vectors) if vectors.ndim else 0)
        report, head = (archive[name].tobytes() if name in archive else b"" for name in ("report", "head"))
        degrees = archive["degrees"] if "degrees" in archive and head else None
    return Vectors(vectors, ids, read_report(report), read_head(head), degrees)


def _ids_from_arrays(archive: Any, n_rows: int) -> IdArray:
    if "ids" in archive:
        found: IdArray = archive["ids"]
        return found
    if "ids_utf8" not in archive:
        return np.arange(n_rows)
    text, offsets = archive["ids_utf8"].tobytes(), archive["ids_offsets"]
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or offsets.size != n_rows + 1:
        raise InputError(f"ids_offsets must be {n_rows + 1:,} whole numbers; found shape {offsets.shape}")
    if offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise InputError("ids_offsets must rise from 0 to the length of ids_utf8")
    cuts = offsets.tolist()
    return np.array([text[a:b].decode() for a, b in pairwise(cuts)], STRING)
