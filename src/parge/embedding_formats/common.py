"""What the formats share: files that appear only when complete, and reports as JSON."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from uuid import uuid4
from zlib import crc32

import numpy as np

from parge.embedding import Embedding
from parge.rows import forget, row_blocks, rows_at_once
from parge.typing import BoolArray, FloatArray, IdArray


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when it is complete, and vanishes if it never is.

    What a process that was killed left of the same file is removed.
    """
    whose = f".parge-{crc32(path.name.encode(errors='replace')):08x}-{crc32(platform.node().encode()):08x}-"
    for leftover in path.parent.glob(f"{whose}*.part"):
        pid = leftover.name.removeprefix(whose).partition("-")[0]
        if pid.isdigit() and not _is_alive(int(pid)):
            leftover.unlink(missing_ok=True)
    temporary = path.with_name(f"{whose}{os.getpid()}-{uuid4().hex[:8]}.part")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_matrix(file: IO[bytes], vectors: FloatArray) -> None:
    """Write a matrix as ``.npy`` does, a block at a time: it may be a memory map that is larger than memory."""
    header = {"descr": np.lib.format.dtype_to_descr(vectors.dtype), "fortran_order": False, "shape": vectors.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for rows in row_blocks(len(vectors), rows_at_once(vectors.shape[1])):
        file.write(np.ascontiguousarray(vectors[rows]).data)
        forget(vectors)


def report_bytes(embedding: Embedding) -> bytes:
    """Return the report as JSON; what JSON has no form for is written as text."""
    return json.dumps(embedding.report, default=str).encode()


def read_report(text: bytes | None) -> dict[str, Any]:
    """Return the report that `report_bytes` wrote; an empty one where there is none."""
    report = json.loads(text) if text else {}
    return report if isinstance(report, dict) else {}


def containing(ids: IdArray, characters: str) -> BoolArray:
    """Return which string ids hold any of the characters."""
    found = np.zeros(ids.size, np.bool_)
    for character in characters:
        found |= np.strings.find(ids, character) >= 0
    return found
