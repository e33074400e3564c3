"""Contract tests for decomposers: subclass `DecomposerContract` in your tests and set your decomposer."""

from collections.abc import Callable

import numpy as np

from parge.decompose.anchors import Decomposer
from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import Limits
from parge.graph.graph import Graph


def check_decomposition(graph: Graph, limits: Limits, found: Decomposition) -> None:
    """Assert the laws of a decomposition by counting everything again in a slow and simple way."""
    anchors = set(found.anchors.tolist())
    assert found.part.shape == (graph.n_vertices,)
    seen: set[tuple[int, int]] = set()
    for i in range(limits.n_parts):
        members = {v for v in range(graph.n_vertices) if found.part[v] == i} | anchors
        assert len(members) == found.sizes[i] <= limits.capacities[i], f"subgraph {i} is over its capacity"
        subgraph = found.subgraph(i)
        assert set(subgraph.vertices.tolist()) == members
        assert subgraph.vertices[subgraph.n_own :].tolist() == found.anchors.tolist(), "anchors come last, in order"
        edges = {(u, int(v)) for u in members for v in _row(graph, u) if v in members and u < v}
        assert subgraph.n_edges == len(edges) == found.edges[i]
        seen |= edges
    assert found.n_lost == graph.n_edges - len(seen), "lost edges are those that no subgraph has"


def _row(graph: Graph, v: int) -> list[int]:
    row: list[int] = graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()
    return row


class DecomposerContract:
    """Laws of `Decomposer`, as tests.

    Set `decomposer` to a function that takes a number of anchors and returns the decomposer under test. Call `check`
    with your own graphs, or inherit the test below.
    """

    decomposer: Callable[[int], Decomposer]

    def check(self, graph: Graph, limits: Limits, n_anchors: int) -> Decomposition:
        """Decompose twice; assert the laws and that both are equal."""
        decomposer = type(self).decomposer(n_anchors)
        first, second = decomposer.decompose(graph, limits), decomposer.decompose(graph, limits)
        check_decomposition(graph, limits, first)
        assert np.array_equal(first.part, second.part)
        assert np.array_equal(first.anchors, second.anchors)
        return first

    def test_ring(self) -> None:
        """A ring in three unequal parts keeps every limit."""
        ring = Graph.from_edges(np.arange(30), (np.arange(30) + 1) % 30)
        self.check(ring, Limits.of_vertices([10, 12, 20]), 4)
