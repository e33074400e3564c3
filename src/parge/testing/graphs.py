"""Graphs to test with: the laws that every graph keeps, and hypothesis strategies over all their shapes."""

from importlib.util import find_spec
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from parge.errors import InputError, MissingExtraError
from parge.graph.build import assemble
from parge.graph.graph import MAX_INT32_VERTICES, Graph
from parge.ids import STRING
from parge.typing import FloatArray, IdArray

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

Ids = Literal["numbers", "integers", "strings"]
"""Vertex v is called v; has a sparse integer for an id; has a string."""

# Weights differ by up to 2^20, so that sums and products of a few stay exact enough to compare.
_LIGHTEST, _HEAVIEST = 2.0**-10, 2.0**10

# Random edges per vertex, at most: enough to be connected, few enough to shrink.
_EDGES_PER_VERTEX = 3


def assert_graph_laws(graph: Graph) -> None:
    """Raise AssertionError, naming the law, unless the graph keeps all the laws of `Graph`."""
    n_vertices, indices = graph.n_vertices, graph.indices
    rows = np.repeat(np.arange(n_vertices), graph.degrees)
    same_row = rows[1:] == rows[:-1]
    _law(graph.indptr.dtype == np.int64, f"offsets are int64, not {graph.indptr.dtype}")
    neighbour = np.int32 if n_vertices <= MAX_INT32_VERTICES else np.int64
    _law(indices.dtype == neighbour, f"neighbours are {neighbour.__name__}, not {indices.dtype}")
    _law(bool((np.diff(indices)[same_row] > 0).all()), "rows are sorted and hold no repeats")
    _law(bool((rows != indices).all()), "no vertex neighbours itself")
    back = np.lexsort((rows, indices))
    _law(np.array_equal(indices[back], rows) and np.array_equal(rows[back], indices), "edges go both ways")
    if graph.weights is not None:
        _law(graph.weights.dtype == np.float32, f"weights are float32, not {graph.weights.dtype}")
        _law(bool(np.isfinite(graph.weights).all() and (graph.weights > 0).all()), "weights are positive and finite")
        _law(np.array_equal(graph.weights[back], graph.weights), "an edge weighs the same both ways")
    if graph.ids is not None:
        _law(bool((graph.ids[1:] > graph.ids[:-1]).all()), "ids ascend")
    for name in ("indptr", "indices", "weights", "ids"):
        array = getattr(graph, name)
        _law(array is None or not array.flags.writeable, f"{name} cannot be written to")


def _law(kept: bool, law: str) -> None:
    if not kept:
        raise AssertionError(f"a graph breaks its law: {law}")


def graphs(
    min_vertices: int = 0,
    max_vertices: int = 24,
    *,
    weighted: bool | None = None,
    ids: "Ids | SearchStrategy[Any] | None" = None,
) -> "SearchStrategy[Graph]":
    """Return a strategy of graphs: of no vertex, of one, isolated, disconnected, paths, stars, cliques, random.

    A graph is a few such shapes side by side, its vertices in any order.

    Parameters
    ----------
    min_vertices, max_vertices : int
        Size of the graphs.
    weighted : bool, optional
        Whether edges weigh differently (where there is an edge); either, unless given.
    ids : "numbers", "integers", "strings" or a strategy of ids, optional
        What vertices are called; any of the three, unless given. Strings are any printable text without spaces.
    """
    _need_hypothesis()
    from hypothesis import strategies as st

    @st.composite
    def graph(draw: "DrawFn") -> Graph:
        n_vertices = draw(st.integers(min_vertices, max_vertices))
        names = _draw_ids(draw, n_vertices, ids)
        edges = _draw_edges(draw, n_vertices)
        weigh = draw(st.booleans()) if weighted is None else weighted
        weights = _draw_weights(draw, len(edges)) if weigh else None
        source, target = np.array(edges, np.int32).reshape(-1, 2).T
        return assemble(source, target, weights, n_vertices=n_vertices, ids=names)

    return graph()


