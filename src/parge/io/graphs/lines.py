"""Text in runs of whole lines: read, cleaned, and searched for the line at fault."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from parge.errors import InputError
from parge.io.files import foreign_errors, open_bytes
from parge.memory import budget

# Read at a time: enough 1 MB blocks for every core, little beside the graph.
SEGMENT = 32 * 2**20

# Small files need no such room: to have it zeroed takes longer than to read them.
_LEAST = 2**16

# So much fits whatever the budget.
_LITTLE = 2**20

# A longer line than this is no line of a graph, and pyarrow does not parse it either.
MAX_LINE = 2**20

_COMMENT = re.compile(rb"(?m)^[ \t]*[#%][^\r\n]*")
_BLANK_LINE = re.compile(rb"(?m)^[ \t]+$")


def read_segments(path: Path, start: int = 0, size: int | None = None) -> Iterator[tuple[int, memoryview]]:
    """Yield runs of whole lines, each with its offset in the (decompressed) file, from byte `start` on.

    The memory of a segment is used again for the next one.
    """
    with foreign_errors(path, "text"), open_bytes(path) as file:
        size = size or _room_for(path.stat().st_size)
        _skip(file, start)
        offset, end, buffer = start, 0, bytearray(size)
        while True:
            n_read = _fill(file, memoryview(buffer)[end:])
            end += n_read
            if not end:
                return
            cut = buffer.rfind(b"\n", 0, end) + 1 or buffer.rfind(b"\r", 0, end) + 1
            if n_read == 0:
                cut = end  # the last line may have no end
            elif cut == 0 and end > MAX_LINE:
                raise InputError(f"{path}: {end:,} bytes have no line break. Write one edge per line.")
            if cut:
                yield offset, memoryview(buffer)[:cut]
            offset, end = offset + cut, end - cut
            rest = bytes(memoryview(buffer)[cut : cut + end])
            if end == len(buffer):
                buffer = bytearray(2 * len(buffer))
            buffer[:end] = rest


def _room_for(n_bytes: int) -> int:
    """Return how much of a file is read at a time: text that is parsed becomes up to ten times as much while it is."""
    size = min(SEGMENT, max(_LEAST, n_bytes + 1))
    return size if size <= _LITTLE else min(size, max(_LITTLE, budget().n_bytes // 40))


def _fill(file: object, view: memoryview) -> int:
    total = 0
    while total < len(view):
        n_read: int = file.readinto(view[total:])  # type: ignore[attr-defined]  # pyarrow has no types
        if not n_read:
            break
        total += n_read
    return total


def _skip(file: object, n_bytes: int) -> None:
    while n_bytes > 0:
        n_read = _fill(file, memoryview(bytearray(min(n_bytes, SEGMENT))))
        if not n_read:
            return
        n_bytes -= n_read


def read_head(path: Path, size: int = MAX_LINE) -> bytes:
    """Return the whole lines within the first `size` bytes."""
    buffer = bytearray(size)
    with foreign_errors(path, "text"), open_bytes(path) as file:
        end = _fill(file, memoryview(buffer))
    if end == size:
        end = buffer.rfind(b"\n") + 1 or buffer.rfind(b"\r") + 1 or size
    return bytes(buffer[:end])


def without_comments(segment: bytes) -> bytes:
    """Empty the lines that start with # or %, and those of blanks alone."""
    return _BLANK_LINE.sub(b"", _COMMENT.sub(b"", segment.replace(b"\r\n", b"\n")))


def single_blanks(segment: bytes) -> bytes:
    r"""Return every run of blanks as one space, and none at the ends of a line.

    >>> single_blanks(b" 1 \t 2\n3\t4 \n")
    b'1 2\n3 4\n'
    """
    text = segment.replace(b"\t", b" ")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def narrow(segment: bytes, fails: Callable[[bytes], bool]) -> tuple[int, bytes]:
    """Return a short run of lines that fails, and its offset in a segment that does."""
    offset = 0
    while len(segment) > 2**14:
        cut = segment.find(b"\n", len(segment) // 2) + 1
        if cut in (0, len(segment)):
            break
        if fails(segment[:cut]):
            segment = segment[:cut]
        else:
            offset, segment = offset + cut, segment[cut:]
    return offset, segment


def line_number(path: Path, offset: int) -> int:
    """Return the number, from 1, of the line that starts at a byte of the (decompressed) file."""
    number = 1
    for start, segment in read_segments(path):
        before = bytes(segment[: max(0, offset - start)])
        number += before.count(b"\n") or before.count(b"\r")
        if start + len(segment) >= offset:
            break
    return number
