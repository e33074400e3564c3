"""Edges gathered from runs of columns: their ids, in little memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parge.graph.build import Numbered, assemble, number_integers, number_names
from parge.graph.graph import Graph
from parge.memory import refuse_over_budget
from parge.storage import Files, Storage
from parge.typing import FloatArray, IdArray

EDGE_BYTES = 50
"""Bytes that an edge takes while its graph is built: 44 measured at the peak, with weights."""

# Of ids of 64 bits, which are numbered through a table, and of each name: as strings of arrow, of Python and of numpy.
_WIDE_BYTES, _NAME_BYTES = 150, 180


class Gatherer:
    """Collects runs of edges with integer ids or with strings; one run of strings makes all of them strings.

    Integers are kept as 32 bits where they fit, strings as places in a list of names, one list a run. What the graph of
    the edges so far would take is `projected_bytes`, for the reader to compare with the budget.
    """

    def __init__(self) -> None:
        self._ends: tuple[list[IdArray], list[IdArray]] = ([], [])
        self._named: list[Any] = []
        self._weights: list[FloatArray] = []
        self.projected_bytes = 0.0

    def add(self, ends: Any, weights: FloatArray | None = None) -> None:
        """Add edges: a pair of arrow columns of integers, or strings as `encoded` returns them; and their weights."""
        if self._named and isinstance(ends, tuple):
            ends = as_names(ends)
        elif self._ends[0] and not isinstance(ends, tuple):
            # Such as unsigned ids of which only a late one is beyond 64 bits: the order of runs is the weights' order.
            self._named = [as_names((pa.array(u), pa.array(v))) for u, v in zip(*self._ends, strict=True)]
            self._ends = ([], [])
        if isinstance(ends, tuple):
            for runs, column in zip(self._ends, ends, strict=True):
                runs.append(integers(column))
            wide = any(runs[-1].dtype == np.int64 for runs in self._ends)
            self.projected_bytes += (_WIDE_BYTES if wide else EDGE_BYTES) * len(ends[0])
        else:
            self._named.append(ends)
            self.projected_bytes += EDGE_BYTES * (len(ends) // 2) + ends.dictionary.nbytes
        if weights is not None:
            self._weights.append(weights)

    def graph(self, notices: tuple[str, ...] = ()) -> Graph:
        """Build the graph and release the edges."""
        (source, target, ids, n_vertices), weights = self.numbered()
        return assemble(source, target, weights, n_vertices=n_vertices, ids=ids, notices=notices)

    def numbered(self) -> tuple[Numbered, FloatArray | None]:
        """Return the edges with their ends as places in the list of different ids, and their weights; release them."""
        weights = np.concatenate(self._weights) if self._weights else None
        self._weights = []
        found = self._numbered()
        pa.default_memory_pool().release_unused()
        return found, weights

    def runs(self) -> Iterator["Gatherer"]:
        """Yield the edges run by run, as they were added, and release each."""
        weights: list[FloatArray | None] = [*self._weights] or [None] * len(self._named or self._ends[0])
        runs: list[Any] = self._named or list(zip(*self._ends, strict=True))
        self._ends, self._named, self._weights = ([], []), [], []
        runs.reverse()
        weights.reverse()
        while runs:
            found, ends, weight = Gatherer(), runs.pop(), weights.pop()
            if isinstance(ends, tuple):
                found._ends = ([ends[0]], [ends[1]])
            else:
                found._named = [ends]
            found._weights = [] if weight is None else [weight]
            yield found

    @property
    def is_weighted(self) -> bool:
        """Whether edges came with weights."""
        return bool(self._weights)

    def _numbered(self) -> Numbered:
        if self._named:
            runs, self._named = pa.chunked_array(self._named).unify_dictionaries().chunks, []
            names = runs[0].dictionary
            refuse_over_budget(
                self.projected_bytes + _NAME_BYTES * len(names) + 2 * names.nbytes,
                f"the edges have {len(names):,} different ids",
            )
            places = [run.indices.to_numpy() for run in runs]
            source = np.concatenate([place[: place.size // 2] for place in places])
            target = np.concatenate([place[place.size // 2 :] for place in places])
            return number_names(source, target, names)
        return number_integers(*(_joined(runs) for runs in self._ends))


def encoded(source: Any, target: Any) -> Any:
    """Return two columns of strings, one after the other, as places in one dictionary."""
    chunks = [*_chunks(source), *_chunks(target)]
    return pc.dictionary_encode(pa.chunked_array(chunks, source.type).combine_chunks())


def as_names(ends: tuple[Any, Any]) -> Any:
    """Return two columns of integers as strings, encoded."""
    source, target = (column.cast(pa.large_string()) for column in ends)
    return encoded(source, target)


def _chunks(column: Any) -> list[Any]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def integers(column: Any) -> IdArray:
    """Return a column as int32 where all of it fits, else int64."""
    array = _numbers(column)
    if array.dtype == np.int32:
        return array
    info = np.iinfo(np.int32)
    fits = not array.size or (array.min() >= info.min and array.max() <= info.max)
    return array.astype(np.int32 if fits else np.int64, copy=False)


def _numbers(column: Any) -> IdArray:
    """Return a column of whole numbers as an array.

    Not by Arrow's own way, which imports pandas and so takes a fifth of a second.
    """
    if column.null_count or not pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy())
    found = [
        np.frombuffer(chunk.buffers()[1], str(chunk.type), len(chunk), chunk.offset * (chunk.type.bit_width // 8))
        for chunk in _chunks(column)
        if len(chunk)
    ]
    return found[0] if len(found) == 1 else np.concatenate(found or [np.zeros(0, str(column.type))])


def _joined(runs: list[IdArray]) -> IdArray:
    """Return all runs as one array, freeing each."""
    out = np.concatenate(runs) if runs else np.zeros(0, np.int32)
    runs.clear()
    return out


def gatherer(storage: Storage) -> Gatherer:
    """Return what gathers edges into memory, or into files."""
    if not isinstance(storage, Files):
        return Gatherer()
    from parge.graph.out_of_core import FileGatherer

    return FileGatherer(storage)
