"""Files in object stores and on the web: fetched to be read, sent when written (`parge.io.names` says what is one).

pyarrow's own file systems serve ``s3://`` and ``gs://``; fsspec serves every other scheme that it has a package for,
such as ``https://`` (aiohttp) and ``hf://`` (huggingface_hub). What is read is copied to a temporary folder first, so
that every check of a reader holds for it, and is removed afterwards. What is written is complete before it is sent.
"""

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from parge.errors import InputError, MissingExtraError, PargeError, plain_reason
from parge.io.names import (
    WEB,
    Name,
    folder_of_pattern,
    is_hidden,
    is_pattern,
    is_url,
    local_name,
    matches,
    scheme_of,
    shown_url,
    without_options,
)
from parge.memory import format_bytes
from parge.storage import create_new

# pyarrow has these itself.
_ARROW = {"s3", "gs", "gcs", "hdfs"}
# What fsspec needs for those that the extra installs.
_PACKAGES = {"hf": "huggingface_hub", "http": "fsspec with aiohttp", "https": "fsspec with aiohttp"}
# What aiohttp raises without words of its own that tell.
_MEANINGS = {
    "TooManyRedirects": "the server sends from one address to the next without end",
    "ClientPayloadError": "the connection was cut before the end of the file. Try again.",
    "ServerDisconnectedError": "the server ended the connection without an answer. Try again.",
}
# An address that is escaped already; the secrets that one may hold.
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_QUERY = re.compile(r"(https?://[^\s?'\"]+)\?[^\s'\")]*")

_BLOCK = 4 << 20
# Room that a disk keeps whatever is fetched.
_SPARE = 64 << 20


@dataclass(frozen=True)
class Found:
    """A file of a store: its path there, and its bytes where the store tells."""

    path: str
    size: int | None


@dataclass(frozen=True)
class Place:
    """A file, a folder or a pattern in a store."""

    url: str
    _system: Any
    path: str

    @staticmethod
    def of(url: str) -> "Place":
        """Open the file system of a URL; no connection is made yet."""
        scheme = scheme_of(url)
        with _store_errors(url):
            if scheme in _ARROW:
                from pyarrow import fs

                # pyarrow would read a key with blanks or wildcards as no URL, so it is cut off and put behind again.
                head, options = without_options(url)
                bucket, _, key = head.partition("://")[2].partition("/")
                system, root = fs.FileSystem.from_uri(f"{scheme}://{bucket}/{options}")
                return Place(url, system, f"{root.strip('/')}/{key}".rstrip("/"))
            return Place(url, *_fsspec(url, scheme))

    def files(self) -> list[Found]:
        """Return the files that are there: the one, those of the folder and its folders, or those of the pattern."""
        from pyarrow import fs

        if self.is_web:
            return [Found(self.path, None)]  # a server tells what it has when it is asked for it
        with _store_errors(self.url):
            if is_pattern(self.path):
                folder = folder_of_pattern(self.path)
                some = self._system.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
                files = [_found(info) for info in some if info.is_file and matches(info.path, self.path)]
                return sorted(files, key=lambda found: found.path)
            info = self._system.get_file_info(self.path)
            if info.type == fs.FileType.Directory:
                some = self._system.get_file_info(fs.FileSelector(self.path, recursive=True))
                files = [_found(info) for info in some if info.is_file and not is_hidden(info.path[len(self.path) :])]
                return sorted(files, key=lambda found: found.path)
            return [] if info.type == fs.FileType.NotFound else [_found(info)]

    def copy(self, found: Found, out: Path) -> None:
        """Copy one file of the store to a new local one; stop where it is longer than the disk or its own account."""
        with _store_errors(self.url), self._opened(found.path) as source:
            with os.fdopen(create_new(out), "wb") as file:
                done = 0
                while data := source.read(_BLOCK):
                    done += len(data)
                    if done % (16 * _BLOCK) < len(data):
                        _refuse_full(out.parent, _BLOCK, self.url)
                    file.write(data)
            if found.size is not None and done != found.size:
                raise InputError(f"{shown_url(self.url)}: {done:,} bytes came of {found.size:,}. Try again.")

    @property
    def is_web(self) -> bool:
        """Whether a web server answers: it has single files, and no folders or patterns."""
        return scheme_of(self.url) in WEB

    def _opened(self, path: str) -> Any:
        """Open a file for reading its bytes as they are stored: who reads them decompresses them."""
        if not self.is_web:
            return self._system.open_input_stream(path, compression=None)
        system = self._system.handler.fs
        headers = {**system.kwargs.get("headers", {}), "Accept-Encoding": "identity"}
        # Without blocks it is one request; with a size, none before it to ask for the size.
        return system.open(path, block_size=0, size=1, headers=headers)

    def exists(self) -> bool:
        """Return whether there is a file, or anything below the name."""
        from pyarrow import fs

        with _store_errors(self.url):
            return bool(self._system.get_file_info(self.path).type != fs.FileType.NotFound)

    def check_root(self) -> None:
        """Refuse a bucket that is not there, before any work."""
        from pyarrow import fs

        scheme, bucket = self.url.partition("://")[0].lower(), self.path.partition("/")[0]
        if scheme in WEB:
            raise InputError(f"Cannot write {shown_url(self.url)}: {scheme} can only be read. Give a file or a store.")
        with _store_errors(self.url):
            if scheme in _ARROW and self._system.get_file_info(bucket).type == fs.FileType.NotFound:
                raise InputError(f"Cannot write {shown_url(self.url)}: there is no bucket {bucket!r}. Create it first.")

    def send(self, file: Path) -> None:
        """Write a local file to the store; it appears there when it is complete."""
        with self._system.open_output_stream(self.path, compression=None) as out, file.open("rb") as source:
            while data := source.read(_BLOCK):
                out.write(data)


