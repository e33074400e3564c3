"""Claim: where a split is improved afterwards, KaMinPar's quicker settings lose as few edges as its better ones.

From the project's root, a minute of one core::

    python -m benchmarks.first_splits
    python -m benchmarks.first_splits --scores      # ten minutes: what the two quicker ones mean for a classifier

Generated graphs of 1 to 2 M edges in 8 parts with 5 % of room, with few anchors and with a tenth of the vertices. The
first split is made with KaMinPar's settings `eco`, `default` and `fast`; choosing anchors and improving follow as
always. Seconds of a core of the whole decomposition, one seed. Scores are known-count micro-F1 of DeepWalk in 8 parts
around a backbone, with the pass and without, mean over two seeds.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import mean
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks import kinds
from benchmarks.harness import markdown_table

import parge
from parge.decompose import partitioners
from parge.decompose.anchors import AnchorDecomposer, Splitter
from parge.decompose.limits import Limits
from parge.graph.generate import Planted, planted
from parge.graph.graph import Graph

PARTS, ROOM, SHARES, SETTINGS, SEEDS = 8, 1.05, (0.0066, 0.1), ("eco", "default", "fast"), (1, 2)


def communities() -> Iterator[tuple[str, Planted]]:
    """Yield planted graphs of several kinds, with their labels."""
    yield "planted", planted(115_942, 1_000_000, mixing=0.3, seed=1)
    yield "planted, mixed", planted(100_000, 1_100_000, mixing=0.5, communities=200, seed=5)
    yield "planted, sparse", planted(400_000, 1_200_000, mixing=0.3, communities=300, seed=6)
    yield "planted, dense", planted(30_000, 1_500_000, mixing=0.7, communities=60, seed=7)


def graphs() -> Iterator[tuple[str, Graph]]:
    """Yield generated graphs of several kinds."""
    yield from ((name, made.graph) for name, made in communities())
    yield "co-purchases", kinds.copurchase(400_000, 6, 3)


@contextmanager
def first_split_with(settings: str) -> Iterator[None]:
    """Make one first split, with these settings."""

    def chosen(library: Any, problem: partitioners.Problem, _compressed: bool) -> Any:
        return library.context_by_name("fast" if problem.quick else settings)

    with patch.object(partitioners, "_context", chosen), patch.object(Splitter, "has_quick", False):
        yield


def split(graph: Graph, share: float, settings: str) -> tuple[float, float]:
    """Return the seconds of a core and the share of lost edges with these settings of the first split."""
    n_anchors = int(share * graph.n_vertices)
    own = int((graph.n_vertices - n_anchors) * ROOM / PARTS)
    limits = Limits.of_vertices(np.full(PARTS, n_anchors + own + 2))
    begin = time.process_time()
    with first_split_with(settings):
        found = AnchorDecomposer(n_anchors, seed=1).decompose(graph, limits)
    return time.process_time() - begin, found.lost_edges


def score(made: Planted, settings: str, refine: str | None) -> float:
    """Return the micro-F1 of DeepWalk in parts with these settings of the first split, mean over seeds."""
    found = []
    for seed in SEEDS:
        with first_split_with(settings):
            embedding = parge.embed(made.graph, parts=PARTS, refine=refine, seed=seed, engine="serial")
        scored = parge.evaluate.classify(embedding, some_labels(made), repeats=3, seed=seed, jobs=1)
        found.append(scored.micro_f1.mean)
    return mean(found)


def some_labels(made: Planted) -> dict[int, int]:
    """Return the communities of at most 10,000 vertices, of 20 communities: more would only take longer."""
    rng, community = np.random.default_rng(7), made.labels.labels
    some = rng.choice(int(community.max()) + 1, 20, replace=False)
    rows = np.flatnonzero(np.isin(community, some))
    rows = rng.choice(rows, min(10_000, rows.size), replace=False)
    return dict(zip(rows.tolist(), community[rows].tolist(), strict=True))


def show_lost() -> None:
    rows = []
    for name, graph in graphs():
        for share in SHARES:
            found = [split(graph, share, settings) for settings in SETTINGS]
            lost = [f"{seconds:.2f} s, {lost:.4f}" for seconds, lost in found]
            rows.append(
                [
                    name,
                    f"{graph.n_edges / 1e6:.1f} M",
                    f"{share:.1%}",
                    *lost,
                    f"{found[1][1] / found[0][1]:.3f}",
                    f"{found[2][1] / found[1][1]:.3f}",
                ]
            )
    print(markdown_table(["graph", "edges", "anchors", *SETTINGS, "lost, default / eco", "fast / default"], rows))


def show_scores() -> None:
    rows = []
    for name, made in communities():
        for refine in ("none", "whiten"):
            usual, fast = (score(made, settings, refine) for settings in ("default", "fast"))
            rows.append([name, refine, f"{usual:.4f}", f"{fast:.4f}", f"{fast - usual:+.4f}"])
            print(*rows[-1], file=sys.stderr, flush=True)
    print(markdown_table(["graph", "pass", "default", "fast", "difference"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scores", action="store_true", help="embed, too, and classify")
    if parser.parse_args().scores:
        show_scores()
    else:
        show_lost()


if __name__ == "__main__":
    main()
