"""METIS graph files: a header, then one line of neighbours per vertex."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.matrix import VERTEX_BYTES, from_matrix
from parge.io.files import line_number, narrow, read_columns, read_segments, refuse_short, single_blanks
from parge.memory import refuse_over_budget
from parge.show.text import count
from parge.typing import IntArray

# Measured at the peak for a number of a line: as read, joined, checked, and as entries of a matrix.
_NUMBER_BYTES = 80

# Neighbours turned into text at a time.
_WRITTEN_AT_ONCE = 2**20


@dataclass(frozen=True)
class Header:
    """What the first line announces."""

    n_vertices: int
    n_edges: int
    n_ahead: int
    """Numbers before the neighbours on each line: the vertex's size and weights."""
    weighted: bool


def read_metis(path: Path, *, weighted: bool = True) -> Graph:
    """Read a METIS file; line k after the header is vertex k - 1."""
    counts: list[IntArray] = []
    numbers: list[IntArray] = []
    header = None
    n_lines = n_numbers = 0
    for offset, segment in read_segments(path):
        text = bytes(segment)
        if header is None:
            header, ahead = _header(path, text)
            text = text[ahead:]
        else:
            ahead = 0
        count, number = _numbers(path, offset + ahead, text)
        counts.append(count)
        numbers.append(number)
        n_lines, n_numbers = n_lines + count.size, n_numbers + number.size
        refuse_over_budget(
            VERTEX_BYTES * n_lines + _NUMBER_BYTES * n_numbers, f"{path} has over {n_numbers:,} neighbours"
        )
    if header is None:
        return Graph.from_edges([], [])
    return _graph(path, header, np.concatenate(counts), np.concatenate(numbers), weighted=weighted)


def _header(path: Path, text: bytes) -> tuple[Header, int]:
    """Return the header, and how many bytes it and the comments before it take."""
    offset = 0
    for line in text.splitlines(keepends=True):
        offset += len(line)
        if not line.startswith(b"%"):
            break
    fields = line.split()
    shown = line.decode("utf-8", "replace").strip()[:80]
    if not 2 <= len(fields) <= 4 or not all(field.isdigit() and len(field) < 20 for field in fields):
        raise InputError(
            f"{path}: a METIS file starts with its numbers of vertices and edges, and optionally a format; found "
            f"{shown!r}. If this is an edge list, change the suffix .graph to .txt."
        )
    n_vertices, n_edges = int(fields[0]), int(fields[1])
    flags = fields[2].decode().zfill(3) if len(fields) > 2 else "000"
    if set(flags) - {"0", "1"} or len(flags) > 3:
        raise InputError(f"{path}: the format in a METIS header must be three digits of 0 and 1; found {shown!r}")
    n_weights = int(fields[3]) if len(fields) > 3 else 1
    declared = f"{count(n_vertices, 'vertex')} and {count(n_edges, 'edge')}"
    refuse_short(path, max(n_vertices, 4 * n_edges) - 2, declared)  # a vertex has a line, an edge two numbers
    refuse_over_budget(VERTEX_BYTES * n_vertices + 2 * _NUMBER_BYTES * n_edges, f"{path} declares {declared}")
    return Header(n_vertices, n_edges, int(flags[0]) + n_weights * int(flags[1]), flags[2] == "1"), offset


def _without_comments(text: bytes) -> bytes:
    """Drop comment lines whole: an empty line is a vertex without neighbours."""
    if b"%" not in text:
        return text
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"%"))


def _numbers(path: Path, offset: int, text: bytes) -> tuple[IntArray, IntArray]:
    """Return how many numbers each line has, and all of them in a row."""
    numbers = _parse(text)
    if numbers is None:
        begin, lines = narrow(text, lambda part: _parse(part) is None)
        raise _no_numbers(path, offset + begin, lines)
    text = _without_comments(text)
    if not text:
        return np.zeros(0, np.int64), numbers
    data = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    blank = data <= ord(" ")
    starts = ~blank
    starts[1:] &= blank[:-1]
    lines_start = np.concatenate([[0], ends[:-1] + 1])
    return np.add.reduceat(starts.view(np.uint8), lines_start, dtype=np.int64), numbers


def _no_numbers(path: Path, offset: int, lines: bytes) -> InputError:
    place, found = offset, b""
    for line in lines.splitlines(keepends=True):
        words = [] if line.startswith(b"%") else line.split()
        found = next((word for word in words if not word.isdigit() or len(word) > 18), b"")
        if found:
            break
        place += len(line)
    return InputError(
        f"{path}, line {line_number(path, place):,}: neighbours and weights in a METIS file must be whole numbers; "
        f"found {found.decode('utf-8', 'replace')[:80]!r}"
    )


def _parse(text: bytes) -> IntArray | None:
    words = single_blanks(_without_comments(text).replace(b"\r", b" ")).replace(b" ", b"\n")
    if not words.strip():
        return np.zeros(0, np.int64)
    try:
        table = read_columns(words, ["number"], {"number": pa.int64()})
    except pa.ArrowInvalid:
        return None
    numbers: IntArray = table.column(0).to_numpy()
    return numbers


