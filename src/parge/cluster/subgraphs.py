"""Subgraphs cut out of a graph that no process holds, some rows at a time: each shard has one part, and its context.

Rows of own vertices come from the part's own arcs alone, so they are written one block after another. Only what lies
around them is gathered first: arcs that leave the part, turned around, those of the halo, and those among landmarks.
"""

from typing import Any

import numpy as np

from parge.cluster.cutting import BLOCK, Held, Landmarks
from parge.cluster.entries import Entries, WrittenRows, joined_entries, summed
from parge.cluster.halo import Halo
from parge.cluster.mesh import Mesh
from parge.graph.graph import Graph
from parge.graph.subgraph import LINKS, Context, Subgraph
from parge.kernels import csr
from parge.storage import MEMORY, Storage, release_pages, row_blocks
from parge.typing import BoolArray, FloatArray, IntArray, Matrix, PartArray

# Arcs of the halo that are looked at together.
_ARCS = 1 << 17


def cut_out(held: Held, marks: Landmarks, halo: Halo, weights: Any, storage: Storage = MEMORY) -> Subgraph:
    """Return the subgraph of the part: own vertices, anchors, halo, and the rest as foreign super-vertices.

    It is what `parge.graph.subgraph.induce_with_context` makes of a graph that is held whole.

    Parameters
    ----------
    weights : (n_landmarks, n_landmarks) array
        Between and inside landmarks; a memory map is read some rows at a time.
    storage : Storage
        Where the rows of the subgraph go.
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

    Parameters
    ----------
    place : int32
        Where each vertex and each ghost is in the subgraph; -1 if it is not there.
    around : list of Entries
        Of rows that are not own vertices', counted from the first of them, and of columns that are none, either.
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
