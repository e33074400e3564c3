"""``.npy``: the matrix alone, readable by numpy and as a memory map; its ids in a second file, one per line."""

from pathlib import Path

import numpy as np

from parge.errors import InputError
from parge.ids import STRING, parse_ids, show_ids
from parge.io.archive import check_complete
from parge.io.embeddings.common import Vectors, containing, write_matrix
from parge.io.outputs import check_still_free, replacing
from parge.memory import refuse_over_budget
from parge.storage import row_blocks
from parge.typing import IdArray

_ROWS = 65_536

# Of an id on a line of its own: as strings of Python and of numpy, and as an integer.
_ID_BYTES = 150


def ids_path(path: Path) -> Path:
    """Return the path of the ids of a ``.npy`` file.

    >>> ids_path(Path("runs/x.npy")).name
    'x.ids.txt'
    """
    return path.with_suffix(".ids.txt")


def check_line_ids(ids: IdArray, path: Path) -> None:
    """Raise `InputError` for ids that cannot be written one per line."""
    broken = ids[containing(ids, "\n\r")] if ids.dtype == STRING else ids[:0]
    if broken.size:
        raise InputError(
            f"{path}: the ids of a .npy file are stored one per line, so they cannot hold line breaks, as "
            f"{show_ids(broken)} does. Save as .parquet or .npz."
        )


def is_npy(path: Path) -> bool:
    """Return whether a file looks as `write_npy` leaves it: a matrix of floats, and next to it an id for each row."""
    if not is_matrix(path) or not ids_path(path).is_file():
        return False
    with ids_path(path).open("rb") as file:
        n_lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return n_lines == len(np.lib.format.open_memmap(path, mode="r"))


def is_matrix(path: Path) -> bool:
    """Return whether a file is a ``.npy`` matrix of floats."""
    with path.open("rb") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            return False
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file)
    return len(shape) == 2 and not by_columns and dtype in (np.float16, np.float32, np.float64)


def has_ids(path: Path, ids: IdArray) -> bool:
    """Return whether a file of ids holds the very ids that would be written there."""
    with path.open("rb") as file:
        for rows in row_blocks(ids.size, _ROWS):
            lines = id_lines(ids[rows])
            if file.read(len(lines)) != lines:
                return False
        return not file.read(1)


def id_lines(ids: IdArray) -> bytes:
    """Return ids as lines of text."""
    return "".join(f"{line}\n" for line in ids.astype(STRING).tolist()).encode()


def write_npy(table: Vectors, path: Path) -> None:
    """Write the matrix, and its ids to a second file."""
    check_line_ids(table.ids, path)
    # Contexts end in reverse order: the ids are in place before the matrix is.
    with replacing(path) as file, replacing(ids_path(path)) as ids:
        write_matrix(file, table.vectors)
        for rows in row_blocks(table.ids.size, _ROWS):
            ids.write(id_lines(table.ids[rows]))
        check_still_free(path, ids_path(path))  # both or none are replaced


def read_npy(path: Path) -> Vectors:
    """Map the matrix; without a file of ids, row i belongs to vertex i."""
    if path.is_dir():
        raise InputError(f"Cannot read the embedding {path}: it is a folder.")
    check_complete(path)
    vectors = np.lib.format.open_memmap(path, mode="r")
    ids_file = ids_path(path)
    n_rows = len(vectors) if vectors.ndim else 0
    n_text = ids_file.stat().st_size if ids_file.exists() else 0
    refuse_over_budget(_ID_BYTES * (n_rows if n_text else 0) + 24 * n_rows + 4 * n_text, f"{path} has {n_rows:,} rows")
    if vectors.ndim != 2 or not ids_file.exists():
        return Vectors(vectors, np.arange(len(vectors) if vectors.ndim else 0))
    text = ids_file.read_bytes()
    n_lines = text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
    if n_lines != n_rows:
        raise InputError(f"{path} has {n_rows:,} rows, but {ids_file.name} next to it has {n_lines:,} ids")
    lines = text.decode().removesuffix("\n").split("\n") if n_rows else []
    return Vectors(vectors, parse_ids([line.removesuffix("\r") for line in lines]))
