"""When two graphs are the same."""

from typing import Any

from parge.graph.graph import Graph
from parge.testing.graphs import assert_graph_laws


def parts(graph: Graph) -> dict[str, Any]:
    """Return everything that makes a graph, for comparing; notices left out."""
    return {
        "indptr": graph.indptr.tolist(),
        "indices": graph.indices.tolist(),
        "weights": None if graph.weights is None else graph.weights.tolist(),
        "ids": graph.outside_ids.tolist(),
    }


def assert_same(found: Graph, wanted: Graph) -> None:
    """Assert the laws, and that both graphs have the same rows, weights and ids."""
    assert_graph_laws(found)
    assert parts(found) == parts(wanted)


def edges(graph: Graph) -> set[tuple[Any, Any]]:
    """Return every edge once, by outside ids, the smaller number first."""
    ids = graph.outside_ids.tolist()
    return {
        (ids[u], ids[v])
        for u in range(graph.n_vertices)
        for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()
        if u < v
    }
