"""Files of labels: lines of a vertex and a label, or of several, or tables of which one column is the label."""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.frames import arrow_stream
from parge.graph.memberships import Memberships
from parge.ids import STRING, TEXT_COPIES, decoded, ids_in, is_listed, joined, positions, repeated_numbers, text_bytes
from parge.io.files import check_file, foreign_errors, format_suffix, read_head, read_segments, read_texts
from parge.io.graphs.write import write_lines
from parge.io.label_columns import ALL, LabelColumns, has_usual_name, id_position, label_positions
from parge.io.tables import open_table
from parge.memory import refuse_over_budget
from parge.storage import row_blocks
from parge.typing import IdArray, IntArray

_WORD = re.compile(r"[^\W\d].*")

# Text split at a time; words of Python take some 20 times their text.
_BLOCK = 1 << 20

# Measured at the peak for a word of a line, and for a row of Parquet: strings of numpy, joined, numbered and sorted.
_WORD_BYTES, _ROW_BYTES = 100, 250

# Rows of Parquet read at a time.
_ROWS = 1 << 16


@dataclass(frozen=True)
class Pairs:
    """Vertices and labels, as many of each, and what was not read.

    `first` is the vertex of the first line of text, if it is a word that could name a column as well.
    """

    vertices: IdArray
    labels: IdArray
    notices: tuple[str, ...] = ()
    first: str | None = None


@dataclass(frozen=True)
class _Rows:
    """The fields of all lines in a row, and how many each line has."""

    fields: IdArray
    widths: IntArray

    def first(self) -> list[str]:
        return [str(field) for field in self.fields[: self.widths[0]].tolist()]

    def without_first(self) -> "_Rows":
        return _Rows(self.fields[self.widths[0] :], self.widths[1:])

    def column(self, place: int) -> tuple[IdArray, IntArray]:
        """Return the fields of one column, and the numbers of the rows that have it."""
        starts = np.cumsum(self.widths) - self.widths
        rows = np.flatnonzero(self.widths > place)
        return self.fields[starts[rows] + place], rows


def read_pairs(path: Path, choice: LabelColumns) -> Pairs:
    """Read vertices and labels from a text file or from Parquet."""
    check_file(path)
    with foreign_errors(path, "labels"):
        if format_suffix(path) == ".parquet":
            return _parquet(path, choice)
        rows = _rows(path)
        return _table(path, rows, choice) if rows.widths.size else _pairs(path, rows, 0, [], ())


def _rows(path: Path) -> _Rows:
    """Split all lines, a block of text at a time."""
    mark = _mark(path)
    fields: list[IdArray] = [np.zeros(0, STRING)]
    widths: list[IntArray] = [np.zeros(0, np.int64)]
    n_words = n_text = 0
    for text in read_texts(path, _BLOCK, "one vertex and its labels"):
        lines = list(filter(_is_data, text.splitlines()))
        found = [_split(line, mark, path) for line in lines]
        words = [word for row in found for word in row]
        fields.append(np.array(words, STRING))
        widths.append(np.fromiter(map(len, found), np.int64, len(found)))
        n_words, n_text = n_words + len(words), n_text + sum(map(len, words))
        refuse_over_budget(_WORD_BYTES * n_words + 4 * n_text, f"{path} has {n_words:,} words or more")
    return _Rows(np.concatenate(fields), np.concatenate(widths))


def _is_data(line: str) -> bool:
    """Return whether a line is neither empty nor a comment."""
    start = line.lstrip()[:1]
    return bool(start) and start not in "#%"


def _where(path: Path, row: int) -> str:
    """Return the file and the number of the line that a row was read from."""
    line = 0
    for _, segment in read_segments(path, size=_BLOCK):
        for text in bytes(segment).decode("utf-8", "replace").removeprefix("\ufeff").splitlines():
            line += 1
            row -= _is_data(text)
            if row < 0:
                return f"{path}, line {line:,}"
    return str(path)


def _mark(path: Path) -> str | None:
    """Return what alone separates: commas in .csv and tabs in .tsv, where the first lines have some."""
    mark = {".csv": ",", ".tsv": "\t"}.get(format_suffix(path))
    head = read_head(path)
    if mark and mark.encode() in head:
        return mark
    lines = list(filter(_is_data, head.decode("utf-8", "replace").splitlines()))
    others = "," if mark == "," else ", \t"  # of a .csv file without commas nothing else is expected to separate
    if lines and all(";" in line and not set(line.strip()) & set(others) for line in lines):
        raise InputError(
            f"{path}: semicolons do not separate columns, as in {lines[0][:80]!r}. Replace them by commas, in a .csv "
            "file."
        )
    return None