def _found(info: Any) -> Found:
    return Found(info.path, None if info.size is None or info.size < 0 else int(info.size))


def _fsspec(url: str, scheme: str) -> tuple[Any, str]:
    """Return fsspec's file system for a URL, as one of pyarrow, and the path in it."""
    try:
        import fsspec
        from pyarrow.fs import FSSpecHandler, PyFileSystem

        system, path = fsspec.core.url_to_fs(url, **(_web_options(url, scheme) if scheme in WEB else {}))
    except ImportError as error:
        raise MissingExtraError(f"{scheme}://", _PACKAGES.get(scheme, plain_reason(error)), "remote") from None
    except ValueError as error:
        raise InputError(f"{shown_url(url)}: {plain_reason(error)}. Known are file, s3, gs, hf and https.") from None
    return PyFileSystem(FSSpecHandler(system)), path


def _web_options(url: str, scheme: str) -> dict[str, Any]:
    """Return how fsspec is to ask a web server, beside what its own configuration says.

    Bytes come as they are stored, for as long as they come; an address with escapes, such as a signed one, is sent as
    it was given.
    """
    import aiohttp
    import fsspec

    waiting = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=300)
    configured = fsspec.config.conf.get(scheme, {}).get("client_kwargs", {})
    return {
        "client_kwargs": {"auto_decompress": False, "timeout": waiting, **configured},
        "encoded": bool(_ESCAPED.search(url)) and url.isascii() and " " not in url,
    }


@contextmanager
def _store_errors(url: str) -> Iterator[None]:
    """Turn what a store or the network answers into an `InputError` that names the URL without its secrets."""
    try:
        yield
    except PargeError:
        raise
    except Exception as error:  # each store has its own kinds
        raise InputError(f"{shown_url(url)}: cannot be reached or read: {_answer(error, url)}") from error


def _answer(error: Exception, url: str) -> str:
    """Return what a store or a server answered, without the secrets of the URL, and what to do where that is known."""
    if url.lower().startswith("http") and isinstance(error, FileNotFoundError):
        listing = " A web server lists no files: give each its own address." if is_pattern(shown_url(url)) else ""
        return f"the server has no such file (404).{listing}"
    status, message = getattr(error, "status", None), getattr(error, "message", "")  # aiohttp's answers
    if status:
        return f"the server answered {status} {message}".rstrip()
    if type(error).__name__ in _MEANINGS:
        return _MEANINGS[type(error).__name__]
    reason = _QUERY.sub(r"\1", plain_reason(error).replace(url, shown_url(url)))
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        reason += ". If you trust its certificate, set SSL_CERT_FILE to a file that holds it."
    return reason


def _refuse_full(folder: Path, n_bytes: int, url: str) -> None:
    free = shutil.disk_usage(folder).free - _SPARE
    if n_bytes > free:
        raise InputError(
            f"{shown_url(url)} has {format_bytes(n_bytes)} to fetch, and {folder} has {format_bytes(max(0, free))} to "
            "spare. Set TMPDIR to a folder on a larger disk."
        )


@contextmanager
def fetched(name: Name, *, companion: str | None = None) -> Iterator[Path]:
    """Yield a local path: of a local name itself, of a URL a copy that is removed in the end.

    A folder or a pattern in a store becomes a folder of files, in their order there. Errors raised inside name the URL.

    Parameters
    ----------
    name : path or URL
    companion : str, optional
        URL of a second file that is wanted in the same folder if it exists.
    """
    text = local_name(name)
    if not is_url(text):
        yield Path(text)
        return
    place = Place.of(text)
    found = place.files()
    if not found:
        raise InputError(f"{shown_url(text)} does not exist")
    with tempfile.TemporaryDirectory(prefix="parge-") as folder, _named(text, Path(folder)):
        _refuse_full(Path(folder), sum(each.size or 0 for each in found), text)
        alone = len(found) == 1 and found[0].path == place.path
        if not alone:
            inside = Path(folder) / "parts"
            inside.mkdir()
            for number, each in enumerate(found):
                place.copy(each, inside / f"{number:06d}-{_plain(each.path)}")
            yield inside
            return
        out = Path(folder) / _plain(shown_url(text))
        place.copy(found[0], out)
        if companion is not None and (second := Place.of(companion)).exists():
            second.copy(Found(second.path, None), Path(folder) / _plain(shown_url(companion)))
        yield out


