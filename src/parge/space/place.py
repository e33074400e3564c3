"""Place vertices that a frozen space does not know, from their edges; nothing that is there moves."""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.embedding import Embedding
from parge.errors import InputError
from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.ids import positions, show_ids
from parge.linalg.threads import Threads, one_blas_thread
from parge.space.edges import NO_ARCS, Arcs, change
from parge.space.frozen import Space, as_edges, as_space, named_notice
from parge.space.learned import entries, inverse, row_sums, weights_at
from parge.space.moving import Moving, layers, split_rows, still_sums
from parge.space.rehearsal import new_directions
from parge.storage import MEMORY, Storage, row_blocks, usable_cores
from parge.typing import BoolArray, FloatArray, IdArray, IntArray

# More vertices than these are not listed one by one in JSON.
MOST_LISTED = 10_000


@dataclass(frozen=True, eq=False)
class Placed:
    """Vectors of new vertices, and how much there was to place each by.

    Parameters
    ----------
    embedding : Embedding
        The new vertices, ids ascending. Those that no path of edges leads to from a known vertex are at the origin.
    edges : IntArray
        Edges of each into vertices that the space knows.
    agreement : array
        Of the known neighbours of each: the length of the mean of their unit vectors, 1 where all point the same way.
        Where there are none, that of the placed neighbours.
    confidence : array
        The expected cosine of the vector with the one that embedding gives to a vertex with such edges, 0 to 1. That of
        a vertex without known neighbours is multiplied by theirs: it falls with the distance to the space.
    reached : BoolArray
        Which are not at the origin.
    n_edges : int
        Edges that vertices were placed by; those of vertices at the origin led nowhere.
    unused : int
        Edges between vertices that the space knows.
    seconds : float
        How long it took.
    notices : tuple of str
        What to know of the new ids.
    """

    embedding: Embedding
    edges: IntArray = field(repr=False)
    agreement: NDArray[np.float64] = field(repr=False)
    confidence: NDArray[np.float64] = field(repr=False)
    reached: BoolArray = field(repr=False)
    n_edges: int
    unused: int
    seconds: float
    notices: tuple[str, ...] = ()

    @property
    def unreachable(self) -> IdArray:
        """Ids of the vertices at the origin."""
        return self.embedding.ids[~self.reached]

    def to_json(self) -> dict[str, Any]:
        """Return counts, seconds and, for up to 10,000 vertices, what there was to place each by."""
        found: dict[str, Any] = {
            "placed": int(self.reached.sum()),
            "unreachable": int((~self.reached).sum()),
            "edges": self.n_edges,
            "unused_edges": self.unused,
            "seconds": self.seconds,
            "confidence": round(float(self.confidence[self.reached].mean()), 4) if self.reached.any() else 0.0,
            "unreachable_vertices": self.unreachable[:MOST_LISTED].tolist(),
        }
        if len(self.embedding) <= MOST_LISTED:
            found["vertices"] = list(self.rows())
        return found

    def rows(self) -> "list[dict[str, Any]]":
        """Return one row per new vertex: its id, confidence, edges into known vertices, and their agreement."""
        columns = (
            self.embedding.ids.tolist(),
            self.confidence.round(4).tolist(),
            self.edges.tolist(),
            self.agreement.round(4).tolist(),
        )
        names = ("vertex", "confidence", "edges", "agreement")
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def place(space: Space | Embedding, edges: Any, *, storage: Storage = MEMORY, progress: Progress = silent) -> Placed:
    """Return vectors of the vertices in `edges` that the space does not know, in the same space.

    Nothing is trained, and no vector of the space changes. Edges between two vertices that the space knows are not
    used; `parge.space.update.update` takes them into account. Command line: ``parge place SPACE EDGES -o OUT``.

    Parameters
    ----------
    space : Space or Embedding
        See `parge.open_space`.
    edges : graph, path, or pairs of ids
        Edges of new vertices to known ones and to each other.
    storage : Storage
        Where the vectors go while they are placed: memory, or files.
    """
    started, space, graph = time.perf_counter(), as_space(space), as_edges(edges)
    row = positions(space.ids, graph.outside_ids)
    new = _new_vertices(space, graph, row)
    moving = _moving(graph, row, new)
    scale = inverse(space.lengths)
    with one_blas_thread(), Threads(usable_cores()) as threads:
        sums = still_sums(moving, space.vectors, scale, storage, threads)
    here, reached = new_directions(
        space, moving, sums, lambda: _grown(space, graph, row, new, storage), storage=storage, progress=progress
    )
    weight, around = _weight_and_lengths_around(space, graph, row, new)
    length = np.where(reached, space.learned.length(weight, around), 0.0).astype(np.float32)
    for rows in row_blocks(len(here)):
        here[rows] *= length[rows, None]
    known = moving.still_edges
    agreement = _agreement(moving, sums, here, length)
    alone = np.where(reached, space.learned.cosine(np.diff(graph.indptr)[new].astype(float), agreement), 0.0)
    confidence = _confidence(moving, alone)
    n_edges = int(known.sum()) + moving.neighbours.size // 2
    nowhere = int(known[~reached].sum() + np.diff(moving.indptr)[~reached].sum() // 2)
    return Placed(
        Embedding(here, graph.outside_ids[new], degrees=graph.degrees[new]),
        known,
        agreement,
        confidence,
        reached,
        n_edges - nowhere,
        graph.n_edges - n_edges,
        time.perf_counter() - started,
        named_notice(space, graph.outside_ids[new]),
    )


def _new_vertices(space: Space, graph: Graph, row: IntArray) -> IntArray:
    """Return the numbers of the vertices that the space does not know; refuse edges that have none, or only such."""
    new = np.flatnonzero(row < 0)
    if not graph.n_vertices:
        raise InputError("there are no edges, so there is no vertex to place. Give edges of new vertices.")
    if not new.size:
        raise InputError(
            f"the space knows all {graph.n_vertices:,} vertices of the edges, so there is none to place. Use parge "
            "update to take edges between known vertices into account."
        )
    if new.size == graph.n_vertices:
        raise InputError(
            f"the space knows none of the vertices of the edges. It has ids such as {show_ids(space.ids)}; the edges "
            f"have {show_ids(graph.outside_ids)}. Check that the ids mean the same vertices."
        )
    return new


def _moving(graph: Graph, row: IntArray, new: IntArray) -> Moving:
    place, indptr = entries(graph, new)
    number = np.where(row >= 0, row, 0)
    number[new] = np.arange(new.size)
    return split_rows(indptr, graph.indices[place], weights_at(graph, place), number.__getitem__, (row < 0).__getitem__)


def _grown(space: Space, graph: Graph, row: IntArray, new: IntArray, storage: Storage) -> Graph:
    """Return the graph of the space with the edges of new vertices, which have the last numbers.

    Weights count in proportion: their mean is made that of the space, for nothing is known of how both were measured.
    """
    number = np.where(row >= 0, row, 0)
    number[new] = len(space) + np.arange(new.size)
    arcs = Arcs.of(graph, number)
    is_new = (arcs.source >= len(space)) | (arcs.target >= len(space))
    weights = arcs.weights[is_new]
    if graph.weights is not None and weights.size:
        usual = 1.0 if space.graph.weights is None else float(space.graph.weights.mean(dtype=np.float64))
        weights = weights / weights.mean() * usual
    added = Arcs(arcs.source[is_new], arcs.target[is_new], weights)
    return change(space.graph, len(space) + new.size, added, NO_ARCS, storage).graph


def _weight_and_lengths_around(
    space: Space, graph: Graph, row: IntArray, new: IntArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weight of each new vertex's edges, and the mean length of its known neighbours."""
    place, indptr = entries(graph, new)
    around = space.lengths_around(row[graph.indices[place]], indptr)
    return row_sums(weights_at(graph, place), indptr), around


def _agreement(moving: Moving, sums: FloatArray, here: FloatArray, length: FloatArray) -> NDArray[np.float64]:
    """Return the length of the mean of the neighbours' unit vectors: of those that stand still, else of the others."""
    out = np.zeros(len(moving))
    share = row_sums(moving.still_weights, moving.still_indptr)
    for rows in row_blocks(len(moving)):
        out[rows] = np.linalg.norm(sums[rows].astype(np.float64), axis=1) / np.maximum(share[rows], 1e-12)
    for v in np.flatnonzero((share == 0) & (length > 0)).tolist():
        some = slice(moving.indptr[v], moving.indptr[v + 1])
        near = moving.neighbours[some]
        rows = here[near].astype(np.float64) / np.maximum(length[near, None], np.finfo(np.float32).tiny)
        out[v] = np.linalg.norm((moving.weights[some, None] * rows).sum(axis=0))
    return np.minimum(out, 1.0)


def _confidence(moving: Moving, alone: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the confidence of each, where `alone` holds if its neighbours were certain, as known ones are."""
    found, distance = alone.copy(), np.full(len(moving), -1)
    for far, layer in enumerate(layers(moving)):
        distance[layer] = far
        for v in layer.tolist() if far else ():
            near = moving.neighbours[moving.indptr[v] : moving.indptr[v + 1]]
            found[v] = alone[v] * found[near[distance[near] == far - 1]].mean()
    return found