def _split(line: str, mark: str | None, path: Path) -> list[str]:
    if mark is None:
        return line.replace(",", " ").split()
    try:
        fields = next(csv.reader([line], strict=True, skipinitialspace=True)) if mark == "," else line.split(mark)
    except csv.Error as error:
        raise InputError(f"{path}: the line {line[:80]!r} cannot be split at commas: {error}") from None
    return [field.strip() for field in fields]


def _table(path: Path, rows: _Rows, choice: LabelColumns) -> Pairs:
    names = rows.first() if _has_header(rows, choice) else None
    notices: tuple[str, ...] = ()
    if names is not None:
        rows = rows.without_first()
        if not has_usual_name(names) and choice.header is None:
            notices += (f"the first line is read as column names: {' '.join(names)!r}",)
        wide = np.flatnonzero(rows.widths > len(names))
        if wide.size and choice.label_column != ALL:
            raise InputError(
                f"{_where(path, int(wide[0]) + 1)}: the first line names {len(names)} columns, but this one has "
                f"{rows.widths[wide[0]]} fields. Quote labels with commas in .csv; use .csv or .tsv for labels with "
                "blanks; or give --label-column all (every field is a label) or --no-header."
            )
    width = int(rows.widths.max(initial=0)) if names is None or choice.label_column == ALL else len(names)
    place = id_position(path, names, width, choice)
    if choice.label_column is None and names is None and width > 2:
        if not _lists_labels(path, rows):
            raise _doubtful(path, rows, place)
        choice = replace(choice, label_column=ALL)
        notices += (
            f"lines have up to {width - 1} fields besides the vertex; each is read as a label "
            "(--label-column 2 reads only the first)",
        )
    labels, unread = label_positions(path, names, width, place, choice)
    notices += unread
    found = _pairs(path, rows, place, labels, notices)
    first = rows.first()[place]
    doubtful = names is None and choice.header is None and _WORD.fullmatch(first)
    return replace(found, first=first) if doubtful else found


def _has_header(rows: _Rows, choice: LabelColumns) -> bool:
    """Return whether the first line names columns.

    All of it must be words that do not occur in the same column again. In addition the first is a usual name of a
    vertex, or another is one of a label. Or the ids below are integers, or all ids but the first are known.
    """
    if choice.header is not None:
        return choice.header
    first, rest = rows.first(), rows.without_first()
    if not all(_WORD.fullmatch(name) for name in first if name) or not first[0] or not rest.widths.size:
        return False
    asked = {name.strip() for name in [*(choice.label_column or "").split(","), choice.id_column or ""]} - {""}
    if asked & {*first}:
        return True
    again = any((rest.column(place)[0] == name).any() for place, name in enumerate(first))
    return not again and (has_usual_name(first) or _stands_over_ids(first[0], rest.column(0)[0], choice.known))


def _stands_over_ids(name: str, ids: IdArray, known: IdArray | None) -> bool:
    """Return whether the ids are integers, or vertices that there are, and the word above them is none."""
    if repeated_numbers(ids).dtype.kind == "i":
        return True
    if known is None:
        return False
    found = positions(known, np.concatenate([np.array([name], STRING), ids])) >= 0
    return bool(not found[0] and found[1:].all())


def _lists_labels(path: Path, rows: _Rows) -> bool:
    """Return whether lines are ``vertex label [label ...]``: no table has lines of different lengths."""
    return _mark(path) is None and int(rows.widths.min()) < int(rows.widths.max())


def _doubtful(path: Path, rows: _Rows, place: int) -> InputError:
    """Return the refusal of lines of more than two fields, which may be labels or other columns."""
    row = int(np.argmax(rows.widths > 2))
    other = 2 if place == 0 else 1
    return InputError(
        f"{_where(path, row)}: {rows.widths[row]} fields; those other than the vertex may be labels or other data. "
        f"Give --label-column {other} (one column is the label) or --label-column all (every field is a label)."
    )


def _pairs(path: Path, rows: _Rows, place: int, labels: list[int], notices: tuple[str, ...]) -> Pairs:
    ids, has_id = rows.column(place)
    if has_id.size < rows.widths.size or (ids == "").any():
        raise InputError(f"{path}: a line has no id, or an empty one. Every label needs a vertex.")
    columns = [rows.column(label) for label in labels]
    carriers = [np.zeros(0, np.int64), *(rows_with[values != ""] for values, rows_with in columns)]
    values = [np.zeros(0, STRING), *(values[values != ""] for values, _ in columns)]
    carried, carrier = np.concatenate(values), np.concatenate(carriers)
    if not carried.size:
        raise InputError(
            f"{path}: no labelled vertex found. Write one line 'vertex label' per vertex; use .csv (with quotes) or "
            ".tsv where ids or labels have blanks or commas."
        )
    return Pairs(repeated_numbers(ids[carrier]), repeated_numbers(carried), notices)


