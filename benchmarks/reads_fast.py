"""Claim: reading a whitespace edge list takes at most 4 times what ``pyarrow.csv`` alone needs to parse the file.

    python benchmarks/reads_fast.py                                   4.0 M vertices, 34.5 M edges
    python benchmarks/reads_fast.py --vertices 100000 --edges 800000  quickly

Both read the same file, from memory rather than disk, in fresh processes that take turns; imports are not
counted, and the compiled kernels are in their cache.
"""

from pathlib import Path
from statistics import median
from typing import Any

from harness import (
    Claim,
    Measured,
    Result,
    gigabytes,
    into_page_cache,
    markdown_table,
    measure_call,
    planted_file,
    scale_arguments,
)

READERS = {"pyarrow.csv": "parse_with_pyarrow", "parge.read": "read_with_parge"}
IMPORTS = ("pyarrow.csv", "parge.io.graphs.read")
LARGEST_RATIO = 4.0

# Enough edges for the compiled kernels to be used, and so to be in their cache afterwards.
WARM_UP = (50_000, 300_000)


def parse_with_pyarrow(path: str) -> dict[str, int]:
    """Parse the file into two columns of integers and do nothing with them."""
    from pyarrow import csv

    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=["source", "target"]),
        parse_options=csv.ParseOptions(delimiter=" "),
    )
    return {"edges": table.num_rows}


def read_with_parge(path: str) -> dict[str, int]:
    """Read the file into a Graph."""
    from parge.io.graphs.read import read

    graph = read(path)
    return {"edges": graph.n_edges, "vertices": graph.n_vertices}


def measure(function: str, path: Path) -> Measured:
    return measure_call(f"reads_fast:{function}", imports=IMPORTS, path=str(path))


def main() -> None:
    arguments = scale_arguments(__doc__.splitlines()[0], repeats=3)
    path = planted_file(arguments.workdir, arguments.vertices, arguments.edges)
    small = planted_file(arguments.workdir, *WARM_UP)
    for function in READERS.values():
        measure(function, small)
    into_page_cache(path)

    runs: list[dict[str, Any]] = []
    for turn in range(arguments.repeats):
        for name, function in READERS.items():
            run = measure(function, path)
            if run.value["edges"] != arguments.edges:
                raise SystemExit(f"{name} found {run.value['edges']:,} edges, not {arguments.edges:,}")
            runs.append({"reader": name, "turn": turn, **run.cost})

    def middle(name: str, key: str) -> float:
        return median(run[key] for run in runs if run["reader"] == name)

    print(f"\n{arguments.vertices:,} vertices, {arguments.edges:,} edges, {path.stat().st_size / 1e6:.0f} MB of text\n")
    rows = [
        [
            name,
            f"{middle(name, 'seconds'):.2f}",
            f"{middle(name, 'cpu_seconds'):.2f}",
            gigabytes(max(run["peak_bytes"] for run in runs if run["reader"] == name)),
        ]
        for name in READERS
    ]
    print(markdown_table([f"median of {arguments.repeats}", "s", "s of a core", "peak memory"], rows))

    ratio = middle("parge.read", "seconds") / middle("pyarrow.csv", "seconds")
    graph = {"vertices": arguments.vertices, "edges": arguments.edges, "bytes": path.stat().st_size}
    Result("reads_fast", graph, [Claim("time against pyarrow.csv", ratio, LARGEST_RATIO)], runs).finish()


if __name__ == "__main__":
    main()
