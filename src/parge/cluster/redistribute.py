"""Send every row to the shard of its part, once parts are chosen (`parge.cluster.stages.Divide`).

From then on shard i has part i, and each row says in which part every neighbour is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parge.cluster.ingest import Shard, ids_from, message_of
from parge.cluster.mesh import Mesh
from parge.cluster.rows import Rows
from parge.cluster.split import Split
from parge.reconcile.merge import stretches
from parge.typing import BoolArray, FloatArray, IdArray, IntArray, PartArray

CodeArray = NDArray[np.int16]
"""Twice the part of a vertex, and 1 more where it is an anchor."""

MOST_PARTS = 127
"""Parts of vertices take a byte while they are improved."""


@dataclass(frozen=True, eq=False)
class PartRows:
    """The rows of a part: of its own vertices, and of the anchors that are at home in it.

    Parameters
    ----------
    index : int
        The part.
    names : int32, ascending
        Numbers of its vertices.
    is_anchor : bool
        Which of them are anchors.
    ids : int64 or strings
        Their ids.
    indptr, neighbours : CSR
        Their neighbours by number, ascending.
    codes : int16
        Where each neighbour is; see `CodeArray`.
    weights : float32, optional
        Of each neighbour.
    """

    index: int
    names: PartArray
    is_anchor: BoolArray
    ids: IdArray
    indptr: IntArray
    neighbours: PartArray
    codes: CodeArray
    weights: FloatArray | None

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


def redistribute(mesh: Mesh, shard: Shard, rows: Rows, split: Split, n_parts: int) -> list[PartRows]:
    """Send every row to the shard ``part modulo shards``; return the parts that this shard receives."""
    code = (2 * split.part + split.anchors).astype(np.int16)
    to_neighbours = rows.with_ghosts(mesh, code)[rows.indices]
    out = []
    for t in range(mesh.size):
        some = np.flatnonzero(split.part % mesh.size == t)
        arcs = stretches(shard.indptr[some], np.diff(shard.indptr)[some])
        weights = () if shard.weights is None else (shard.weights[arcs],)
        out.append(
            (
                shard.names[some],
                code[some],
                np.diff(shard.indptr)[some],
                shard.neighbours[arcs],
                to_neighbours[arcs],
                *message_of(shard.ids[some]),
                *weights,
            )
        )
    found = mesh.swap(out)
    del out
    names, codes, sizes, neighbours, to = (np.concatenate([message[i] for message in found]) for i in range(5))
    n_ids = len(message_of(shard.ids))
    ids = np.concatenate([ids_from(message[5 : 5 + n_ids]) for message in found])
    given = None if shard.weights is None else np.concatenate([message[-1] for message in found])
    del found
    starts = np.cumsum(sizes) - sizes
    parts = []
    for index in range(mesh.rank, n_parts, mesh.size):
        some = np.flatnonzero(codes >> 1 == index)
        some = some[np.argsort(names[some], kind="stable")]
        arcs = stretches(starts[some], sizes[some])
        indptr = np.concatenate([[0], np.cumsum(sizes[some])]).astype(np.int64)
        heavy = None if given is None else given[arcs]
        anchors = (codes[some] & 1).astype(np.bool_)
        parts.append(PartRows(index, names[some], anchors, ids[some], indptr, neighbours[arcs], to[arcs], heavy))
    return parts
