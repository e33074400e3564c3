"""Matrix Market files, parsed here: scipy's parser ends the process on some damaged files, and reads some garbage."""

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from parge.errors import InputError
from parge.graph.build import number_dtype
from parge.graph.graph import Graph
from parge.graph.matrix import VERTEX_BYTES
from parge.io.files import (
    foreign_errors,
    line_number,
    narrow,
    read_columns,
    read_head,
    read_segments,
    refuse_short,
    single_blanks,
)
from parge.io.graphs.matrix import graph_of_file
from parge.memory import refuse_over_budget

_BANNER = "%%MatrixMarket"
_LAYOUTS = ("coordinate", "array")
_FIELDS = {"real": "real", "double": "real", "integer": "integer", "unsigned-integer": "integer", "pattern": "pattern"}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")

_WHOLE = re.compile(r"[0-9]{1,18}")
_VALUES = {
    "real": re.compile(
        r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?:inf(?:inity)?|nan)", re.IGNORECASE
    ),
    "integer": re.compile(r"-?[0-9]{1,18}"),
}

# All that the format has; numpy takes more, such as hexadecimal numbers.
_NUMBER = re.compile(rb"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?i:inf(?:inity)?|nan)")

# Measured at the peak, for an entry of the whole matrix: its place and value as read, joined, and all that
# `from_matrix` makes of it. A number of an array is text first.
_ENTRY_BYTES, _NUMBER_BYTES = 80, 60


@dataclass(frozen=True)
class Header:
    """What the first lines announce, and how many bytes they take."""

    layout: str
    field: str
    symmetry: str
    n_vertices: int
    n_entries: int
    size: int

    @property
    def n_fields(self) -> int:
        """Numbers on the line of an entry."""
        return 2 if self.field == "pattern" else 3


def read_matrix_market(path: Path, *, weighted: bool = True) -> Graph:
    """Read a Matrix Market file; row and column k are vertex k - 1."""
    header = parse_header(path, read_head(path))
    _refuse_too_large(path, header)
    if header.layout == "array":
        text = b"".join(bytes(segment) for _, segment in _counted(path, header))
        matrix: Any = parse_array(path, text, header.n_vertices, header.symmetry, line=line_number(path, header.size))
    else:
        matrix = _coordinates(path, header)
    with foreign_errors(path, "Matrix Market"):
        return graph_of_file(path, matrix, weighted=weighted)


def parse_header(path: Path, head: bytes) -> Header:
    """Read the banner, the comments and the line of sizes from the first lines of a file."""
    lines = head.splitlines(keepends=True)
    words = (lines[0] if lines else b"").decode("utf-8", "replace").split()
    if len(words) != 5 or words[0] != _BANNER or words[1].lower() != "matrix":
        raise InputError(
            f"{path}: cannot be read as Matrix Market: its first line must be '{_BANNER} matrix', a layout, a field "
            f"and a symmetry; found {' '.join(words)[:80]!r}"
        )
    layout, field, symmetry = (word.lower() for word in words[2:])
    if field == "complex":
        raise InputError(f"{path}: an adjacency matrix must hold real numbers; this one holds complex numbers")
    known = ((layout, _LAYOUTS), (field, _FIELDS), (symmetry, _SYMMETRIES))
    wrong = next((word for word, names in known if word not in names), None)
    if wrong is not None:
        raise InputError(f"{path}: cannot be read as Matrix Market: its first line has the unknown word {wrong[:80]!r}")
    if layout == "array" and field == "pattern":
        raise InputError(
            f"{path}: its header says array and pattern, so the file holds no values. Save it in the coordinate layout."
        )
    sizes, size = _sizes(path, lines, 2 if layout == "array" else 3)
    if sizes[0] != sizes[1]:
        raise InputError(f"{path}: an adjacency matrix must be square; found {sizes[0]:,} x {sizes[1]:,}")
    n_entries = sizes[0] ** 2 if layout == "array" else sizes[2]
    return Header(layout, _FIELDS[field], symmetry, sizes[0], n_entries, size)


