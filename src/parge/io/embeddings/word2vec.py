"""``.vec``, ``.emb``, ``.txt``: word2vec text, a line ``n d``, then ``id x1 ... xd`` a line, float32."""

from itertools import islice
from pathlib import Path

import numpy as np

from parge.errors import InputError
from parge.ids import STRING, parse_ids, show_ids
from parge.io.embeddings.common import Vectors
from parge.io.outputs import replacing
from parge.memory import refuse_over_budget
from parge.storage import release_pages, row_blocks
from parge.typing import FloatArray, IdArray

_ROWS = 2048

_BLOCK = 1 << 20

# Of an id: as strings of Python and of numpy, and as an integer.
_ID_BYTES = 150

_LONGEST_NUMBER = 400


def check_text_ids(ids: IdArray, path: Path) -> None:
    """Raise `InputError` for ids that word2vec text cannot hold."""
    if ids.dtype != STRING:
        return
    broken = ids[np.array([not text or any(map(str.isspace, text)) for text in ids.tolist()], np.bool_)]
    if broken.size:
        raise InputError(
            f"{path}: ids in word2vec text cannot be empty or hold white space, as {show_ids(broken)}. Save as "
            ".parquet, .npz or .npy."
        )


def write_text(table: Vectors, path: Path) -> None:
    """Write one line per vertex."""
    check_text_ids(table.ids, path)
    ids = table.ids.astype(STRING)
    # Nine digits give every float32 back exactly.
    line = "%s" + " %.9g" * table.dim + "\n"
    with replacing(path) as file:
        file.write(f"{len(table.vectors)} {table.dim}\n".encode())
        for rows in row_blocks(len(table.vectors), _ROWS):
            pairs = zip(ids[rows].tolist(), table.vectors[rows].tolist(), strict=True)
            file.write("".join(line % (key, *row) for key, row in pairs).encode())
            release_pages(table.vectors)


def is_text(path: Path) -> bool:
    """Return whether a file is word2vec text as `write_text` writes it; other tools write numbers with other digits.

    The first line must be true. The first and the last row must be what we would write, at least one of their numbers
    with more digits than it needs. A list of edges can have a first line of two numbers, too, but these are not the
    number of lines and of columns. (With one column they could be, by chance.)
    """
    with path.open("rb") as file:
        n_rows, dim = _text_header(path, file.readline(1000))
        if not n_rows or dim == 1:
            return False
        first, longest = file.readline(_BLOCK), 20 * dim + 1000  # ids of up to 1,000 bytes
        file.seek(max(0, path.stat().st_size - longest))
        last = file.read().removesuffix(b"\n").rpartition(b"\n")[2]
        fields = [first.split(), last.split()]
        numbers = _text_numbers(fields, dim, first_line=2)
        if not _has_our_digits([text for row in fields for text in row[1:]], numbers.ravel()):
            return False
        file.seek(0)
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b"")) == n_rows + 1


def _has_our_digits(texts: list[bytes], numbers: FloatArray) -> bool:
    """Return whether numbers are written with nine digits, which some of them do not need."""
    nine = [b"%.9g" % number for number in numbers.tolist()]
    return nine == texts and any(text != str(number).encode() for text, number in zip(nine, numbers, strict=True))


def read_text(path: Path) -> Vectors:
    """Read one vertex per line, a block of lines at a time."""
    with path.open("rb") as file:
        n_rows, dim = _text_header(path, file.readline(1000))
        refuse_over_budget(n_rows * (8 * dim + _ID_BYTES), f"{path} declares {n_rows:,} vectors of {dim:,} numbers")
        vectors = np.empty((n_rows, dim), np.float32)
        ids: list[str] = []
        while lines := list(islice(file, _ROWS)):
            fields = [line.split() for line in lines if not line.isspace()]
            rows = slice(len(ids), len(ids) + len(fields))
            if rows.stop > n_rows:
                raise InputError(f"{path}: the first line declares {n_rows:,} vectors, but more lines follow")
            vectors[rows] = _text_numbers(fields, dim, first_line=len(ids) + 2)
            ids += [row[0].decode() for row in fields]
    if len(ids) != n_rows:
        raise InputError(f"{path}: the first line declares {n_rows:,} vectors, but {len(ids):,} lines follow")
    return Vectors(vectors, parse_ids(ids))


def _text_header(path: Path, line: bytes) -> tuple[int, int]:
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 16 for field in fields):
        raise InputError(f"{path}: word2vec text starts with a line 'n d'; found {line[:60]!r}")
    n_rows, dim = int(fields[0]), int(fields[1])
    # An id, and for every number a space and a digit: a file too short for its promise is refused unread.
    if n_rows * (1 + 2 * dim) > path.stat().st_size:
        raise InputError(
            f"{path}: the first line declares {n_rows:,} x {dim:,} numbers, but the file is too short. Is it complete?"
        )
    return n_rows, dim


def _text_numbers(fields: list[list[bytes]], dim: int, *, first_line: int) -> FloatArray:
    for i, row in enumerate(fields):
        if len(row) != dim + 1:
            raise InputError(
                f"line {first_line + i:,}: a line must have an id and {dim} numbers; found {len(row)} fields"
            )
        longest = max(map(len, row[1:]), default=0)
        if longest > _LONGEST_NUMBER:  # all of a block would be as wide
            raise InputError(f"line {first_line + i:,}: a field of {longest:,} bytes is not a number")
    numbers = np.array([row[1:] for row in fields], np.bytes_)
    try:
        with np.errstate(over="ignore"):
            return numbers.reshape(len(fields), dim).astype(np.float64).astype(np.float32)
    except ValueError as error:
        last = first_line + len(fields) - 1
        raise InputError(f"lines {first_line:,} to {last:,}: not all fields are numbers; {error}") from error
