"""Claim: none of three other ways to vectors for links is worth its time beside `blend`.

From the project's root, some minutes::

    python -m benchmarks.ways_for_links [--seed 71] [--graphs NAME ...]

Half of the edges are held out; ROC-AUC against pairs drawn by degree, by cosine unless said, 128 columns, whole graph:

* *local walk*: two steps of a random walk, factorised, ``U Λ`` by cosine and ``D^1/2 U Λ`` by inner product (Liu and
  Lü, 2010), with the eigenpairs of `parge.Spectral`'s matrix;
* *learned steps*: ``U Λ^p``, p by edges held out of the training graph (cf. STRAP, Lemane);
* *learned blend*: `parge.Blend` with p and the weight of its whitened half by the same edges;
* *edge softmax*: six epochs from `parge.Blend`'s vectors. A vertex learns to tell each neighbour from five vertices
  drawn by degree, all others stay as they are meanwhile, as landmarks would.
"""

import argparse
from collections.abc import Callable

import numpy as np
from benchmarks.harness import markdown_table
from benchmarks.kinds import KINDS
from benchmarks.links_in_parts import auc

import parge
from parge.graph.generate import Planted
from parge.graph.graph import Graph
from parge.graph.holdout import by_degree, hold_out
from parge.graph.subgraph import Subgraph
from parge.linalg.eigen import adjacency_matrix, largest, top_eigenpairs
from parge.linalg.tall import unit_rows

DIM, POWERS, WEIGHTS = 128, (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0), (0.5, 0.75, 1.0, 1.33, 2.0)
EPOCHS, NEGATIVES, RATE, SHARP, ROWS = 6, 5, 0.03, 4.0, 500
SKIPPED = ("many communities",)  # takes as long as all others together


def embedded(technique: parge.Technique, graph: Graph) -> np.ndarray:
    """Return the vectors of the whole graph; isolated vertices at the origin."""
    vectors = technique.embed(Subgraph.whole(graph), np.random.default_rng(0)).astype(np.float64)
    vectors[graph.degrees == 0] = 0.0
    return vectors


def eigenpairs(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return what `parge.Spectral` is made of: eigenvalues, negative ones as 0, and eigenvectors."""
    scale = 1.0 / np.sqrt(graph.degrees + 0.125 * graph.degrees.mean())
    matrix = adjacency_matrix(graph).multiply(scale[:, None]).multiply(scale[None]).tocsr()
    values, vectors = top_eigenpairs(
        lambda columns: matrix @ columns,
        graph.n_vertices,
        DIM,
        np.random.default_rng(0),
        rank=largest,
        tolerance=0.02,
    )
    return np.maximum(values, 1e-12), vectors


def trained(start: np.ndarray, graph: Graph, rng: np.random.Generator) -> np.ndarray:
    """Return unit rows after some epochs of the edge softmax."""
    vectors = unit_rows(start)
    likely = np.cumsum(graph.degrees**0.75)
    for _ in range(EPOCHS):
        after = vectors.copy()
        for first in range(0, graph.n_vertices, ROWS):
            rows = np.arange(first, min(first + ROWS, graph.n_vertices))
            rows = rows[graph.degrees[rows] > 0]
            if not rows.size:
                continue
            edges = slice(graph.indptr[rows[0]], graph.indptr[rows[-1] + 1])
            drawn = np.searchsorted(likely, rng.random((edges.stop - edges.start, NEGATIVES)) * likely[-1])
            shown = vectors[np.column_stack([graph.indices[edges], drawn])]
            own = np.repeat(rows, graph.degrees[rows])
            scores = SHARP * np.einsum("ij,ikj->ik", vectors[own], shown)
            share = np.exp(scores - scores.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            share[:, 0] -= 1.0
            pull = np.add.reduceat(np.einsum("ik,ikj->ij", share, shown), graph.indptr[rows] - edges.start)
            after[rows] -= RATE * SHARP * pull / graph.degrees[rows, None]
        vectors = unit_rows(after)
    vectors[graph.degrees == 0] = 0.0
    return vectors


def scores(graph: Graph, seed: int) -> dict[str, float]:
    """Return the ROC-AUC of every way."""
    held = hold_out(graph, 0.5, seed)
    train, edges = held.train, held.positives
    others = by_degree(train, edges, seed)
    inner = hold_out(train, 0.1, seed + 1)
    inner_others = by_degree(inner.train, inner.positives, seed)

    def score(left: np.ndarray, some: np.ndarray = edges, rest: np.ndarray = others) -> float:
        return auc(*(np.einsum("ij,ij->i", left[pairs[:, 0]], left[pairs[:, 1]]) for pairs in (some, rest)))

    def learned(of: Callable[..., np.ndarray], among: list[tuple[float, ...]]) -> float:
        best = max(among, key=lambda each: score(of(inner.train, *each), inner.positives, inner_others))
        return score(of(train, *best))

    pairs = {id(each): eigenpairs(each) for each in (train, inner.train)}
    halves = {id(each): embedded(parge.Whitened(dim=DIM // 2), each) for each in (train, inner.train)}

    def steps(some: Graph, power: float) -> np.ndarray:
        values, vectors = pairs[id(some)]
        return unit_rows(vectors * values**power)

    def mixed(some: Graph, power: float, weight: float) -> np.ndarray:
        values, vectors = pairs[id(some)]
        spectral = unit_rows((vectors * values**power)[:, : DIM // 2])
        return unit_rows(np.hstack([spectral, weight * halves[id(some)]]))

    values, vectors = pairs[id(train)]
    blend = embedded(parge.Blend(), train)
    return {
        "`whitened`": score(unit_rows(embedded(parge.Whitened(), train))),
        "`spectral`": score(unit_rows(embedded(parge.Spectral(), train))),
        "`blend`": score(unit_rows(blend)),
        "local walk": score(steps(train, 1.0)),
        "the same, inner product": score(np.sqrt(train.degrees)[:, None] * vectors * values),
        "learned steps": learned(steps, [(power,) for power in POWERS]),
        "learned blend": learned(mixed, [(power, weight) for power in (0.5, 1.0, 2.0) for weight in WEIGHTS]),
        "edge softmax": score(trained(blend, train, np.random.default_rng(seed))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=71)
    parser.add_argument("--graphs", nargs="*", default=[name for name in KINDS if name not in SKIPPED])
    asked, rows, found = parser.parse_args(), [], {}
    for name in asked.graphs:
        made = KINDS[name](asked.seed)
        found = scores(made.graph if isinstance(made, Planted) else made, asked.seed)
        rows.append([name, *(f"{value:.3f}".lstrip("0") for value in found.values())])
        print(" | ".join(rows[-1]), flush=True)
    print()
    print(markdown_table(["", *found], rows))


if __name__ == "__main__":
    main()
