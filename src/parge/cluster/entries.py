"""Entries of sparse matrices, gathered from several places and put together as rows, some at a time."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.storage import Storage, arc_blocks, release_pages
from parge.typing import FloatArray, IntArray, PartArray

# Entries that are put in order at a time: so many, or in at most so many runs of rows.
_ENTRIES, _RUNS = 1 << 18, 16


class Entries(NamedTuple):
    """Entries of a sparse matrix."""

    row: NDArray[Any]
    column: NDArray[Any]
    value: NDArray[Any]

    @staticmethod
    def narrow(row: NDArray[Any], column: NDArray[Any], value: NDArray[Any]) -> "Entries":
        """Return entries in twelve bytes each; weights of edges have no more digits."""
        return Entries(row.astype(np.int32), column.astype(np.int32), value.astype(np.float32))


def joined_entries(entries: list[Entries]) -> Entries:
    """Return all entries as one list."""
    return Entries(*(np.concatenate([one[i] for one in entries]) for i in range(3)))


def summed(entries: Entries, n_columns: int) -> Entries:
    """Return entries in order of rows and columns; those of one place add up, in the order given."""
    key = entries.row.astype(np.int64) * n_columns + entries.column
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    total = np.add.reduceat(entries.value[order].astype(np.float64), starts) if key.size else np.zeros(0)
    key = key[starts]
    with np.errstate(over="ignore"):
        return Entries.narrow(key // n_columns, key % n_columns, np.minimum(total, np.finfo(np.float32).max))


class WrittenRows:
    """Rows of a graph, put into a storage one after another.

    Parameters
    ----------
    storage : Storage
        Where neighbours and weights go.
    n_rows : int
        How many rows there will be.
    most : int
        The most neighbours that there can be.
    """

    def __init__(self, storage: Storage, n_rows: int, most: int) -> None:
        self._near: PartArray = storage.zeros(most, np.int32)
        self._weights: FloatArray = storage.zeros(most, np.float32)
        self._sizes: IntArray = np.zeros(n_rows, np.int64)
        self._end = 0

    def add(self, entries: Entries, first_row: int) -> None:
        """Add rows that follow on those before; entries are in order, and count rows from `first_row`."""
        here = slice(self._end, self._end + entries.row.size)
        self._near[here], self._weights[here] = entries.column, entries.value
        sizes = np.bincount(entries.row)
        self._sizes[first_row : first_row + sizes.size] += sizes
        self._end = here.stop
        release_pages(self._near, self._weights)

    def add_all(self, entries: list[Entries], first_row: int, n_columns: int) -> None:
        """Add rows from entries in any order, which count rows from `first_row`; `entries` is emptied."""
        n_rows = self._sizes.size - first_row
        sizes: IntArray = np.zeros(n_rows, np.int64)
        for one in entries:
            sizes += np.bincount(one.row, minlength=n_rows)
        limit = max(_ENTRIES, int(sizes.sum()) // _RUNS)
        for first, end in arc_blocks(np.concatenate([[0], np.cumsum(sizes)]), limit):
            picks = [np.flatnonzero((one.row >= first) & (one.row < end)) for one in entries]
            some = joined_entries(
                [Entries(*(array[pick] for array in one)) for one, pick in zip(entries, picks, strict=True)]
            )
            self.add(summed(some._replace(row=some.row - first), n_columns), first_row + first)
        entries.clear()

    def rows(self) -> tuple[IntArray, PartArray, FloatArray]:
        """Return row offsets, neighbours and weights."""
        indptr = np.concatenate([[0], np.cumsum(self._sizes)])
        return indptr, self._near[: self._end], self._weights[: self._end]
