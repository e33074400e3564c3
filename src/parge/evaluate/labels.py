"""Labels: which vertices carry which, keyed by vertex id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.frames import is_frame
from parge.ids import as_ids, unique_ids
from parge.io.places import fetched
from parge.typing import IdArray, IntArray


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of labelled vertices, one or several each.

    Parameters
    ----------
    ids : (n_labelled,) int64 or numpy strings
        The labelled vertices, ascending.
    classes : (n_classes,) int64 or numpy strings
        All labels, ascending.
    indicator : (n_labelled, n_classes) scipy CSR of bool
        Which vertex has which label.
    notices : tuple of str
        What was not read of a file, as text.
    first : str, optional
        The vertex of the first line of a file, if it is a word that could name a column as well.

    Examples
    --------
    >>> labels = Labels.of({"ann": ["red", "blue"], "bob": ["red"]})
    >>> labels.ids.tolist(), labels.classes.tolist(), labels.counts.tolist()
    (['ann', 'bob'], ['blue', 'red'], [2, 1])
    """

    ids: IdArray = field(repr=False)
    classes: IdArray
    indicator: Any = field(repr=False)
    notices: tuple[str, ...] = ()
    first: str | None = None

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def counts(self) -> IntArray:
        """Number of labels of each vertex."""
        return np.asarray(np.diff(self.indicator.indptr), np.int64)

    def remedy(self, unknown: IdArray) -> str:
        """Return what to do where `unknown` are labelled vertices that are not there, as text."""
        shorten = "To go on without such vertices, remove them from the labels."
        if self.first is None or self.first not in set(map(str, unknown.tolist())):
            return shorten
        return f"Is the first line, that of {self.first!r}, a header? Then give --header (header=True). {shorten}"

    @staticmethod
    def of(labels: Any, known: IdArray | None = None) -> "Labels":
        """Return labels from a mapping of id to label or list of labels, or from what `read_labels` reads.

        A first line of a file whose id is not among the `known` ones may then be a header.
        """
        if isinstance(labels, Labels):
            return labels
        if not isinstance(labels, Mapping):
            return read_labels(labels, known=known)
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
            raise InputError(f"{vertices.size:,} vertices for {carried.size:,} labels; give one vertex per label")
        if not vertices.size:
            raise InputError("no vertex has a label; at least one is needed")
        ids, row = unique_ids(vertices)
        classes, column = unique_ids(carried)
        entries = np.ones(row.size, np.bool_)
        return Labels(ids, classes, sp.csr_matrix((entries, (row, column)), shape=(ids.size, classes.size)))


def read_labels(
    path: Any,
    *,
    label_column: str | None = None,
    id_column: str | None = None,
    header: bool | None = None,
    known: IdArray | None = None,
) -> Labels:
    """Read lines ``vertex label [label ...]``, or one column of a table (CSV, TSV, Parquet); may be compressed.

    Lines are split at white space and commas. In ``.tsv`` only tabs separate, in ``.csv`` only commas, and ``"`` quotes
    there, so ids and labels may hold blanks. Lines that start with ``#`` or ``%`` are comments. Several lines of one
    vertex add up. A vertex alone on its line has no label. In a table with a header exactly one column is the label.
    Where the label column is not clear, or all lines without a header have more than two fields, give `label_column`:
    ``all`` reads every field but the vertex as a label.

    Parameters
    ----------
    path : path, URL or frame
        A frame is anything with ``__arrow_c_stream__``: DuckDB, Polars, pandas, pyarrow.
    label_column : str, optional
        Name or number (from 1) of the label column, several separated by commas, or ``all``.
    id_column : str, optional
        Name or number of the column of vertices; by default one called id, vertex, node or name, else the first.
    header : bool, optional
        Whether the first line names the columns. By default it does if its words are usual names (id, label, ...), or
        are above integer ids, or above ids that are all `known`.
    known : ids, optional
        Ids of all vertices.
    """
    from parge.io.label_columns import LabelColumns
    from parge.io.labels import frame_pairs, read_pairs

    choice = LabelColumns(label_column, id_column, header, known)
    if is_frame(path):
        found = frame_pairs(path, choice)
    else:
        with fetched(path) as place:
            found = read_pairs(place, choice)
    return replace(Labels.from_pairs(found.vertices, found.labels), notices=found.notices, first=found.first)
