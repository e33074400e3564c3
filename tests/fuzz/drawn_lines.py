"""Command lines to try: words of every command with values that are right, wrong, extreme or odd, in odd places."""

import random
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

BUDGET = 200_000_000
PROGRAMS = 0.01

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
