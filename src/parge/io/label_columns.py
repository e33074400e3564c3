"""Which columns of a table of labels are read: that of the vertices, and those of the labels."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parge.errors import InputError
from parge.ids import ID_NAMES
from parge.typing import IdArray

# Names of columns of labels in use.
_LABEL = re.compile(r"(labels?|class|category|group|community|subject|topic|target)[ _]?[0-9]*")

ALL = "all"


@dataclass(frozen=True)
class LabelColumns:
    """Which columns to read."""

    # Name or number (from 1) of the column of labels; several with commas between; ``all`` for every column but that of
    # the vertices.
    label_column: str | None = None
    id_column: str | None = None  # name or number of the column of vertices
    header: bool | None = None  # whether the first line names the columns; by default judged by its words
    # The vertices there are: a first line of words whose first is no vertex, where all others are, names columns.
    known: IdArray | None = None


def has_usual_name(names: list[str]) -> bool:
    """Return whether the first column has a usual name of vertices, or another one a usual name of labels."""
    lower = [name.lower() for name in names]
    return lower[0] in ID_NAMES or any(_LABEL.fullmatch(name) for name in lower[1:])


def id_position(path: Path, names: Sequence[str] | None, width: int, choice: LabelColumns) -> int:
    """Return the column of the vertices: the one asked for, else one with a usual name, else the first."""
    if choice.id_column is not None:
        return _position(path, names, width, choice.id_column, "--id-column")
    lower = [name.lower() for name in names or ()]
    return next((column for column, name in enumerate(lower) if name in ID_NAMES), 0)


def label_positions(
    path: Path, names: Sequence[str] | None, width: int, ids: int, choice: LabelColumns
) -> tuple[list[int], tuple[str, ...]]:
    """Return the columns of labels, and a notice that names those that are not read."""
    others = [other for other in range(width) if other != ids]
    asked = choice.label_column
    if asked == ALL and (names is None or ALL not in names):
        return others, ()
    if asked is not None:
        found = [_position(path, names, width, name.strip(), "--label-column") for name in asked.split(",")]
        return found, _not_read(names, [other for other in others if other not in found])
    if len(others) < 2 or names is None:
        return others, ()
    found = [other for other in others if _LABEL.fullmatch(names[other].lower())]
    if len(found) != 1:
        raise InputError(f"{path}: {_ambiguous(names, others)}")
    return found, _not_read(names, [other for other in others if other not in found])


def _ambiguous(names: Sequence[str], others: list[int]) -> str:
    shown = ", ".join(repr(names[other]) for other in others)
    return (
        f"besides the vertex it has the columns {shown}. Name the label column, for example --label-column "
        f"{shlex.quote(names[others[0]])}; separate several with commas."
    )


def _not_read(names: Sequence[str] | None, columns: list[int]) -> tuple[str, ...]:
    if not columns:
        return ()
    shown = ", ".join(repr(names[column]) if names is not None else str(column + 1) for column in columns)
    return (f"columns not read as labels: {shown} (choose with --label-column)",)


def _position(path: Path, names: Sequence[str] | None, width: int, wanted: str, option: str) -> int:
    if names is not None and wanted in names:
        return list(names).index(wanted)
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 and 1 <= int(wanted) <= width:
        return int(wanted) - 1
    there = ", ".join(map(repr, names)) if names is not None else f"the numbers 1 to {width}"
    raise InputError(f"{path}: there is no column {wanted!r} for {option}; the columns are {there}")
