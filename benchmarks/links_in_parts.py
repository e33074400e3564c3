"""Claim: in 8 and 16 parts links are predicted as well as on the whole graph, and at least as well as by the best peer.

From the project's root, half an hour with peers and all seeds::

    python -m benchmarks.links_in_parts [--data FOLDER] [--seeds 3] [--graphs NAME ...] [--peers]

Half of the edges are held out before anything is computed, 128 columns, one process. ROC-AUC, mean and deviation over
seeds: *uniform*, pairs drawn evenly, by cosine and by the degree head (`parge.space.head`), which is fitted on training
edges for everybody's vectors; *by degree*, pairs drawn by degree, by cosine. Every technique has the pass that
``--for links`` means. Peers embed the whole graph (`benchmarks.peers`).
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.comparison import peer
from benchmarks.harness import markdown_table
from benchmarks.kinds import KINDS
from benchmarks.quality.graphs import load

import parge
from parge.evaluate.predictors import degree_product, of_vectors
from parge.graph.generate import Planted
from parge.graph.graph import Graph
from parge.graph.holdout import HeldOut, by_degree, hold_out
from parge.seeds import keyed_rng

OURS = ("auto", "blend", "whitened", "spectral", "deepwalk")
PEERS = {
    "pycleora": {"package": "pycleora"},
    "scikit-network Spectral": {"package": "scikit-network", "name": "Spectral"},
    "scikit-network GSVD": {"package": "scikit-network", "name": "GSVD"},
}
PARTS = (8, 16)
GRAPHS = ("cora", "ca-AstroPh", "youtube-groups")
SEED = 71


def graph_of(name: str, folder: Path) -> Graph | None:
    if name in KINDS:
        made = KINDS[name](SEED)
        return made.graph if isinstance(made, Planted) else made
    found = load(name, folder)
    return None if found is None else found.graph


def auc(edges: Any, others: Any) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(np.arange(edges.size + others.size) < edges.size, np.concatenate([edges, others])))


def scores(vectors: Any, held: HeldOut, corrected: Any, seed: int) -> tuple[float, ...]:
    """Return ROC-AUC: uniform by cosine and by the head, by degree by cosine."""
    predictors = of_vectors(vectors, held.train, np.zeros(0, np.int64), keyed_rng(seed, "link training"), seed)
    cosine, head = (predictors[name].pairs for name in ("cosine", "head"))
    return (
        auc(cosine(held.positives), cosine(held.negatives)),
        auc(head(held.positives), head(held.negatives)),
        auc(cosine(held.positives), cosine(corrected)),
    )


def rows(graph: Graph, techniques: Sequence[str], seed: int, *, peers: bool) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield the scores of everybody."""
    held = hold_out(graph, 0.5, seed)
    corrected = by_degree(held.train, held.positives, seed)
    product = degree_product(held.train).pairs
    plain, drawn = (
        auc(product(held.positives), product(held.negatives)),
        auc(product(held.positives), product(corrected)),
    )
    yield "product of degrees", (plain, plain, drawn)
    for name in techniques:
        for parts in PARTS:
            plan = parge.Plan(technique=name, parts=parts, purpose="links", seed=seed, engine="serial")
            found = parge.embed(held.train, plan)
            if found.report.choice is not None:
                print(f"    {parts} parts: {found.report.choice}", flush=True)
            yield f"{name}, {parts} parts", scores(found.vectors, held, corrected, seed)
    for name, settings in PEERS.items() if peers else ():
        vectors, _ = peer(**settings)(held.train, seed)
        yield f"{name}, whole graph", scores(np.asarray(vectors, np.float32), held, corrected, seed)


def shown(some: list[float]) -> str:
    return f"{np.mean(some):.4f}" + (f" ± {np.std(some, ddof=1):.4f}" if len(some) > 1 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS))
    parser.add_argument("--techniques", nargs="*", default=list(OURS))
    parser.add_argument("--peers", action="store_true", help="pycleora and scikit-network, too")
    asked = parser.parse_args()
    for name in asked.graphs:
        graph = graph_of(name, asked.data)
        if graph is None:
            print(f"{name}: not at hand")
            continue
        found: dict[str, list[tuple[float, ...]]] = {}
        for seed in range(asked.seeds):
            for who, three in rows(graph, asked.techniques, seed, peers=asked.peers):
                found.setdefault(who, []).append(three)
                print(f"  {name} {seed} {who}: {' '.join(f'{value:.4f}' for value in three)}", flush=True)
        print(f"\n**{name}** ({graph.n_vertices:,} vertices, {graph.n_edges:,} edges; {asked.seeds} seeds)\n")
        header = ["", "uniform, cosine", "uniform, head", "by degree, cosine"]
        print(
            markdown_table(
                header, [[who, *map(shown, map(list, zip(*all_, strict=True)))] for who, all_ in found.items()]
            )
        )
        print(flush=True)


if __name__ == "__main__":
    main()
