"""Edges gathered from runs of arrow columns, with as little memory as their ids allow."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parge.graph.build import assemble
from parge.graph.graph import Graph
from parge.graph.numbering import number_integers, number_names
from parge.typing import IdArray, NeighbourArray


class Gatherer:
    """Collects runs of edges; integers are kept as 32 bits where they fit, strings as places in one list of names."""

    def __init__(self) -> None:
        self._ends: tuple[list[Any], list[Any]] = ([], [])
        self._weights: list[Any] = []

    def add(self, source: Any, target: Any, weights: Any = None) -> None:
        """Add edges: two arrow columns, both of integers or both of strings, and numpy weights."""
        for runs, column in zip(self._ends, (source, target), strict=True):
            runs.append(_integers(column) if pa.types.is_integer(column.type) else _names(column))
        if weights is not None:
            self._weights.append(weights)

    def graph(self, notices: tuple[str, ...] = ()) -> Graph:
        """Build the graph, and forget the edges."""
        weights = np.concatenate(self._weights) if self._weights else None
        self._weights = []
        (source, target), self._ends = self._ends, ([], [])
        if source and isinstance(source[0], pa.Array):
            number = number_names(*_unified(source, target))
        else:
            number = number_integers(_joined(source), _joined(target))
        pa.default_memory_pool().release_unused()
        ends, ids, n_vertices = number[:2], number[2], number[3]
        return assemble(*ends, weights, n_vertices=n_vertices, ids=ids, notices=notices)


def _integers(column: Any) -> IdArray:
    """Return a column as int32 where all of it fits, else int64."""
    array: IdArray = column.to_numpy()
    if array.dtype == np.int32:
        return array
    info = np.iinfo(np.int32)
    fits = not array.size or (array.min() >= info.min and array.max() <= info.max)
    return array.astype(np.int32 if fits else np.int64, copy=False)


def _names(column: Any) -> Any:
    """Return a column as one arrow array of places in a dictionary of its strings."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)


def _joined(runs: list[Any]) -> IdArray:
    """Return all runs as one array, freeing each."""
    out = np.concatenate(runs) if runs else np.zeros(0, np.int32)
    runs.clear()
    return out


def _unified(source: list[Any], target: list[Any]) -> tuple[NeighbourArray, NeighbourArray, Any]:
    """Return both ends as places in one dictionary, and the dictionary."""
    runs = pa.chunked_array(source + target).unify_dictionaries().chunks
    places = [run.indices.to_numpy() for run in runs]
    return np.concatenate(places[: len(source)]), np.concatenate(places[len(source) :]), runs[0].dictionary
