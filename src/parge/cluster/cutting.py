"""Subgraphs cut out of a graph that no process holds: each shard has one part, and asks the others for its context."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.cluster.checks import leads_both_ways
from parge.cluster.entries import Entries, joined_entries, rows_from
from parge.cluster.mesh import Mesh, Message
from parge.cluster.redistribute import PartRows
from parge.cluster.rows import Rows, joined, rows_of
from parge.decompose.decomposition import nearest_first
from parge.decompose.supervertices import LandmarkDecomposer, supervertices
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import LINKS, Context, Subgraph
from parge.kernels import csr
from parge.landmarks.base import LandmarkTechnique
from parge.reconcile.merge import stretches
from parge.run.arrays import DamagedError
from parge.stage_reports import EdgeCounts
from parge.storage import arc_blocks
from parge.typing import BoolArray, FloatArray, IntArray, Matrix, PartArray

# Rows of the matrix over landmarks, and arcs, that are worked on at a time.
_BLOCK, _ARCS = 128, 1 << 18


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

    def weights_of(self, arcs: NDArray[Any]) -> FloatArray:
        """Return the weights of some neighbours, ones included."""
        given = self.part.weights
        return np.ones(arcs.size, np.float32) if given is None else given[arcs]

    def blocks(self) -> Iterator[tuple[slice, IntArray, slice]]:
        """Yield some rows at a time: which, how many neighbours each has, and where these are."""
        indptr = self.rows.indptr
        for first, end in arc_blocks(indptr, _ARCS):
            yield slice(first, end), np.diff(indptr[first : end + 1]), slice(int(indptr[first]), int(indptr[end]))


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
    counts, near = np.zeros(own.size, np.int64), [np.zeros(0, np.int32)]
    for some, sizes, arcs in held.blocks():
        source, target = np.repeat(place[some], sizes), place[rows.indices[arcs]]
        inside = (source >= 0) & (target >= 0)
        counts += np.bincount(source[inside], minlength=own.size)
        near.append(target[inside])
    graph = Graph(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), joined(near))
    if not leads_both_ways(graph.indptr, graph.indices):  # a partitioner would end the process
        raise DamagedError("an edge is stored in one direction only. Start the run again in another folder.")
    return graph


def merged_weights(mesh: Mesh, held: Held, marks: Landmarks) -> Matrix | None:
    """Return the weights between and inside landmarks on shard 0, and None elsewhere; some rows travel at a time.

    Every row of the matrix is of one part, or of an anchor, which belongs to one: each entry is one shard's sum.
    """
    rows, n, degrees = held.rows, marks.n, held.rows.degrees
    mark = marks.of[: rows.n_own]
    order = np.argsort(mark, kind="stable")
    total = np.zeros((n, n)) if mesh.rank == 0 else None
    for start in range(0, n, _BLOCK):
        some = order[slice(*np.searchsorted(mark[order], [start, start + _BLOCK]))]
        arcs = stretches(rows.indptr[some], degrees[some])
        key = np.repeat((mark[some] - start) * n, degrees[some]) + marks.of[rows.indices[arcs]]
        block = np.bincount(key, held.weights_of(arcs), minlength=1)
        there = np.flatnonzero(block)
        nothing: Message = ()
        found = mesh.swap([(there + start * n, block[there]) if t == 0 else nothing for t in range(mesh.size)])
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
    count: IntArray = np.zeros(rows.ghosts.size, np.int64)
    for some, sizes, arcs in held.blocks():
        near = rows.indices[arcs]
        count += np.bincount(
            near[np.repeat(own[some], sizes) & (near >= rows.n_own)] - rows.n_own, minlength=rows.ghosts.size
        )
    found = np.flatnonzero((count > 0) & (held.codes[rows.n_own :] & 1 == 0))
    found = found[nearest_first(count[found], degrees[found])]
    return found[: decomposer.most_near(graph, mesh.size, held.anchors.size, degrees[found])]


def fetch(mesh: Mesh, held: Held, marks: Landmarks, chosen: IntArray) -> tuple[Halo, list[PartArray]]:
    """Fetch the rows of ghosts from the shards that hold them; also return which own vertices each part asked for."""
    rows, part = held.rows, held.part
    chosen = np.sort(chosen)
    names, to = rows.ghosts[chosen], held.codes[rows.n_own + chosen] >> 1
    asked = [wanted for (wanted,) in mesh.deal(to, names)]
    out = []
    for wanted in asked:
        place = np.searchsorted(part.names, wanted)
        arcs = stretches(part.indptr[place], part.degrees[place])
        out.append((part.degrees[place], part.neighbours[arcs], marks.of[rows.indices[arcs]], held.weights_of(arcs)))
    found = mesh.swap(out)
    order = np.argsort(to, kind="stable")
    sizes, near, their, heavy = (np.concatenate([one[i] for one in found]) for i in range(4))
    back = np.argsort(order)
    arcs = stretches((np.cumsum(sizes) - sizes)[back], sizes[back])
    landmark = marks.of[rows.n_own + chosen]
    return Halo(names, landmark, sizes[back], near[arcs], their[arcs], heavy[arcs]), asked


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
    del touching, around, taken, among
    indptr, indices, heavy = rows_from(entries, n)
    numbers = np.concatenate([held.part.names[own], held.anchors, halo.names, np.full(foreign.size, -1)])
    context = Context(name, loops, a, h, marks.n)
    return Subgraph(Graph(indptr, indices, heavy), numbers.astype(np.int64), own.size, held.part.index, context)


def _own_entries(
    held: Held, own: IntArray, marks: Landmarks, place_of: IntArray, halo: PartArray, first_halo: int
) -> list[Entries]:
    """Return the entries of own rows and, where a neighbour is not own, those of its row."""
    rows = held.rows
    place = place_of[marks.of]  # -1 of landmarks of this part: their members are the own vertices
    place[own] = np.arange(own.size)
    there = np.searchsorted(rows.ghosts, halo)
    place[rows.n_own + there] = first_halo + np.arange(halo.size)
    is_own = np.zeros(rows.n_own, np.bool_)
    is_own[own] = True
    found = []
    for some, sizes, arcs in held.blocks():
        mine = np.flatnonzero(np.repeat(is_own[some], sizes))
        row, column = np.repeat(place[some], sizes)[mine], place[rows.indices[arcs][mine]]
        value, outside = held.weights_of(arcs.start + mine), column >= own.size
        found.append(Entries.narrow(row, column, value))
        found.append(Entries.narrow(column[outside], row[outside], value[outside]))
    return found


def _halo_entries(
    held: Held, own: IntArray, halo: Halo, place_of: IntArray, first: int
) -> tuple[list[Entries], Entries]:
    """Return the entries between the halo, anchors and super-vertices; and what of it the landmarks' weights count."""
    row = first + np.repeat(np.arange(halo.names.size), halo.sizes)
    mark = np.repeat(halo.landmark, halo.sizes)
    value = halo.weights.astype(np.float64)
    mine = _is_in(halo.near, held.part.names[own])
    inside = _is_in(halo.near, halo.names)
    column = np.where(inside, first + np.searchsorted(halo.names, halo.near), place_of[halo.marks])
    some, back = ~mine, ~mine & ~inside
    entries = [
        Entries.narrow(row[some], column[some], value[some]),
        Entries.narrow(column[back], row[back], value[back]),
    ]
    taken = Entries(
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
    weights: Any, taken: Entries, kept: IntArray, n_own: int, n_anchors: int, n_halo: int, loops: FloatArray
) -> Entries:
    """Return the edges among anchors and foreign super-vertices, thinned out, without those of the halo."""
    strength = np.concatenate([np.zeros(0), *(_rows(weights, some).sum(axis=1) for some in _blocks(kept))])
    thin = LINKS / (2 * np.maximum(strength, np.finfo(np.float32).tiny))
    places = n_own + np.arange(kept.size) + np.where(np.arange(kept.size) < n_anchors, 0, n_halo)
    inside = np.zeros(kept.size, np.float32)
    order = np.argsort(taken.row, kind="stable")
    taken = Entries(taken.row[order], taken.column[order], taken.value[order])
    nothing: IntArray = np.zeros(0, np.int64)
    found, start = [Entries.narrow(nothing, nothing, np.zeros(0))], 0
    for some in _blocks(kept):
        block = np.ascontiguousarray(_without(_rows(weights, some), some, taken)[:, kept])
        indices, heavy = np.empty(block.size, np.int32), np.empty(block.size, np.float32)
        sizes = np.empty(some.size, np.int64)
        size = csr.thinned_block(block, kept, thin, start, indices, heavy, sizes, inside)
        row = np.repeat(places[start : start + some.size], sizes)
        found.append(Entries.narrow(row, places[indices[:size]], heavy[:size]))
        start += some.size
    loops[places] = inside
    return joined_entries(found)