def _plain(path: str) -> str:
    """Return the last step of a path as the name of a file.

    >>> _plain("bucket/a/part 0.csv"), _plain("x/.."), _plain("")
    ('part 0.csv', 'file', 'file')
    """
    name = PurePosixPath(path).name.replace("\0", "")[-200:]
    return name if name not in ("", ".", "..") else "file"


@contextmanager
def _named(url: str, folder: Path) -> Iterator[None]:
    """Have errors name the URL, not the copy in a folder."""
    try:
        yield
    except PargeError as error:
        error.args = (re.sub(rf"{re.escape(str(folder))}(/[^\s:,]*)?", shown_url(url), str(error)), *error.args[1:])
        raise


@dataclass
class _Deliveries:
    """Files that are written here and sent to a store in the end, by their local path."""

    urls: dict[Path, str] = field(default_factory=dict)
    overwrite: set[str] = field(default_factory=set)


_DELIVERIES: ContextVar[_Deliveries | None] = ContextVar("deliveries", default=None)


@contextmanager
def delivering() -> Iterator[None]:
    """Send what was written to the paths of `to_deliver` inside; where that fails the files are kept."""
    here = _Deliveries()
    before = _DELIVERIES.set(here)
    try:
        yield
        for path, url in here.urls.items():
            _deliver(path, url, overwrite=url in here.overwrite)
    except BaseException as error:
        for path, url in here.urls.items():
            if isinstance(error, PargeError):
                error.args = (str(error).replace(str(path), shown_url(url)), *error.args[1:])
            if path.exists():
                error.add_note(f"Not sent, but kept: {path}")
        raise
    finally:
        _DELIVERIES.reset(before)
        for path in here.urls:
            # Only what is empty or was sent; a file that could not be sent is the result of much work.
            with contextlib.suppress(OSError):
                path.parent.rmdir()


def to_deliver(url: str) -> Path:
    """Return a local path to write to; `delivering` sends it to the URL. The same URL gives the same path."""
    here = _DELIVERIES.get()
    assert here is not None
    known = next((path for path, other in here.urls.items() if other == url), None)
    if known is None:
        known = Path(tempfile.mkdtemp(prefix="parge-")) / _plain(urlsplit(url).path)
        here.urls[known] = url
    return known


def delivery(path: Path) -> str | None:
    """Return the URL that a local path is sent to, a second file beside such a path included; None of others."""
    here = _DELIVERIES.get()
    for known, url in ({} if here is None else here.urls).items():
        if path.parent == known.parent:
            return url if path == known else f"{url.rpartition('/')[0]}/{path.name}"
    return None


def given_name(path: Path) -> str:
    """Return the name of an output as it was given: its URL, or its path."""
    url = delivery(path)
    return str(path) if url is None else shown_url(url)


def check_delivery(url: str, *, overwrite: bool) -> None:
    """Refuse a URL that cannot be written, or, without `overwrite`, one where something is; before any work."""
    place = Place.of(url)
    place.check_root()
    here = _DELIVERIES.get()
    if overwrite and here is not None:
        here.overwrite.add(url)
    if not overwrite and place.exists():
        raise InputError(f"{shown_url(url)} exists. Give another name, or --overwrite to replace it.")


def _deliver(path: Path, url: str, *, overwrite: bool) -> None:
    """Send all that a command wrote beside a path, that path last."""
    files = sorted(path.parent.iterdir(), key=lambda file: file == path) if path.parent.is_dir() else []
    for file in files:
        place = Place.of(url if file == path else f"{url.rpartition('/')[0]}/{file.name}")
        try:
            if not overwrite:
                check_delivery(place.url, overwrite=False)
            place.send(file)
        except Exception as error:
            raise PargeError(f"Cannot write {shown_url(place.url)}: {plain_reason(error)}") from error
        file.unlink()


@contextmanager
def delivered(name: Name) -> Iterator[Path]:
    """Yield a path to write to: of a local name itself, of a URL a temporary one that is sent in the end."""
    text = local_name(name)
    if not is_url(text):
        yield Path(text)
        return
    with delivering():
        check_delivery(text, overwrite=True)
        yield to_deliver(text)
