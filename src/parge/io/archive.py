"""Arrays of numpy (.npy, .npz): the sizes that they declare, looked at before anything is mapped or unpacked."""

import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.memory import refuse_expansion, refuse_over_budget


@dataclass(frozen=True)
class Declared:
    """Shape and type of an array, as its header has them."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """Bytes of the array in memory."""
        return math.prod(self.shape) * self.dtype.itemsize


def declared_arrays(path: Path) -> dict[str, Declared]:
    """Return what the arrays of an archive declare; refuse those of which two copies are over the budget.

    The size that the archive gives for an array must be that of its header: what is unpacked later is as large as the
    header says, at most.
    """
    found: dict[str, Declared] = {}
    total = 0
    with zipfile.ZipFile(path) as archive:
        for item in archive.infolist():
            name = item.filename.removesuffix(".npy")
            with archive.open(item) as member:
                array = read_declared(member) if name != item.filename else Declared((item.file_size,), np.dtype("u1"))
                stored = item.file_size - (member.tell() if name != item.filename else 0)
            if stored != array.n_bytes and not array.dtype.hasobject:
                raise InputError(
                    f"{path}: the array {name[:80]!r} declares {array.n_bytes:,} bytes; the archive holds {stored:,}. "
                    "Is the file complete?"
                )
            total += array.n_bytes
            found[name] = array
    held = f"{path} holds {len(found)} arrays of {total:,} bytes"
    refuse_over_budget(2 * total, held)
    refuse_expansion(total, path.stat().st_size, held, remedy="save it uncompressed, or as a sparse matrix")
    return found


def check_complete(path: Path) -> None:
    """Refuse a ``.npy`` file that is shorter than its header says; numpy would name the limits of mapped memory."""
    with path.open("rb") as file:
        n_bytes = read_declared(file).n_bytes
        stored = path.stat().st_size - file.tell()
    if n_bytes > stored:
        raise InputError(f"{path} declares {n_bytes:,} bytes of numbers, but {stored:,} follow. Is the file complete?")


def read_declared(file: Any) -> Declared:
    """Read the header of a ``.npy`` stream."""
    version = np.lib.format.read_magic(file)
    # Version 3 differs from 2 in how names of fields are written, of which nobody reads any here.
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return Declared(shape, dtype)