def capacity_vectors(
    graph: Graph, *, anchors: int = 0, max_parts: int = 8, feasible: bool = True
) -> "SearchStrategy[tuple[int, ...]]":
    """Return a strategy of capacities k_1..k_n for a decomposition of the graph with that many anchors.

    Feasible ones have ``anchors <= min k_i`` and ``Σ(k_i - anchors) >= n_vertices - anchors``. They range from zero
    slack (every part exactly full, some with no vertex of their own) to all of the graph in every part. Infeasible ones
    break one of the two, by as little as one vertex.
    """
    if not 0 <= anchors <= graph.n_vertices:
        raise InputError(f"{anchors} anchors are requested in a graph of {graph.n_vertices} vertices")
    if not feasible and graph.n_vertices == 0:
        raise InputError("no capacities are infeasible for a graph without vertices: draw graphs with min_vertices=1")
    _need_hypothesis()
    from hypothesis import strategies as st

    n_own = graph.n_vertices - anchors

    @st.composite
    def capacities(draw: "DrawFn") -> tuple[int, ...]:
        n_parts = draw(st.integers(1, max_parts))
        cuts = draw(st.lists(st.integers(0, n_own), min_size=n_parts - 1, max_size=n_parts - 1))
        free = np.diff([0, *sorted(cuts), n_own])
        too_small = not feasible and anchors > 0 and draw(st.booleans())
        if feasible or too_small:
            most = draw(st.sampled_from([0, 1, graph.n_vertices]))
            free = free + draw(st.lists(st.integers(0, most), min_size=n_parts, max_size=n_parts))
        if too_small:
            free[draw(st.integers(0, n_parts - 1))] = -draw(st.integers(1, anchors))
        elif not feasible:
            loser = draw(st.sampled_from(np.flatnonzero(free + anchors).tolist()))
            free[loser] -= draw(st.integers(1, int(free[loser]) + anchors))
        return tuple((free + anchors).tolist())

    return capacities()


def _need_hypothesis() -> None:
    if find_spec("hypothesis") is None:
        raise MissingExtraError("drawing graphs to test with", "hypothesis", "test")


def _draw_edges(draw: "DrawFn", n_vertices: int) -> list[tuple[int, int]]:
    """Return distinct edges without self loops, of shapes side by side, then renamed at random."""
    from hypothesis import strategies as st

    edges: list[tuple[int, int]] = []
    first = 0
    while first < n_vertices:
        shape = draw(st.sampled_from(["isolated", "path", "star", "clique", "random"]))
        size = draw(st.integers(1, n_vertices - first) | st.just(n_vertices - first))
        if shape == "random":
            vertex = st.integers(first, first + size - 1)
            edges += draw(st.lists(st.tuples(vertex, vertex), max_size=_EDGES_PER_VERTEX * size))
        else:
            edges += _shape(shape, range(first, first + size))
        first += size
    name = draw(st.permutations(range(n_vertices))) if draw(st.booleans()) else range(n_vertices)
    return sorted({(min(name[u], name[v]), max(name[u], name[v])) for u, v in edges if u != v})


def _shape(shape: str, vertices: range) -> list[tuple[int, int]]:
    pairs = {
        "isolated": [],
        "path": list(pairwise(vertices)),
        "star": [(vertices[0], v) for v in vertices[1:]],
        "clique": list(combinations(vertices, 2)),
    }
    return pairs[shape]


def _draw_weights(draw: "DrawFn", n_edges: int) -> FloatArray:
    from hypothesis import strategies as st
    from hypothesis.extra.numpy import arrays

    weight = st.floats(_LIGHTEST, _HEAVIEST, width=32)
    weights: FloatArray = draw(arrays(np.float32, n_edges, elements=weight, fill=st.just(1.0)))
    if (weights == 1).all():
        weights[:1] = 2  # else the graph would count as unweighted
    return weights


def _draw_ids(draw: "DrawFn", n_vertices: int, ids: "Ids | SearchStrategy[Any] | None") -> IdArray | None:
    from hypothesis import strategies as st

    kind = draw(st.sampled_from(["numbers", "integers", "strings"])) if ids is None else ids
    if kind == "numbers":
        return None
    one = _id_strategy(kind, n_vertices) if isinstance(kind, str) else kind
    names = draw(st.lists(one, min_size=n_vertices, max_size=n_vertices, unique=True))
    return np.sort(np.array(names, STRING if names and isinstance(names[0], str) else np.int64), kind="stable")


def _id_strategy(kind: str, n_vertices: int) -> "SearchStrategy[Any]":
    from hypothesis import strategies as st

    if kind == "integers":
        return st.integers(-(2**62), 2**62) | st.integers(0, 4 * n_vertices)
    # Categories of control, surrogate and unassigned characters, and of separators.
    return st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
