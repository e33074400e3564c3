"""Text edge lists: two ids per line, and optionally a weight."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parge.columns import ALL_FOUND, Wanted
from parge.errors import InputError
from parge.graph.build import check_weights
from parge.graph.gather import Gatherer, encoded, gatherer
from parge.graph.graph import Graph
from parge.io.files import MAX_LINE, format_suffix, line_number, narrow, read_columns, read_head, read_segments
from parge.io.graphs.layout import NUMBER, Layout, continued, is_integer, sniff
from parge.memory import refuse_over_budget
from parge.storage import MEMORY, Files, Storage
from parge.typing import FloatArray, IntArray

# Bytes looked at together for odd integers: the masks stay in a cache.
_SLICE = 2**18


class _NotIntegers(Exception):  # noqa: N818 - not an error: the ids are strings, then
    """Ids that would not come back as given if they were read as integers: their file, and where their line starts."""

    def __init__(self, path: Path, offset: int) -> None:
        super().__init__(path, offset)
        self.path, self.offset = path, offset


_HEADER_REMEDY = "If it names the columns, give --header (header=True), or call them source and target."

Part = tuple[Path, Layout]
"""A file of an edge list, and its layout."""

Lines = tuple[int, int | None] | None
"""Lines of a file: where the first starts, and where the last ends, or None; None for all."""


def read_edge_list(paths: Sequence[Path], wanted: Wanted = ALL_FOUND, *, storage: Storage = MEMORY) -> Graph:
    """Read the files of a text edge list, alike in columns; docs/reference/formats.md says what is recognised."""
    parts = _parts(paths, wanted)
    if not parts:
        return Graph.from_edges([], [])
    layout = parts[0][1]
    edges, notices = _gathered(parts, storage)
    return _doubtful_header(edges.graph(notices), () if layout.integers else layout.maybe_names)


def gather_edge_list(
    paths: Sequence[Path], wanted: Wanted = ALL_FOUND, *, of: Sequence[Path] | None = None, lines: Lines = None
) -> Gatherer:
    """Return the edges of some files of a text edge list as they are given.

    If `paths` are only some of the edge list's files, `of` are all: the first of these decides how every file is read.
    Of `lines`, those are read that start from the one byte on and before the other, if given; a line starts at both.
    """
    first = next(_holding(paths if of is None else of, wanted), None)
    parts = [] if first is None else _parts(paths, wanted, first)
    return _gathered(parts, MEMORY, lines)[0] if parts else Gatherer()


def edge_list_notices(paths: Sequence[Path], wanted: Wanted = ALL_FOUND) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what there is to say of the columns, before edges are read; and ids that may be the names of columns."""
    first = next(_holding(paths, wanted), None)
    if first is None:
        return (), ()
    return first[1].notices, () if first[1].integers else first[1].maybe_names


def _gathered(parts: list[Part], storage: Storage, lines: Lines = None) -> tuple[Gatherer, tuple[str, ...]]:
    """Gather edges with integer ids, or with strings where one id is no integer; return what there is to say, too."""
    layout = parts[0][1]
    try:
        return _gather(parts, storage, lines), layout.notices
    except _NotIntegers as found:
        where = f"line {line_number(found.path, found.offset):,}"
        where += f" of {found.path.name}" if len(parts) > 1 else ""
        notice = f"ids are read as strings, because {where} has one that is not a plain 64-bit integer"
        strings = [(path, replace(layout, integers=False)) for path, layout in parts]
        return _gather(strings, storage, lines), (*layout.notices, notice)


def _holding(paths: Iterable[Path], wanted: Wanted) -> Iterator[Part]:
    """Yield the files that hold edges, each with the layout that it has by itself."""
    for path in paths:
        layout = sniff(read_head(path), path, suffix=format_suffix(path), wanted=wanted)
        if layout is not None:
            yield path, layout


def _parts(paths: Sequence[Path], wanted: Wanted, first: Part | None = None) -> list[Part]:
    """Return the files that hold edges, each with its layout: the first of them, or the one given, decides for all."""
    first = first or next(_holding(paths, wanted), None)
    if first is None:
        return []
    found: list[Part] = []
    for path in paths:
        layout = first[1] if path == first[0] else continued(first[1], read_head(path), path)
        if layout is not None:
            found.append((path, layout))
    return found


def _gather(parts: Sequence[Part], storage: Storage, lines: Lines = None) -> Gatherer:
    """Parse segment by segment: as it is, else cleaned; one that still fails is searched for the line at fault."""
    edges = gatherer(storage)
    for path, layout in parts:
        _gather_part(edges, path, layout, storage, lines)
    return edges


