"""Claim: an eighth of the mean degree is a fair regularisation of `parge.Spectral`: more helps labels, less links.

From the project's root, a few minutes::

    python benchmarks/regularisation_matters.py

On generated graphs alone, which no other page reports: known-count micro-F1 at 50 %, and ROC-AUC by cosine of half of
the edges, held out; the whole graph, mean over seeds.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from benchmarks.harness import markdown_table

import parge
from parge.evaluate.labels import Labels
from parge.graph.generate import Planted, planted, tree
from parge.graph.subgraph import Subgraph

DIM, N = 64, 1_600
SHARES = (0.0, 0.125, 0.25, 0.5, 1.0)


def graphs(seed: int) -> dict[str, Planted]:
    """Return graphs of mean degree 3 to 50, with few communities and with many."""
    return {
        "planted, mean degree 15": planted(N, 12_000, mixing=0.6, labels_per_vertex=1.3, communities=20, seed=seed),
        "planted, mean degree 4": planted(N, 3_200, mixing=0.2, communities=15, seed=seed + 10),
        "planted, mean degree 4, small communities": planted(N, 3_200, mixing=0.2, communities=130, seed=seed + 15),
        "tree": tree(N, seed=seed + 20),
        "planted, dense": planted(N, 40_000, mixing=0.7, labels_per_vertex=1.4, communities=24, seed=seed + 30),
    }


def embedded(graph: parge.Graph, share: float) -> parge.Embedding:
    technique = parge.Spectral(dim=DIM, regularisation=share)
    return parge.Embedding(technique.embed(Subgraph.whole(graph), np.random.default_rng(0)), graph.outside_ids)


def scores(made: Planted, share: float, seed: int) -> Iterator[tuple[str, float]]:
    """Yield the score of either task."""
    vertices = np.repeat(np.arange(made.graph.n_vertices), np.diff(made.labels.indptr))
    labels = Labels.from_pairs(vertices, made.labels.labels.astype(np.int64))
    yield "F1", parge.evaluate.classify(embedded(made.graph, share), labels, repeats=2, seed=seed).micro_f1.mean
    held = parge.evaluate.hold_out(made.graph, 0.5, seed)
    vectors = embedded(held.train, share).vectors
    yield "ROC", parge.evaluate.score_links(vectors, *held, seed=seed).to_json()["cosine"]["roc_auc"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    found: dict[str, dict[float, list[float]]] = {}
    for seed in range(1, 1 + parser.parse_args().seeds):
        for name, made in graphs(seed).items():
            for share in SHARES:
                for task, score in scores(made, share, seed):
                    for row in (f"{name}, {task}", f"mean, {task}"):
                        found.setdefault(row, {}).setdefault(share, []).append(score)
    rows = [[name, *(f"{np.mean(by_share[share]):.3f}" for share in SHARES)] for name, by_share in found.items()]
    print(markdown_table(["", *(f"{share:g}" for share in SHARES)], sorted(rows)))


if __name__ == "__main__":
    main()
