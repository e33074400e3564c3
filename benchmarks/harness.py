"""What benchmarks share: fresh processes with their time and peak memory, the planted graph file, results, tables.

The process that measures stays small (it imports nothing but the standard library): on Linux a child's peak
memory counts from its parent's, so everything heavy, the making of the graph included, is done by children.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
PACKAGES = ("parge", "numpy", "scipy", "numba", "pyarrow", "kaminpar", "pymetis", "scikit-learn")

# LiveJournal's size: vertices, edges.
FULL = (4_000_000, 34_500_000)


@dataclass(frozen=True)
class Measured:
    """One run in a fresh process.

    Parameters
    ----------
    seconds : float
        Wall time: of the whole process for a command; of the call alone, imports done, for a function.
    cpu_seconds : float
        Time of all its threads on a core, over the same span: what a busy machine does not lengthen.
    peak_bytes : int
        Largest resident memory of the process (VmHWM), imports included.
    value : Any
        What the function returned, or the JSON that the command printed.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    value: Any = None

    @property
    def cost(self) -> dict[str, float]:
        """Time and memory, for a record of the run."""
        return {"seconds": self.seconds, "cpu_seconds": self.cpu_seconds, "peak_bytes": self.peak_bytes}


def measure_command(command: Sequence[str]) -> Measured:
    """Run a command that prints JSON (or nothing) and measure the whole process."""
    seconds, usage, printed = _run(command)
    value = json.loads(printed) if printed.strip() else None
    return Measured(seconds, usage.ru_utime + usage.ru_stime, _peak(usage), value)


def measure_call(target: str, *, imports: Sequence[str] = (), **arguments: Any) -> Measured:
    """Call ``module:function`` with keyword arguments in a fresh process that has those imports behind it.

    Arguments and what is returned travel as JSON.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        _, usage, _ = _run([sys.executable, __file__, target, json.dumps(arguments), str(answer), *imports])
        reported = json.loads(answer.read_text())
    return Measured(reported["seconds"], reported["cpu_seconds"], _peak(usage), reported["value"])


def parge_command(*arguments: str) -> list[str]:
    """Return the command line of the parge that belongs to this Python."""
    return [str(Path(sys.executable).with_name("parge")), *arguments]


def _run(command: Sequence[str]) -> tuple[float, resource.struct_rusage, str]:
    with tempfile.TemporaryFile() as out:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)  # already waited for: Popen must not try again
        out.seek(0)
        printed = out.read().decode()
    if child.returncode:
        raise SystemExit(f"exit code {child.returncode} of: {' '.join(command)}\n{printed}")
    return seconds, usage, printed


def _peak(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _answer(target: str, arguments: str, answer: str, *imports: str) -> None:
    for needed in imports:
        import_module(needed)
    module, name = target.split(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    start, cpu_start = time.perf_counter(), time.process_time()
    value = function(**json.loads(arguments))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    Path(answer).write_text(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "value": value}))


def labels_of(path: Path) -> Path:
    """Return where the labels of a planted graph are, an array with one number per vertex."""
    return path.with_suffix(".labels.npy")


def planted_file(workdir: Path, n_vertices: int, n_edges: int, *, seed: int = 1) -> Path:
    """Return the edge list of a planted graph, made in a child unless an earlier run has left it in `workdir`."""
    path = workdir / f"planted-{n_vertices}-{n_edges}-{seed}.txt"
    if not path.exists() or not labels_of(path).exists():
        workdir.mkdir(parents=True, exist_ok=True)
        made = measure_call("harness:write_planted", path=str(path), n_vertices=n_vertices, n_edges=n_edges, seed=seed)
        print(f"generated in {made.seconds:.0f} s, peak {gigabytes(made.peak_bytes)}: {path}", file=sys.stderr)
    return path


def write_planted(path: str, n_vertices: int, n_edges: int, seed: int) -> None:
    """Write a planted graph as an edge list, each edge once, sorted by its lower end as published lists are."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv

    from parge.graph.generate import planted

    made = planted(n_vertices, n_edges, seed=seed)
    graph = made.graph
    np.save(labels_of(Path(path)), made.labels.labels[made.labels.indptr[:-1]])
    plain = pyarrow.csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    unfinished = Path(f"{path}.unfinished")
    schema = pa.schema([("source", pa.int32()), ("target", pa.int32())])
    with pyarrow.csv.CSVWriter(unfinished, schema, write_options=plain) as file:
        for first in range(0, n_vertices, 2**18):
            last = min(first + 2**18, n_vertices)
            rows = np.repeat(np.arange(first, last, dtype=np.int32), graph.degrees[first:last])
            neighbours = graph.indices[graph.indptr[first] : graph.indptr[last]]
            once = rows < neighbours
            file.write(pa.table([rows[once], neighbours[once]], schema=schema))
    unfinished.rename(path)


