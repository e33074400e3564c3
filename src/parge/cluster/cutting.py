"""Subgraphs cut out of a graph that nobody holds: each shard has one part, and asks the others for its context."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.cluster.checks import leads_both_ways
from parge.cluster.mesh import Mesh, Message
from parge.cluster.redistribute import PartRows
from parge.cluster.rows import Rows, rows_of
from parge.decompose.decomposition import nearest_first
from parge.decompose.supervertices import LandmarkDecomposer, supervertices
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import LINKS, Context, Subgraph
from parge.kernels import csr
from parge.landmarks.base import LandmarkTechnique
from parge.reconcile.merge import stretches
from parge.run.arrays import DamagedError
from parge.stage_reports import EdgeCounts
from parge.typing import BoolArray, FloatArray, IntArray, Matrix, PartArray

# Rows of the matrix over landmarks that are worked on at a time.
_BLOCK = 128


@dataclass(frozen=True, eq=False)
class Held:
    """A part as its shard holds it: rows, the anchors of all parts, and what is known of its neighbours.

    Parameters
    ----------
    part : PartRows
        The rows.
    rows : Rows
        The same, with places of neighbours instead of numbers.
    anchors : int32, ascending
        Numbers of all anchors.
    codes : int16
        Where each vertex and each ghost is.
    """

    part: PartRows
    rows: Rows
    anchors: PartArray
    codes: NDArray[np.int16]

    @property
    def own(self) -> IntArray:
        """Places of the part's own vertices: those that are no anchors."""
        return np.flatnonzero(~self.part.is_anchor)

    @property
    def all_weights(self) -> FloatArray:
        """Weights of all neighbours, ones included."""
        given = self.part.weights
        return np.ones(self.part.neighbours.size, np.float32) if given is None else given


def hold(mesh: Mesh, part: PartRows) -> Held:
    """Return the part once its shard and the others know which values they tell each other."""
    rows = rows_of(mesh, part.names, part.indptr, part.neighbours, (part.codes >> 1).astype(np.int32))
    own = (2 * part.index + part.is_anchor).astype(np.int16)
    anchors = np.sort(np.concatenate([found[0] for found in mesh.share(part.names[part.is_anchor])]))
    if (anchors[1:] == anchors[:-1]).any():
        raise DamagedError("an anchor belongs to two parts. Start the run again in another folder.")
    return Held(part, rows, anchors, rows.with_ghosts(mesh, own))


class Landmarks(NamedTuple):
    """The landmark of each vertex and ghost, and how many landmarks there are."""

    of: IntArray
    n: int


def landmarks(mesh: Mesh, held: Held, n_vertices: int, wanted: int, partitioner: str, seed: int) -> Landmarks:
    """Number the landmarks: anchors, then the super-vertices of each part, which its shard forms by itself."""
    part, own = held.part, held.own
    rest = max(1, n_vertices - held.anchors.size)
    group = supervertices(_among(held, own), own.size, wanted * own.size // rest, partitioner, seed)
    counts = [int(found[0][0]) for found in mesh.share(np.array([group.max(initial=-1) + 1]))]
    mine = np.empty(part.names.size, np.int64)
    mine[own] = held.anchors.size + sum(counts[: mesh.rank]) + group
    mine[part.is_anchor] = np.searchsorted(held.anchors, part.names[part.is_anchor])
    return Landmarks(held.rows.with_ghosts(mesh, mine), held.anchors.size + sum(counts))


def _among(held: Held, own: IntArray) -> Graph:
    """Return the rows among a part's own vertices."""
    rows, place = held.rows, np.full(held.rows.n_own + held.rows.ghosts.size, -1, np.int32)
    place[own] = np.arange(own.size)
    source = np.repeat(place[: rows.n_own], rows.degrees)
    inside = (source >= 0) & (place[rows.indices] >= 0)
    counts = np.bincount(source[inside], minlength=own.size)
    graph = Graph(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), place[rows.indices][inside])
    if not leads_both_ways(graph.indptr, graph.indices):  # a partitioner would end the process
        raise DamagedError("an edge is stored in one direction only. Start the run again in another folder.")
    return graph


