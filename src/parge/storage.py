"""Where large arrays are kept (memory, or files without a name), and how they are passed over: in blocks of rows."""

import contextlib
import io
import mmap
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from parge.errors import PargeError
from parge.memory import format_bytes

_ZEROS = bytes(1 << 20)


def create_new(path: Path) -> int:
    """Open a new file for reading and writing; return its descriptor.

    What is there already, a link that leads elsewhere included, raises FileExistsError and is not touched. The name
    is looked up in the opened folder, so that nobody puts another folder in its place meanwhile.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    if os.open not in os.supports_dir_fd:
        return os.open(path, flags, 0o644)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return os.open(path.name, flags, 0o644, dir_fd=folder)
    finally:
        os.close(folder)


def flush(file: IO[Any]) -> None:
    """Have the system write a file to its disk: what is renamed after this is whole, even if the power fails."""
    file.flush()
    os.fsync(file.fileno())


def reserve_disk(descriptor: int, n_bytes: int, start: int = 0) -> None:
    """Give a new file that many bytes of zeros from `start` on, and their place on the disk.

    A file that only promises its length would end the process with a bus error when the disk is full.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, n_bytes)
        return
    for done in range(0, n_bytes, len(_ZEROS)):  # macOS has no such call
        os.pwrite(descriptor, _ZEROS[: n_bytes - done], start + done)


def current_folder() -> Path | None:
    """Return the current folder, or None if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


class Storage(Protocol):
    """Gives room for flat arrays."""

    def zeros(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a new array of zeros."""

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array, kept here."""


@dataclass(frozen=True)
class Memory:
    """Arrays as numpy makes them."""

    def zeros(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a new array of zeros."""
        return np.zeros(size, dtype)

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array as it is."""
        return array


@dataclass(frozen=True)
class Files:
    """Arrays in memory-mapped files of a folder; the system moves their pages in and out as memory allows.

    A file has lost its name before the array is handed out: it takes space on the disk while the array lives, and
    no killed process leaves one behind. Space is preallocated: a full disk would otherwise raise SIGBUS.
    """

    folder: Path  # on the disk to be used
    block: int = 1 << 20  # bytes that code which fills the files should work on at a time

    def zeros(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a new array of zeros."""
        n_bytes = int(size) * np.dtype(dtype).itemsize
        if n_bytes == 0:  # no system maps an empty file
            return np.zeros(0, dtype)
        try:
            # A file without a name: a process that is killed here leaves nothing behind.
            with tempfile.TemporaryFile(dir=self.folder) as file:
                reserve_disk(file.fileno(), n_bytes)
                array = np.memmap(file, dtype, mode="r+", shape=(int(size),))
            array.filename = str(self.folder / "nameless")  # `storage_like` asks the array for its folder
            return array
        except OSError as error:
            raise PargeError(
                f"{self.folder} has no space for {format_bytes(n_bytes)} more of the graph: {error.strerror}; "
                "give --coordinator-memory that holds the graph, or work on another disk"
            ) from error

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy in a file."""
        found = self.zeros(array.size, array.dtype)
        found[:] = array
        return found


MEMORY = Memory()


def storage_like(array: NDArray[Any]) -> Storage:
    """Return where an array of the same kind belongs: in files if that one is in a file of `Files`, else in memory.

    >>> storage_like(np.zeros(3)) is MEMORY
    True
    """
    if not isinstance(array, np.memmap) or array.mode != "r+":  # what a run folder keeps is mapped to be read alone
        return MEMORY
    return MEMORY if array.filename is None else Files(Path(array.filename).parent)


# Numbers that are looked at together.
_LOOKED_AT = 1 << 17

# At 128 float64 columns a block is 8 MB: large enough for BLAS, small compared with any budget.
BLOCK_ROWS = 8192


def row_blocks(n_rows: int, block_rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """Yield slices that cover the rows in order.

    >>> list(row_blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, n_rows, max(1, block_rows)):
        yield slice(start, min(start + max(1, block_rows), n_rows))


def arc_blocks(indptr: NDArray[np.int64], n_arcs: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the next row of blocks of rows that hold at most `n_arcs` arcs, or a single row.

    >>> list(arc_blocks(np.array([0, 3, 4, 6, 11]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    first, n_rows = 0, indptr.size - 1
    while first < n_rows:
        end = int(np.searchsorted(indptr, indptr[first] + n_arcs, side="right")) - 1
        end = min(n_rows, max(first + 1, end))
        yield first, end
        first = end


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

    Pages of a mapped file count as this process's resident memory until the system wants them back. So a sweep over a
    large file would look like holding all of it, and under a limit be treated so. What was written is kept (by the
    system, for the file); copy-on-write maps hold changes of their own and stay.
    """
    for array in arrays:
        base, mode = _owner(array.matrix if isinstance(array, _SomeRows) else array)
        if isinstance(base, mmap.mmap) and mode in {"r", "r+", "w+"} and hasattr(base, "madvise"):
            base.madvise(mmap.MADV_DONTNEED)


def read_rows(matrix: NDArray[Any], rows: slice, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return a copy of some rows, in `out` if it is given; where the matrix is a mapped file, they are read from it.

    For one byte that is touched in a map, a system may bring two megabytes in (Linux does, with large folios), and all
    of them count as this process's memory.
    """
    size = max(0, min(rows.stop, len(matrix)) - rows.start)
    found = np.empty((size, *matrix.shape[1:]), matrix.dtype) if out is None else out
    if isinstance(matrix, np.memmap) and matrix.mode == "r" and isinstance(matrix.base, mmap.mmap) and matrix.size:
        # Not through `Path`: a worker on a small graph reads hundreds of times, a few kilobytes each.
        with contextlib.suppress(OSError, TypeError), io.FileIO(matrix.filename) as file:
            file.seek(matrix.offset + rows.start * (matrix.nbytes // len(matrix)))
            if file.readinto(found.reshape(-1).view(np.uint8)) == found.nbytes:
                return found
    found[...] = matrix[rows]
    return found


def is_mapped(array: NDArray[Any]) -> bool:
    """Return whether an array, or what it is a part of, is a memory-mapped file.

    >>> is_mapped(np.zeros(3))
    False
    """
    return isinstance(_owner(array)[0], mmap.mmap)


def _owner(array: NDArray[Any]) -> tuple[Any, str]:
    """Return what holds the bytes of an array, and the mode of the map among the arrays between, if there is one."""
    base: Any = array
    mode = ""
    while isinstance(base, np.ndarray):
        mode = base.mode if isinstance(base, np.memmap) else mode
        base = base.base
    return base, mode


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
    for rows in row_blocks(len(matrix), max(1, _LOOKED_AT // max(1, matrix[:1].size))):
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


def padded(dim: int) -> int:
    """Return the columns that a table of `dim` columns takes: a multiple of 16 floats, 64 bytes.

    >>> padded(100), padded(128)
    (112, 128)
    """
    return -(-dim // 16) * 16
