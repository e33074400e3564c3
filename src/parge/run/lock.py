"""Locks on folders: one process works in each; its lock holds its id and progress, and ends with the process."""

import contextlib
import errno
import fcntl
import json
import math
import os
import platform
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parge.errors import InputError, PargeError
from parge.show.text import on_one_line, printable
from parge.storage import create_new

LOCK = "lock"

# Long enough for a worker whose parent was killed to be gone, and for a process that only asks about the lock.
_PATIENCE = 2.0
_POLL_SECONDS = 0.05

# A longer lock file is none of ours.
_MOST_BYTES = 4096

_TAKEN = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}


class InUseError(PargeError):
    """Another process is working in the folder."""


@dataclass(frozen=True)
class Holder:
    """The process that works in a folder, as its lock says."""

    pid: int | None = None
    host: str = ""
    share: float = 0.0
    since: float | None = None

    def __str__(self) -> str:
        place = f" on {self.host}" if self.host and self.host != platform.node() else ""
        return f"process {'unknown' if self.pid is None else self.pid}{place}"


class Held:
    """A lock that this process holds."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._since = descriptor, round(time.time(), 1)
        self.record(0.0)

    def record(self, share: float) -> None:
        """Write the progress into the lock; errors such as a full disk are ignored."""
        metadata = {"pid": os.getpid(), "host": platform.node(), "share": round(share, 4), "since": self._since}
        text = json.dumps(metadata).encode()
        with contextlib.suppress(OSError):
            os.pwrite(self._descriptor, text.ljust(256), 0)


@contextmanager
def hold(folder: Path, *, patience: float = _PATIENCE) -> Iterator[Held]:
    """Lock a folder against other parge processes while inside."""
    path = folder / LOCK
    descriptor = _take(path, time.monotonic() + patience)
    try:
        yield Held(descriptor)
    finally:
        with contextlib.suppress(OSError):
            path.unlink()  # while it is still ours, so that nobody else's is removed
        os.close(descriptor)


def _take(path: Path, until: float) -> int:
    """Return a new lock.

    A file that a process which has ended left is removed and never written to: it may be another user's file.
    """
    while True:
        try:
            descriptor, is_new = _opened(path)
        except FileNotFoundError:
            if path.parent.is_dir():
                continue  # its holder has just left
            raise PargeError(f"Cannot work in {path.parent}: there is no such folder.") from None
        except OSError as error:
            raise PargeError(
                f"Cannot work in {path.parent}: {error.strerror}. Choose a folder that you can write to."
            ) from error
        try:
            free = _flock(descriptor, fcntl.LOCK_EX) and _is_at(descriptor, path)
            if free and is_new:
                return descriptor
            if free:
                _removed(path)
            elif time.monotonic() > until:
                raise InUseError(
                    f"another parge ({_read(descriptor)}) is at work in {path.parent}. Wait until it ends, or stop it."
                )
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if not free:
            time.sleep(_POLL_SECONDS)


def _opened(path: Path) -> tuple[int, bool]:
    """Return the lock file, opened, and whether it is a new one."""
    try:
        return create_new(path), True
    except FileExistsError:
        pass
    # Also opened to be written, though it never is: some network file systems want that of a lock.
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise InputError(
            f"{on_one_line(path)} is not a lock of parge: it is not a plain file, or it has hard links. Remove it."
        )
    return descriptor, False


def _removed(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise PargeError(f"Cannot remove {path}, which an ended process left: {error.strerror}") from error


def is_lock(path: Path) -> bool:
    """Return whether a file is a lock of parge: empty, or with the content that `Held.record` writes."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > _MOST_BYTES:
            return False
        text = path.read_bytes().strip(b"\0")  # zeros: a power failure
        said = json.loads(text) if text else {"pid": 0, "host": ""}
        return isinstance(said, dict) and {"pid", "host"} <= said.keys()
    return False


def _flock(descriptor: int, how: int) -> bool:
    """Return whether the lock was acquired; also true if the file system has no locks."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _TAKEN
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether the locked file still has that name."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def holder(folder: Path) -> Holder | None:
    """Return the process that works in a folder, or None; nothing is changed."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return None if _flock(descriptor, fcntl.LOCK_SH) else _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Holder:
    found: Any = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(os.pread(descriptor, _MOST_BYTES, 0))
    if not isinstance(found, dict):
        return Holder()
    pid, share, since = found.get("pid"), found.get("share"), found.get("since")
    return Holder(
        pid if isinstance(pid, int) else None,
        printable(found.get("host", ""), 64),
        min(1.0, max(0.0, share)) if isinstance(share, float) else 0.0,
        since if isinstance(since, float) and 0.0 < since < math.inf else None,
    )