def merged_weights(mesh: Mesh, held: Held, marks: Landmarks) -> Matrix | None:
    """Return the weights between and inside landmarks on shard 0, and None elsewhere; some rows travel at a time.

    Every row of the matrix is of one part, or of an anchor, which is at home in one: each entry is one shard's sum.
    """
    rows, n = held.rows, marks.n
    key = np.repeat(marks.of[: rows.n_own], rows.degrees) * n + marks.of[rows.indices]
    order = np.argsort(key, kind="stable")
    key, first = np.unique(key[order], return_index=True)
    value = np.add.reduceat(held.all_weights[order].astype(np.float64), first) if key.size else np.zeros(0)
    total = np.zeros((n, n)) if mesh.rank == 0 else None
    for start in range(0, n, _BLOCK):
        some = slice(*np.searchsorted(key, [start * n, (start + _BLOCK) * n]))
        nothing: Message = ()
        found = mesh.swap([(key[some], value[some]) if t == 0 else nothing for t in range(mesh.size)])
        if total is not None:
            for keys, values in found:
                total.reshape(-1)[keys] += values
    return total


def merged_noise(mesh: Mesh, held: Held, marks: Landmarks, technique: LandmarkTechnique) -> Matrix:
    """Return the noise of every landmark: the sum over its members."""
    noise = technique.noise(held.part.strengths)
    mine = np.bincount(marks.of[: held.rows.n_own], noise, minlength=marks.n)
    (total,) = mesh.lead(lambda found: (sum((one[0] for one in found), np.zeros(marks.n)),), mine)
    return np.array(total)


class Halo(NamedTuple):
    """Foreign vertices that a part holds one by one: their numbers, ascending, and their rows.

    `near` are the numbers of their neighbours, `marks` the landmarks of those, `sizes` how many each has.
    """

    names: PartArray
    landmark: IntArray
    sizes: IntArray
    near: PartArray
    marks: IntArray
    weights: FloatArray


def nearest(mesh: Mesh, held: Held, graph: Counted, decomposer: LandmarkDecomposer) -> IntArray:
    """Return the places among the ghosts of those that may be in the halo, best first."""
    rows, own = held.rows, np.zeros(held.rows.n_own, np.bool_)
    own[held.own] = True
    degrees = rows.ghost_values(mesh, rows.degrees)
    arcs = np.repeat(own, rows.degrees) & (rows.indices >= rows.n_own)
    count = np.bincount(rows.indices[arcs] - rows.n_own, minlength=rows.ghosts.size)
    found = np.flatnonzero((count > 0) & (held.codes[rows.n_own :] & 1 == 0))
    found = found[nearest_first(count[found], degrees[found])]
    return found[: decomposer.most_near(graph, mesh.size, held.anchors.size, degrees[found])]


def fetch(mesh: Mesh, held: Held, marks: Landmarks, chosen: IntArray) -> tuple[Halo, list[PartArray]]:
    """Fetch the rows of ghosts from the shards that hold them; also return which own vertices each part asked for."""
    rows, part = held.rows, held.part
    chosen = np.sort(chosen)
    names, to = rows.ghosts[chosen], held.codes[rows.n_own + chosen] >> 1
    asked = [wanted for (wanted,) in mesh.deal(to, names)]
    weights, out = held.all_weights, []
    for wanted in asked:
        place = np.searchsorted(part.names, wanted)
        arcs = stretches(part.indptr[place], part.degrees[place])
        out.append((part.degrees[place], part.neighbours[arcs], marks.of[rows.indices[arcs]], weights[arcs]))
    found = mesh.swap(out)
    order = np.argsort(to, kind="stable")
    sizes, near, their, heavy = (np.concatenate([one[i] for one in found]) for i in range(4))
    back = np.argsort(order)
    arcs = stretches((np.cumsum(sizes) - sizes)[back], sizes[back])
    landmark = marks.of[rows.n_own + chosen]
    return Halo(names, landmark, sizes[back], near[arcs], their[arcs], heavy[arcs]), asked


class _Entries(NamedTuple):
    """Entries of a sparse matrix."""

    row: IntArray
    column: IntArray
    value: Matrix


def cut_out(held: Held, marks: Landmarks, halo: Halo, weights: Any) -> Subgraph:
    """Return the subgraph of the part: own vertices, anchors, halo, and the rest as foreign super-vertices.

    It is what `parge.graph.subgraph.induce_with_context` makes of a graph that is held whole.

    Parameters
    ----------
    weights : (n_landmarks, n_landmarks) array
        Between and inside landmarks; a memory map is read some rows at a time.
    """
    own, a, h = held.own, held.anchors.size, halo.names.size
    ours = np.zeros(marks.n, np.bool_)
    ours[:a] = True
    ours[marks.of[own]] = True
    foreign = np.flatnonzero(~ours)
    single = own.size + a + h
    place_of = np.full(marks.n, -1, np.int64)
    place_of[:a] = own.size + np.arange(a)
    place_of[foreign] = single + np.arange(foreign.size)
    name = np.concatenate([marks.of[own], np.arange(a), halo.landmark, foreign]).astype(np.int64)
    n = name.size
    touching = _own_entries(held, own, marks, place_of, halo.names, own.size + a)
    around, taken = _halo_entries(held, own, halo, place_of, own.size + a)
    loops = np.zeros(n, np.float32)
    among = _landmark_entries(weights, taken, np.concatenate([np.arange(a), foreign]), own.size, a, h, loops)
    entries = [*touching, *around, among]
    indptr, indices, heavy = _csr(entries, n)
    numbers = np.concatenate([held.part.names[own], held.anchors, halo.names, np.full(foreign.size, -1)])
    context = Context(name, loops, a, h, marks.n)
    return Subgraph(Graph(indptr, indices, heavy), numbers.astype(np.int64), own.size, held.part.index, context)