def _graph(path: Path, header: Header, counts: IntArray, numbers: IntArray, *, weighted: bool) -> Graph:
    n_vertices = header.n_vertices
    if counts.size < n_vertices or counts[n_vertices:].any():
        raise InputError(
            f"{path}: its header declares {n_vertices:,} vertices, but {counts.size:,} lines follow. Write one line "
            "per vertex, an empty one where it has no neighbours."
        )
    counts = counts[:n_vertices]
    rows, weights = _rows(path, header, counts, numbers)
    degrees = (counts - header.n_ahead) // (2 if header.weighted else 1)
    wrong = np.flatnonzero((rows < 1) | (rows > n_vertices))
    if wrong.size:
        vertex = np.searchsorted(np.cumsum(degrees), wrong[0], side="right") + 1
        raise InputError(
            f"{path}: vertex {vertex:,} has the neighbour {rows[wrong[0]]}; neighbours must lie in 1..{n_vertices}, "
            "because METIS counts from 1"
        )
    if rows.size != 2 * header.n_edges:
        raise InputError(
            f"{path}: its header declares {count(header.n_edges, 'edge')}, so {2 * header.n_edges:,} neighbours; found "
            f"{rows.size:,}. The header must count every edge once, and the lines must list it at both ends."
        )
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    data = np.ones(rows.size, np.float32) if weights is None else weights
    matrix = sp.csr_matrix((data, rows - 1, indptr), shape=(n_vertices, n_vertices))
    _refuse_asymmetric(path, matrix)
    graph = from_matrix(matrix, weighted=weighted and header.weighted)
    notices = ("vertex sizes and weights ignored",) if header.n_ahead else ()
    return replace(graph, notices=graph.notices + notices)


def _rows(path: Path, header: Header, counts: IntArray, numbers: IntArray) -> tuple[IntArray, Any]:
    """Return the neighbours of all vertices in a row, and their weights."""
    pairs = 2 if header.weighted else 1
    wrong = np.flatnonzero((counts < header.n_ahead) | ((counts - header.n_ahead) % pairs != 0))
    if wrong.size:
        raise InputError(
            f"{path}: the line of vertex {wrong[0] + 1:,} has {counts[wrong[0]]} numbers; by the format in the header, "
            f"{header.n_ahead} come before the neighbours" + (", and each neighbour has a weight" if pairs == 2 else "")
        )
    if header.n_ahead:
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        keep = np.ones(numbers.size, np.bool_)
        for ahead in range(header.n_ahead):
            keep[starts + ahead] = False
        numbers = numbers[keep]
    return (numbers[::2], numbers[1::2]) if header.weighted else (numbers, None)


def _refuse_asymmetric(path: Path, matrix: Any) -> None:
    rows = matrix.copy()
    rows.sum_duplicates()
    if rows.nnz != matrix.nnz:
        raise InputError(
            f"{path}: {matrix.nnz - rows.nnz:,} neighbours are listed twice on the line of a vertex. Remove the "
            "repeats."
        )
    difference = rows - rows.T.tocsr()
    difference.eliminate_zeros()
    if difference.nnz:
        u = int(np.flatnonzero(np.diff(difference.indptr))[0])
        v = int(difference.indices[difference.indptr[u]])
        raise InputError(
            f"{path}: vertices {u + 1} and {v + 1} do not list each other with the same weight "
            f"({difference.nnz // 2:,} such pairs). A METIS file must list every edge at both ends."
        )


def metis_text(graph: Graph) -> Iterator[bytes]:
    """Yield the text of a METIS file in pieces; weights must be whole numbers."""
    import pyarrow.compute as pc

    weights = graph.weights
    yield f"{graph.n_vertices} {graph.n_edges}{'' if weights is None else ' 001'}\n".encode()
    pairs = 1 if weights is None else 2
    # Rows are cut where a further block of neighbours is full, so that a piece has at most that and one row.
    cuts = np.searchsorted(graph.indptr, np.arange(0, graph.indices.size, _WRITTEN_AT_ONCE))
    for first, last in pairwise(sorted({0, *cuts.tolist(), graph.n_vertices})):
        here = slice(graph.indptr[first], graph.indptr[last])
        numbers = np.empty((graph.indices[here].size, pairs), np.int64)
        numbers[:, 0] = graph.indices[here] + np.int64(1)
        if weights is not None:
            numbers[:, 1] = weights[here]
        words = pa.array(numbers.ravel()).cast(pa.string())
        offsets = pa.array((graph.indptr[first : last + 1] - graph.indptr[first]) * pairs, pa.int32())
        lines = pc.binary_join(pa.ListArray.from_arrays(offsets, words), " ")
        yield "".join(f"{line}\n" for line in lines.to_pylist()).encode()
