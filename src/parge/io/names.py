"""Names of files as people give them: with ``~``, URLs of files and of object stores, patterns with wildcards.

Nothing here looks at a disk or a network but for a folder that is called ``~``; `parge.io.places` does.
"""

import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import unquote, urlsplit

from parge.errors import InputError

Name = str | os.PathLike[str]
"""A path, or a URL as text."""

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
# What a Path makes of a URL.
_COLLAPSED = re.compile(r"(s3|gs|gcs|hf|https?|memory|az|abfs|hdfs):/(?=[^/])", re.IGNORECASE)
_WILD = re.compile(r"[*?\[]")
# Options of a store behind its address, as in ?region=x. Any other question mark is a wildcard; the web has none.
_OPTIONS, _WEB_OPTIONS = re.compile(r"\?[A-Za-z_]+="), re.compile(r"[?#]")

WEB = {"http", "https"}
"""Schemes of web servers, which have single files to be read, and no folders or patterns."""


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