def _own_entries(
    held: Held, own: IntArray, marks: Landmarks, place_of: IntArray, halo: PartArray, first_halo: int
) -> list[_Entries]:
    """Return the entries of own rows and, where a neighbour is not own, those of its row."""
    rows = held.rows
    place = place_of[marks.of]  # -1 of landmarks of this part: their members are the own vertices
    place[own] = np.arange(own.size)
    there = np.searchsorted(rows.ghosts, halo)
    place[rows.n_own + there] = first_halo + np.arange(halo.size)
    is_own = np.zeros(rows.n_own, np.bool_)
    is_own[own] = True
    arcs = np.repeat(is_own, rows.degrees)
    row = np.repeat(place[: rows.n_own], rows.degrees)[arcs]
    column, value = place[rows.indices[arcs]], held.all_weights[arcs].astype(np.float64)
    outside = column >= own.size
    return [_Entries(row, column, value), _Entries(column[outside], row[outside], value[outside])]


def _halo_entries(
    held: Held, own: IntArray, halo: Halo, place_of: IntArray, first: int
) -> tuple[list[_Entries], _Entries]:
    """Return the entries between the halo, anchors and super-vertices; and what of it the landmarks' weights count."""
    row = first + np.repeat(np.arange(halo.names.size), halo.sizes)
    mark = np.repeat(halo.landmark, halo.sizes)
    value = halo.weights.astype(np.float64)
    mine = _is_in(halo.near, held.part.names[own])
    inside = _is_in(halo.near, halo.names)
    column = np.where(inside, first + np.searchsorted(halo.names, halo.near), place_of[halo.marks])
    some, back = ~mine, ~mine & ~inside
    entries = [_Entries(row[some], column[some], value[some]), _Entries(column[back], row[back], value[back])]
    taken = _Entries(
        np.concatenate([mark[some], halo.marks[back]]),
        np.concatenate([halo.marks[some], mark[back]]),
        np.concatenate([value[some], value[back]]),
    )
    return entries, taken


def _is_in(values: PartArray, ascending: PartArray) -> BoolArray:
    if not ascending.size:
        return np.zeros(values.size, np.bool_)
    place = np.minimum(np.searchsorted(ascending, values), ascending.size - 1)
    return np.asarray(ascending[place] == values)


def _landmark_entries(
    weights: Any, taken: _Entries, kept: IntArray, n_own: int, n_anchors: int, n_halo: int, loops: FloatArray
) -> _Entries:
    """Return the edges among anchors and foreign super-vertices, thinned out, without those of the halo."""
    strength = np.concatenate([np.zeros(0), *(_rows(weights, some).sum(axis=1) for some in _blocks(kept))])
    thin = LINKS / (2 * np.maximum(strength, np.finfo(np.float32).tiny))
    places = n_own + np.arange(kept.size) + np.where(np.arange(kept.size) < n_anchors, 0, n_halo)
    inside = np.zeros(kept.size, np.float32)
    order = np.argsort(taken.row, kind="stable")
    taken = _Entries(taken.row[order], taken.column[order], taken.value[order])
    nothing: IntArray = np.zeros(0, np.int64)
    found, start = [_Entries(nothing, nothing, np.zeros(0))], 0
    for some in _blocks(kept):
        block = np.ascontiguousarray(_without(_rows(weights, some), some, taken)[:, kept])
        indices, heavy = np.empty(block.size, np.int32), np.empty(block.size, np.float32)
        sizes = np.empty(some.size, np.int64)
        size = csr.thinned_block(block, kept, thin, start, indices, heavy, sizes, inside)
        row = np.repeat(places[start : start + some.size], sizes)
        found.append(_Entries(row, places[indices[:size]], heavy[:size].astype(np.float64)))
        start += some.size
    loops[places] = inside
    return _joined(found)


