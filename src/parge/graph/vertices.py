"""Vertices that no edge names: from a count or a file, added to a graph."""

from dataclasses import replace
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.graph.build import assemble, number_dtype
from parge.graph.graph import Graph
from parge.graph.pairs import edges_once
from parge.ids import STRING, unique_ids
from parge.memory import REMEDY, refuse_over_budget
from parge.numbers import check_whole
from parge.storage import row_blocks, storage_like
from parge.typing import IdArray, IntArray

# Rows, or neighbours, looked at together.
_BLOCK = 1 << 20

# Bytes of a vertex that no edge names: its row offset, its id, its degree.
_VERTEX_BYTES = 24


def add_vertices(graph: Graph, vertices: int | np.integer[Any] | IdArray) -> Graph:
    """Return the graph with isolated vertices added.

    A count n means that the ids are 0..n-1 (any other id is an error); ids are added to those there are.

    >>> graph = add_vertices(Graph.from_edges([0], [2]), 4)
    >>> graph.n_vertices, graph.degrees.tolist()
    (4, [1, 0, 1, 0])
    """
    if isinstance(vertices, (int, np.integer)):
        count = check_vertex_count(vertices)
        _check_count(graph, count)
        return _renumber(graph, graph.outside_ids, count, None)
    ids, extra = graph.outside_ids, vertices
    if extra.size == 0:
        return graph
    if not graph.n_vertices:
        ids = ids.astype(extra.dtype)
    if (ids.dtype == STRING) != (extra.dtype == STRING):
        graph = _with_string_ids(graph)
        ids, extra = graph.outside_ids, extra.astype(STRING)
    everything, place = unique_ids(np.concatenate([ids, extra]))
    plain = everything.dtype != STRING and everything[0] == 0 and everything[-1] == everything.size - 1
    return _renumber(graph, place[: ids.size], everything.size, None if plain else everything)


def check_vertex_count(count: Any) -> int:
    """Return a number of vertices that memory has room for, or refuse it."""
    n_vertices = check_whole("the number of vertices", count)
    words = f"{n_vertices:,} vertices are requested"
    refuse_over_budget(_VERTEX_BYTES * n_vertices, words, f"request only the vertices that exist, {REMEDY}")
    return n_vertices


def outside(graph: Graph, n_vertices: int) -> Any:
    """Return an id that is not one of 0..n_vertices-1, or None."""
    ids = graph.outside_ids
    if not ids.size or (ids.dtype != STRING and ids[0] >= 0 and ids[-1] < n_vertices):
        return None
    return ids[0] if ids.dtype == STRING or ids[0] < 0 else ids[np.searchsorted(ids, n_vertices)]


def _check_count(graph: Graph, n_vertices: int) -> None:
    found = outside(graph, n_vertices)
    if found is None:
        return
    if graph.outside_ids.dtype == STRING:
        raise InputError(
            f"{n_vertices:,} vertices are requested, so ids must be 0..{n_vertices - 1}; found the id {found!r}. Name "
            "the vertices in a file instead, one id per line."
        )
    raise InputError(
        f"{n_vertices:,} vertices are requested, so ids must be 0..{n_vertices - 1}; found the id {found}. Give a "
        "larger count, or name the vertices in a file, one id per line."
    )


def _renumber(graph: Graph, number: IntArray, n_vertices: int, ids: IdArray | None) -> Graph:
    """Return the graph where vertex v is called ``number[v]``; numbers rise with v, so rows stay sorted."""
    indptr = storage_like(graph.indices).zeros(n_vertices + 1, np.int64)
    for some in row_blocks(graph.n_vertices, _BLOCK):
        indptr[1 + number[some]] = np.diff(graph.indptr[some.start : some.stop + 1])
    np.cumsum(indptr, out=indptr)
    same = number.size == 0 or number[-1] == number.size - 1
    indices = graph.indices
    if not same:
        renumbered = number.astype(number_dtype(n_vertices))
        indices = storage_like(graph.indices).zeros(graph.indices.size, renumbered.dtype)
        for some in row_blocks(indices.size, _BLOCK):
            indices[some] = renumbered[graph.indices[some]]
    features = None
    if graph.features is not None and n_vertices == graph.n_vertices:
        features = graph.features
    return Graph(indptr, indices, graph.weights, ids, features, graph.notices)


def _with_string_ids(graph: Graph) -> Graph:
    """Return the graph with its integer ids as strings, whose order differs: 10 comes before 9."""
    ids = graph.outside_ids.astype(STRING)
    return permuted(replace(graph, ids=None), ids) if graph.n_vertices else graph


def permuted(graph: Graph, ids: IdArray) -> Graph:
    """Return the graph where vertex v is called ``ids[v]``, renumbered so that ids ascend."""
    order = np.argsort(ids, kind="stable")
    number = np.empty(ids.size, graph.indices.dtype)
    number[order] = np.arange(ids.size)
    source, target, weights = edges_once(graph)
    found = assemble(number[source], number[target], weights, n_vertices=graph.n_vertices, ids=ids[order])
    features = None if graph.features is None else graph.features[order]
    return replace(found, features=features, notices=graph.notices)