def _blocks(kept: IntArray) -> list[IntArray]:
    return [kept[start : start + _BLOCK] for start in range(0, kept.size, _BLOCK)]


def _rows(weights: Any, some: IntArray) -> Matrix:
    return np.array(weights[some], np.float64)


def _without(block: Matrix, marks: IntArray, taken: Entries) -> Matrix:
    """Take entries off some rows; what is left of a sum of decimal weights by rounding is no edge."""
    least = 1e-7 * block
    for i, mark in enumerate(marks):
        arcs = slice(*np.searchsorted(taken.row, [mark, mark + 1]))
        np.subtract.at(block[i], taken.column[arcs], taken.value[arcs])
    block[block <= least] = 0.0
    return block


def cut_plain(mesh: Mesh, held: Held) -> Subgraph:
    """Return the subgraph on own vertices and anchors; edges among anchors come from the parts that these belong to."""
    rows, own, a = held.rows, held.own, held.anchors.size
    place = np.full(rows.n_own + rows.ghosts.size, -1, np.int64)
    place[own] = np.arange(own.size)
    names = rows.all_names
    at = np.flatnonzero(held.codes & 1)
    place[at] = own.size + np.searchsorted(held.anchors, names[at])
    entries, among = list[Entries](), list[Entries]()
    for some, sizes, arcs in held.blocks():
        row, column, weights = np.repeat(place[some], sizes), place[rows.indices[arcs]], held.weights_of(_range(arcs))
        mine = (row >= 0) & (row < own.size) & (column >= 0)
        outside, shared = mine & (column >= own.size), (row >= own.size) & (column >= own.size)
        entries.append(Entries.narrow(row[mine], column[mine], weights[mine]))
        entries.append(Entries.narrow(column[outside], row[outside], weights[outside]))
        among.append(Entries.narrow(row[shared] - own.size, column[shared] - own.size, weights[shared]))
    none: IntArray = np.zeros(0, np.int64)
    received = mesh.share(*joined_entries([Entries.narrow(none, none, none), *among]))
    entries += [Entries(u + own.size, v + own.size, w) for u, v, w in received]
    indptr, indices, heavy = rows_from(entries, own.size + a)
    numbers = np.concatenate([held.part.names[own], held.anchors]).astype(np.int64)
    graph = Graph(indptr, indices, None if held.part.weights is None else heavy)
    return Subgraph(graph, numbers, own.size, held.part.index)


