"""Command lines under fuzz, as a program of its own: ``python -m tests.fuzz.command_lines --count 10000 --seed 0``.

Random commands with random options, found by asking click, and values that are right, wrong, extreme or odd, run in
odd environments: output that is closed, full, broken or in ASCII, a current folder that is gone, few descriptors, small
files only, strange umasks and variables; paths with spaces, line breaks and bytes that are no text. Of each is asked:

* an exit code of the contract (0, 1, 2, 130), no traceback, nothing that parge calls its own bug, no crash, no hang;
* no file that was there before is changed, but by its own run or where --overwrite names it;
* memory stays under twice the budget (`PARGE_MEMORY_BUDGET`) above what the prepared process had.

Most lines run in children forked from this process, which has all libraries loaded, at some 20 ms each; one in a
hundred runs as a program of its own, which loads them in the odd environment, half of these without ``/dev/shm``.
A line that fails is printed as a command of the shell; ``--only INDEX`` runs it alone. Linux and macOS.
"""

import argparse
import contextlib
import io
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from tests.fuzz.box import Box
from tests.fuzz.drawn_lines import BUDGET, TECHNIQUES, Case, Place, draw

# One thread: a process with several cannot be forked safely.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS"):
    os.environ[_name] = "1"

SECONDS = 120
TELL = 100
CODES = {0, 1, 2, 130}
ROOT = Path(__file__).parents[2]


# --- how it is run -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class End:
    """How a command ended."""

    code: int | None
    said: str
    peak: int
    seconds: float


def run_case(case: Case, box: Box, folder: Path) -> End:
    """Run a case in a child and wait for it."""
    for name in ("out", "err"):
        (folder / name).unlink(missing_ok=True)
    if case.place.cwd == "gone":
        (box.folder / "gone").mkdir(exist_ok=True)
    started = time.monotonic()
    alive, mine = os.pipe()
    os.set_blocking(alive, False)
    child = os.fork()
    if child == 0:
        os.close(alive)
        _in_child(case, box, folder)
    os.close(mine)
    is_late = not select.select([alive], [], [], SECONDS)[0]
    os.close(alive)
    if is_late:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)  # whom it left
    scale = 1 if sys.platform == "darwin" else 1024
    said = (folder / "err").read_bytes().decode(errors="replace") if (folder / "err").exists() else ""
    code = None if is_late else os.waitstatus_to_exitcode(status)
    return End(code, said, usage.ru_maxrss * scale, time.monotonic() - started)


def _in_child(case: Case, box: Box, folder: Path) -> None:
    """Become the command; never returns."""
    code = 70
    try:
        os.setpgid(0, 0)
        _enter(case.place, box, folder)
        if case.is_program:
            line = [sys.executable, "-m", "parge", *case.words]
            if not case.place.shm and _can_unshare():
                hide = 'mount -t tmpfs -o ro none /dev/shm 2>/dev/null; exec "$@"'
                line = ["unshare", "-m", "sh", "-c", hide, "sh", *line]
            os.execvp(line[0], [os.fsencode(word) for word in line])
        code = _run_here(case)
    except BaseException:  # noqa: BLE001  nothing gets past
        with contextlib.suppress(BaseException):
            os.write(2, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(code)


def _can_unshare() -> bool:
    done = (
        subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True) if shutil.which("unshare") else None
    )
    return done is not None and done.returncode == 0