def _joined(entries: list[_Entries]) -> _Entries:
    return _Entries(*(np.concatenate([one[i] for one in entries]) for i in range(3)))


def _blocks(kept: IntArray) -> list[IntArray]:
    return [kept[start : start + _BLOCK] for start in range(0, kept.size, _BLOCK)]


def _rows(weights: Any, some: IntArray) -> Matrix:
    return np.array(weights[some], np.float64)


def _without(block: Matrix, marks: IntArray, taken: _Entries) -> Matrix:
    """Take entries off some rows; what is left of a sum of decimal weights by rounding is no edge."""
    least = 1e-7 * block
    for i, mark in enumerate(marks):
        arcs = slice(*np.searchsorted(taken.row, [mark, mark + 1]))
        np.subtract.at(block[i], taken.column[arcs], taken.value[arcs])
    block[block <= least] = 0.0
    return block


def _csr(entries: list[_Entries], n: int) -> tuple[IntArray, PartArray, FloatArray]:
    """Return rows from entries; those of one place add up."""
    row, column, value = _joined(entries)
    key = row * n + column
    order = np.argsort(key, kind="stable")
    key, first = np.unique(key[order], return_index=True)
    total = np.add.reduceat(value[order], first) if key.size else np.zeros(0)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(key // max(1, n), minlength=n))]).astype(np.int64)
    with np.errstate(over="ignore"):
        heavy = np.minimum(total, np.finfo(np.float32).max).astype(np.float32)
    return indptr, (key % max(1, n)).astype(np.int32), heavy


def cut_plain(mesh: Mesh, held: Held) -> Subgraph:
    """Return the subgraph on own vertices and anchors; edges among anchors are told by where they are at home."""
    rows, own, a = held.rows, held.own, held.anchors.size
    place = np.full(rows.n_own + rows.ghosts.size, -1, np.int64)
    place[own] = np.arange(own.size)
    names = rows.all_names
    at = np.flatnonzero(held.codes & 1)
    place[at] = own.size + np.searchsorted(held.anchors, names[at])
    source, weights = np.repeat(np.arange(rows.n_own), rows.degrees), held.all_weights.astype(np.float64)
    row, column = place[source], place[rows.indices]
    mine = (row >= 0) & (row < own.size) & (column >= 0)
    outside = mine & (column >= own.size)
    among = (row >= own.size) & (column >= own.size)
    received = mesh.share(row[among] - own.size, column[among] - own.size, weights[among])
    entries = [
        _Entries(row[mine], column[mine], weights[mine]),
        _Entries(column[outside], row[outside], weights[outside]),
        *(_Entries(u + own.size, v + own.size, w) for u, v, w in received),
    ]
    indptr, indices, heavy = _csr(entries, own.size + a)
    numbers = np.concatenate([held.part.names[own], held.anchors]).astype(np.int64)
    graph = Graph(indptr, indices, None if held.part.weights is None else heavy)
    return Subgraph(graph, numbers, own.size, held.part.index)


def edge_counts(mesh: Mesh, held: Held, halo: PartArray, asked: list[PartArray]) -> tuple[EdgeCounts, float]:
    """Return where the edges of the graph are, and the share of this part's that its subgraph holds as they are.

    `asked` are the own vertices that each other part has in its halo.
    """
    rows, n_parts = held.rows, mesh.size
    code = np.repeat(held.codes[: rows.n_own], rows.degrees)
    there = held.codes[rows.indices]
    at_anchor = ((code | there) & 1).astype(np.bool_)
    inside = ~at_anchor & (code == there)
    between = ~at_anchor & (code != there)
    in_halo = np.zeros(rows.n_own + rows.ghosts.size, np.bool_)
    in_halo[rows.n_own + np.searchsorted(rows.ghosts, halo)] = True
    held_here = between & in_halo[rows.indices]
    wanted = np.zeros((rows.n_own, n_parts), np.bool_)
    for q, names in enumerate(asked):
        wanted[np.searchsorted(rows.names, names), q] = True
    source = np.repeat(np.arange(rows.n_own), rows.degrees)
    lost = between & ~held_here & ~wanted[source, there >> 1]
    counts = mesh.total(np.array([inside.sum(), at_anchor.sum(), between.sum() - lost.sum(), lost.sum()])) // 2
    own = np.repeat(~held.part.is_anchor, rows.degrees)
    n_inside = int(inside.sum()) // 2  # an edge inside of the part has two arcs here
    touched = int((own & ~inside).sum()) + n_inside
    kept = int((own & (at_anchor | held_here)).sum()) + n_inside
    return EdgeCounts(*map(int, counts)), kept / touched if touched else 1.0
