"""Names of files as people give them: with ``~``, or URLs, whose files are fetched to be read, and sent when written.

What is read is copied to a temporary folder first, so that every check of a reader holds for it, and is removed
afterwards. What is written is complete before it is sent. `parge.io.stores` has the stores.
"""

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from parge.errors import InputError, PargeError, plain_reason
from parge.io.stores import Found, Name, Place, refuse_full, shown_url

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
# What a Path makes of a URL.
_COLLAPSED = re.compile(r"(s3|gs|gcs|hf|https?|memory|az|abfs|hdfs):/(?=[^/])", re.IGNORECASE)


def local_name(name: Name) -> str:
    """Return a name with ``~/`` and ``file://`` resolved; the URL of a store stays as it is.

    A folder that is itself called ``~`` goes before the home folder.

    >>> local_name("file:///data/my%20edges.csv"), local_name("s3://bucket/edges.csv"), local_name("edges.csv")
    ('/data/my edges.csv', 's3://bucket/edges.csv', 'edges.csv')
    """
    text = os.fspath(name)
    if isinstance(name, os.PathLike) and _COLLAPSED.match(text):
        text = _COLLAPSED.sub(r"\1://", text, count=1)
    if text.lower().startswith("file://"):
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{text}: a file URL has three slashes, as in file:///data/edges.csv")
        return unquote(parts.path)
    if text.startswith("~/") and not os.path.lexists("~"):
        return os.path.expanduser(text)  # noqa: PTH111  a Path would drop the dot of ./~
    return text


def is_url(name: Name) -> bool:
    """Return whether a name is the URL of a store.

    >>> is_url("s3://bucket/key"), is_url(Path("s3://bucket/key")), is_url("c:/edges"), is_url("file:///edges")
    (True, True, False, False)
    """
    return bool(_URL.match(local_name(name)))


def shown_name(name: Name) -> str:
    """Return a name for a message: a URL without its secrets, also where it was made a path.

    >>> shown_name(Path("s3://key:secret@bucket/a.csv")), shown_name("edges.csv")
    ('s3://bucket/a.csv', 'edges.csv')
    """
    return shown_url(local_name(name)) if is_url(name) else os.fspath(name)


def local_folder(name: Name) -> Path:
    """Return the path of a folder on this machine, from a name with ``~/`` or ``file://``, too; refuse other URLs."""
    if os.fspath(name) == "":
        raise InputError("expected the name of a folder; got an empty name")
    if is_url(name):
        raise InputError(f"expected a folder on this machine; got the URL {shown_name(name)}")
    return Path(local_name(name))


@contextmanager
def fetched(name: Name, *, companion: str | None = None) -> Iterator[Path]:
    """Yield a local path: of a local name itself, of a URL a copy that is removed in the end.

    A folder or a pattern in a store becomes a folder of files, in their order there. Errors raised inside name the URL.

    `companion` is the URL of a second file that is wanted in the same folder if it exists.
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
        refuse_full(Path(folder), sum(each.size or 0 for each in found), text)
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
    """Return the URL that a local path is sent to, a second file next to such a path included; None of others."""
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
    """Send all that a command wrote next to a path, that path last."""
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
