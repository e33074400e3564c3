"""Dies at every step that a run takes on the disk, one after another, and has each run resumed.

Run as a program: ``python -m tests.run.crash_points FOLDER POINTS``. Each step (a file opened for writing, a folder
made, a rename, a removal) is announced by Python's audit events just before it is taken; a process forked for
the purpose kills itself there. Prints how many steps there are and how many deaths were survived.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.listdir", "fcntl.flock"}


class Steps:
    """Counts the steps below a folder, and dies at one of them."""

    def __init__(self, folder: Path, fatal: int | None) -> None:
        self.folder, self.fatal, self.taken = str(folder), fatal, 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if not writes and event not in STEPS:
            return
        if event != "fcntl.flock" and not self._is_below(arguments[0]):
            return
        self.taken += 1
        if self.taken == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def _is_below(self, name: Any) -> bool:
        """Return whether a name is below the folder; a relative one was looked up in an opened folder, so it is."""
        return isinstance(name, str | Path) and (str(name).startswith(self.folder) or not Path(name).is_absolute())


def forked(work: Callable[[], int]) -> int:
    """Return the exit code of a forked process that does the work, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        code = 97
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main() -> None:
    """Survive deaths at that many steps, spread over all there are."""
    folder, points = Path(sys.argv[1]), int(sys.argv[2])
    from parge import SGC, Plan
    from parge.graph.generate import planted
    from parge.run.pipeline import embed_to_file

    graph = planted(80, 300, communities=2, seed=2).graph
    plan = Plan(technique=SGC(dim=4), parts=2, anchors=8, engine="serial", partitioner="random", refine="whiten")

    def embed(place: Path, *, fatal: int | None = None, count: Path | None = None) -> int:
        steps = Steps(place, fatal)
        sys.addaudithook(steps)
        embed_to_file(graph, plan, place / "v.npy", run_dir=place / "run", resume=True)
        if count is not None:
            count.write_text(str(steps.taken))
        return 0

    whole = folder / "whole"
    (folder / "first").mkdir()
    whole.mkdir()
    # All code is loaded before the first fork; nothing of this starts a thread.
    embed_to_file(graph, plan, folder / "first.npy", run_dir=folder / "first")
    assert forked(lambda: embed(whole, count=folder / "count")) == 0
    total = int((folder / "count").read_text())
    reference = (whole / "v.npy").read_bytes()
    chosen = sorted({1 + i * total // points for i in range(points)})
    for fatal in chosen:
        place = folder / f"died-at-{fatal}"
        place.mkdir()
        assert forked(lambda at=fatal, there=place: embed(there, fatal=at)) == -signal.SIGKILL  # type: ignore[misc]
        # Dying once more while it is resumed, then for good.
        assert forked(lambda at=fatal // 3 + 1, there=place: embed(there, fatal=at)) in (0, -signal.SIGKILL)  # type: ignore[misc]
        assert forked(lambda there=place: embed(there)) == 0, fatal  # type: ignore[misc]
        assert (place / "v.npy").read_bytes() == reference, fatal
        left = sorted(str(file.relative_to(place)) for file in place.rglob("*") if _is_leftover(file.name))
        assert not left, (fatal, left)
    sys.stdout.write(f"{total} steps, {2 * len(chosen)} deaths survived\n")


def _is_leftover(name: str) -> bool:
    return (
        ".tmp-" in name
        or ".old-" in name
        or name.endswith(".part")
        or name in {"lock", "embedding.npy"}
        or name.startswith("refine-")
    )


if __name__ == "__main__":
    main()
