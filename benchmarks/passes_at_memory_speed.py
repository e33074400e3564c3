"""Whitened propagation near the speed of memory: against pycleora, with 1 and 2 threads, and against a plain copy.

From the project's root::

    python -m benchmarks.passes_at_memory_speed [--data ../shared/data] [--large] [--python PYTHON-WITH-PYCLEORA]

Everything is measured in one run, each in a process of its own, the methods in turn; the best of the repeats counts.
Ratios to pycleora are of seconds on a core (which a busy machine does not lengthen much). Ratios of threads are of
seconds by the clock, which need free cores: how many there were is what two threads of plain arithmetic gain, and what
the memory allows is what two threads of plain copies gain, beyond any cache. Bytes are
those of the rows that a pass must read and write: every neighbour's row, its own, and what is written; a copy reads and
writes each byte once.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import competitors, harness, peers
from benchmarks.comparison import Case, edges, planted_case, shared_case

DIM = 128
ALONE = str(Path(__file__).with_name("whitened_alone.py"))


def measured(case: Case, python: str, repeats: int) -> dict[str, Any]:
    """Return the best times of everybody, scores and peak memory."""
    arrays, size = edges(case.graph), {"vertices": case.graph.n_vertices, "dim": DIM, "seed": 0}
    found: dict[str, Any] = {"pycleora": [], "1 thread": [], "2 threads": []}
    vectors: dict[str, Any] = {}
    for repeat in range(repeats):
        reason = competitors.missing(python, "pycleora")
        if not reason:
            asked = {"package": "pycleora", **size}
            vectors["pycleora"], cell = competitors.embed_with(python, asked, script=peers.__file__, **arrays)
            found["pycleora"].append(cell)
        for threads, name in ((1, "1 thread"), (2, "2 threads")):
            asked = {"threads": threads, "speeds": threads == 1 and repeat == 0, **size}
            vectors[name], cell = competitors.embed_with(sys.executable, asked, script=ALONE, **arrays)
            found[name].append(cell)
    assert np.array_equal(vectors["1 thread"], vectors["2 threads"]), "threads must change no bit"
    del vectors["2 threads"]
    if "pycleora" in vectors:
        vectors["pycleora, unit rows"] = peers.unit_rows(vectors["pycleora"])
    best: dict[str, Any] = {}
    for name, cells in found.items():
        if cells:
            least = {key: min(cell[key] for cell in cells) for key in ("seconds", "cpu_seconds", "peak_bytes")}
            most = {key: max(cell[key] for cell in cells) for key in cells[0] if key in ("free_cores", "copy_gain")}
            best[name] = {**cells[0], **least, **most}
    scores = {name: case.score(some, 0)["micro_f1"] for name, some in vectors.items()}
    return {"graph": case.metadata, "best": best, "micro_f1": scores}


def claims(name: str, cell: dict[str, Any]) -> list[harness.Claim]:
    """Return what is claimed for one graph."""
    best, scores = cell["best"], cell["micro_f1"]
    one, two = best["1 thread"], best["2 threads"]
    found = [harness.Claim(f"{name}: 2 threads, times faster", one["seconds"] / two["seconds"], 1.8, at_least=True)]
    if "pycleora" in best:
        ratio = one["cpu_seconds"] / best["pycleora"]["cpu_seconds"]
        ahead = scores["1 thread"] - max(scores["pycleora"], scores["pycleora, unit rows"])
        found += [
            harness.Claim(f"{name}: time of pycleora's, one core", ratio, 0.35),
            harness.Claim(f"{name}: micro-F1 over pycleora's best", ahead, -0.002, at_least=True),
        ]
    return found


def row(name: str, cell: dict[str, Any]) -> list[str]:
    """Return the line of one graph in the table."""
    best, scores = cell["best"], cell["micro_f1"]
    one, two, other = best["1 thread"], best["2 threads"], best.get("pycleora")
    return [
        name,
        f"{other['cpu_seconds']:.2f}" if other else "–",
        f"{one['cpu_seconds']:.2f}",
        f"{one['cpu_seconds'] / other['cpu_seconds']:.2f}" if other else "–",
        f"{one['seconds'] / two['seconds']:.2f} / {two['free_cores']:.2f} / {two['copy_gain']:.2f}",
        f"{one['sums_gb']:.1f} / {one['copy_gb']:.1f}",
        " / ".join(f"{scores[key]:.3f}" for key in ("pycleora", "pycleora, unit rows") if key in scores) or "–",
        f"{scores['1 thread']:.3f}",
        f"{other['peak_bytes'] / 1e6:.0f}" if other else "–",
        f"{one['peak_bytes'] / 1e6:.0f}",
    ]


HEADER = (
    "graph",
    "pycleora, s",
    "whitened, s",
    "ratio",
    "2 threads, x / cores free / copies",
    "GB/s, sums / copy",
    "micro-F1, pycleora / unit rows",
    "whitened",
    "MB, pycleora",
    "MB, whitened",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--large", action="store_true", help="a planted graph of 10 M edges, too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--python", default=sys.executable, help="one that has pycleora")
    parser.add_argument("--only", help="part of a graph's name")
    asked = parser.parse_args()
    reason = competitors.missing(asked.python, "pycleora")
    if reason:
        print(f"pycleora: skipped, {reason}", file=sys.stderr)
    sizes = [(100_000, 1_000_000), *([(1_000_000, 10_000_000)] if asked.large else [])]
    makers: dict[str, Callable[[], Case | None]] = {
        name: lambda name=name: shared_case(name, "labels", asked.data)  # type: ignore[misc]  # a default binds it now
        for name in ("blogcatalog", "youtube-groups")
    }
    for size in sizes:
        makers[f"planted-{size[1]}"] = lambda size=size: planted_case(*size, "labels")  # type: ignore[misc]
    runs, rows, kept = [], [], []
    for name, make in makers.items():
        case = make() if not asked.only or asked.only in name else None
        if case is None:
            continue
        cell = measured(case, asked.python, asked.repeats)
        runs.append(cell)
        rows.append(row(case.name, cell))
        kept += claims(case.name, cell)
        print(json.dumps(cell), file=sys.stderr)
    print(harness.markdown_table(HEADER, rows))
    harness.Result("passes_at_memory_speed", {"dim": DIM}, kept, runs).finish()


if __name__ == "__main__":
    main()
