"""Send every row to the shard of its part, once parts are chosen (`parge.cluster.stages.Divide`).

From then on shard i has part i, and each row says in which part every neighbour is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parge.cluster.ingest import Shard, ids_from, message_of
from parge.cluster.mesh import Mesh
from parge.cluster.rows import Rows, slices_for
from parge.cluster.split import Split
from parge.graph.graph import Graph
from parge.reconcile.merge import stretches
from parge.storage import release_pages
from parge.typing import BoolArray, FloatArray, IdArray, IntArray, PartArray

CodeArray = NDArray[np.int16]
"""Twice the part of a vertex, and 1 more where it is an anchor."""

MOST_PARTS = 1024
"""While parts are improved, a shard has a table over pairs of parts: 3.8 GB for this many."""


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of a part: of its own vertices, and of the anchors that belong to it."""

    index: int
    names: PartArray  # ascending: numbers of its vertices
    is_anchor: BoolArray  # which of them are anchors
    ids: IdArray
    # Their neighbours by number, ascending.
    indptr: IntArray
    neighbours: PartArray
    codes: CodeArray  # where each neighbour is; see `CodeArray`
    weights: FloatArray | None  # of each neighbour

    @property
    def degrees(self) -> IntArray:
        """How many neighbours each vertex has."""
        return np.diff(self.indptr)

    @property
    def strengths(self) -> NDArray[np.float64]:
        """The sum of the weights of each vertex's edges."""
        if self.weights is None:
            return self.degrees.astype(np.float64)
        from parge.kernels.walks import strengths

        return strengths(self.indptr, self.weights)


def rows_of_part(graph: Graph, part: PartArray, index: int, anchors: BoolArray | None = None) -> PartRows:
    """Return the rows of a part of a graph that one process holds: what shards have after `redistribute`, for tests."""
    anchors = np.zeros(graph.n_vertices, np.bool_) if anchors is None else anchors
    names = np.flatnonzero(part == index).astype(np.int32)
    arcs = stretches(graph.indptr[names], graph.degrees[names])
    indptr = np.concatenate([[0], np.cumsum(graph.degrees[names])]).astype(np.int64)
    neighbours = graph.indices[arcs].astype(np.int32)
    return PartRows(
        index,
        names,
        anchors[names],
        names.astype(np.int64),
        indptr,
        neighbours,
        (2 * part + anchors).astype(np.int16)[neighbours],
        None if graph.weights is None else graph.weights[arcs],
    )


def redistribute(mesh: Mesh, shard: Shard, rows: Rows, split: Split, n_parts: int) -> list[PartRows]:
    """Send every row to the shard ``part modulo shards``; return the parts that this shard receives.

    Vertices travel first, so that it is known where every row goes; then the rows, some at a time, to their places.
    """
    code, degrees = (2 * split.part + split.anchors).astype(np.int16), shard.degrees
    to = [np.flatnonzero(split.part % mesh.size == t) for t in range(mesh.size)]
    found = mesh.swap([(shard.names[some], code[some], degrees[some], *message_of(shard.ids[some])) for some in to])
    names, codes, sizes = (np.concatenate([message[i] for message in found]) for i in range(3))
    ids = np.concatenate([ids_from(message[3:]) for message in found])
    counts = [message[0].size for message in found]
    del found
    order = np.lexsort((names, codes >> 1))
    starts = np.empty(sizes.size, np.int64)
    starts[order] = np.cumsum(sizes[order]) - sizes[order]
    near, codes_near, heavy = _sent(mesh, shard, rows, code, to, (counts, starts, sizes))
    ends = np.searchsorted(codes[order] >> 1, np.arange(n_parts + 1))
    parts = []
    for index in range(mesh.rank, n_parts, mesh.size):
        some = order[ends[index] : ends[index + 1]]
        indptr = np.concatenate([[0], np.cumsum(sizes[some])]).astype(np.int64)
        first = int(starts[some[0]]) if some.size else 0
        arcs, anchors = slice(first, first + int(indptr[-1])), (codes[some] & 1).astype(np.bool_)
        weights = None if heavy is None else heavy[arcs]
        parts.append(PartRows(index, names[some], anchors, ids[some], indptr, near[arcs], codes_near[arcs], weights))
    return parts


def _sent(
    mesh: Mesh,
    shard: Shard,
    rows: Rows,
    code: CodeArray,
    to: list[IntArray],
    places: tuple[list[int], IntArray, IntArray],
) -> tuple[PartArray, CodeArray, FloatArray | None]:
    """Send the rows `to` each shard; return those received: neighbours, where they are, and weights.

    `places` has how many rows each shard sends to this one; and, shard after shard, where each begins and how long it
    is.
    """
    counts, starts, sizes = places
    everywhere, degrees = rows.with_ghosts(mesh, code), shard.degrees
    n_arcs, n_slices = int(sizes.sum()), slices_for(mesh, shard.neighbours.size)
    near, codes = np.empty(n_arcs, np.int32), np.empty(n_arcs, np.int16)
    heavy = None if shard.weights is None else np.empty(n_arcs, np.float32)
    ahead = np.cumsum(counts) - counts
    for place in range(n_slices):
        out = []
        for some in (mine[_run(mine.size, place, n_slices)] for mine in to):
            arcs = stretches(shard.indptr[some], degrees[some])
            weights = () if shard.weights is None else (shard.weights[arcs],)
            out.append((shard.neighbours[arcs], everywhere[rows.indices[arcs]], *weights))
        release_pages(shard.neighbours)
        for first, count, received in zip(ahead, counts, mesh.swap(out), strict=True):
            run = _run(count, place, n_slices)
            here = slice(int(first) + run.start, int(first) + run.stop)
            arcs = stretches(starts[here], sizes[here])
            near[arcs], codes[arcs] = received[:2]
            if heavy is not None:
                heavy[arcs] = received[2]
    return near, codes, heavy


def _run(n_items: int, place: int, n_runs: int) -> slice:
    return slice(n_items * place // n_runs, n_items * (place + 1) // n_runs)