def _enter(place: Place, box: Box, folder: Path) -> None:
    """Make this process stand in the odd environment."""
    for name, value in {"PARGE_MEMORY_BUDGET": str(BUDGET), **place.variables}.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.environ["PYTHONIOENCODING"] = place.encoding
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    tempfile.tempdir = None
    os.chdir(box.folder / place.cwd)
    if place.cwd == "gone":
        (box.folder / "gone").rmdir()
    os.umask(0o022)
    _open(0, os.devnull if place.stdin == "null" else None, os.O_RDONLY)
    files = {"file": str(folder / "out"), "null": os.devnull, "full": "/dev/full", "broken": "broken", "closed": None}
    _open(1, files[place.out], os.O_WRONLY | os.O_CREAT)
    _open(2, {**files, "file": str(folder / "err")}[place.err], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.umask(place.umask)
    if place.descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (place.descriptors, place.descriptors))
    if place.file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (place.file_bytes, place.file_bytes))
    from parge.memory import private_bytes

    most = private_bytes() + 20 * BUDGET  # so that the machine survives what is found
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _open(number: int, path: str | None, flags: int) -> None:
    """Have a descriptor lead to a file, to a pipe that nobody reads, or nowhere."""
    if path is None:
        with contextlib.suppress(OSError):
            os.close(number)
        return
    if path == "broken":
        unread, found = os.pipe()
        os.close(unread)
    else:
        if path == "/dev/full" and not Path(path).exists():
            path = os.devnull
        found = os.open(path, flags, 0o600)
    if found != number:
        os.dup2(found, number)
        os.close(found)
    os.set_inheritable(number, True)


