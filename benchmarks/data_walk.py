"""The walk of a newcomer through `parge embed g.txt -o v.parquet --parts 8`: functions, files and changes of folder.

Every own function counts once, where it is first called in the process that the user starts (class bodies and workers
are left out). A change of folder is a step from one to the next in that order. Leaf folders are those that import no
stage: base modules, what people read, compiled loops, linear algebra. A helper there costs two changes, wherever it is
kept. Between stages the walk has at most 60 files and 90 changes, and a text file is read through at most 6 files of
`io/` and what knows of columns (`tests/benchmarks/test_data_walk.py`).

Run it with ``python -m benchmarks.data_walk``; with ``--list`` it prints the walk itself.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import parge

ROOT = str(Path(parge.__file__).parent)
LEAVES = {".", "show", "kernels", "linalg"}
_OF_A_FUNCTION = 0x2  # CO_NEWLOCALS, which the body of a class does not have


@dataclass(frozen=True)
class Step:
    """A function at its first call."""

    file: str
    function: str
    depth: int
    while_importing: bool

    @property
    def folder(self) -> str:
        """The folder below the package, ``.`` for the package itself."""
        return str(Path(self.file).parent)

    @property
    def first_folder(self) -> str:
        """The first name of the folder."""
        return self.folder.split("/", maxsplit=1)[0]


class Walk:
    """Notes own functions in the order of their first call: give it to `sys.setprofile`."""

    def __init__(self) -> None:
        self.steps: dict[tuple[str, str], Step] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note the function of a frame that is called for the first time."""
        code = frame.f_code
        key = code.co_filename, code.co_qualname
        plain = code.co_flags & _OF_A_FUNCTION and not code.co_name.startswith("<")
        if event == "call" and plain and key[0].startswith(ROOT) and key not in self.steps:
            callers = [caller for caller in _callers(frame) if caller.f_code.co_filename.startswith(ROOT)]
            importing = any(caller.f_code.co_name == "<module>" for caller in callers)
            self.steps[key] = Step(os.path.relpath(key[0], ROOT), key[1], len(callers), importing)


def _callers(frame: FrameType | None) -> list[FrameType]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def changes(names: list[str]) -> int:
    """Return how often a name differs from the one before it."""
    return sum(before != after for before, after in pairwise(names))


def between_stages(steps: list[Step]) -> tuple[int, int]:
    """Return the files and the changes of folder of a walk without leaf folders and imports, `io/` as one folder."""
    stages = [step for step in steps if not step.while_importing and step.folder not in LEAVES]
    return len({step.file for step in stages}), changes([step.first_folder for step in stages])


def files_of_reading(steps: list[Step]) -> list[str]:
    """Return the files through which a text file is read, of a walk that reads one: `io/`, and which columns count."""
    return sorted({step.file for step in steps if step.first_folder == "io" or step.file == "columns.py"})


def table(steps: list[Step], reading: list[Step]) -> str:
    """Return the counts, strictly and between stages only; and the files that read a text file."""
    walked = [step for step in steps if not step.while_importing]
    n_files, n_changes = between_stages(steps)
    calls = Counter(step.first_folder if step.folder in LEAVES else "stages" for step in walked)
    return "\n".join(
        [
            f"{len(steps)} functions in {len({step.file for step in steps})} files, "
            f"depth {max(step.depth for step in steps)}",
            f"changes of folder, everything counted:     {changes([step.folder for step in steps])}",
            f"  without what runs while modules import:  {changes([step.folder for step in walked])}",
            f"  and without leaf folders, io/ as one:     {n_changes} in {n_files} files",
            f"functions by folder: {', '.join(f'{name} {n}' for name, n in sorted(calls.items()))}",
            f"a text file is read through {len(files_of_reading(reading))}: {', '.join(files_of_reading(reading))}",
        ]
    )


def walk_of(function: Callable[[Any], Any], argument: Any) -> list[Step]:
    """Return the walk of one call."""
    walk = Walk()
    sys.setprofile(walk)
    try:
        function(argument)
    finally:
        sys.setprofile(None)
    return list(walk.steps.values())


def walked() -> tuple[list[Step], list[Step]]:
    """Return the walk of the command on a graph that is generated for it, and that of reading its file once more."""
    from parge.cli.main import run

    with tempfile.TemporaryDirectory() as folder:
        graph, out = Path(folder, "g.txt"), Path(folder, "v.parquet")
        generate = ["generate", "--vertices", "3000", "--edges", "20000", "-o", str(graph)]
        subprocess.run([sys.executable, "-m", "parge", *generate], check=True)
        if hasattr(os, "sched_setaffinity"):  # with one core no function runs in a thread, where it would not be seen
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        return walk_of(run, ["embed", str(graph), "-o", str(out), "--parts", "8"]), walk_of(parge.read, graph)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="Print the walk itself.")
    options = parser.parse_args()
    steps, reading = walked()
    if options.list:
        print("\n".join(f"{step.file}:{step.function}" for step in steps))
    print(table(steps, reading))


if __name__ == "__main__":
    main()