def _range(some: slice) -> IntArray:
    return np.arange(some.start, some.stop)


def edge_counts(mesh: Mesh, held: Held, halo: PartArray, asked: list[PartArray]) -> tuple[EdgeCounts, float]:
    """Return where the edges of the graph are, and the share of this part's that its subgraph holds as they are.

    `asked` are the own vertices that each other part has in its halo.
    """
    rows = held.rows
    in_halo = np.zeros(rows.n_own + rows.ghosts.size, np.bool_)
    in_halo[rows.n_own + np.searchsorted(rows.ghosts, halo)] = True
    wanted = np.zeros((rows.n_own, mesh.size), np.bool_)
    for q, names in enumerate(asked):
        wanted[np.searchsorted(rows.names, names), q] = True
    found, touched, kept = np.zeros(4, np.int64), 0, 0
    for some, sizes, arcs in held.blocks():
        source, there = np.repeat(np.arange(some.start, some.stop), sizes), held.codes[rows.indices[arcs]]
        code, own = held.codes[source], ~held.part.is_anchor[source]
        at_anchor = ((code | there) & 1).astype(np.bool_)
        inside, between = ~at_anchor & (code == there), ~at_anchor & (code != there)
        held_here = between & in_halo[rows.indices[arcs]]
        lost = between & ~held_here & ~wanted[source, there >> 1]
        found += np.array([inside.sum(), at_anchor.sum(), between.sum() - lost.sum(), lost.sum()])
        touched += int((own & ~inside).sum())
        kept += int((own & (at_anchor | held_here)).sum())
    n_inside = int(found[0]) // 2  # an edge inside of the part has two arcs here
    counts = mesh.total(found) // 2
    share = (kept + n_inside) / (touched + n_inside) if touched + n_inside else 1.0
    return EdgeCounts(*map(int, counts)), share
