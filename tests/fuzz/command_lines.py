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
import json
import os
import random
import resource
import select
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

# One thread: a process with several cannot be forked safely.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS"):
    os.environ[_name] = "1"

BUDGET = 200_000_000
SECONDS = 120
PROGRAMS = 0.01
TELL = 100
CODES = {0, 1, 2, 130}
ROOT = Path(__file__).parents[2]

# Numbers: small ones that work, and what no option takes. Between the two lies honest work that takes for ever.
SMALL = ["0", "1", "2", "3", "7", "16"]
EXTREME = [
    "-1",
    "-0",
    "+3",
    "1_0",
    "1.5",
    "0.5",
    "1e3",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-400",
    "0x10",
    "٣",
    " 4 ",
    "",
]
EXTREME += [str(2**31), str(2**63 - 1), str(2**63), str(2**64), str(10**30), "9" * 400, "9" * 5000, "-" + "9" * 5000]
SHARES = ["0.5", "0.1,0.9", "0.5,nan", "1e-320", "0.999999999999999999", "1", "0", "0.5,,0.1", "5%"]
SIZES = ["2GB", "300MB", "2GB,4GB", "1", "0.5", "-4GB", "99999PB", "9" * 400, "1e9", "auto", "2GiB,", "nan", "9223PB"]
WORDS = ["x", "", " ", "-", "--", "a b", "line\nbreak", "\x1b[2J", "ü±…", "\udcff", "../up", "a" * 3000, "None", "auto"]
COLUMNS = ["0", "1", "10000", "-5", "abc", ""]

FILES = ["g.txt", "named.csv", "g.parquet", "g.npz", "g.mtx", "g.graph", "empty.txt", "rubbish.txt", "with space.txt"]
FILES += ["line\nbreak.txt", "b\udcff.txt", "labels.txt", "labels.csv", "features.npy", "score.json", "notes.md"]
FILES += ["v.npy", "v.npz", "v.parquet", "v.vec", "named.npz", "run", "part-run", "part-run/parts/000", "own", "."]
MISSING = ["no-such.txt", "no/such/file.npy", "n" * 300 + ".txt", "", "run/plan", "own/lock"]
OUTS = ["new.npy", "new.npz", "new.parquet", "new.vec", "new.txt", "new.html", "new dir", "ne\nw.npy", "n\udcfe.npy"]
OUTS += ["new.csv.gz", "new.jpg", "new/deep.npy", "own/new.npy", "new-run", "-", "link.npy"]
# What parge wrote itself or nobody can miss, and may be written again; all other files are the user's.
PARGES = ("run/", "part-run/")
REPLACEABLE = {"v.npy", "v.npz", "v.parquet", "v.vec", "named.npz", "empty.txt"}

