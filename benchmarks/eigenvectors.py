"""Eigenvectors by filtered blocks: `spectral` against scikit-network's Spectral, HOPE against ARPACK, one core.

From the project's root::

    python -m benchmarks.eigenvectors [--data ../shared/data] [--python PYTHON-WITH-SCIKIT-NETWORK] [--only blog]

Everything is measured in one run, each in a process of its own, in turn; of the repeats the least time counts.
Seconds are those of a core. Scores are micro-F1 (half of the labels for training), or the ROC-AUC by cosine of half of
the edges, held out. Of scikit-network's rows as they are, and scaled to length 1, the better ones count. ARPACK
(`scipy.sparse.linalg.eigsh`) is asked for HOPE's vectors with four digits.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import competitors, harness, peers
from benchmarks.comparison import Case, edges, planted_case, quality, shared_case

DIM = 128
ALONE = str(Path(__file__).with_name("technique_alone.py"))

# What scikit-network's time may be multiplied by, for each graph; of a generated one, for any.
MOST = {"blogcatalog": 0.2, "youtube-groups": 0.2, "ca-AstroPh": 0.4}


def measured(case: Case, python: str, repeats: int, left_out: set[str]) -> dict[str, Any]:
    """Return the least times of everybody, scores and peak memory."""
    graph = case.training(0)
    arrays, size = edges(graph), {"vertices": graph.n_vertices, "dim": DIM, "seed": 0}
    asked = {
        "scikit-network": (python, peers.__file__, {"package": "scikit-network", "name": "Spectral", **size}),
        "spectral": (sys.executable, ALONE, {"technique": "spectral", **size}),
        "ARPACK": (sys.executable, peers.__file__, {"package": "scipy", **size}),
        "hope": (sys.executable, ALONE, {"technique": "hope", **size}),
    }
    best: dict[str, Any] = {}
    scores: dict[str, float] = {}
    for name, (program, script, settings) in asked.items():
        if name in left_out:
            continue
        others = name in {"scikit-network", "ARPACK"}
        cells = []
        for _ in range(1 if others else repeats):
            vectors, cell = competitors.embed_with(program, settings, script=script, **arrays)
            cells.append(cell)
        best[name] = {key: min(cell[key] for cell in cells) for key in ("seconds", "cpu_seconds", "peak_bytes")}
        variants = [vectors, peers.unit_rows(vectors)] if name == "scikit-network" else [vectors]
        scores[name] = max(quality(case.score(some, 0)) or 0.0 for some in variants)
        print(f"  {case.title}, {name}: {best[name]['cpu_seconds']:.2f} s, {scores[name]:.4f}", file=sys.stderr)
    return {"graph": case.metadata, "best": best, "scores": scores}


def claims(name: str, cell: dict[str, Any]) -> list[harness.Claim]:
    """Return what is claimed for one graph."""
    best, scores, found = cell["best"], cell["scores"], []
    for ours, theirs, most in (("spectral", "scikit-network", MOST.get(name, 0.2)), ("hope", "ARPACK", 0.5)):
        if theirs in best:
            ratio = best[ours]["cpu_seconds"] / best[theirs]["cpu_seconds"]
            found.append(harness.Claim(f"{name}: time of {ours} over {theirs}'s", ratio, most))
            ahead = scores[ours] - scores[theirs]
            found.append(harness.Claim(f"{name}: score of {ours} over {theirs}'s", ahead, -0.002, at_least=True))
    return found


def row(title: str, cell: dict[str, Any], ours: str, theirs: str) -> list[str]:
    """Return the line of a technique on one graph."""
    best, scores = cell["best"], cell["scores"]
    mine, other = best[ours], best.get(theirs)
    return [
        title,
        ours,
        f"{other['cpu_seconds']:.1f}" if other else "–",
        f"{mine['cpu_seconds']:.2f}",
        f"{mine['cpu_seconds'] / other['cpu_seconds']:.3f}" if other else "–",
        f"{scores[theirs]:.3f}" if other else "–",
        f"{scores[ours]:.3f}",
        f"{other['peak_bytes'] / 1e6:.0f}" if other else "–",
        f"{mine['peak_bytes'] / 1e6:.0f}",
    ]


HEADER = ("graph", "technique", "other, s", "parge, s", "ratio", "score, other", "parge", "MB, other", "parge")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--python", default=sys.executable, help="one that has scikit-network")
    parser.add_argument("--only", help="part of a graph's name")
    asked = parser.parse_args()
    left_out = set()
    reason = competitors.missing(asked.python, "sknetwork")
    if reason:
        print(f"scikit-network: skipped, {reason}", file=sys.stderr)
        left_out.add("scikit-network")
    makers: dict[str, Callable[[], Case | None]] = {
        "blogcatalog": lambda: shared_case("blogcatalog", "labels", asked.data),
        "youtube-groups": lambda: shared_case("youtube-groups", "labels", asked.data),
        "ca-AstroPh": lambda: shared_case("ca-AstroPh", "links", asked.data),
        "planted, labels": lambda: planted_case(10_000, 100_000, "labels"),
        "planted, links": lambda: planted_case(10_000, 100_000, "links"),
    }
    runs, rows, kept = [], [], []
    for name, make in makers.items():
        case = make() if not asked.only or asked.only in name else None
        if case is None:
            continue
        cell = measured(case, asked.python, asked.repeats, left_out)
        runs.append(cell)
        rows += [row(case.title, cell, *pair) for pair in (("spectral", "scikit-network"), ("hope", "ARPACK"))]
        kept += claims(case.name, cell)
        print(json.dumps(cell), file=sys.stderr)
    print(harness.markdown_table(HEADER, rows))
    harness.Result("eigenvectors", {"dim": DIM}, kept, runs).finish()


if __name__ == "__main__":
    main()
