"""Opening files that others wrote, and reading text in runs of whole lines; failures come out as one kind of error."""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from parge.errors import InputError, PargeError, plain_reason
from parge.memory import UNPACKED_TEXT, budget, current_limit, refuse_expansion
from parge.show.text import on_one_line
from parge.storage import current_folder

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Compressions by suffix, as pyarrow names them."""

# How alike two names of files must be, 0 to 1, for one to be a slip of the other; and how many are compared.
_ALIKE, _MOST_NAMES = 0.75, 10_000

_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


def format_suffix(path: Path) -> str:
    """Return the suffix that names the format, without that of a compression.

    >>> format_suffix(Path("a/b.MTX.gz")), format_suffix(Path("edges.zst"))
    ('.mtx', '')
    """
    stem = path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path
    return stem.suffix.lower()


def check_file(path: Path) -> None:
    """Refuse what cannot be opened as a file, and say why."""
    with foreign_errors(path, "file"):
        if path.is_dir():
            raise InputError(f"{path} is a folder. Give the data file inside it.")
        if not path.exists():
            folder = current_folder()
            seen = "the current folder no longer exists" if folder is None else f"looked in {folder}"
            raise InputError(f"{path} does not exist ({seen}){_meant(path)}")
        if not path.is_file():
            raise InputError(f"{path} is not a regular file, and parge reads it twice. Save it to a file first.")
        with path.open("rb"):
            pass


def _meant(path: Path) -> str:
    """Return a question that names a file of the folder with nearly the name of a missing one; empty without any."""
    names: dict[str, str] = {}
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in islice(entries, _MOST_NAMES):
            if entry.is_file():
                names.setdefault(_stem(entry.name), entry.name)
    close = get_close_matches(_stem(path.name), [stem for stem in names if stem], 1, _ALIKE)
    return f". Did you mean {on_one_line(path.with_name(names[close[0]]))}?" if close else ""


def _stem(name: str) -> str:
    """Return a file's name without its suffixes, which many files of a folder share."""
    return name.partition(".")[0].lower()


def _compression(path: Path) -> str | None:
    """Return how the content of a file is compressed; its name must not say otherwise."""
    check_file(path)
    with path.open("rb") as file:
        start = file.read(4)
    named = COMPRESSIONS.get(path.suffix.lower())
    found = next((name for name, magic in _MAGIC.items() if start.startswith(magic)), None)
    if named and start and found != named:
        raise InputError(
            f"{path} has the suffix {path.suffix} but does not hold {named} data. Rename it, or compress it again."
        )
    return found


def is_compressed(path: Path) -> bool:
    """Return whether the content of a file is gzip or zstd."""
    return _compression(path) is not None


def refuse_short(path: Path, n_bytes: int, declared: str) -> None:
    """Refuse a file whose header declares more than its bytes can hold; of a compressed one nobody knows."""
    size = path.stat().st_size
    if not is_compressed(path) and n_bytes > size:
        raise InputError(
            f"{path}: its header declares {declared}, more than the file's {size:,} bytes can hold. Is the file "
            "complete?"
        )


def open_bytes(path: Path) -> Any:
    """Open a file for reading bytes, decompressed where its content is gzip or zstd."""
    import pyarrow as pa

    found = _compression(path)
    with foreign_errors(path, found or "text"):
        return pa.input_stream(str(path), compression=None) if found is None else _Unpacked(path, found)


class _Unpacked:
    """A compressed file, read as what it unpacks to; refused once that is far more than the bytes it came from."""

    def __init__(self, path: Path, compression: str) -> None:
        import pyarrow as pa

        self._path = path
        self._packed = pa.OSFile(str(path))
        self._file = pa.CompressedInputStream(self._packed, compression)
        self._n_bytes = 0

    def __enter__(self) -> "_Unpacked":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._packed.close()

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer, and return how many bytes."""
        return self._counted(int(self._file.readinto(buffer)))

    def read(self, size: int) -> bytes:
        """Return the next bytes, none at the end."""
        data: bytes = self._file.read(size)
        self._counted(len(data))
        return data

    def _counted(self, n_read: int) -> int:
        self._n_bytes += n_read
        refuse_expansion(self._n_bytes, self._packed.tell(), str(self._path), always=UNPACKED_TEXT)
        return n_read


@contextmanager
def foreign_errors(path: Path, kind: str) -> Iterator[None]:
    """Turn every failure of a library's parser, or of the system, into an `InputError` that names the file."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(str(path)):
            raise
        raise InputError(f"{path}: {error}") from None
    except PargeError:
        raise
    except MemoryError as error:  # of a damaged file as well: it may declare any size
        raise InputError(f"{path}: reading this {kind} data needs more memory than this machine has") from error
    except OSError as error:
        reason = error.strerror or plain_reason(error)
        raise InputError(f"{path}: cannot be read as {kind}: {reason}. Is the file complete?") from error
    except Exception as error:  # what a parser raises on damaged data is not documented by any of them
        raise InputError(
            f"{path}: cannot be read as {kind}: {plain_reason(error)}. Is the file complete, and is its suffix right?"
        ) from error


