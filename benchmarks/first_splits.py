"""Claim: where a split is improved afterwards, KaMinPar's quicker settings lose as few edges as its better ones.

From the project's root, a minute of one core::

    python -m benchmarks.first_splits

Generated graphs of 1 to 2 M edges in 8 parts with 5 % of room, with few anchors and with a tenth of the vertices. The
first split is made with KaMinPar's settings `eco`, `default` and `fast`; choosing anchors and improving follow as
always. Seconds of a core of the whole decomposition, one seed.
"""

import time
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks import kinds
from benchmarks.harness import markdown_table

from parge.decompose import partitioners
from parge.decompose.anchors import AnchorDecomposer, Splitter
from parge.decompose.limits import Limits
from parge.graph.generate import planted
from parge.graph.graph import Graph

PARTS, ROOM, SHARES, SETTINGS = 8, 1.05, (0.0066, 0.1), ("eco", "default", "fast")


def graphs() -> Iterator[tuple[str, Graph]]:
    """Yield generated graphs of several kinds."""
    yield "planted", planted(115_942, 1_000_000, mixing=0.3, seed=1).graph
    yield "planted, mixed", planted(100_000, 1_100_000, mixing=0.5, communities=200, seed=5).graph
    yield "planted, sparse", planted(400_000, 1_200_000, mixing=0.3, communities=300, seed=6).graph
    yield "planted, dense", planted(30_000, 1_500_000, mixing=0.7, communities=60, seed=7).graph
    yield "co-purchases", kinds.copurchase(400_000, 6, 3)


def split(graph: Graph, share: float, settings: str) -> tuple[float, float]:
    """Return the seconds of a core and the share of lost edges with these settings of the first split."""

    def chosen(library: Any, problem: partitioners.Problem, _compressed: bool) -> Any:
        return library.context_by_name("fast" if problem.quick else settings)

    n, usual = graph.n_vertices, partitioners._context
    n_anchors = int(share * n)
    limits = Limits.of_vertices(np.full(PARTS, n_anchors + int((n - n_anchors) * ROOM / PARTS) + 2))
    partitioners._context = chosen
    try:
        begin = time.process_time()
        with patch.object(Splitter, "has_quick", False):  # one first split, with these settings
            found = AnchorDecomposer(n_anchors, seed=1).decompose(graph, limits)
        return time.process_time() - begin, found.lost_edges
    finally:
        partitioners._context = usual


def main() -> None:
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


if __name__ == "__main__":
    main()