def _parquet(path: Path, choice: LabelColumns) -> Pairs:
    with open_table(path) as table:
        names, n_rows = table.names, table.n_rows
        refuse_over_budget(_ROW_BYTES * n_rows, f"{path} has {n_rows:,} rows")
        used, notices = _used(path, names, choice)
        n_rows = max(n_rows, table.n_values(used[1:]))
        refuse_over_budget(_ROW_BYTES * n_rows, f"{path} has {n_rows:,} labels")
        return _of_batches(path, table.batches(used, _ROWS), used, notices)


def frame_pairs(frame: Any, choice: LabelColumns) -> Pairs:
    """Read vertices and labels from the table of another library, a batch at a time."""
    what = Path("labels")
    with arrow_stream(frame, "labels") as reader:
        used, notices = _used(what, reader.schema.names, choice)
        return _of_batches(what, reader, used, notices)


def _of_batches(path: Path, batches: Iterable[Any], used: list[str], notices: tuple[str, ...]) -> Pairs:
    vertices: list[IdArray] = []
    carried: list[IdArray] = []
    n_text = n_rows = 0
    for batch in batches:
        columns = [batch.column(batch.schema.get_field_index(name)) for name in used]
        if columns[0].null_count:
            raise InputError(f"{path}: the column {used[0]!r} has no value in some rows. Every label needs a vertex.")
        n_text += sum(map(text_bytes, columns))
        ids = _values(path, used[0], columns[0])
        for name, column in zip(used[1:], columns[1:], strict=True):
            rows, values = _labelled(column)
            n_rows += len(rows)
            refuse_over_budget(TEXT_COPIES * n_text + _ROW_BYTES * n_rows, f"{path} has {n_text:,} bytes or more")
            vertices.append(ids[rows])
            carried.append(_values(path, name, values))
    if not sum(values.size for values in carried):
        raise InputError(f"{path}: no row has a label in {', '.join(map(repr, used[1:]))}")
    return Pairs(joined(vertices), joined(carried), notices)


def _used(path: Path, names: list[str], choice: LabelColumns) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns that are read, that of the vertices first, and what is not."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(f"{path}: at least two columns are needed, a vertex and its label; found {', '.join(names)}")
    place = id_position(path, names, len(names), choice)
    labels, notices = label_positions(path, names, len(names), place, choice)
    return [names[place], *(names[label] for label in labels)], notices


def _labelled(column: Any) -> tuple[IntArray, Any]:
    """Return the rows that have a label, one for each of a list, and the labels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = np.arange(len(column))
    if is_listed(column.type):
        rows, column = pc.list_parent_indices(column).to_numpy(), pc.list_flatten(column)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)  # what pandas makes of integers where one is missing
    there = column.is_valid()
    return rows[there.to_numpy(zero_copy_only=False)], column.filter(there)


def _values(path: Path, name: str, column: Any) -> IdArray:
    """Return a column of arrow as integers or strings."""
    import pyarrow as pa

    column = decoded(column)
    if pa.types.is_floating(column.type):
        whole = column.to_numpy(zero_copy_only=False)
        if not (whole == np.round(whole)).all() or (np.abs(whole) > 2**53).any():
            raise InputError(f"{path}: the column {name!r} holds fractions. Convert it to integers or strings.")
        return np.asarray(whole, np.int64)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.large_string())
    return ids_in(column, f"{path}: the column {name!r}")


# Vertices whose labels are written at a time.
_WRITTEN_AT_ONCE = 2**17


def write_labels(path: str | Path, ids: IdArray, labels: Memberships, *, marked: bool = False) -> None:
    """Write a line ``vertex label`` for every label of every vertex (``.gz``, ``.zst``: compressed).

    The first line of a `marked` file records that parge generated it. The file gets its name when it is complete.
    """
    if ids.size != labels.n_vertices:
        raise InputError(f"{ids.size} ids for the labels of {labels.n_vertices} vertices")
    blocks = row_blocks(ids.size, _WRITTEN_AT_ONCE)
    for name in (str(name) for block in blocks for name in ids[block].tolist()) if ids.dtype == STRING else ():
        if name.split() != [name]:
            raise InputError(f"a line of labels is split at spaces, so it cannot hold the id {name!r}. Rename it.")

    def lines(out: Any) -> None:
        for block in row_blocks(ids.size, _WRITTEN_AT_ONCE):
            rows = ((name, labels.of(v).tolist()) for v, name in enumerate(ids[block].tolist(), block.start))
            out.write("".join(f"{name} {label}\n" for name, row in rows for label in row).encode())

    write_lines(Path(path), lines, marked=marked)
