"""How the lines of a text edge list are made, seen from its first lines."""

import csv
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from parge.columns import Columns, Wanted, asked_for, by_name, guessed_notice, ignored_notice, is_guessed, refuse_late
from parge.errors import InputError
from parge.io.files import foreign_errors, single_blanks, without_comments

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBERS = re.compile(r"[-+.0-9eE\s]*")
_COMMA_NUMBERS = re.compile(r"[-+.,0-9eE\s]*")
_WORD = re.compile(r"[^\W\d]\w*([ .:-]\w+)*")
NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_LIKE_NUMBER = re.compile(r"[-+]?[0-9.,]+(?:[eE][-+]?[0-9]+)?")
_NO_NUMBERS = {"nan", "na", "inf", "infinity", "null", "none"}  # words that stand for numbers that are missing
_ATTRIBUTES = re.compile(rb"(?m)[ \t,]+\{[^\r\n]*\}[ \t]*$")
_WITH_ATTRIBUTES = re.compile(r"[^ \t,]+[ \t,]+[^ \t,]+[ \t,]+\{.*\}[ \t]*")

_PAGE = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+html|html)[\s>]", re.IGNORECASE)

# Lines that are looked at before parsing starts.
_SAMPLE = 100


@dataclass(frozen=True)
class Layout:
    """What separates the columns, which of them make an edge, and where the first edge starts."""

    start: int  # bytes before the first edge: comments and a header
    delimiter: str  # space, tab or comma, or as asked for
    blanks: bool  # whether any run of blanks separates; else each single delimiter does, and ids may contain blanks
    n_columns: int  # columns of every line
    columns: Columns  # those that make an edge
    integers: bool  # whether the first lines have integers as ids
    # Whether lines end in a ``{...}`` of attributes, as networkx writes them, which is cut off.
    attributes: bool = False
    notices: tuple[str, ...] = ()  # what is ignored
    # The ids of the first line where they could as well be names of columns; else nothing.
    maybe_names: tuple[str, ...] = ()
    header: tuple[str, ...] = ()  # the names of the columns, where the first line has them
    # Whether a further part may begin with names of columns: not where nobody has a header by request.
    may_differ: bool = True
    weighted: bool = True  # whether weights are read where there are some

    @property
    def quotes(self) -> bool:
        """Whether quotes hold a field together: between commas and other marks, not between tabs or blanks."""
        return has_quotes(self.delimiter)

    def cleaned(self, segment: bytes) -> bytes:
        """Return lines that pyarrow can split: no comments, and one delimiter between columns."""
        text = without_comments(segment)
        if self.attributes:
            text = _ATTRIBUTES.sub(b"", text)
        return single_blanks(text).replace(b" ", self.delimiter.encode()) if self.blanks else text

    def split(self, line: str) -> list[str]:
        """Return the fields of one line."""
        return split_line(line, self.delimiter, self.blanks)


def has_quotes(delimiter: str) -> bool:
    """Return whether quotes mean something between such delimiters."""
    return delimiter not in "\t "


def split_line(line: str, delimiter: str, blanks: bool) -> list[str]:
    """Return the fields of one line; quotes mean nothing between tabs or blanks.

    >>> split_line('"a, b", c', ",", False)
    ['a, b', 'c']
    """
    if blanks:
        return [field for field in line.replace("\t", " ").split(" ") if field]
    fields = line.split(delimiter)
    if has_quotes(delimiter) and '"' in line:
        with suppress(csv.Error):
            fields = next(csv.reader([line], delimiter=delimiter))
    return [field.strip(" \t") for field in fields]


def is_integer(field: str) -> bool:
    """Return whether a field is an integer as Python would write it, and fits 64 bits.

    >>> [is_integer(text) for text in ("7", "-7", "007", "+7", "7.0", "99999999999999999999")]
    [True, True, False, False, False, False]
    """
    return bool(_INTEGER.fullmatch(field)) and field != "-0" and -(2**63) <= int(field[:21]) < 2**63