def _gather_part(edges: Gatherer, path: Path, layout: Layout, storage: Storage, lines: Lines) -> None:
    parser, clean = _Parser(layout), False
    start, stop = lines or (0, None)
    size = storage.block if isinstance(storage, Files) else None
    for offset, segment in read_segments(path, max(start, layout.start), size, stop=stop):
        parsed = None if clean or parser.needs_cleaning(segment) else parser.parse(segment)
        if parsed is None:
            parsed = parser.parse(layout.cleaned(bytes(segment)))
            clean = layout.integers
        if parsed is None:
            raise _explained(path, parser, offset, bytes(segment))
        edges.add(*parsed)
        if storage is MEMORY:
            refuse_over_budget(edges.projected_bytes, f"{path} has over {offset:,} bytes of edges")


def _doubtful_header(graph: Graph, names: tuple[str, ...]) -> Graph:
    """Add a notice where the ids of the first line stand in no other edge, so that they may name columns."""
    if len(names) < 2 or graph.n_edges < 2:
        return graph
    ends = [np.flatnonzero(graph.outside_ids == name) for name in names]
    if any(place.size != 1 or graph.degrees[place[0]] != 1 for place in ends):
        return graph
    return replace(graph, notices=(*graph.notices, header_notice(names)))


def header_notice(names: Sequence[str]) -> str:
    """Return what to say of ids that stand on the first line and in no other edge."""
    return (
        f"the first line, {','.join(names)!r}, is read as an edge, although no other line has these ids. "
        f"{_HEADER_REMEDY}"
    )


def doubtful_header(graph: Graph) -> str | None:
    """Return the notice on a first line that may name the columns, where the file of a graph has such a line."""
    return next((notice for notice in graph.notices if notice.endswith(_HEADER_REMEDY)), None)


def first_line_with(path: Path, name: str) -> int | None:
    """Return the number of the first line that has this id as one of its first two fields."""
    wanted = name.encode()
    for offset, segment in read_segments(path):
        text = bytes(segment)
        place = text.find(wanted)
        while place >= 0:
            begin = text.rfind(b"\n", 0, place) + 1
            end = text.find(b"\n", place)
            line = text[begin : None if end < 0 else end]
            if wanted in re.split(rb'[\s,"]+', line.strip(b' \t\r"'))[:2] and not line.startswith((b"#", b"%")):
                return line_number(path, offset + begin)
            place = text.find(wanted, place + 1)
    return None


