"""Object stores and the web: URLs, the patterns of paths in them, and the files behind them.

pyarrow's own file systems serve ``s3://`` and ``gs://``; fsspec serves every other scheme that it has a package for,
such as ``https://`` (aiohttp) and ``hf://`` (huggingface_hub). `parge.io.places` fetches and sends files by them.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from parge.errors import InputError, MissingExtraError, PargeError, plain_reason
from parge.memory import format_bytes
from parge.storage import create_new

Name = str | os.PathLike[str]
"""A path, or a URL as text."""

_WILD = re.compile(r"[*?\[]")
# Options of a store behind its address, as in ?region=x. Any other question mark is a wildcard; the web has none.
_OPTIONS, _WEB_OPTIONS = re.compile(r"\?[A-Za-z_]+="), re.compile(r"[?#]")

WEB = {"http", "https"}
"""Schemes of web servers, which have single files to be read, and no folders or patterns."""

# pyarrow has these itself.
_ARROW = {"s3", "gs", "gcs", "hdfs"}
# What fsspec needs for those that the extra installs.
_PACKAGES = {"hf": "huggingface_hub", "http": "fsspec with aiohttp", "https": "fsspec with aiohttp"}
# What aiohttp raises without a reason in words.
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


def is_pattern(name: Name) -> bool:
    """Return whether a name has wildcards: ``*``, ``?`` or ``[``."""
    return _WILD.search(os.fspath(name)) is not None


def folder_of_pattern(pattern: str) -> str:
    """Return the folder that holds all paths of a pattern.

    >>> folder_of_pattern("bucket/2024/day=*/part-?.csv")
    'bucket/2024'
    """
    return _WILD.split(pattern, maxsplit=1)[0].rpartition("/")[0]


def scheme_of(url: str) -> str:
    """Return the scheme of a URL, in small letters.

    >>> scheme_of("HTTPS://host/a.csv")
    'https'
    """
    return url.partition("://")[0].lower()


def without_options(url: str) -> tuple[str, str]:
    """Return a URL up to its options, and the options.

    >>> without_options("https://host/a.csv?b"), without_options("s3://bucket/?.csv?region=x")
    (('https://host/a.csv', '?b'), ('s3://bucket/?.csv', '?region=x'))
    """
    place = (_WEB_OPTIONS if scheme_of(url) in WEB else _OPTIONS).search(url)
    return (url, "") if place is None else (url[: place.start()], url[place.start() :])


def shown_url(url: str) -> str:
    """Return a URL without the secrets that it may hold.

    >>> shown_url("s3://key:secret@bucket/a.csv?region=x&token=y")
    's3://bucket/a.csv'
    """
    scheme, _, rest = without_options(url)[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def is_hidden(path: str) -> bool:
    """Return whether a step of a path begins with a dot or an underscore: Spark and others keep accounts in such.

    >>> is_hidden("day=1/_SUCCESS"), is_hidden("day=1/part-0.csv")
    (True, False)
    """
    return any(step.startswith((".", "_")) for step in path.split("/"))


def matches(path: str, pattern: str) -> bool:
    """Return whether a path fits a pattern, folder by folder; ``**`` stands for any number of folders.

    >>> matches("b/x/1.csv", "b/*/*.csv"), matches("b/x/y/1.csv", "b/*.csv"), matches("b/x/y/1.csv", "b/**/*.csv")
    (True, False, True)
    """
    return _fits(path.strip("/").split("/"), pattern.strip("/").split("/"))


def _fits(steps: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not steps
    if wanted[0] == "**":
        return any(_fits(steps[skip:], wanted[1:]) for skip in range(len(steps) + 1))
    return bool(steps) and fnmatchcase(steps[0], wanted[0]) and _fits(steps[1:], wanted[1:])


@dataclass(frozen=True)
class Found:
    """A file of a store: its path there, and its bytes where the store gives them."""

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
            return [Found(self.path, None)]  # a server gives no list, only files
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
                        refuse_full(out.parent, _BLOCK, self.url)
                    file.write(data)
            if found.size is not None and done != found.size:
                raise InputError(f"{shown_url(self.url)}: {done:,} bytes came of {found.size:,}. Try again.")

    @property
    def is_web(self) -> bool:
        """Whether a web server answers: it has single files, and no folders or patterns."""
        return scheme_of(self.url) in WEB

    def _opened(self, path: str) -> Any:
        """Open a file for reading its bytes as they are stored: the caller decompresses them."""
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
    """Return how fsspec is to ask a web server, besides what its own configuration says.

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


def refuse_full(folder: Path, n_bytes: int, url: str) -> None:
    """Refuse to fetch more than the disk of a folder can spare."""
    free = shutil.disk_usage(folder).free - _SPARE
    if n_bytes > free:
        raise InputError(
            f"{shown_url(url)} has {format_bytes(n_bytes)} to fetch, and {folder} has {format_bytes(max(0, free))} to "
            "spare. Set TMPDIR to a folder on a larger disk."
        )
