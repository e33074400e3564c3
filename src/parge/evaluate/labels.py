"""Labels: which vertices carry which, keyed by vertex id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.files import foreign_errors, open_bytes
from parge.ids import as_ids, parse_ids
from parge.typing import IdArray, IntArray


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

    Lines that start with ``#`` or ``%`` are comments; several lines of one vertex add up, so files of one pair a
    line will do; a vertex alone on its line has no label. The file may be compressed (``.gz``, ``.zst``).
    """
    path = Path(path)
    vertices: list[str] = []
    carried: list[str] = []
    with foreign_errors(path, "labels"), open_bytes(path) as file:
        for line in file.read().decode("utf-8-sig").splitlines():
            words = line.replace(",", " ").split()
            if words and words[0][0] not in "#%":
                vertices += [words[0]] * (len(words) - 1)
                carried += words[1:]
    if not carried:
        raise InputError(f"{path}: lines 'vertex label [label ...]' were expected; found no labelled vertex")
    return Labels.from_pairs(parse_ids(vertices), parse_ids(carried))
