"""What `whitened` would save if rows were visited in an order that keeps neighbours in the cache.

From the project's root, a minute or two of one core::

    python -m benchmarks.order_of_rows

`whitened` on a graph as it is numbered and renumbered: at random, by breadth-first search from both ends (reverse
Cuthill and McKee, by scipy), and by 64 parts of KaMinPar. Seconds of a core of 20 rounds, and of finding the order and
renumbering the graph. *At best* is the order of the planted communities themselves, which nobody knows.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.comparison import shared_case
from benchmarks.harness import markdown_table
from scipy.sparse.csgraph import reverse_cuthill_mckee

from parge.decompose.partitioners import Problem, partition, work_of
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.techniques.whitened import Whitened

PARTS, DIM = 64, 128
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def graphs() -> Iterator[tuple[str, Graph, Any]]:
    """Yield graphs, and the communities where they are known."""
    for name in ("blogcatalog", "youtube-groups"):
        found = shared_case(name, "links", SHARED)
        if found is not None:
            yield name, found.graph, None
    made = planted(100_000, 1_000_000, communities=47, mixing=0.4, seed=1)
    yield "planted, 1 M edges", made.graph, made.labels.labels  # one of each vertex


def renumbered(graph: Graph, order: Any) -> Graph:
    """Return the graph with its vertices in that order."""
    matrix = graph.to_scipy()[order][:, order].tocsr()
    matrix.sort_indices()
    return Graph(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))


def by_parts(graph: Graph) -> Any:
    """Return the order of some parts of KaMinPar."""
    ones = np.ones(graph.n_vertices, np.int64)
    limits = np.full(PARTS, 2 * graph.n_vertices // PARTS + 1, np.int64)
    problem = Problem(graph.indptr, graph.indices, ones, limits, work_of(graph.degrees), 1, quick=True)
    return np.argsort(partition(problem, "kaminpar"), kind="stable")


def seconds(graph: Graph) -> float:
    """Return the seconds of a core of whitened propagation, the better of two."""
    found = []
    for _ in range(2):
        begin = time.process_time()
        Whitened(dim=DIM).embed(Subgraph.whole(graph), np.random.default_rng(1))
        found.append(time.process_time() - begin)
    return min(found)


def row(name: str, graph: Graph, community: Any) -> list[str]:
    """Return the seconds in each order, and those of finding it."""
    cells = [name, f"{seconds(graph):.2f} s"]
    ways: list[Any] = [
        lambda: np.random.default_rng(1).permutation(graph.n_vertices),
        lambda: reverse_cuthill_mckee(graph.to_scipy().tocsr(), symmetric_mode=True),
        lambda: by_parts(graph),
    ]
    for way in ways:
        begin = time.process_time()
        ordered = renumbered(graph, way())
        spent = time.process_time() - begin
        cells.append(f"{seconds(ordered):.2f} s + {spent:.2f} s")
    best = "–" if community is None else f"{seconds(renumbered(graph, np.argsort(community, kind='stable'))):.2f} s"
    return [*cells, best]


def main() -> None:
    Whitened(dim=DIM).embed(Subgraph.whole(planted(2_000, 9_000, seed=1).graph), np.random.default_rng(1))
    heads = ["graph", "as numbered", "at random", "breadth first", f"{PARTS} parts", "communities, at best"]
    print(markdown_table(heads, [row(*case) for case in graphs()]))


if __name__ == "__main__":
    main()
