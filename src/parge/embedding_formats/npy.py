"""``.npy``: the matrix alone, readable by numpy and as a memory map; its ids beside it, one a line."""

from pathlib import Path

import numpy as np

from parge.embedding import Embedding
from parge.embedding_formats.common import containing, replacing, write_matrix
from parge.errors import InputError
from parge.ids import STRING, parse_ids, show_ids
from parge.rows import row_blocks
from parge.typing import IdArray

_ROWS = 65_536


def ids_path(path: Path) -> Path:
    """Return where the ids of a ``.npy`` file stand.

    >>> ids_path(Path("runs/x.npy")).name
    'x.ids.txt'
    """
    return path.with_suffix(".ids.txt")


def check_line_ids(ids: IdArray, path: Path) -> None:
    """Refuse ids that cannot stand one a line."""
    broken = ids[containing(ids, "\n\r")] if ids.dtype == STRING else ids[:0]
    if broken.size:
        raise InputError(
            f"{path}: ids beside .npy stand one a line, so they cannot hold line breaks, as {show_ids(broken)} does; "
            "save as .parquet or .npz"
        )


def write_npy(embedding: Embedding, path: Path) -> None:
    """Write the matrix, and its ids beside it."""
    check_line_ids(embedding.ids, path)
    lines = embedding.ids.astype(STRING)
    # Contexts end in reverse order: the ids are in place before the matrix is.
    with replacing(path) as file, replacing(ids_path(path)) as ids:
        write_matrix(file, embedding.vectors)
        for rows in row_blocks(lines.size, _ROWS):
            ids.write("".join(f"{line}\n" for line in lines[rows].tolist()).encode())


def read_npy(path: Path) -> Embedding:
    """Map the matrix; without a file of ids, row i belongs to vertex i."""
    if path.is_dir():
        raise InputError(f"{path} was to be read as an embedding; it is a folder")
    vectors = np.lib.format.open_memmap(path, mode="r")
    beside = ids_path(path)
    if vectors.ndim != 2 or not beside.exists():
        return Embedding(vectors, np.arange(len(vectors) if vectors.ndim else 0))
    lines = beside.read_bytes().decode().split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(lines) != len(vectors):
        raise InputError(f"{path} has {len(vectors):,} rows, {beside.name} beside it has {len(lines):,} ids")
    return Embedding(vectors, parse_ids([line.removesuffix("\r") for line in lines]))