TECHNIQUES = [
    "sgc",
    "sgc",
    "hope",
    "spectral",
    "netmf",
    "prone",
    "deepwalk",
    "node2vec",
    "line",
    "whitened",
    "closedform",
]
PARAMS = ["walks", "walk_length", "window", "negatives", "learning_rate", "p", "q", "hops", "seed", "samples", "order"]
PARAMS += ["step", "mu", "theta", "beta", "signal", "half", "rank", "exact_up_to", "rounds", "tolerance", "threads"]
PARAMS += ["mode", "regularisation", "dim", "no_such", ""]
ESTIMATES = ["vertices", "edges", "workers", "memory", "coordinator", "disk", "disk_speed", "network_speed", "dim"]
ESTIMATES += ["technique", "price_core_hour", "price_gb", "nothing"]
NAMES: dict[str, list[str]] = {
    "technique": [*TECHNIQUES, "graph", "os:system", "parge.techniques.sgc:SGC", "math:sqrt"],
    "anchors": ["auto", "0", "3", "10%", "0%", "100%", "nan%", "1e400%", "-1%", "%"],
    "anchor_strategy": ["alternating", "top-cut", "random", "degree"],
    "partitioner": ["kaminpar", "kaminpar-compressed", "metis", "streaming", "random"],
    "reconcile": ["auto", "backbone", "consensus", "orthogonal", "linear", "mlp", "none"],
    "reconciler": ["consensus", "orthogonal", "linear", "mlp", "none"],
    "refine": ["auto", "none", "whiten", "settle", "propagate", "subspace"],
    "memory": SIZES,
    "coordinator_memory": ["99999PB", "1", "1MB", "9" * 400, "nan", "-1", "0.5"],
    "capacities": ["40,40", "30,30,30", "1,1", "4,,4", "9" * 5000, "40,-1", f"40,{2**63}", "40,x"],
    "train_ratio": SHARES,
    "label_column": ["1", "2", "all", "label", "subject,label", "0", "99"],
    "id_column": ["0", "1", "id", "99"],
    **{name: ["1", "2", "3", "source", "a b", "99", "-1"] for name in ("source", "target", "weight")},
    "delimiter": ["tab", "comma", ";", "|", " ", "ab", "\n", '"', "é"],
    "vertices": ["40", "41", "3", "labels.txt", "no-such.txt"],
    "vertex": ["3", "0", "39", "40", "zürich", "-1", "03"],
    "engine": ["steam", "process"],
    "address": ["localhost:1", "x"],
}
VECTORS = ["new.npy", "new.npz", "new.parquet", "new.vec", "ne\nw.npy", "n\udcfe.npy"]
# Values that work, or nearly; of the rest, those of the type.
GOOD: dict[str, list[str]] = {
    "named": ["labels.txt", "all", "no-such.txt"],
    **{name: NAMES[name] for name in ("target", "weight", "delimiter")},
    **{name: NAMES[name] for name in ("anchor_strategy", "partitioner", "reconcile", "reconciler", "refine")},
    **{
        name: [f"v.{kind}" for kind in ("npy", "npz", "parquet", "vec")]
        for name in ("embedding", "source", "reference")
    },
    "technique": TECHNIQUES,
    "allow": ["sgc"],
    "anchors": ["auto", "8", "10%", "20%"],
    "capacities": ["40,40", "30,30,30"],
    "memory": ["300MB", "2GB,4GB"],
    "coordinator_memory": ["1", "99999PB"],  # what is large enough takes a rehearsal of seconds
    "train_ratio": ["0.5", "0.1,0.9"],
    "label_column": ["1", "label"],
    "id_column": ["0", "id"],
    "vertex": ["3", "0", "39", "zürich"],
    "engine": ["serial"],
    "address": ["localhost:1"],
    "params": ["hops=1", "walks=2", "dim=4", "negatives=2"],
    "labels": ["labels.txt", "labels.csv"],
    "folder": ["run", "run", "part-run", "part-run/parts/000", "part-run/parts/001"],
    "features": ["features.npy"],
    "space": ["run", "run", "part-run", "new-space"],
    "removed": FILES[:3],
    "files": ["score.json"],
    "title": WORDS,
    "graph": [*FILES[:6], "with space.txt", "line\nbreak.txt", "b\udcff.txt"],
}
# How often a command is drawn; those that start processes or embed several times, rarely.
COMMANDS = {
    "plan": 20, "embed": 24, "decompose": 8, "embed-part": 6, "reconcile": 8, "status": 4, "evaluate pip": 6,
    "evaluate classify": 6, "evaluate links": 3, "evaluate bound": 1, "report": 5, "align": 8,
    "neighbors": 8, "export": 6,
    "place": 8, "update": 8, "drift": 4,
    "generate": 14, "estimate": 8, "demo": 0.02, "evaluate": 1, "": 1, "no-such": 0.5,
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """An odd environment."""

    out: str = "file"
    err: str = "file"
    stdin: str = "null"
    encoding: str = "utf-8"
    cwd: str = "."
    variables: dict[str, str | None] = field(default_factory=dict)
    umask: int = 0o022
    descriptors: int | None = None
    file_bytes: int | None = None
    shm: bool = True


@dataclass(frozen=True)
class Case:
    """A command line and where it runs."""

    index: int
    words: list[str]
    place: Place
    is_program: bool = False

    def shell(self, box: Path) -> str:
        """Return how to repeat it by hand, as far as a shell can say it."""
        odd = {name: value for name, value in self.place.variables.items() if value is not None}
        odd |= {"PARGE_MEMORY_BUDGET": str(BUDGET), "PYTHONIOENCODING": self.place.encoding}
        unset = [word for name, value in self.place.variables.items() if value is None for word in ("-u", name)]
        ends = {"closed": ">&-", "full": ">/dev/full", "broken": "| true", "null": ">/dev/null"}
        limits = f"umask {self.place.umask:03o}"
        if self.place.descriptors is not None:
            limits += f"; ulimit -n {self.place.descriptors}"
        if self.place.file_bytes is not None:
            limits += f"; ulimit -f {self.place.file_bytes // 512}"
        line = shlex.join(["env", *unset, *(f"{k}={v}" for k, v in odd.items()), "parge", *self.words])
        gone = f" && rmdir {box}/gone" if self.place.cwd == "gone" else ""
        closed = " 2>&-" if self.place.err == "closed" else " 2>/dev/full" if self.place.err == "full" else ""
        closed += " <&-" if self.place.stdin == "closed" else ""
        return f"cd {box}/{self.place.cwd}{gone}; {limits}; {line}{closed} {ends.get(self.place.out, '')}".rstrip()


# --- what is run ---------------------------------------------------------------------------------------------------


def draw(seed: int, index: int, commands: dict[str, click.Command]) -> Case:
    """Return the case of that number; the same for the same seed."""
    rng = random.Random(f"{seed}/{index}")
    name = rng.choices(list(COMMANDS), list(COMMANDS.values()))[0]
    words = [*name.split(), *_rest(rng, name, commands)] if name != "estimate" else _estimate(rng)
    if rng.random() < 0.05:
        words.insert(
            rng.randrange(len(words) + 1), rng.choice(["--debug", "--json", "-h", "--version", *WORDS, "--no"])
        )
    is_program = rng.random() < PROGRAMS
    place = _place(rng, is_program=is_program)
    if place.cwd == "sub dir":
        words = [f"../{word}" if word in {*FILES, *OUTS} else word for word in words]
    return Case(index, words, place, is_program)


def _rest(rng: random.Random, name: str, commands: dict[str, click.Command]) -> list[str]:
    """Return random arguments and options of a command."""
    command = commands.get(name)
    if command is None or isinstance(command, click.Group):
        return [rng.choice([*WORDS, *FILES])] if rng.random() < 0.5 else []
    words: list[str] = []
    careful = rng.random() < 0.7  # mostly right, so that something runs
    for param in command.params:
        if isinstance(param, click.Argument):
            values = [_value(rng, command, param, careful=careful)]
            words += values if rng.random() < 0.97 else values * rng.randrange(3)
        elif param.required or rng.random() < (0.06 if careful else 0.15):
            words += _option(rng, command, param, careful=careful)
    names = {param.name for param in command.params}
    if "engine" in names and "--engine" not in words:
        words += ["--engine", "processes" if rng.random() < 0.02 else "serial"]
    if "technique" in names and "engine" in names and "--technique" not in words:
        words += ["--technique", "sgc", *(["--dim", rng.choice(["2", "4", "8"])] if "--dim" not in words else [])]
    if name == "demo":
        words += ["--graph", "g.txt", "--parts", "2", "--dim", "2"]
    return words


def _option(rng: random.Random, command: click.Command, param: click.Parameter, *, careful: bool) -> list[str]:
    spelling = rng.choice([*param.opts, *param.secondary_opts])
    if getattr(param, "is_flag", False) or spelling == "--help":
        return [spelling]
    value = _value(rng, command, param, careful=careful)
    return [f"{spelling}={value}"] if spelling.startswith("--") and rng.random() < 0.2 else [spelling, value]


def _value(rng: random.Random, command: click.Command, param: click.Parameter, *, careful: bool) -> str:
    """Return a value for a parameter: one that mostly works, or anything."""
    name = str(param.name)
    if careful and rng.random() < 0.95:
        return rng.choice(_good(str(command.name), name, param.type))
    if name == "params":
        return f"{rng.choice(PARAMS)}={rng.choice(SMALL + EXTREME if rng.random() < 0.9 else WORDS)}"
    if _is_output(str(command.name), name):
        return rng.choice(OUTS if rng.random() < 0.6 else FILES + MISSING)
    if name in NAMES:
        return rng.choice(NAMES[name])
    is_number = isinstance(param.type, click.IntRange | click.FloatRange)
    return rng.choice(SMALL + EXTREME if is_number and rng.random() < 0.8 else FILES + MISSING + WORDS + SIZES)


def _is_output(command: str, name: str) -> bool:
    by_command = {("generate", "labels"), ("embed", "space")}
    return name in {"out", "run_dir", "page", "new_space", "confidence"} or (command, name) in by_command


def _good(command: str, name: str, kind: click.ParamType) -> list[str]:
    """Return values that make sense for a parameter, by its command, name and type."""
    if _is_output(command, name):
        by_name = {"run_dir": ["new-run", "new-run", "run"], "page": ["new.html"], "labels": ["new-labels.txt"]}
        by_name |= {"space": ["new-space"], "new_space": ["new-space"], "confidence": ["new.tsv"]}
        by_command = {"report": ["new.html"], "generate": ["new.txt", "new.parquet"], "demo": ["new dir"]}
        return by_name.get(name) or by_command.get(command) or VECTORS
    if name == "vertices":
        return ["1", "9", "60", "200"] if isinstance(kind, click.IntRange) else ["40", "41"]
    if name in GOOD:
        return NAMES[name] if name == "source" and command != "align" else GOOD[name]
    if isinstance(kind, click.Choice):
        return [str(choice) for choice in kind.choices]
    if isinstance(kind, click.FloatRange):
        return ["0.5", "0.3"]
    return ["1", "2", "3", "7", "16"] if isinstance(kind, click.IntRange) else GOOD["graph"]


def _estimate(rng: random.Random) -> list[str]:
    values = [*SMALL, *EXTREME, *SIZES, "2e9", "1e12", "1e29", "1e30", "1e31", "500MB/s", "0.04", "1e300", "sgc"]
    pairs = [f"{key}={rng.choice(values)}" for key in ESTIMATES if rng.random() < 0.3]
    if rng.random() < 0.7:
        pairs = [pair for pair in pairs if not pair.startswith(("vertices", "edges"))]
        pairs += [f"vertices={rng.choice(['2e9', '1000', '1', '1e29'])}", f"edges={rng.choice(['1e12', '9', '1e29'])}"]
    return [*rng.choice((["estimate"], ["plan", "--estimate"])), *pairs]


def _place(rng: random.Random, *, is_program: bool) -> Place:
    """Return an environment: mostly plain, with one or two oddities."""
    odd = Place()
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        change: dict[str, Any] = rng.choice(
            [
                {"out": "closed"}, {"out": "full"}, {"out": "broken"}, {"out": "null"}, {"err": "closed"},
                {"err": "full"}, {"stdin": "closed"}, {"encoding": "ascii"}, {"encoding": "latin-1"}, {"cwd": "gone"},
                {"umask": 0o777}, {"umask": 0o077}, {"descriptors": rng.choice([8, 12, 16, 24, 40])},
                {"file_bytes": rng.choice([0, 100, 4096, 40_000])}, {"variables": {"COLUMNS": rng.choice(COLUMNS)}},
                {"variables": {"HOME": None, "XDG_CACHE_HOME": None}}, {"variables": {"HOME": "/proc/nowhere"}},
                {"variables": {"TMPDIR": "/proc/nowhere"}}, {"variables": {"TERM": "dumb", "NO_COLOR": "1"}},
                {"variables": {"LANG": "C", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
                {"variables": {"NUMBA_CACHE_DIR": "/proc/nowhere"}}, {"cwd": "sub dir"},
                {"variables": {"FORCE_COLOR": "1", "TERM": "xterm"}},
                {"variables": {"PARGE_MEMORY_BUDGET": rng.choice(["x", "", "0", "2MB", "nan", "9" * 400])}},
            ]
        )  # fmt: skip
        if "variables" in change:
            change = {"variables": {**odd.variables, **change["variables"]}}
        odd = replace(odd, **change)
    if is_program:
        odd = replace(odd, shm=rng.random() < 0.5, descriptors=odd.descriptors and max(16, odd.descriptors))
    return odd


# --- where it is run -----------------------------------------------------------------------------------------------


class Box:
    """A folder with graphs, vectors, runs and a user's own files; whatever happens in it is noticed and undone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "box"
        self.folder.mkdir(parents=True)
        self._fill()
        self.before = self._seen()

    def _fill(self) -> None:
        import numpy as np
        import scipy.io
        import scipy.sparse as sp

        from parge.cli.main import run
        from parge.embedding import Embedding
        from parge.graph.generate import planted
        from parge.io.graphs.write import write

        here = self.folder
        made = planted(40, 120, communities=3, seed=1)
        for name in ("g.txt", "g.parquet", "g.graph", "with space.txt", "line\nbreak.txt"):
            write(made.graph, here / name)
        shutil.copy(here / "g.txt", here / "b\udcff.txt")
        sp.save_npz(here / "g.npz", made.graph.to_scipy())
        scipy.io.mmwrite(here / "g.mtx", made.graph.to_scipy())
        names = ["zürich", "京都", "Ålesund", "a b", "plain", "[red]x[/red]", "\x1b[31m"]
        (here / "named.csv").write_text("".join(f'"{a}","{b}"\n' for a in names for b in names if a < b))
        (here / "empty.txt").touch()
        (here / "rubbish.txt").write_bytes(bytes(range(256)) * 8)
        (here / "labels.txt").write_text("".join(f"{v} {v % 3}\n" for v in range(40)))
        (here / "labels.csv").write_text("id,label,year\n" + "".join(f"{v},c{v % 3},2020\n" for v in range(40)))
        (here / "notes.md").write_text("mine\n")
        (here / "score.json").write_text(json.dumps({"pip": 1.0, "per_vertex": 0.1, "relative": 0.2}))
        vectors = np.random.default_rng(1).normal(size=(40, 4)).astype(np.float32)
        np.save(here / "features.npy", vectors)
        for name in ("v.npy", "v.npz", "v.parquet", "v.vec"):
            Embedding(vectors, np.arange(40)).save(here / name)
        Embedding(vectors[: len(names)], np.array(names)).save(here / "named.npz")
        (here / "own").mkdir()
        for name in ("lock", "embedding.npy", "refine-0.npy", "notes.md"):
            (here / "own" / name).write_text("mine\n")
        (here / "own/graph").mkdir()
        (here / "own/graph/notes.md").write_text("mine\n")
        (here / "sub dir").mkdir()
        (here / "link.npy").symlink_to("notes.md")
        plan = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--anchors", "8", "--engine", "serial", "--json"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for line in (
                ["embed", "g.txt", "-o", "gone.npy", "--run-dir", "run"],
                ["decompose", "g.txt", "--run-dir", "part-run"],
            ):
                line[1:] = [str(here / word) if not word.startswith("-") else word for word in line[1:]]
                if run([*line, *plan]) != 0:
                    raise RuntimeError(f"{line} failed in the box")
        for left in here.glob("gone*"):
            left.unlink()

    def _seen(self) -> dict[str, tuple[int, bytes]]:
        """Return the mode and content of every file; a link's content is where it leads."""
        seen = {}
        for folder, folders, files in os.walk(self.folder):
            for name in [*files, *folders]:
                path = Path(folder) / name
                mode = path.lstat().st_mode
                data = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else b""
                seen[os.path.relpath(path, self.folder)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else data)
        return seen

    def check(self, case: Case) -> list[str]:
        """Return what of the user's was changed, and bring everything back."""
        now = self._seen()
        changed = [name for name, value in self.before.items() if now.get(name) != value]
        new = [name for name in now if name not in self.before]
        names = [word.partition("=")[2] if word.startswith("--") and "=" in word else word for word in case.words]
        once = {name.removeprefix("../") for name in names if names.count(name) == 1}
        # What may change: runs; outputs that are no inputs: vectors, and with --overwrite any.
        may = once if "--overwrite" in names else once & REPLACEABLE
        wrong = [name for name in changed if not f"{name}/".startswith(PARGES) and name not in may]
        if changed or new:
            self._restore(changed, new)
        return wrong

    def _restore(self, changed: list[str], new: list[str]) -> None:
        for name in [*new, *changed]:
            path = self.folder / name
            if path.is_symlink() or path.is_file():
                path.unlink()
            elif path.is_dir() and name in new:
                path.chmod(0o700)
                shutil.rmtree(path)
        for name in sorted(changed):
            mode, data = self.before[name]
            path = self.folder / name
            if stat.S_ISDIR(mode):
                path.mkdir(exist_ok=True)
            elif stat.S_ISLNK(mode):
                path.symlink_to(os.fsdecode(data))
            else:
                path.write_bytes(data)
            if not stat.S_ISLNK(mode):
                path.chmod(stat.S_IMODE(mode))


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
    begun = time.monotonic()
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
    return End(code, said, usage.ru_maxrss * scale, time.monotonic() - begun)


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
    parser.add_argument("--slow", type=float, default=0, help="also tell of those that take so many seconds")
    given = parser.parse_args()
    codes: Counter[int | None] = Counter()
    n_run = n_traces = n_changed = n_wrong = most = 0
    begun = time.monotonic()
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
    sys.stdout.write(f"exit codes: {by_code}; {time.monotonic() - begun:.0f} s\n")
    sys.stdout.write(
        f"{n_run:,} command lines, {n_traces:,} tracebacks, {n_changed:,} files changed, largest memory "
        f"{most / 1e6:,.0f} MB; {n_wrong:,} wrong\n"
    )
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
