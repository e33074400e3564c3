"""Opening files that others wrote: compression, limits, and failures that come out as one kind of error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parge.errors import InputError, PargeError, plain_reason
from parge.memory import UNPACKED_TEXT, refuse_expansion
from parge.storage import current_folder

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""Compressions by suffix, as pyarrow names them."""

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
            raise InputError(f"{path} does not exist ({seen})")
        if not path.is_file():
            raise InputError(f"{path} is not a regular file, and parge reads it twice. Save it to a file first.")
        with path.open("rb"):
            pass


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
    except PargeError:
        raise
    except MemoryError as error:
        raise InputError(f"{path}: reading this {kind} data needs more memory than this machine has") from error
    except OSError as error:
        reason = error.strerror or plain_reason(error)
        raise InputError(f"{path}: cannot be read as {kind}: {reason}. Is the file complete?") from error
    except Exception as error:  # what a parser raises on damaged data is not documented by any of them
        raise InputError(
            f"{path}: cannot be read as {kind}: {plain_reason(error)}. Is the file complete, and is its suffix right?"
        ) from error
