"""Claim: on large sparse graphs 8 parts of DeepWalk need more rounds of whitened propagation than elsewhere.

From the project's root, ten minutes of a core::

    python benchmarks/settling_helps.py

Planted graphs of 47 communities, 1.5 labels per vertex; known-count micro-F1 at 50 % of 8,000 labelled vertices, five
shuffles, one seed: 8 parts and the whole graph, as they are and after `whiten` and `settle`. Which pass a graph gets by
default (`SkipGramWalks.refine_for`) was chosen by these.
"""

import argparse

import numpy as np
from benchmarks.harness import markdown_table
from threadpoolctl import threadpool_limits

import parge
from parge.evaluate.labels import Labels
from parge.graph.generate import Planted, planted

# Vertices, mean degree, share of the edges that ignore communities.
GRAPHS = (
    (40_000, 4, 0.5),
    (40_000, 8, 0.5),
    (40_000, 12, 0.5),
    (40_000, 6, 0.3),
    (40_000, 12, 0.3),
    (10_000, 4, 0.5),
    (10_000, 8, 0.5),
)
PASSES = ("none", "whiten", "settle")
LABELLED = 8_000


def labels_of(made: Planted) -> Labels:
    """Return the labels of a random few vertices."""
    n_vertices = made.graph.n_vertices
    kept = np.zeros(n_vertices, np.bool_)
    kept[np.random.default_rng(0).permutation(n_vertices)[:LABELLED]] = True
    vertices = np.repeat(np.arange(n_vertices), np.diff(made.labels.indptr))
    wanted = kept[vertices]
    return Labels.from_pairs(vertices[wanted], made.labels.labels.astype(np.int64)[wanted])


def scores(made: Planted, parts: int) -> list[float]:
    """Return the micro-F1 after each pass."""
    labels, found = labels_of(made), []
    for refine in PASSES:
        plan = parge.Plan(technique="deepwalk", parts=parts, refine=refine, engine="serial", seed=0)
        score = parge.evaluate.classify(parge.embed(made.graph, plan), labels, repeats=5, seed=0)
        found.append(score.micro_f1.mean)
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    lines = []
    for n_vertices, degree, mixing in GRAPHS:
        n_edges = n_vertices * degree // 2
        made = planted(n_vertices, n_edges, communities=47, mixing=mixing, labels_per_vertex=1.5, seed=5)
        with threadpool_limits(1):
            row = [*scores(made, 8), *scores(made, 1)]
        chosen = parge.DeepWalk().refine_for(made.graph)
        lines.append([f"{n_vertices:,}", str(degree), f"{mixing}", *(f"{score:.3f}"[1:] for score in row), chosen])
    header = ["vertices", "degree", "mixing", *(f"8 parts, {name}" for name in PASSES)]
    print(markdown_table([*header, *(f"whole, {name}" for name in PASSES), "default"], lines))


if __name__ == "__main__":
    main()
