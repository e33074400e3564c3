"""Claim: on two cores, 8 parts take little longer than the whole graph where it is small, and less where it is not.

From the project's root, on a machine that does nothing else, 10 minutes (``make bench-parts ONLY=cora`` takes one)::

    make bench-parts

`parge embed` with its defaults and the same pass after it, as a user types it: wall time of the whole command, reading
and writing included, best of several repeats, in turn. Beside it the time on all cores, the largest worker's peak
memory, and micro-F1 at 50 %. The graphs are those of ``../shared/data`` where it exists, and planted ones.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import Measured, markdown_table, measure_command, parge_command

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
REAL = ("cora", "blogcatalog", "youtube-groups")
PLANTED = {"planted-30k": (10_000, 30_000), "planted-400k": (50_000, 400_000)}


class Input(NamedTuple):
    """A graph and the labels of its vertices."""

    name: str
    edges: Path
    labels: Path
    options: tuple[str, ...] = ()
    """How the graph is read: isolated vertices of a generated one have labels, too."""


def inputs(folder: Path, only: list[str]) -> Iterator[Input]:
    """Yield the graphs that are there, and those that can be made."""
    for name in REAL:
        found = Input(name, SHARED / f"{name}.edges.gz", SHARED / f"{name}.labels.gz")
        if found.edges.exists() and (not only or name in only):
            yield found
    for name, (vertices, edges) in PLANTED.items():
        if not only or name in only:
            known = ("--vertices", str(vertices))
            made = Input(name, folder / f"{name}.txt", folder / f"{name}.labels.txt", known)
            size = ("--vertices", str(vertices), "--edges", str(edges))
            measure_command(parge_command("generate", *size, "-o", str(made.edges), "--labels", str(made.labels)))
            yield made


def embedded(graph: Input, folder: Path, parts: int, jobs: int) -> tuple[Measured, Path]:
    """Embed once; return the measurement, with the report, and the file."""
    out = folder / f"{graph.name}-{parts}.npy"
    options = ("--parts", str(parts), "--jobs", str(jobs), "--refine", "whiten", "--seed", "1", "--overwrite", "--json")
    return measure_command(parge_command("embed", str(graph.edges), "-o", str(out), *graph.options, *options)), out


def score(graph: Input, out: Path) -> float:
    """Return the micro-F1 at 50 %."""
    options = ("--label-column", "all", "--json")
    reported = measure_command(parge_command("evaluate", "classify", str(out), str(graph.labels), *options)).value
    return float(reported["micro_f1"]["mean"] if isinstance(reported["micro_f1"], dict) else reported["micro_f1"])


def peak(report: Any) -> float:
    """Return the largest worker's peak memory in MB."""
    return max(float(part["peak_bytes"]) for part in report["parts"]) / 1e6


def compared(graph: Input, folder: Path, parts: int, repeats: int, jobs: int) -> list[str]:
    """Return a row: the whole graph and its parts."""
    whole: list[Measured] = []
    split: list[Measured] = []
    for _ in range(repeats):
        run, whole_out = embedded(graph, folder, 1, jobs)
        whole.append(run)
        run, split_out = embedded(graph, folder, parts, jobs)
        split.append(run)
    walls = [min(run.seconds for run in runs) for runs in (whole, split)]
    cores = [min(run.cpu_seconds for run in runs) for runs in (whole, split)]
    return [
        graph.name,
        f"{walls[0]:.1f} s",
        f"{walls[1]:.1f} s",
        f"{walls[1] / walls[0]:.2f}",
        f"{cores[0]:.1f} s / {cores[1]:.1f} s",
        f"{peak(whole[-1].value):.0f} MB / {peak(split[-1].value):.0f} MB",
        f"{score(graph, whole_out):.3f} / {score(graph, split_out):.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="names of graphs")
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    heads = ["graph", "whole", f"{asked.parts} parts", "ratio", "on all cores", "largest worker", "micro-F1"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = [compared(graph, folder, asked.parts, asked.repeats, asked.jobs) for graph in inputs(folder, asked.only)]
    print(markdown_table(heads, rows))


if __name__ == "__main__":
    main()
