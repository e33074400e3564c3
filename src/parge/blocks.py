"""Row blocks of matrices that may be larger than memory, memory-mapped files among them."""

import mmap
import os
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

# At 128 float64 columns a block is 8 MB: large enough for BLAS, small beside any budget.
BLOCK_ROWS = 8192


def row_blocks(n_rows: int, block_rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover the rows in order.

    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, max(1, block_rows)):
        yield slice(start, min(start + max(1, block_rows), n_rows))


def rows_at_once(n_columns: int) -> int:
    """Return how many rows of that many columns make a block: 8 MB of float64, and never more than `BLOCK_ROWS`.

    It depends on nothing but the columns: products of blocks round differently where blocks differ, so that a
    memory limit or the machine must not decide it.

    >>> rows_at_once(16), rows_at_once(128), rows_at_once(1024)
    (8192, 8192, 1024)
    """
    return max(64, min(BLOCK_ROWS, BLOCK_ROWS * 128 // max(1, n_columns)))


def release_pages(*arrays: Any) -> None:
    """Let go of the pages that memory-mapped arrays have brought into memory; other arrays are left alone.

    Pages of a mapped file count as this process's resident memory until the system wants them back, so a
    sweep over a large file would look like, and under a limit be treated as, holding all of it. What was
    written is kept (by the system, for the file); copy-on-write maps hold changes of their own and stay.
    """
    for array in arrays:
        base, mode = array.matrix if isinstance(array, _SomeRows) else array, ""
        while isinstance(base, np.ndarray):
            mode = base.mode if isinstance(base, np.memmap) else mode
            base = base.base
        if isinstance(base, mmap.mmap) and mode in {"r", "r+", "w+"} and hasattr(base, "madvise"):
            base.madvise(mmap.MADV_DONTNEED)


class _SomeRows:
    """Some rows of a matrix, read from it when they are asked for; made by `some_rows`."""

    def __init__(self, matrix: NDArray[Any], index: NDArray[Any]) -> None:
        self.matrix, self.index = matrix, index
        self.shape, self.dtype, self.ndim = (index.size, *matrix.shape[1:]), matrix.dtype, matrix.ndim
        self.size = int(np.prod(self.shape))

    def __len__(self) -> int:
        return int(self.index.size)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return np.asarray(self.matrix[self.index[rows]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.matrix[self.index], dtype)


def some_rows(matrix: NDArray[Any], index: NDArray[Any]) -> NDArray[Any]:
    """Return some rows of a matrix as what can be cut into blocks like an array, without copying them all.

    >>> some_rows(np.eye(4), np.array([3, 1]))[:1].tolist()
    [[0.0, 0.0, 0.0, 1.0]]
    """
    return cast("NDArray[Any]", _SomeRows(matrix, index))


def all_finite(matrix: NDArray[Any]) -> bool:
    """Return whether no entry is NaN or infinite, looking at one block at a time."""
    for rows in row_blocks(len(matrix), rows_at_once(matrix.shape[1] if matrix.ndim > 1 else 1)):
        if not np.isfinite(matrix[rows]).all():
            return False
        release_pages(matrix)
    return True


def machine_cores() -> int:
    """Return how many cores the system lets this process use: for processes, each with threads of its own."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usable_cores() -> int:
    """Return how many cores our threads may use; OMP_NUM_THREADS, where it is set, speaks for them, too."""
    cores = machine_cores()
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores, int(wanted))) if wanted.isdigit() else cores