def into_page_cache(path: Path) -> None:
    """Read a file and forget it, so that the first reader does not wait for the disk more than the others."""
    with path.open("rb", buffering=0) as file:
        while file.read(2**20):
            pass


def scale_arguments(description: str, *, repeats: int, constants: bool = False) -> argparse.Namespace:
    """Read the options of a benchmark at scale; smaller sizes try it quickly. Some measure `constants` of estimates."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--vertices", type=int, default=FULL[0])
    parser.add_argument("--edges", type=int, default=FULL[1])
    parser.add_argument("--repeats", type=int, default=repeats)
    default = Path(tempfile.gettempdir()) / "parge-benchmarks"
    parser.add_argument("--workdir", type=Path, default=default, help=f"keeps the graph file [default: {default}]")
    if constants:
        parser.add_argument("--constants", action="store_true", help="keep what `parge plan --estimate` multiplies")
    return parser.parse_args()


@dataclass(frozen=True)
class Claim:
    """A number and the bound that it is claimed to keep: at most so much, or at least."""

    text: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the number is within its bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        side, verdict = "at least" if self.at_least else "at most", "kept" if self.kept else "BROKEN"
        return f"{self.text}: {self.value:.3g} (claimed: {side} {self.bound:.3g}, {verdict})"


@dataclass(frozen=True)
class Result:
    """All that one benchmark has to say; `write` keeps it as results/NAME.json."""

    name: str
    graph: dict[str, Any]
    claims: list[Claim]
    runs: list[dict[str, Any]] = field(default_factory=list)

    def write(self) -> Path:
        """Write the result with versions and machine, and return where."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}.json"
        claims = [{**asdict(claim), "kept": claim.kept} for claim in self.claims]
        everything = {**asdict(self), "claims": claims, "versions": versions(), "machine": machine()}
        path.write_text(json.dumps(everything, indent=1) + "\n")
        return path

    def finish(self) -> None:
        """Print the claims and where the result is kept."""
        print("", *self.claims, sep="\n")
        print(f"\n{self.write()}")


def versions() -> dict[str, str]:
    """Return the versions of Python and of what the work is done with."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on; a load above this benchmark's own makes wall times doubtful."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {"system": platform.system(), "processor": model, "cores": usable, "load": os.getloadavg()}


def gigabytes(size: float) -> str:
    """Show a size in decimal gigabytes."""
    return f"{size / 1e9:.2f} GB"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers.

    >>> print(markdown_table(["what", "s"], [["read", 1.5]]))
    | what | s |
    |---|---:|
    | read | 1.5 |
    """
    lines = [list(header), ["---"] + ["---:"] * (len(header) - 1), *([str(cell) for cell in row] for row in rows)]
    shown = [f"| {' | '.join(cells)} |" for cells in lines]
    shown[1] = f"|{'|'.join(lines[1])}|"
    return "\n".join(shown)


if __name__ == "__main__":
    _answer(*sys.argv[1:])
