"""Where large arrays are kept: in memory, or in files without a name, which are gone when nobody holds them."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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


def take_room(descriptor: int, n_bytes: int, start: int = 0) -> None:
    """Give a new file that many bytes of zeros from `start` on, and their place on the disk.

    A file that only promises its length would end the process with a bus error when the disk is full.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, start, n_bytes)
        return
    for done in range(0, n_bytes, len(_ZEROS)):  # macOS has no such call
        os.pwrite(descriptor, _ZEROS[: n_bytes - done], start + done)


def current_folder() -> Path | None:
    """Return the folder that one stands in, or None where somebody removed it."""
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

    A file has lost its name before the array is handed out: it takes room on the disk while the array lives, and
    no killed process leaves one behind. Its place on the disk is taken beforehand, for a disk that is found full
    by a mapped page ends the process.

    Parameters
    ----------
    folder : path
        On the disk to be used.
    block : int
        Bytes that who fills the files should work on at a time.
    """

    folder: Path
    block: int = 1 << 20

    def zeros(self, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a new array of zeros."""
        n_bytes = int(size) * np.dtype(dtype).itemsize
        if n_bytes == 0:  # no system maps an empty file
            return np.zeros(0, dtype)
        try:
            # A file without a name: a process that is killed here leaves nothing behind.
            with tempfile.TemporaryFile(dir=self.folder) as file:
                take_room(file.fileno(), n_bytes)
                array = np.memmap(file, dtype, mode="r+", shape=(int(size),))
            array.filename = str(self.folder / "nameless")  # `storage_like` asks the array for its folder
            return array
        except OSError as error:
            raise PargeError(
                f"{self.folder} has no room for {format_bytes(n_bytes)} more of the graph: {error.strerror}; "
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