class _Parser:
    """Turns whole lines into edges, or finds that something is wrong with them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        # 64 bits once a segment needed them.
        self._types = [pa.int32(), pa.int64()] if layout.integers else [pa.large_string()]

    def needs_cleaning(self, segment: memoryview) -> bool:
        """Return whether string ids could be confused with comments or with blanks of the other kind.

        Integers cannot: they fail to parse, or have the blanks trimmed.
        """
        if self.layout.integers:
            return False
        marks = [b"#", b"%"]
        if self.layout.blanks:
            marks.append(b" " if self.layout.delimiter == "\t" else b"\t")
        text = bytes(segment)
        return any(mark in text for mark in marks)

    def parse(self, text: bytes | memoryview) -> tuple[Any, FloatArray | None] | None:
        """Return the ends and weights of the edges, as `Gatherer` takes them, or None where something is wrong."""
        table = self._table(text)
        if table is None:
            return None
        source, target, *rest = table.columns
        try:
            weights = check_weights(rest[0].to_numpy(), len(table)) if rest else None
        except InputError:
            return None
        if self.layout.integers:
            return None if has_odd_integers(text) else ((source, target), weights)
        names = self._names(source, target)
        return None if names is None else (names, weights)

    def _table(self, text: bytes | memoryview) -> Any:
        """Return an arrow table of the columns that make an edge, or None where they cannot be read."""
        names = [str(place) for place in range(self.layout.n_columns)]
        used = [names[place] for place in self.layout.columns.used]
        for number, kind in enumerate(self._types):
            types = dict(zip(used, (kind, kind, pa.float64()), strict=False))
            if not len(text):
                return pa.schema(list(types.items())).empty_table()
            try:
                table = read_columns(text, names, types, delimiter=self.layout.delimiter, quotes=self.layout.quotes)
            except (pa.ArrowInvalid, pa.ArrowKeyError):
                continue
            self._types = self._types[number:]
            return table
        return None

    def _names(self, source: Any, target: Any) -> Any:
        """Return the ids without blanks around them, encoded; None where one is empty or has a line break."""
        named = encoded(source, target)
        if not self.layout.blanks and pc.any(pc.match_substring_regex(named.dictionary, "^[ \t]|[ \t]$")).as_py():
            named = encoded(*(pc.ascii_trim(column, " \t") for column in (source, target)))
        bad = pc.equal(named.dictionary, "")
        if self.layout.quotes:
            bad = pc.or_(bad, pc.match_substring_regex(named.dictionary, "[\r\n]"))
        return None if pc.any(bad).as_py() else named


def has_odd_integers(text: bytes | memoryview) -> bool:
    """Return whether a number is written with a leading zero, as -0, or in hexadecimal.

    pyarrow would read it as the integer that it is, and it would not come back as given. Signs of exponents are no
    signs of numbers.

    >>> [has_odd_integers(text) for text in (b"10 0 0.5 1e-05", b"1 007", b"0x1 2", b"-0 1")]
    [False, True, True, True]
    """
    data = np.frombuffer(text, np.uint8)
    for start in range(0, data.size, _SLICE):
        part = data[start : start + _SLICE + 1]
        zeros = start + 1 + np.flatnonzero((part[1:] == ord("0")) & (part[:-1] <= ord("-")))
        if start == 0 and part[0] == ord("0"):
            zeros = np.concatenate([[0], zeros])
        if zeros.size and _any_odd(data, zeros):
            return True
    return False


def _any_odd(data: NDArray[np.uint8], zeros: IntArray) -> bool:
    """Return whether one of these zeros, each after a separator or sign or at the start, makes a number odd."""
    before = np.where(zeros > 0, data[zeros - 1], ord(" "))
    before_that = np.where(zeros > 1, data[np.maximum(zeros - 2, 0)], ord(" "))
    after = np.where(zeros + 1 < data.size, data[np.minimum(zeros + 1, data.size - 1)], ord(" "))
    signed = (before == ord("-")) | (before == ord("+"))
    longer = ((after >= ord("0")) & (after <= ord("9"))) | ((after | 32) == ord("x"))
    return bool(np.where(signed, (before == ord("-")) & (before_that <= ord("-")), longer).any())


def _explained(path: Path, parser: _Parser, offset: int, segment: bytes) -> Exception:
    """Return what is wrong with a segment that cannot be parsed: an error that names the line, or `_NotIntegers`."""
    layout = parser.layout
    begin, lines = narrow(segment, lambda part: parser.parse(layout.cleaned(part)) is None)
    place, odd = offset + begin, None
    for line in lines.splitlines(keepends=True):
        fault = line_fault(line, layout)
        if fault:
            return InputError(f"{path}, line {line_number(path, place):,}: {fault}")
        if odd is None and not has_integer_ids(line, layout):
            odd = place
        place += len(line)
    if layout.integers and odd is not None:
        return _NotIntegers(path, odd)
    near = line_number(path, offset + begin)
    return InputError(f"{path}, about line {near:,}: these lines cannot be split into edges")


def line_fault(line: bytes, layout: Layout) -> str:
    """Say what is wrong with a line and what to do; nothing where it is an edge, a comment or empty."""
    if len(line) > MAX_LINE:
        return f"a line has {len(line):,} bytes. Write one edge per line."
    try:
        text = _text(line, layout)
    except UnicodeDecodeError as error:
        byte = error.object[error.start : error.start + 1].hex()
        return f"this is not UTF-8 text (byte 0x{byte}). Convert the file to UTF-8, for example with iconv."
    return _fields_fault(layout.split(text), text, layout) if text.strip(" \t") else ""


def has_integer_ids(line: bytes, layout: Layout) -> bool:
    """Return whether both ids of a faultless line are integers; so are those of a comment, which has none."""
    text = _text(line, layout)
    fields = layout.split(text) if text.strip(" \t") else []
    return not fields or all(is_integer(fields[place]) for place in layout.columns.used[:2])


def _text(line: bytes, layout: Layout) -> str:
    return layout.cleaned(line).decode().strip("\r\n")


def _fields_fault(fields: list[str], text: str, layout: Layout) -> str:
    shown = f"in {text[:80]!r}"
    if layout.quotes and text.count('"') % 2:
        return f"a quote is not closed, {shown}. Close it; ids cannot hold line breaks."
    if len(fields) != layout.n_columns:
        return (
            f"the first line has {layout.n_columns} columns, this one has {len(fields)}, {shown}. Write one edge per "
            "line, all with the same columns."
        )
    source, target, *weights = (fields[place] for place in layout.columns.used)
    if not source or not target:
        return f"an id is empty, {shown}. Every edge needs two ids."
    if weights and not _is_weight(weights[0]):
        return (
            f"the weight {weights[0][:80]!r} must be a finite number from 0 to 3.4e38, {shown}. Correct it, choose "
            "another weight column (--weight), or ignore weights (weighted=False, --unweighted)."
        )
    return ""


def _is_weight(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and 0 <= float(text) <= float(np.finfo(np.float32).max)
