"""Graphs larger than memory: edges gathered, numbered and sorted in files; memory grows with the vertices alone."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from parge.graph.build import dropped_notices, is_dense, number_dtype, sorted_rows, useful_weights
from parge.graph.gather import Gatherer, as_names, integers
from parge.graph.graph import Graph
from parge.ids import STRING
from parge.storage import Files, release_pages, row_blocks
from parge.typing import FloatArray, IdArray, IntArray, NeighbourArray

# Ids, and names, looked at together.
_BLOCK = 1 << 18

# Edges in a file at most.
_LARGEST = 1 << 28

Number = Callable[[IdArray], NeighbourArray]
"""Gives the vertex number of each id."""


Some = tuple[IdArray, IdArray, FloatArray | None]
"""Both ends of some edges, as ids or as places in the list of names, and their weights."""


class _Edges:
    """Edges in files, each as large as all before it, so that few are open however many runs there are."""

    def __init__(self, storage: Files) -> None:
        self._storage = storage
        self._full: list[Some] = []
        self._room: Some | None = None
        self._used = 0
        self.size = 0

    def append(self, source: IdArray, target: IdArray, weights: FloatArray | None) -> None:
        """Add edges; both ends are kept as the wider of their types."""
        dtype, end = np.result_type(source, target), self._used + source.size
        if self._room is None or self._room[0].dtype != dtype or end > self._room[0].size:
            self._close()
            size, zeros = max(source.size, min(self.size, _LARGEST)), self._storage.zeros
            self._room = zeros(size, dtype), zeros(size, dtype), None if weights is None else zeros(size, np.float32)
            end = source.size
        here = slice(self._used, end)
        self._room[0][here], self._room[1][here] = source, target
        if weights is not None and self._room[2] is not None:
            self._room[2][here] = weights
        self._used = end
        self.size += source.size
        release_pages(*(array for array in self._room if array is not None))

    def _close(self) -> None:
        if self._room is not None:
            source, target, weights = self._room
            used = slice(self._used)
            self._full.append((source[used], target[used], None if weights is None else weights[used]))
        self._room, self._used = None, 0

    def blocks(self) -> Iterator[Some]:
        """Yield the edges in order, a block at a time; a file is let go when the next one is opened."""
        self._close()
        for source, target, weights in self._full:
            for some in row_blocks(source.size, _BLOCK):
                yield source[some], target[some], None if weights is None else weights[some]
            release_pages(source, target, weights)


class FileGatherer(Gatherer):
    """Collects edges as `Gatherer` does, but into files, and builds a graph whose rows are in files.

    The sort is that of graphs in memory (`parge.graph.build`) with its arrays in files. docs/measured/scale.md has its
    time and memory compared with those of databases.
    """

    def __init__(self, storage: Files) -> None:
        super().__init__()
        self._storage = storage
        self._edges = _Edges(storage)
        self._names: _Names | None = None
        self._weighted = False
        self._low, self._high = 0, -1
        self._n_loops = self._n_weightless = 0

    def add(self, ends: Any, weights: FloatArray | None = None) -> None:
        """Add edges as `Gatherer.add` takes them; one run of strings makes all of them strings."""
        if self._names is None and not isinstance(ends, tuple):
            self._names, before, self._edges = _Names(), self._edges, _Edges(self._storage)
            for source, target, weight in before.blocks():
                self._edges.append(*self._coded(as_names((pa.array(source), pa.array(target)))), weight)
        if self._names is None:
            pair = integers(ends[0]), integers(ends[1])
            self._low = min(self._low, *(int(ids.min(initial=0)) for ids in pair))
            self._high = max(self._high, *(int(ids.max(initial=-1)) for ids in pair))
        else:
            pair = self._coded(as_names(ends) if isinstance(ends, tuple) else ends)
        if weights is not None and not weights.all():
            heavy = weights > 0
            self._n_weightless += int((~heavy).sum())
            pair, weights = (pair[0][heavy], pair[1][heavy]), weights[heavy]
        self._weighted |= weights is not None
        self._n_loops += int(np.count_nonzero(pair[0] == pair[1]))
        self._edges.append(*pair, weights)

    def graph(self, notices: tuple[str, ...] = ()) -> Graph:
        """Build the graph and release the edges."""
        number, ids, n_vertices = self._numbering()
        source, target, weights = self._joined(number, number_dtype(n_vertices))
        pa.default_memory_pool().release_unused()
        indptr, indices, data = sorted_rows(source, target, weights, n_vertices, self._storage)
        n_merged = source.size - self._n_loops - indices.size // 2
        notices += dropped_notices(self._n_weightless, self._n_loops, n_merged)
        release_pages(indptr, indices, data)
        return Graph(indptr, indices, useful_weights(data), ids, notices=notices)

    def _coded(self, named: Any) -> tuple[IdArray, IdArray]:
        assert self._names is not None
        codes = self._names.codes(named)
        return codes[: codes.size // 2], codes[codes.size // 2 :]

    def _joined(self, number: Number, dtype: Any) -> tuple[NeighbourArray, NeighbourArray, FloatArray | None]:
        """Return all edges as one run, by vertex number."""
        edges, self._edges = self._edges, _Edges(self._storage)
        source, target = self._storage.zeros(edges.size, dtype), self._storage.zeros(edges.size, dtype)
        weights = self._storage.zeros(edges.size, np.float32) if self._weighted else None
        end = 0
        for u, v, weight in edges.blocks():
            here = slice(end, end + u.size)
            source[here], target[here] = number(u), number(v)
            if weights is not None and weight is not None:
                weights[here] = weight
            end = here.stop
            release_pages(source, target, weights)
        return source, target, weights

    def _numbering(self) -> tuple[Number, IdArray | None, int]:
        """Return how an id becomes a vertex number, the ids in ascending order, and how many there are."""
        if self._names is not None:
            number, names = self._names.ordered()
            return number.__getitem__, names, names.size
        if is_dense(self._low, self._high, self._edges.size):
            return self._dense()
        ids = self._storage.keep(self._distinct())
        return lambda some: np.searchsorted(ids, some), ids, ids.size

    def _dense(self) -> tuple[Number, IdArray | None, int]:
        present = np.zeros(self._high + 1, np.bool_)
        for u, v, _ in self._edges.blocks():
            present[u] = True
            present[v] = True
        n_vertices = int(np.count_nonzero(present))
        if n_vertices == present.size:
            return lambda some: some, None, n_vertices
        number = np.cumsum(present, dtype=number_dtype(n_vertices))
        number -= 1
        return number.__getitem__, self._storage.keep(np.flatnonzero(present)), n_vertices

    def _distinct(self) -> IntArray:
        """Return the ids, ascending: what is new is merged in as soon as it is as much as is known."""
        known, fresh, n_fresh = np.zeros(0, np.int64), [], 0
        for u, v, _ in self._edges.blocks():
            fresh.append(np.setdiff1d(np.concatenate([u, v]).astype(np.int64), known))
            n_fresh += fresh[-1].size
            if n_fresh >= max(known.size, _BLOCK):
                known, fresh, n_fresh = np.unique(np.concatenate([known, *fresh])), [], 0
        return np.unique(np.concatenate([known, *fresh]))


class _Names:
    """Distinct strings in order of first appearance."""

    def __init__(self) -> None:
        self._known = pa.array([], pa.large_string())

    def codes(self, named: Any) -> IntArray:
        """Return the place of every string in the list of all, as int32 while there are few enough."""
        found = pc.index_in(named.dictionary, value_set=self._known)
        fresh = named.dictionary.filter(pc.is_null(found))
        n_known = len(self._known)
        place = pc.fill_null(found, -1).to_numpy().astype(number_dtype(n_known + len(fresh)))
        place[place < 0] = n_known + np.arange(len(fresh))
        if len(fresh):
            self._known = pa.concat_arrays([self._known, fresh])
        codes: IntArray = place[named.indices.to_numpy()]
        return codes

    def ordered(self) -> tuple[NeighbourArray, IdArray]:
        """Return the vertex number of each string by its place, and the strings, ascending; release the list."""
        # Arrow compares the bytes of UTF-8, whose order is that of the code points.
        order = pc.sort_indices(self._known).to_numpy()
        names = np.empty(order.size, STRING)
        number = np.empty(order.size, number_dtype(order.size))
        for some in row_blocks(order.size, _BLOCK):
            names[some] = self._known.take(pa.array(order[some])).to_pylist()
            number[order[some]] = np.arange(some.start, some.stop)
        self._known = pa.array([], pa.large_string())
        return number, names
