"""Subgraphs cut out of a graph that no process holds, some rows at a time: each shard has one part, and its context.

Rows of own vertices come from the part's own arcs alone, so they are written one block after another. Only what lies
around them is gathered first: arcs that leave the part, turned around, those of the halo, and those among landmarks.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.cluster.cutting import BLOCK, Held, Landmarks
from parge.cluster.halo import Halo
from parge.cluster.mesh import Mesh
from parge.graph.graph import Graph
from parge.graph.subgraph import LINKS, Context, Subgraph
from parge.kernels import csr
from parge.storage import MEMORY, Storage, arc_blocks, release_pages, row_blocks
from parge.typing import BoolArray, FloatArray, IntArray, Matrix, PartArray

# Arcs of the halo that are looked at together.
_ARCS = 1 << 17

# Entries that are put in order at a time: this many, or in at most this many runs of rows.
_ENTRIES, _RUNS = 1 << 18, 16


class Entries(NamedTuple):
    """Entries of a sparse matrix."""

    row: NDArray[Any]
    column: NDArray[Any]
    value: NDArray[Any]

    @staticmethod
    def narrow(row: NDArray[Any], column: NDArray[Any], value: NDArray[Any]) -> "Entries":
        """Return entries in twelve bytes each; weights of edges have no more digits."""
        return Entries(row.astype(np.int32), column.astype(np.int32), value.astype(np.float32))


def cut_out(held: Held, marks: Landmarks, halo: Halo, weights: Any, storage: Storage = MEMORY) -> Subgraph:
    """Return the subgraph of the part: own vertices, anchors, halo, and the rest as foreign super-vertices.

    It is what `parge.graph.subgraph.induce_with_context` makes of a graph that is held whole.

    `weights` are those between and inside landmarks; a memory map is read some rows at a time.
    """
    own, a, h = held.own, held.anchors.size, halo.names.size
    ours = np.zeros(marks.n, np.bool_)
    ours[:a] = True
    ours[marks.of[own]] = True
    foreign = np.flatnonzero(~ours)
    place_of = np.full(marks.n, -1, np.int32)
    place_of[:a] = own.size + np.arange(a)
    place_of[foreign] = own.size + a + h + np.arange(foreign.size)
    name = np.concatenate([marks.of[own], np.arange(a), halo.landmark, foreign]).astype(np.int64)
    loops = np.zeros(name.size, np.float32)
    around, taken = _halo_entries(held, halo, place_of)
    kept = np.concatenate([np.arange(a), foreign])
    around.append(_landmark_entries(weights, taken, kept, own.size, a, h, loops))
    del taken
    indptr, indices, heavy = _rows(held, _places(held, marks, place_of, halo), around, name.size, storage)
    numbers = np.concatenate([held.part.names[own], held.anchors, halo.names, np.full(foreign.size, -1)])
    context = Context(name, loops, a, h, marks.n)
    return Subgraph(_graph(indptr, indices, heavy), numbers.astype(np.int64), own.size, held.part.index, context)


def cut_plain(mesh: Mesh, held: Held, storage: Storage = MEMORY) -> Subgraph:
    """Return the subgraph on own vertices and anchors; edges among anchors come from the parts that these belong to."""
    rows, own, a = held.rows, held.own, held.anchors.size
    place = np.full(rows.n_own + rows.ghosts.size, -1, np.int32)
    place[own] = np.arange(own.size)
    at = np.flatnonzero(held.codes & 1)
    place[at] = own.size + np.searchsorted(held.anchors, rows.all_names[at])
    none: IntArray = np.zeros(0, np.int64)
    among = [Entries.narrow(none, none, none)]
    for some, sizes, arcs in held.blocks():
        row, column = np.repeat(place[some], sizes), place[rows.indices[arcs]]
        shared = np.flatnonzero((row >= own.size) & (column >= own.size))
        value = held.weights_of(arcs.start + shared)
        among.append(Entries.narrow(row[shared] - own.size, column[shared] - own.size, value))
    around = [Entries(u, v + own.size, w) for u, v, w in mesh.share(*joined_entries(among))]
    indptr, indices, heavy = _rows(held, place, around, own.size + a, storage)
    numbers = np.concatenate([held.part.names[own], held.anchors]).astype(np.int64)
    graph = _graph(indptr, indices, None if held.part.weights is None else heavy)
    return Subgraph(graph, numbers, own.size, held.part.index)


def _graph(indptr: IntArray, indices: PartArray, weights: FloatArray | None) -> Graph:
    """Return a graph; the pages that checking it has brought in go."""
    graph = Graph(indptr, indices, weights)
    release_pages(indices)
    return graph


def _rows(
    held: Held, place: PartArray, around: list[Entries], n: int, storage: Storage
) -> tuple[IntArray, PartArray, FloatArray]:
    """Return the rows of a subgraph of n vertices, own ones first; `around` is emptied.

    `place` is where each vertex and each ghost is in the subgraph, -1 if it is not there. `around` has entries of rows
    that are not own vertices', counted from the first of them, and of columns that are none, either.
    """
    rows, n_own = held.rows, int(np.count_nonzero(~held.part.is_anchor))
    leaving = sum(int(np.count_nonzero(place[rows.indices[arcs]] >= n_own)) for _, _, arcs in held.blocks())
    written = WrittenRows(storage, n, rows.indices.size + leaving + sum(one.row.size for one in around))
    turned = []
    for some, sizes, arcs in held.blocks():
        column = place[rows.indices[arcs]]
        mine = np.flatnonzero(np.repeat(~held.part.is_anchor[some], sizes) & (column >= 0))
        if not mine.size:
            continue
        row = np.repeat(place[some], sizes)[mine]
        first = int(row[0])
        found = summed(Entries(row - first, column[mine], held.weights_of(arcs.start + mine)), n)
        written.add(found, first)
        outside = found.column >= n_own
        turned.append(Entries(found.column[outside] - n_own, found.row[outside] + first, found.value[outside]))
    if held.part.weights is not None:
        release_pages(held.part.weights)
    around[:0] = turned
    del turned
    written.add_all(around, n_own, n)
    return written.rows()


def _places(held: Held, marks: Landmarks, place_of: PartArray, halo: Halo) -> PartArray:
    """Return where each vertex and each ghost is in the subgraph: by itself, or as its landmark."""
    rows, own = held.rows, held.own
    place = place_of[marks.of]  # -1 of landmarks of this part: their members are the own vertices
    place[own] = np.arange(own.size)
    there = np.searchsorted(rows.ghosts, halo.names)
    place[rows.n_own + there] = own.size + held.anchors.size + np.arange(halo.names.size)
    return place


def _halo_entries(held: Held, halo: Halo, place_of: PartArray) -> tuple[list[Entries], list[Entries]]:
    """Return the entries between the halo, anchors and super-vertices; and what of it the landmarks' weights count.

    Rows of the former are counted from the first that is no own vertex's.
    """
    own, names = held.part.names[held.own], halo.names
    first, n_own = own.size + held.anchors.size, own.size
    some, back = (np.zeros(halo.near.size, np.bool_) for _ in range(2))
    column = np.empty(halo.near.size, np.int32)
    for arcs in row_blocks(halo.near.size, _ARCS):
        near = halo.near[arcs]
        inside = _is_in(near, names)
        some[arcs] = ~_is_in(near, own)
        back[arcs] = some[arcs] & ~inside
        column[arcs] = np.where(inside, first + np.searchsorted(names, near), place_of[halo.marks[arcs]])
    row = np.repeat(np.arange(first, first + names.size, dtype=np.int32), halo.sizes)
    entries = [
        Entries(row[some] - n_own, column[some], halo.weights[some]),
        Entries(column[back] - n_own, row[back], halo.weights[back]),
    ]
    mark = np.repeat(halo.landmark, halo.sizes)
    taken = [
        Entries(mark[some], halo.marks[some], halo.weights[some]),
        Entries(halo.marks[back], mark[back], halo.weights[back]),
    ]
    return entries, taken


def _is_in(values: PartArray, ascending: PartArray) -> BoolArray:
    if not ascending.size:
        return np.zeros(values.size, np.bool_)
    place = np.minimum(np.searchsorted(ascending, values), ascending.size - 1)
    return np.asarray(ascending[place] == values)


def _landmark_entries(
    weights: Any, taken: list[Entries], kept: IntArray, n_own: int, n_anchors: int, n_halo: int, loops: FloatArray
) -> Entries:
    """Return the edges among anchors and foreign super-vertices, thinned out, without those of the halo.

    Rows are counted from the first that is no own vertex's.
    """
    strength = np.concatenate([np.zeros(0), *(_weights_of(weights, some).sum(axis=1) for some in _blocks(kept))])
    thin = LINKS / (2 * np.maximum(strength, np.finfo(np.float32).tiny))
    places = n_own + np.arange(kept.size) + np.where(np.arange(kept.size) < n_anchors, 0, n_halo)
    inside = np.zeros(kept.size, np.float32)
    nothing: IntArray = np.zeros(0, np.int64)
    found, start = [Entries.narrow(nothing, nothing, np.zeros(0))], 0
    for some in _blocks(kept):
        block = np.ascontiguousarray(_without(_weights_of(weights, some), some, taken)[:, kept])
        indices, heavy = np.empty(block.size, np.int32), np.empty(block.size, np.float32)
        sizes = np.empty(some.size, np.int64)
        size = csr.thinned_block(block, kept, thin, start, indices, heavy, sizes, inside)
        row = np.repeat(places[start : start + some.size] - n_own, sizes)
        found.append(Entries.narrow(row, places[indices[:size]], heavy[:size]))
        start += some.size
    loops[places] = inside
    return joined_entries(found)


def _blocks(kept: IntArray) -> list[IntArray]:
    return [kept[start : start + BLOCK] for start in range(0, kept.size, BLOCK)]


def _weights_of(weights: Any, some: IntArray) -> Matrix:
    found = np.array(weights[some], np.float64)
    release_pages(weights)
    return found


def _without(block: Matrix, marks: IntArray, taken: list[Entries]) -> Matrix:
    """Take entries off some rows; what is left of a sum of decimal weights by rounding is no edge."""
    least = 1e-7 * block
    place = np.full(block.shape[1], -1, np.int32)
    place[marks] = np.arange(marks.size)
    for one in taken:
        here = np.flatnonzero(place[one.row] >= 0)
        np.subtract.at(block, (place[one.row[here]], one.column[here]), one.value[here].astype(np.float64))
    block[block <= least] = 0.0
    return block


def joined_entries(entries: list[Entries]) -> Entries:
    """Return all entries as one list."""
    return Entries(*(np.concatenate([one[i] for one in entries]) for i in range(3)))


def summed(entries: Entries, n_columns: int) -> Entries:
    """Return entries in order of rows and columns; those of one place add up, in the order given."""
    key = entries.row.astype(np.int64) * n_columns + entries.column
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    total = np.add.reduceat(entries.value[order].astype(np.float64), starts) if key.size else np.zeros(0)
    key = key[starts]
    with np.errstate(over="ignore"):
        return Entries.narrow(key // n_columns, key % n_columns, np.minimum(total, np.finfo(np.float32).max))


class WrittenRows:
    """Rows of a graph, put into a storage one after another.

    `most` is the most neighbours that there can be; these and their weights go to `storage`.
    """

    def __init__(self, storage: Storage, n_rows: int, most: int) -> None:
        self._near: PartArray = storage.zeros(most, np.int32)
        self._weights: FloatArray = storage.zeros(most, np.float32)
        self._sizes: IntArray = np.zeros(n_rows, np.int64)
        self._end = 0

    def add(self, entries: Entries, first_row: int) -> None:
        """Add rows that follow on those before; entries are in order, and count rows from `first_row`."""
        here = slice(self._end, self._end + entries.row.size)
        self._near[here], self._weights[here] = entries.column, entries.value
        sizes = np.bincount(entries.row)
        self._sizes[first_row : first_row + sizes.size] += sizes
        self._end = here.stop
        release_pages(self._near, self._weights)

    def add_all(self, entries: list[Entries], first_row: int, n_columns: int) -> None:
        """Add rows from entries in any order, which count rows from `first_row`; `entries` is emptied."""
        n_rows = self._sizes.size - first_row
        sizes: IntArray = np.zeros(n_rows, np.int64)
        for one in entries:
            sizes += np.bincount(one.row, minlength=n_rows)
        limit = max(_ENTRIES, int(sizes.sum()) // _RUNS)
        for first, end in arc_blocks(np.concatenate([[0], np.cumsum(sizes)]), limit):
            picks = [np.flatnonzero((one.row >= first) & (one.row < end)) for one in entries]
            some = joined_entries(
                [Entries(*(array[pick] for array in one)) for one, pick in zip(entries, picks, strict=True)]
            )
            self.add(summed(some._replace(row=some.row - first), n_columns), first_row + first)
        entries.clear()

    def rows(self) -> tuple[IntArray, PartArray, FloatArray]:
        """Return row offsets, neighbours and weights."""
        indptr = np.concatenate([[0], np.cumsum(self._sizes)])
        return indptr, self._near[: self._end], self._weights[: self._end]
