"""Claim: with `--faithful`, DeepWalk in 8 parts is within 1.4 times the PIP of two seeds of the whole graph.

From the project's root, a minute or two a seed::

    python -m benchmarks.scale_is_faithful [--data FOLDER] [--seeds 3] [--graphs NAME ...]

PIP per vertex to the whole graph's vectors, no other pass: of another seed (the floor), of 8 parts as they are, after
`scale`, and after the best factor, which needs the whole graph's vectors. *paper* is the paper's method as corrected.
*micro-F1* is known-count, 50 % for training, of parts as they are and after `scale`. The second graph takes the place
of Flickr (docs/explain/paper.md); the sample's size was chosen on others.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.harness import markdown_table
from benchmarks.kinds import labels_of
from benchmarks.quality.graphs import load

import parge
from parge.graph.generate import planted, tree
from parge.graph.graph import Graph

MADE = {
    "planted-8051-589988": lambda: planted(8_051, 589_988, communities=47, mixing=0.5, labels_per_vertex=1.5, seed=1),
    "planted-6000-40000": lambda: planted(6_000, 40_000, communities=30, mixing=0.4, labels_per_vertex=1.3, seed=3),
    "planted-8000-18000": lambda: planted(8_000, 18_000, communities=80, mixing=0.15, seed=21),
    "tree-6000": lambda: tree(6_000, seed=5),
}
GRAPHS = ("blogcatalog", "cora", *MADE)
COLUMNS = (
    "floor",
    "paper",
    "8 parts",
    "scale",
    "best factor",
    "over floor",
    "F1, 8 parts",
    "F1, scale",
    "factor",
    "best",
)


def data(name: str, folder: Path) -> tuple[Graph, Any] | None:
    if name in MADE:
        made = MADE[name]()
        return made.graph, labels_of(made)
    found = load(name, folder)
    return None if found is None else (found.graph, parge.evaluate.read_labels(found.labels, label_column="all"))


def measured(graph: Graph, labels: Any, seed: int) -> list[float]:
    """Return what the columns say."""

    def embedded(seed: int, **fields: Any) -> parge.Embedding:
        plan = parge.Plan(parge.DeepWalk(), engine="serial", seed=seed, **fields)
        return parge.embed(graph, plan, progress=False)

    def f1(found: parge.Embedding) -> float:
        return parge.evaluate.classify(found, labels, repeats=3, seed=seed).micro_f1.mean

    whole = embedded(seed, parts=1, refine="none")
    other = embedded(seed + 100, parts=1, refine="none")
    paper = embedded(seed, parts=8, preset="paper")
    parts, scaled = (embedded(seed, parts=8, refine=name) for name in ("none", "scale"))
    as_is, best = parge.evaluate.pip(parts, whole), parge.evaluate.pip(scaled, whole)
    floor = parge.evaluate.pip(other, whole).per_vertex
    return [
        floor,
        parge.evaluate.pip(paper, whole).per_vertex,
        as_is.per_vertex,
        best.per_vertex,
        best.scaled_per_vertex,
        best.per_vertex / floor,
        f1(parts),
        f1(scaled),
        float(scaled.report.refine.factor or 1.0),
        as_is.factor,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    asked, rows = parser.parse_args(), []
    for name in asked.graphs:
        found = data(name, asked.data)
        if found is None:
            print(f"{name}: not at hand")
            continue
        numbers = np.array([measured(*found, seed) for seed in range(asked.seeds)])
        spread = numbers.std(axis=0, ddof=1) if asked.seeds > 1 else np.zeros(numbers.shape[1])
        rows.append([name, *(f"{a:.3f} ± {b:.3f}" for a, b in zip(numbers.mean(axis=0), spread, strict=True))])
        print(*rows[-1], flush=True)
    print()
    print(markdown_table(["", *COLUMNS], rows))


if __name__ == "__main__":
    main()
