"""RemoteTask: a task, sent to another machine: with its files, or to be done in place where all machines see them.

`parge.engine.ray_schedule` makes one for each task, and runs it on the machine that Ray chose.
"""

import contextlib
import fcntl
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import cloudpickle
import numpy as np
import numpy.typing as npt

from parge.engine.base import Progress, Task

Files = dict[str, npt.NDArray[np.uint8]]
"""Name of a file -> its bytes."""

_PREFIX = "parge-away-"

# A folder that young may be one whose owner has not locked it yet.
_YOUNG_SECONDS = 60.0


@runtime_checkable
class Portable(Protocol):
    """An argument whose function reads one folder and writes another next to it, so that both can be sent.

    Where every machine sees the folder, `reads` and `writes` are empty: no file is sent, and the function stores its
    result in place.
    """

    @property
    def folder(self) -> Path:
        """The folder that contains both."""

    @property
    def reads(self) -> str:
        """Name of the folder that the function reads; empty if it is not to be sent."""

    @property
    def writes(self) -> str:
        """Name of the folder that the function writes; empty if it is not to be sent back."""

    def as_remote(self, folder: Path) -> Self:
        """Return the same work as another machine does it: on the files sent to `folder`; without any, in place."""

    def locked_for_remote(self) -> AbstractContextManager[Callable[[float], None]]:
        """Lock the work while it is done elsewhere; yield the function that records the progress."""

    def store(self, files: Files) -> None:
        """Store the files from the other machine, completely or not at all; without any, check what it stored."""


@dataclass(frozen=True)
class RemoteTask:
    """All that another machine needs to run a task.

    Parameters
    ----------
    call : bytes
        The pickled function and its argument.
    reads, writes : str
        Names of the folders that are sent, and sent back; empty if it works without files, or in place.
    limit_bytes : int, optional
        Memory limit of the task.
    label : str
        Name of the task in messages.
    """

    call: bytes
    reads: str
    writes: str
    limit_bytes: int | None
    label: str

    @staticmethod
    def of(task: Task) -> tuple["RemoteTask", Files]:
        """Return a task ready to be sent, and the files that go with it (memory-mapped)."""
        job = task.argument
        call = cloudpickle.dumps((task.function, job))
        if not isinstance(job, Portable):
            return RemoteTask(call, "", "", task.limit_bytes, task.label), {}
        files = _read_files(job.folder / job.reads) if job.reads else {}
        return RemoteTask(call, job.reads, job.writes, task.limit_bytes, task.label), files

    def opened(self, folder: Path, files: Files) -> Task:
        """Return the task as it is run here, its files unpacked in `folder`."""
        if self.reads:
            _write_files(folder / self.reads, files)
        return Task(0, call_here, (self.call, folder), limit_bytes=self.limit_bytes, label=self.label)

    def results(self, folder: Path) -> Files:
        """Return the files that the task wrote in `folder` (memory-mapped)."""
        return _read_files(folder / self.writes) if self.writes else {}


def call_here(packed: tuple[bytes, Path], progress: Progress) -> Any:
    """Run a task that was sent, on the files that were unpacked here, if any were."""
    call, folder = packed
    function, argument = pickle.loads(call)  # from the machine that sent the task, never from a file
    return function(argument.as_remote(folder) if isinstance(argument, Portable) else argument, progress)


def _read_files(folder: Path) -> Files:
    """Return the plain files of a folder, memory-mapped: they are copied only once, by the sender."""
    return {file.name: _mapped(file) for file in sorted(folder.iterdir())} if folder.is_dir() else {}


def _mapped(file: Path) -> npt.NDArray[np.uint8]:
    return np.memmap(file, np.uint8, "r") if file.stat().st_size else np.zeros(0, np.uint8)


def _write_files(folder: Path, files: Files) -> None:
    """Write files into a new folder."""
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.data)


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a temporary folder; first remove those that killed processes left.

    A folder in use is locked, and the system releases the lock when its process ends.
    """
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _sweep() -> None:
    """Remove folders of killed processes; keep links, and folders of other users (which root could remove)."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # not a folder, not ours to open, in use, or gone already
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                found = os.fstat(descriptor)
                if found.st_uid != os.geteuid() or time.time() - found.st_mtime < _YOUNG_SECONDS:
                    continue
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(found, folder.lstat()):  # still the folder that was looked at
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
