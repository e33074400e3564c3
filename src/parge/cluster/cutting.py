"""A part as its shard holds it, and its landmarks; `parge.cluster.subgraphs` cuts out what is embedded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.cluster.checks import leads_both_ways
from parge.cluster.mesh import Mesh, Message
from parge.cluster.redistribute import PartRows
from parge.cluster.rows import Rows, rows_of
from parge.decompose.partitioners import partitioner_named
from parge.decompose.supervertices import supervertices
from parge.graph.graph import Graph
from parge.landmarks.base import LandmarkTechnique
from parge.memory import trim_heap
from parge.reconcile.merge import stretches
from parge.run.arrays import DamagedError
from parge.storage import MEMORY, Storage, arc_blocks, release_pages
from parge.typing import FloatArray, IntArray, Matrix, PartArray

BLOCK = 128
"""Rows of the matrix over landmarks that are worked on at a time."""

# Arcs that are worked on at a time, with some 80 bytes each.
_ARCS = 1 << 17

# From this many arcs on, a part is cut into super-vertices by a partitioner that holds its rows compressed. One part of
# a planted graph, 5.6 M arcs: KaMinPar took half the memory and 1.9 times the time, and cut 22 % of them, not 25 %.
_LARGE = 1 << 21


@dataclass(frozen=True, eq=False)
class Held:
    """A part as its shard holds it: rows, the anchors of all parts, and what is known of its neighbours."""

    part: PartRows
    rows: Rows  # the same, with places of neighbours instead of numbers
    anchors: PartArray  # ascending: numbers of all anchors
    codes: NDArray[np.int16]  # where each vertex and each ghost is

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
    """Return the part once its shard and the others know which values they send each other."""
    rows = rows_of(mesh, part.names, part.indptr, part.neighbours, part.codes >> 1)
    own = (2 * part.index + part.is_anchor).astype(np.int16)
    anchors = np.sort(np.concatenate([found[0] for found in mesh.share(part.names[part.is_anchor])]))
    if (anchors[1:] == anchors[:-1]).any():
        raise DamagedError("an anchor belongs to two parts. Start the run again in another folder.")
    return Held(part, rows, anchors, rows.with_ghosts(mesh, own))


class Landmarks(NamedTuple):
    """The landmark of each vertex and ghost, and how many landmarks there are."""

    of: PartArray
    n: int


def landmarks(
    mesh: Mesh, held: Held, n_vertices: int, wanted: int, partitioner: str, seed: int, storage: Storage = MEMORY
) -> Landmarks:
    """Number the landmarks: anchors, then the super-vertices of each part, which its shard forms by itself.

    The partitioner has rows of its own; those that it is given are in `storage`.
    """
    part, own = held.part, held.own
    rest = max(1, n_vertices - held.anchors.size)
    among = _among(held, own, storage)
    lean = partitioner_named(partitioner).smaller[:1] if among.indices.size > _LARGE else ()
    name = lean[0] if lean else partitioner
    group = supervertices(among, own.size, wanted * own.size // rest, name, seed, quick=not lean)
    del among
    trim_heap()
    counts = [int(found[0][0]) for found in mesh.share(np.array([group.max(initial=-1) + 1]))]
    mine = np.empty(part.names.size, np.int32)
    mine[own] = held.anchors.size + sum(counts[: mesh.rank]) + group
    mine[part.is_anchor] = np.searchsorted(held.anchors, part.names[part.is_anchor])
    return Landmarks(held.rows.with_ghosts(mesh, mine), held.anchors.size + sum(counts))


def _among(held: Held, own: IntArray, storage: Storage) -> Graph:
    """Return the rows among a part's own vertices."""
    rows, place = held.rows, np.full(held.rows.n_own + held.rows.ghosts.size, -1, np.int32)
    place[own] = np.arange(own.size)
    counts, near, end = np.zeros(own.size, np.int64), storage.zeros(rows.indices.size, np.int32), 0
    for some, sizes, arcs in held.blocks():
        source, target = np.repeat(place[some], sizes), place[rows.indices[arcs]]
        inside = (source >= 0) & (target >= 0)
        np.add.at(counts, source[inside], 1)
        kept = target[inside]
        near[end : end + kept.size] = kept
        end += kept.size
        release_pages(near)
    graph = Graph(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), near[:end])
    if not leads_both_ways(graph.indptr, graph.indices):  # a partitioner would end the process
        raise DamagedError("an edge is stored in one direction only. Start the run again in another folder.")
    release_pages(near)
    return graph


def merged_weights(mesh: Mesh, held: Held, marks: Landmarks) -> Matrix | None:
    """Return the weights between and inside landmarks on shard 0, and None elsewhere; some rows travel at a time.

    Every row of the matrix is of one part, or of an anchor, which belongs to one: each entry is one shard's sum.
    """
    rows, n, degrees = held.rows, marks.n, held.rows.degrees
    mark = marks.of[: rows.n_own]
    order = np.argsort(mark, kind="stable")
    ends = np.searchsorted(mark, range(0, n + BLOCK, BLOCK), sorter=order)
    total = np.zeros((n, n)) if mesh.rank == 0 else None
    for start, first, end in zip(range(0, n, BLOCK), ends, ends[1:], strict=False):
        members, block = order[first:end], np.zeros(BLOCK * n)
        for low, high in arc_blocks(np.concatenate([[0], np.cumsum(degrees[members])]), _ARCS):
            some = members[low:high]
            arcs = stretches(rows.indptr[some], degrees[some])
            row = np.repeat((mark[some] - start).astype(np.int64) * n, degrees[some])
            np.add.at(block, row + marks.of[rows.indices[arcs]], held.weights_of(arcs).astype(np.float64))
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