def _sizes(path: Path, lines: list[bytes], count: int) -> tuple[list[int], int]:
    """Return the numbers of the first line after the banner that is no comment, and the bytes up to its end."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line)
        if number and line.strip() and not line.startswith(b"%"):
            words = line.decode("utf-8", "replace").split()
            if len(words) == count and all(map(_WHOLE.fullmatch, words)):
                return [int(word) for word in words], size
            raise InputError(
                f"{path}, line {number + 1:,}: cannot be read as Matrix Market: the sizes of the matrix must be "
                f"{count} whole numbers; found {' '.join(words)[:80]!r}"
            )
    raise InputError(f"{path}: cannot be read as Matrix Market: no line gives the sizes. Is the file complete?")


def _refuse_too_large(path: Path, header: Header) -> None:
    stored = header.n_entries
    if header.layout == "array":
        stored = header.n_entries // 2  # symmetric arrays store about half
    shortest = 2 if header.layout == "array" else 4  # bytes of an entry and its line break, which the last may lack
    refuse_short(path, stored * shortest - 1, f"{header.n_entries:,} entries")
    each = _NUMBER_BYTES if header.layout == "array" else _ENTRY_BYTES * (1 if header.symmetry == "general" else 2)
    refuse_over_budget(
        VERTEX_BYTES * header.n_vertices + each * header.n_entries,
        f"{path} declares {header.n_vertices:,} vertices and {header.n_entries:,} entries",
    )


def _counted(path: Path, header: Header) -> Any:
    """Yield the segments after the header; text that the header does not account for is not kept for long."""
    most = 2**16 + 400 * (header.n_entries + 1)  # no number is longer
    for offset, segment in read_segments(path, header.size):
        if offset + len(segment) - header.size > most:
            raise InputError(f"{path}: its header declares {header.n_entries:,} numbers, but more text follows")
        yield offset, segment


def _coordinates(path: Path, header: Header) -> Any:
    """Return the matrix of layout ``coordinate``, both halves of a symmetric one."""
    dtype = number_dtype(header.n_vertices)
    kind = {"real": np.float64, "integer": np.int64, "pattern": np.float32}[header.field]
    rows, columns, values = [np.zeros(0, dtype)], [np.zeros(0, dtype)], [np.zeros(0, kind)]
    n_found = 0
    for offset, segment in read_segments(path, header.size):
        table = _parse(bytes(segment), header)
        if table is None:
            table = _parse(single_blanks(bytes(segment)), header)
        if table is None:
            raise _explained(path, header, offset, bytes(segment))
        n_found += len(table)
        if n_found > header.n_entries:
            break
        row, column, *value = (part.to_numpy() for part in table.columns)
        rows.append((row - 1).astype(dtype))
        columns.append((column - 1).astype(dtype))
        values.append(value[0] if value else np.ones(row.size, kind))
    if n_found != header.n_entries:
        more = "or more " if n_found > header.n_entries else ""
        raise InputError(
            f"{path}: cannot be read as Matrix Market: its header declares {header.n_entries:,} entries, but "
            f"{n_found:,} {more}follow. Is the file complete?"
        )
    return _both_halves(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), header)


def _both_halves(row: Any, column: Any, value: Any, header: Header) -> Any:
    if header.symmetry != "general":
        other = np.flatnonzero(row != column)
        sign = -1 if header.symmetry == "skew-symmetric" else 1
        value = np.concatenate([value, sign * value[other]])
        row, column = np.concatenate([row, column[other]]), np.concatenate([column, row[other]])
    return sp.coo_matrix((value, (row, column)), shape=(header.n_vertices, header.n_vertices))


def _parse(text: bytes, header: Header) -> Any:
    """Return an arrow table of row, column and perhaps value, or None where a line is not of that form."""
    types = {"row": pa.int64(), "column": pa.int64()}
    if header.field != "pattern":
        types["value"] = pa.float64() if header.field == "real" else pa.int64()
    if not text.strip():
        return pa.schema(list(types.items())).empty_table()
    # What arrow takes and the format does not have: hexadecimal numbers, a byte order mark, nan(...).
    if text.startswith(b"\xef") or any(mark in text for mark in (b"x", b"X", b"(")):
        return None
    try:
        table = read_columns(text, list(types), types, delimiter=" ")
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        return None
    places = [part.to_numpy() for part in table.columns[:2]]
    inside = all(part.size == 0 or (part.min() >= 1 and part.max() <= header.n_vertices) for part in places)
    return table if inside else None


def _explained(path: Path, header: Header, offset: int, segment: bytes) -> InputError:
    """Return what is wrong with a segment that cannot be parsed, with the line."""
    begin, lines = narrow(segment, lambda part: _parse(single_blanks(part), header) is None)
    place = offset + begin
    for line in re.split(rb"(?<=\n)|(?<=\r)(?!\n)", lines):
        fault = line_fault(line, header)
        if fault:
            return InputError(f"{path}, line {line_number(path, place):,}: {fault}")
        place += len(line)
    near = line_number(path, offset + begin)
    return InputError(f"{path}, about line {near:,}: cannot be read as Matrix Market entries")


def line_fault(line: bytes, header: Header) -> str:
    """Say what is wrong with the line of an entry; nothing where nothing is."""
    text = line.decode("utf-8", "replace").strip("\r\n")
    words = [word for word in re.split("[ \t]+", text) if word]
    shown = f"found {text[:80]!r}"
    if not words:
        return ""
    if len(words) != header.n_fields:
        return f"cannot be read as Matrix Market: an entry must have {header.n_fields} numbers; {shown}"
    for word in words[:2]:
        if not _WHOLE.fullmatch(word) or not 1 <= int(word) <= header.n_vertices:
            return (
                f"cannot be read as Matrix Market: rows and columns must be whole numbers in 1..{header.n_vertices}; "
                f"{shown}"
            )
    if header.n_fields == 3 and not _VALUES[header.field].fullmatch(words[2]):
        return (
            f"cannot be read as Matrix Market: the value {words[2][:80]!r} is not a number of the type {header.field}; "
            f"{shown}"
        )
    return ""


def parse_array(path: Path, text: bytes, n: int, symmetry: str, *, line: int = 1) -> NDArray[np.float64]:
    r"""Return the n x n matrix of layout ``array``: numbers by columns, of a symmetric matrix the lower half.

    `text` is what follows the sizes; `line` is the number of its first line in the file, for messages.

    >>> parse_array(Path("m.mtx"), b"0\n3\n1\n", 2, "symmetric").tolist()
    [[0.0, 3.0], [3.0, 1.0]]
    """
    if symmetry not in {"general", "symmetric"}:
        raise InputError(f"{path}: a {symmetry} matrix is not an adjacency matrix. Save it as general or symmetric.")
    values = _numbers(path, text, line)
    expected = n * n if symmetry == "general" else n * (n + 1) // 2
    if values.size != expected:
        raise InputError(f"{path}: its header declares {expected:,} numbers, but {values.size:,} follow")
    if symmetry == "general":
        return values.reshape((n, n), order="F")
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n)] = values  # the lower half by columns is the upper half by rows
    return matrix + np.triu(matrix, 1).T


def _numbers(path: Path, text: bytes, line: int) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says it before version 2.3
        try:
            if not re.search(rb"[^-+.0-9eE\sinfatyINFATY]", text):
                return np.fromstring(text, np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            pass
    for number, words in enumerate(text.splitlines(), line):
        wrong = next((word for word in words.split() if not _NUMBER.fullmatch(word)), None)
        if wrong is not None:
            shown = wrong[:80].decode("utf-8", "replace")
            raise InputError(f"{path}, line {number:,}: {shown!r} is not a number")
    raise InputError(f"{path}: something after its header is not a number")