def sniff(head: bytes, path: Path, *, suffix: str, wanted: Wanted) -> Layout | None:
    """Return the layout of a file from its first lines, or None where they hold no data.

    A column that is asked for by its name makes the first line a header.
    """
    lines = _data_lines(head, path)
    if not lines:
        return None
    texts = [line.decode("utf-8", "replace") for _, line in lines]
    texts, attributes = _without_attributes(texts, suffix)
    if wanted.delimiter is None:
        delimiter, blanks = _delimiter(texts, suffix)
    else:
        delimiter, blanks = wanted.delimiter, wanted.delimiter == " "
    rows = [split_line(text, delimiter, blanks) for text in texts]
    named = by_name(rows[0])
    header = rows[0] if _has_header(rows, named, wanted) else None
    body = rows[1:] if header else rows
    if header and not body:
        return None
    n_columns = len(body[0])
    _refuse_narrow(path, n_columns, texts[0], delimiter, blanks)
    layout = Layout(
        start=lines[bool(header)][0],
        header=tuple(header or ()),
        may_differ=wanted.header is not False,
        weighted=wanted.weighted,
        delimiter=delimiter,
        blanks=blanks,
        n_columns=n_columns,
        columns=Columns(0, 1),
        integers=False,
        attributes=attributes,
        notices=("the {...} after the two ids ignored",) if attributes else (),
    )
    with foreign_errors(path, "text"):
        return _with_columns(layout, header, named if header else None, body, wanted)


def continued(layout: Layout, head: bytes, path: Path) -> Layout | None:
    """Return the layout of a further part of an edge list, or None where it has no data.

    It is that of the first part. Its first line is a header where it names the columns of the first, in any order: they
    are then found by name. Other names in common use are refused: they would be read as an edge.
    """
    lines = _data_lines(head, path)
    if not lines:
        return None
    first = split_line(lines[0][1].decode("utf-8", "replace"), layout.delimiter, layout.blanks)
    if tuple(first) == layout.header:
        lines = lines[1:]
    elif layout.header and {layout.header[place] for place in layout.columns.used} <= set(first):
        if layout.weighted:
            refuse_late(path, first, layout.header)
        places = [first.index(layout.header[place]) for place in layout.columns.used]
        layout, lines = replace(layout, columns=Columns(*places), n_columns=len(first)), lines[1:]
    elif layout.may_differ and by_name(first) is not None:
        there = f"the columns {', '.join(map(repr, layout.header))}" if layout.header else "no names of columns"
        raise InputError(
            f"{path} begins with the names {', '.join(map(repr, first))}, but the first part has {there}. Give all "
            "parts the same columns."
        )
    return replace(layout, start=lines[0][0]) if lines else None


def _refuse_binary(head: bytes, path: Path) -> None:
    if _PAGE.match(head):
        raise InputError(
            f"{path} is a web page, not a list of edges. Download the file itself, perhaps after signing in."
        )
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is UTF-16 text. Save it as UTF-8.")
    if b"\0" in head[: 2**16]:
        raise InputError(
            f"{path} is not text, and its suffix names no binary format. Rename it to .parquet, .npz or .mat if it is "
            "one of these; all other suffixes are read as text."
        )


def _data_lines(head: bytes, path: Path) -> list[tuple[int, bytes]]:
    """Return the first lines that are neither empty nor comments, with their offsets; refuse what is no text."""
    _refuse_binary(head, path)
    found, offset = [], 3 if head.startswith(b"\xef\xbb\xbf") else 0
    for line in head[offset:].splitlines(keepends=True):
        text = line.strip()
        if text and not text.startswith((b"#", b"%")):
            found.append((offset, line.rstrip(b"\r\n")))
            if len(found) == _SAMPLE:
                break
        offset += len(line)
    return found


def _without_attributes(texts: list[str], suffix: str) -> tuple[list[str], bool]:
    """Cut off the ``{...}`` that networkx writes at the end of every line, and say whether there was one."""
    cut = [text.partition("{")[0].rstrip(" \t,") for text in texts]
    mark = {".tsv": "\t", ".csv": ","}.get(suffix, "")
    found = all(_WITH_ATTRIBUTES.fullmatch(text) for text in texts) and all(mark in text for text in cut)
    return (cut, True) if found else (texts, False)


def _delimiter(texts: list[str], suffix: str) -> tuple[str, bool]:
    """Return what separates columns, and whether runs of it do.

    A tab, then a comma, that the first line and most others have; a suffix that names one of them goes before. But
    where lines hold nothing but numbers, blanks separate them too, as in ``1 2<tab>0.5``; and where only
    blanks give every line as many columns, they separate.
    """
    usual = [mark for mark in ("\t", ",") if mark in texts[0] and 2 * sum(mark in text for text in texts) > len(texts)]
    for mark, name in (("\t", ".tsv"), (",", ".csv")):
        if suffix == name and mark in usual:
            return mark, False
    if usual and not all(_NUMBERS.fullmatch(text) for text in texts) and not _only_blanks_fit(texts, usual[0]):
        return usual[0], False
    first = texts[0].strip(" ")
    return ("\t" if "\t" in first and " " not in first else " "), True


