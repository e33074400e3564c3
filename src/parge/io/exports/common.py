"""What the exports share: rows as asked for, a block at a time, and ids that an index can hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError
from parge.ids import STRING
from parge.io.embeddings.common import Vectors
from parge.io.embeddings.npy import check_line_ids, id_lines
from parge.io.outputs import replacing
from parge.linalg.tall import unit
from parge.storage import release_pages, row_blocks, rows_at_once

METRICS = ("cosine", "ip")
"""How an index compares: the cosine, or the inner product."""

DTYPES = {"float16": np.float16, "float32": np.float32}
"""How numbers are stored."""


@dataclass(frozen=True)
class Export:
    """What is asked of an export."""

    dtype: str = "float32"  # ``float32`` or ``float16``, which halves the file and keeps three digits
    metric: str = "cosine"  # ``cosine`` or ``ip`` (inner product), for an index

    def __post_init__(self) -> None:
        for name, known in (("dtype", DTYPES), ("metric", METRICS)):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}; got {getattr(self, name)!r}")


def blocks(table: Vectors, wanted: Export, *, unit_rows: bool = False) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows as the export has them, a block at a time."""
    for rows in row_blocks(len(table.vectors), rows_at_once(table.dim)):
        some = np.asarray(table.vectors[rows])
        some = unit(some.astype(np.float64)) if unit_rows else some
        yield rows, rounded(some, wanted)
        release_pages(table.vectors)


def rounded(rows: NDArray[Any], wanted: Export) -> NDArray[Any]:
    """Return rows in the type asked for; numbers that float16 cannot hold are refused."""
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(rows, DTYPES[wanted.dtype])
    if not np.isfinite(found).all():
        raise InputError(f"some numbers are too large for {wanted.dtype}. Use float32.")
    return found


def as_dtype(table: Vectors, wanted: Export) -> Vectors:
    """Return vectors of the type asked for."""
    if table.vectors.dtype == DTYPES[wanted.dtype]:
        return table
    out = np.empty(table.vectors.shape, DTYPES[wanted.dtype])
    for rows, some in blocks(table, wanted):
        out[rows] = some
    return table._replace(vectors=out)


def keys_path(path: Path) -> Path:
    """Return the path of the ids of an index.

    >>> keys_path(Path("runs/x.faiss")).name
    'x.faiss.ids.txt'
    """
    return path.with_name(f"{path.name}.ids.txt")


def index_keys(table: Vectors, path: Path) -> NDArray[np.int64] | None:
    """Return the ids as keys of an index; None, and a file of ids next to it, where they are no such numbers.

    Then the key of a vector is its row, and line ``key + 1`` of ``x.faiss.ids.txt`` (`keys_path`) has its id.
    """
    if table.ids.dtype != STRING and (table.ids >= 0).all():
        return table.ids.astype(np.int64)
    check_line_ids(table.ids, path)
    with replacing(keys_path(path)) as file:
        for rows in row_blocks(table.ids.size, 65_536):
            file.write(id_lines(table.ids[rows]))
    return None