# What arrow says if the system refuses it a thread, whose stack is memory, too.
_NO_THREAD = "Failed to launch worker thread"


@contextmanager
def limit_errors() -> Iterator[None]:
    """Raise a MemoryError where `foreign_errors` blames a file for memory that the limit of this process refused.

    A worker reads within it: whoever set the limit then says how large it was.
    """
    try:
        yield
    except InputError as error:
        reason = error.__cause__
        if current_limit() is not None and (isinstance(reason, MemoryError) or _NO_THREAD in str(reason)):
            raise MemoryError from error
        raise


# Read at a time: enough 1 MB blocks for every core, little next to the graph.
SEGMENT = 32 * 2**20

# Small files need no such room: to have it zeroed takes longer than to read them.
_LEAST = 2**16

# So much fits whatever the budget.
_LITTLE = 2**20

# A longer line than this is no line of a graph, and pyarrow does not parse it either.
MAX_LINE = 2**20

_COMMENT = re.compile(rb"(?m)^[ \t]*[#%][^\r\n]*")
_BLANK_LINE = re.compile(rb"(?m)^[ \t]+$")


def read_segments(
    path: Path, start: int = 0, size: int | None = None, *, stop: int | None = None
) -> Iterator[tuple[int, memoryview]]:
    """Yield runs of whole lines, each with its offset in the (decompressed) file, from byte `start` on.

    The memory of a segment is used again for the next one. With `stop`, where a line ends, bytes from there on are not
    read.
    """
    with foreign_errors(path, "text"), open_bytes(path) as file:
        size = size or _buffer_size(path.stat().st_size)
        _skip(file, start)
        offset, end, buffer = start, 0, bytearray(size)
        while True:
            room = len(buffer) if stop is None else min(len(buffer), end + max(0, stop - offset - end))
            n_read = _fill(file, memoryview(buffer)[end:room])
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


def line_starts(path: Path, n_pieces: int) -> list[int]:
    """Return where lines start that cut a text file into about equal pieces, 0 first; one piece if it is compressed.

    Between two starts there is at least one line, so there may be fewer pieces than were asked for.
    """
    found, n_bytes = [0], path.stat().st_size
    if n_pieces < 2 or is_compressed(path):
        return found
    with path.open("rb") as file:
        for piece in range(1, n_pieces):
            file.seek(max(found[-1], n_bytes * piece // n_pieces))
            end = file.read(MAX_LINE).find(b"\n")
            place = max(found[-1], n_bytes * piece // n_pieces) + end + 1
            if end >= 0 and found[-1] < place < n_bytes:
                found.append(place)
    return found


def read_texts(path: Path, size: int, holds: str, *, clean: Callable[[bytes], bytes] = bytes) -> Iterator[str]:
    """Yield runs of whole lines as text, cleaned before they are decoded; `holds` is what a text file should hold."""
    for offset, segment in read_segments(path, size=size):
        try:
            text = clean(bytes(segment)).decode("utf-8-sig" if offset == 0 else "utf-8")
        except UnicodeDecodeError as error:
            line = line_number(path, offset) + bytes(segment[: error.start]).count(b"\n")
            raise InputError(
                f"{path}, about line {line:,}: this is not UTF-8 text. Give a text file with {holds} per line."
            ) from None
        yield text


def _buffer_size(n_bytes: int) -> int:
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
    if not isinstance(file, _Unpacked):
        file.seek(n_bytes)  # type: ignore[attr-defined]  # pyarrow has no types
        return
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


def read_columns(
    text: bytes | memoryview, names: list[str], types: dict[str, Any], *, delimiter: str = ",", quotes: bool = False
) -> Any:
    """Return an arrow table of the columns of a text that have a type, when nobody holds the text any more.

    A thread of pyarrow may hold it for a moment after the table is complete (a tenth of 3,000 small texts, up to 5 ms),
    and needs Python to let go of it. Where Python ended at that moment, the process was aborted with all work done:
    "terminate called without an active exception" (apache/arrow, issue 34314).
    """
    from pyarrow import BufferReader, csv, py_buffer

    view = memoryview(text)
    try:
        return csv.read_csv(
            BufferReader(py_buffer(view)),
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=delimiter, quote_char='"' if quotes else False),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
    finally:
        _release(view)


def _release(view: memoryview) -> None:
    """Wait until nobody else holds a view; for a second at most, since only the end of the process depends on it."""
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        with suppress(BufferError):
            view.release()
            return
        time.sleep(1e-4)


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