def _run_here(case: Case) -> int:
    """Run the command in this process, with streams as Python would have made them."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
            raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
            buffer: Any = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
            errors = "backslashreplace" if number == 2 else "strict"
            stream = io.TextIOWrapper(buffer, case.place.encoding, errors, line_buffering=number == 2)
        except OSError:
            stream = None  # type: ignore[assignment]  # as Python does for one that is closed
        setattr(sys, name, stream)
    for name in [name for name in sys.modules if name.startswith("parge.cli")]:
        del sys.modules[name]  # consoles look at streams and variables when they are made
    from parge.cli import main

    try:
        main(case.words)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except Exception:  # noqa: BLE001  what Python would say at its end
        os.write(2, b"Exception ignored while flushing\n")
        return 120
    return code


def faults(case: Case, end: End, changed: list[str], idle: int) -> list[str]:
    """Return what is wrong with how a command ended."""
    found = []
    if end.code is None:
        found.append(f"it did not end within {SECONDS} s")
    elif end.code not in CODES:
        found.append(f"exit code {end.code}")
    is_silent = case.place.out == "broken" or case.place.err != "file"
    if end.code in (1, 2) and not end.said.strip() and not is_silent and case.place.file_bytes is None:
        found.append("no message")
    if "--debug" not in case.words:
        found += [f"{word!r} on stderr" for word in ("Traceback", "Exception ignored") if word in end.said]
    if "bug in parge" in end.said:
        found.append("a bug, by its own words")
    if "out of memory" in end.said:
        found.append("memory ran out")
    if end.peak > idle + 2 * BUDGET:
        found.append(f"{(end.peak - idle) / 1e6:,.0f} MB of memory")
    return [*found, *(f"changed {name!r}" for name in changed)]


# --- all of it -----------------------------------------------------------------------------------------------------


def _commands() -> dict[str, click.Command]:
    """Return every command by its words."""
    from parge.cli.main import _COMMANDS, cli

    found: dict[str, click.Command] = {}
    for name in _COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        if command is None:
            raise RuntimeError(f"no command {name}")
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": deeper for inner, deeper in command.commands.items()}
    return found


def _rehearse(box: Box, folder: Path) -> None:
    """Run one command of each kind here, so that children find all libraries loaded and all kernels compiled."""
    import pyarrow as pa

    from parge.cli.main import run

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    here = box.folder
    common = ["--dim", "4", "--parts", "2", "--engine", "serial"]
    lines = [["plan", here / "g.txt", *common], ["evaluate", "links", here / "g.txt", "--technique", "sgc", *common]]
    for name in dict.fromkeys(TECHNIQUES):
        lines.append(["embed", here / "g.txt", "-o", folder / f"{name}.npy", "--technique", name, *common])
    lines += [
        ["evaluate", "pip", here / "v.npy", here / "v.npz"],
        ["align", here / "v.npy", here / "v.vec", "-o", folder / "a.npz"],
    ]
    lines += [["drift", here / "run", here / "g.txt"]]
    lines += [["evaluate", "classify", here / "v.npy", here / "labels.txt", "--jobs", "1"]]
    lines += [["report", here / "run", "-o", folder / "r.html"], ["neighbors", here / "v.parquet", "3"]]
    lines += [
        ["generate", "--kind", kind, "--vertices", "12", "-o", folder / f"{kind}.txt"]
        for kind in ("planted", "tree", "grid")
    ]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for line in lines:
            run([str(word) for word in line])


def _idle_peak(box: Box, folder: Path) -> tuple[int, int]:
    """Return the memory of a forked child and of a program that do next to nothing."""
    case = Case(-1, ["--version"], Place())
    plain = run_case(case, box, folder).peak
    planned = replace(case, words=["plan", "g.txt", "--engine", "serial"], is_program=True)
    return plain, max(plain, run_case(planned, box, folder).peak)


def fuzz(count: int, seed: int, only: int | None = None, start: int = 0) -> Iterator[tuple[Case, End, list[str], str]]:
    """Run that many cases; yield each with its end, its faults, and how to repeat it."""
    with tempfile.TemporaryDirectory(prefix="parge-fuzz-") as name:
        folder = Path(name)
        box, commands = Box(folder), _commands()
        (folder / "rehearsal").mkdir()
        _rehearse(box, folder / "rehearsal")
        box.check(Case(-1, [], Place()))
        idle = _idle_peak(box, folder)
        for index in range(start, start + count) if only is None else [only]:
            case = draw(seed, index, commands)
            end = run_case(case, box, folder)
            changed = box.check(case)
            yield case, end, faults(case, end, changed, idle[case.is_program]), case.shell(box.folder)


def main() -> None:
    """Fuzz command lines, print what is wrong, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", type=int, help="run this one alone, and show what it says")
    parser.add_argument("--slow", type=float, default=0, help="also tell of those that take this many seconds")
    given = parser.parse_args()
    codes: Counter[int | None] = Counter()
    n_run = n_traces = n_changed = n_wrong = most = 0
    started = time.monotonic()
    for case, end, wrong, shell in fuzz(given.count, given.seed, given.only, given.start):
        n_run += 1
        codes[end.code] += 1
        n_traces += any("stderr" in fault or "bug" in fault for fault in wrong)
        n_changed += sum(fault.startswith("changed") for fault in wrong)
        n_wrong += bool(wrong)
        most = max(most, end.peak)
        if n_run % TELL == 0:  # what was found stands, also of a run that is stopped
            sys.stdout.write(f"{n_run:,} so far, {n_wrong:,} wrong, largest memory {most / 1e6:,.0f} MB\n")
            sys.stdout.flush()
        is_slow = given.slow and end.seconds > given.slow
        if wrong or given.only is not None or is_slow:
            slow = f" ({end.seconds:.1f} s)" if is_slow else ""
            said = end.said if len(end.said) < 3000 else f"{end.said[:1000]}\n...\n{end.said[-1500:]}"
            shown = (
                f"--only {case.index}{slow}: {'; '.join(wrong) or 'nothing wrong'}\n  {case.place}\n  {shell}\n{said}\n"
            )
            sys.stdout.write(shown.encode("utf-8", "backslashreplace").decode())
            sys.stdout.flush()
    by_code = ", ".join(f"{n:,} x {code}" for code, n in sorted(codes.items(), key=lambda item: -item[1]))
    sys.stdout.write(f"exit codes: {by_code}; {time.monotonic() - started:.0f} s\n")
    sys.stdout.write(
        f"{n_run:,} command lines, {n_traces:,} tracebacks, {n_changed:,} files changed, largest memory "
        f"{most / 1e6:,.0f} MB; {n_wrong:,} wrong\n"
    )
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