def _only_blanks_fit(texts: list[str], mark: str) -> bool:
    """Return whether lines have as many columns each if they are split at blanks, but not if at this mark.

    So they have where commas stand inside numbers only, as in ``1 2 0,5``.
    """
    by_blanks = _widths(texts, " ", blanks=True)
    if len(by_blanks) > 1 or min(by_blanks) < 2:
        return False
    numbers = all(_COMMA_NUMBERS.fullmatch(text) for text in texts)
    return len(_widths(texts, mark, blanks=False)) > 1 or (numbers and _has_inner_blanks(texts[0], mark))


def _widths(texts: list[str], delimiter: str, *, blanks: bool) -> set[int]:
    return {len(split_line(text, delimiter, blanks)) for text in texts}


def _has_inner_blanks(text: str, mark: str) -> bool:
    return any(" " in field.strip(" \t") or "\t" in field.strip(" \t") for field in text.split(mark))


def _has_header(rows: list[list[str]], named: Columns | None, wanted: Wanted) -> bool:
    """Return whether the first row names columns: as was said, or as it looks."""
    if wanted.header is not None:
        return wanted.header
    return any(name in rows[0] for name in wanted.columns if not name.isdigit()) or _is_header(rows, named)


def _is_header(rows: list[list[str]], named: Columns | None) -> bool:
    """Return whether the first row names columns: by names in common use, or as words over integers or weights."""
    first, rest = rows[0], rows[1:]
    if len(first) < 2:
        return False
    if named and all(_WORD.fullmatch(first[place]) for place in named.used):
        return True
    # A column of row numbers, as pandas writes it, has no name.
    words = all(_WORD.fullmatch(field) for field in first[first[0] == "" : 2])
    if not words or not rest:
        return False
    over_weights = (
        len(first) > 2
        and bool(_WORD.fullmatch(first[2]))
        and first[2].lower() not in _NO_NUMBERS
        and all(len(row) > 2 and NUMBER.fullmatch(row[2]) for row in rest)
    )
    return over_weights or all(is_integer(field) for row in rest for field in row[:2])


def _is_like_number(field: str) -> bool:
    """Return whether a field is a number, perhaps one written wrong, or a word that stands for one that is missing."""
    return bool(_LIKE_NUMBER.fullmatch(field)) or field.lstrip("+-").lower() in _NO_NUMBERS


def _refuse_narrow(path: Path, n_columns: int, text: str, delimiter: str, blanks: bool) -> None:
    if n_columns > 1:
        return
    between = {"\t": "tabs", ",": "commas"}.get(delimiter, repr(delimiter)) if not blanks else "blanks"
    semicolons = " If semicolons separate the columns, say so (delimiter=';', --delimiter ';')."
    semicolons = semicolons if ";" in text and delimiter != ";" else ""
    raise InputError(
        f"{path}: only one column found in the line {text[:80]!r} (split at {between}); an edge has two ids. Write one "
        f"edge per line: two ids and optionally a weight, separated by blanks, tabs or commas.{semicolons}"
    )


def _with_columns(
    layout: Layout, header: list[str] | None, named: Columns | None, body: list[list[str]], wanted: Wanted
) -> Layout:
    """Choose the columns and say which are ignored; `named` are those that the header has names in common use for."""
    names = header or []
    columns = asked_for(names, wanted, layout.n_columns)
    place = columns.weight
    if place is not None and wanted.weight is None and not (named and max(named.used) < layout.n_columns):
        fields = [row[place] for row in body if len(row) > place and row[place]]
        words = is_guessed(names, columns, wanted) and not any(map(_is_like_number, fields))
        if not fields or words:
            columns = replace(columns, weight=None)
    read = columns
    if not wanted.weighted:
        columns = replace(columns, weight=None)
    notices = guessed_notice(names, columns, wanted)
    notices += ignored_notice(names, read, layout.n_columns, weighted=wanted.weighted)
    integers = all(is_integer(row[place]) for row in body for place in columns.used[:2] if place < len(row))
    if header and wanted.header is None and not integers and (layout.blanks or not named) and not wanted.columns:
        notices += (f"the first line is read as column names: {' '.join(header)!r}",)
    doubtful = wanted.header is None and not header and not layout.blanks and not integers
    first = tuple(body[0][place] for place in columns.used[:2]) if doubtful else ()
    return replace(
        layout,
        columns=columns,
        integers=integers,
        notices=layout.notices + notices,
        maybe_names=first if all(_WORD.fullmatch(field) for field in (body[0] if first else ())) else (),
    )
