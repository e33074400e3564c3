"""Entries of sparse matrices, gathered from several places and put together as rows, some at a time."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.cluster.rows import joined
from parge.storage import arc_blocks
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


def rows_from(entries: list[Entries], n: int) -> tuple[IntArray, PartArray, FloatArray]:
    """Return rows from entries, in order; those of one place add up. `entries` is emptied."""
    sizes: IntArray = np.zeros(n, np.int64)
    for one in entries:
        sizes += np.bincount(one.row, minlength=n)
    counts: IntArray = np.zeros(n, np.int64)
    near, heavy = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for first, end in arc_blocks(np.concatenate([[0], np.cumsum(sizes)]), max(_ENTRIES, int(sizes.sum()) // _RUNS)):
        picks = [np.flatnonzero((one.row >= first) & (one.row < end)) for one in entries]
        row, column, value = (
            np.concatenate([one[i][pick] for one, pick in zip(entries, picks, strict=True)]) for i in range(3)
        )
        key = (row - first).astype(np.int64) * n + column
        order = np.argsort(key, kind="stable")
        key, starts = np.unique(key[order], return_index=True)
        total = np.add.reduceat(value[order].astype(np.float64), starts) if key.size else np.zeros(0)
        counts[first:end] += np.bincount(key // n, minlength=end - first)
        with np.errstate(over="ignore"):
            heavy.append(np.minimum(total, np.finfo(np.float32).max).astype(np.float32))
        near.append((key % n).astype(np.int32))
    entries.clear()
    return np.concatenate([[0], np.cumsum(counts)]), joined(near), joined(heavy)
