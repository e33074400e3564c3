"""Control groups: if Linux lets this user make one, the system itself limits a worker and the processes it starts.

This needs version 2 and a group with the memory controller that the user may write to, as in a systemd user session.
The group may be that of this process or its parent. Everywhere else `Group.make` returns None.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

_MOUNTED = Path("/sys/fs/cgroup")

# The group counts what the sum over its processes does not: page tables, sockets, the cache of files. It is there for
# what grows between two looks.
_HEADROOM = 1.05
_HEADROOM_BYTES = 32_000_000

_END_SECONDS = 2.0


@dataclass(frozen=True)
class Group:
    """A control group for one worker."""

    path: Path

    @staticmethod
    def make(limit: int, *, mounted: Path = _MOUNTED, own: str | None = None) -> "Group | None":
        """Return a new group that may hold `limit` bytes, or None if that is not possible."""
        name = _own_group() if own is None else own
        if name is None:
            return None
        here = mounted / name.strip("/")
        for above in (here, here.parent):
            if above.is_relative_to(mounted) and _hands_on_memory(above):
                group = Group(above / f"parge-{os.getpid()}")
                if group._begin(limit):
                    return group
        return None

    def _begin(self, limit: int) -> bool:
        try:
            self.path.mkdir()
            self._write("memory.max", str(int(limit * _HEADROOM) + _HEADROOM_BYTES))
            for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
                with contextlib.suppress(OSError):  # a kernel may have neither
                    self._write(name, value)
        except OSError:
            self.remove()
            return False
        return True

    def enter(self) -> None:
        """Put this process, and all that it will start, into the group; do nothing if that is not permitted."""
        with contextlib.suppress(OSError):
            self._write("cgroup.procs", "0")

    def was_full(self) -> bool:
        """Return whether the system has ended processes of the group because it was full."""
        try:
            lines = (self.path / "memory.events").read_text().split("\n")
        except OSError:
            return False
        return any(line.startswith("oom_kill ") and line != "oom_kill 0" for line in lines)

    def kill(self) -> None:
        """Kill all processes in the group."""
        with contextlib.suppress(OSError):
            self._write("cgroup.kill", "1")

    def remove(self) -> None:
        """Remove the group as soon as it is empty."""
        end = time.monotonic() + _END_SECONDS
        while self.path.is_dir() and time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.01)

    def _write(self, name: str, value: str) -> None:
        descriptor = os.open(self.path / name, os.O_WRONLY)  # never creates: a group has its files from the start
        try:
            os.write(descriptor, value.encode())
        finally:
            os.close(descriptor)


def _own_group() -> str | None:
    """Return the name of this process's group of version 2."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return line[3:]
    return None


def _hands_on_memory(folder: Path) -> bool:
    try:
        return "memory" in (folder / "cgroup.subtree_control").read_text().split() and os.access(folder, os.W_OK)
    except OSError:
        return False
