"""Labels: which vertices carry which, keyed by vertex id."""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.files import foreign_errors, format_suffix, open_bytes
from parge.ids import as_ids, parse_ids
from parge.typing import IdArray, IntArray

# Names of columns in a header.
_ID = {"id", "ids", "vertex", "node", "name", "vertex_id", "node_id", "vertexid", "nodeid"}
_LABEL = re.compile(r"(labels?|class|category|group|community)[ _]?[0-9]*")


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of labelled vertices, one or several each.

    Parameters
    ----------
    ids : (n_labelled,) int64 or numpy strings
        The labelled vertices, ascending.
    classes : (n_classes,) int64 or numpy strings
        The labels there are, ascending.
    indicator : (n_labelled, n_classes) scipy CSR of bool
        Which vertex carries which.

    Examples
    --------
    >>> labels = Labels.of({"ann": ["red", "blue"], "bob": ["red"]})
    >>> labels.ids.tolist(), labels.classes.tolist(), labels.counts.tolist()
    (['ann', 'bob'], ['blue', 'red'], [2, 1])
    """

    ids: IdArray = field(repr=False)
    classes: IdArray
    indicator: Any = field(repr=False)

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def counts(self) -> IntArray:
        """Number of labels of each vertex."""
        return np.asarray(np.diff(self.indicator.indptr), np.int64)

    @staticmethod
    def of(labels: "Mapping[Any, Any] | Labels | str | PathLike[str]") -> "Labels":
        """Return labels from a mapping of id to label or list of labels, or from a file."""
        if isinstance(labels, Labels):
            return labels
        if not isinstance(labels, Mapping):
            return read_labels(labels)
        vertices, carried = [], []
        for vertex, some in labels.items():
            each = some if isinstance(some, Iterable) and not isinstance(some, str) else [some]
            for label in each:
                vertices.append(vertex)
                carried.append(label)
        return Labels.from_pairs(as_ids(vertices), as_ids(carried))

    @staticmethod
    def from_pairs(vertices: IdArray, carried: IdArray) -> "Labels":
        """Return labels from parallel arrays of vertex and label; a pair given twice counts once."""
        if vertices.size != carried.size:
            raise InputError(f"{vertices.size:,} vertices for {carried.size:,} labels; they go in pairs")
        if not vertices.size:
            raise InputError("no vertex has a label; at least one is needed")
        ids, row = np.unique(vertices, return_inverse=True)
        classes, column = np.unique(carried, return_inverse=True)
        entries = np.ones(row.size, np.bool_)
        return Labels(ids, classes, sp.csr_matrix((entries, (row, column)), shape=(ids.size, classes.size)))


def read_labels(path: str | PathLike[str]) -> Labels:
    """Read a file of lines ``vertex label [label ...]``, separated by white space or commas.

    In ``.tsv`` only tabs separate, in ``.csv`` only commas, and ``"`` quotes there: so ids and labels may hold blanks;
    both may have a header, ``id,label,...``. Lines that start with ``#`` or ``%`` are comments; several lines of one
    vertex add up, so files of one pair a line will do; a vertex alone on its line has no label. The file may be
    compressed (``.gz``, ``.zst``).
    """
    path = Path(path)
    with foreign_errors(path, "labels"), open_bytes(path) as file:
        lines = [line for line in file.read().decode("utf-8-sig").splitlines() if line.strip()]
    rows = _rows([line for line in lines if line.lstrip()[0] not in "#%"], path)
    vertices = [row[0] for row in rows for _ in row[1:]]
    carried = [label for row in rows for label in row[1:]]
    if not carried:
        raise InputError(
            f"{path}: lines 'vertex label [label ...]' were expected; found no labelled vertex. Ids and labels with "
            "blanks or commas are read from .csv (with quotes) and .tsv"
        )
    return Labels.from_pairs(parse_ids(vertices), parse_ids(carried))


def _rows(lines: list[str], path: Path) -> list[list[str]]:
    """Return the vertex and the labels of every line."""
    mark = {".csv": ",", ".tsv": "\t"}.get(format_suffix(path))
    if mark is None or not any(mark in line for line in lines):
        return [line.replace(",", " ").split() for line in lines]
    rows = [_fields(line, mark, path) for line in lines]
    columns = _labelled_columns(rows)
    if columns is not None:
        rows = [[row[0], *(row[place] for place in columns if place < len(row))] for row in rows[1:]]
    if any(not row[0] for row in rows):
        raise InputError(f"{path}: a line begins with an empty id; every label needs a vertex")
    return [[row[0], *filter(None, row[1:])] for row in rows]


def _fields(line: str, mark: str, path: Path) -> list[str]:
    try:
        fields = next(csv.reader([line], strict=True, skipinitialspace=True)) if mark == "," else line.split(mark)
    except csv.Error as error:
        raise InputError(f"{path}: the line {line[:80]!r} cannot be split at commas: {error}") from None
    return [field.strip() for field in fields]


def _labelled_columns(rows: list[list[str]]) -> list[int] | None:
    """Return which columns hold labels if the first row is a header: names in use, or words over integers."""
    first, rest = [name.lower() for name in rows[0]], rows[1:]
    named = [place for place, name in enumerate(first) if place and _LABEL.fullmatch(name)]
    if named and first[0] in _ID:
        return named
    integers = bool(rest) and parse_ids([row[0] for row in rest]).dtype.kind == "i"
    return list(range(1, len(first))) if integers and first[0][:1].isalpha() else None
