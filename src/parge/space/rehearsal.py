"""A pass over the grown graph in which nothing stays where it is; new vertices keep what it says of them.

Two whitened rounds over all edges (`parge.linalg.whitening`) move a copy of every vector. A linear map, fitted on
vertices that were embedded, leads from the copy back to the vectors that they keep, and new vertices go the same way.
The learned round and this pass err in different ways, so the mean of both directions is nearer than either
(`make bench-space ONLY=choices`). A pass costs as much for one new vertex as for many, so few are placed without.
"""

from collections.abc import Callable

import numpy as np

from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.linalg.adjacency import Adjacency
from parge.linalg.tall import unit
from parge.linalg.threads import one_blas_thread
from parge.linalg.whitening import whitened_rounds
from parge.seeds import keyed_rng
from parge.space.frozen import EMBEDDED, Space
from parge.space.learned import inverse
from parge.space.moving import Moving, place_directions
from parge.space.ridge import ridge
from parge.storage import Storage, release_pages, row_blocks, usable_cores
from parge.typing import BoolArray, FloatArray, IntArray

# New vertices, as a share of those that are there, from which on there is a pass; and its rounds.
SHARE, ROUNDS = 0.01, 2

# Vertices that the map back is fitted on, at most, and at least for each column.
_SAMPLED, _PER_COLUMN = 12_000, 4

# Of the mean of the squares: little, for each row of the copy has its own vertex in it.
_RIDGE = 0.001

# Bytes of columns that are in memory at once where the copy is in files.
_BUDGET = 1 << 26


def is_rehearsed(n_known: int, n_new: int) -> bool:
    """Return whether that many new vertices have a pass.

    >>> is_rehearsed(1000, 9), is_rehearsed(1000, 10)
    (False, True)
    """
    return n_new >= max(1.0, SHARE * n_known)


def new_directions(
    space: Space,
    moving: Moving,
    sums: FloatArray,
    grown: Callable[[], Graph],
    *,
    storage: Storage,
    progress: Progress = silent,
) -> tuple[FloatArray, BoolArray]:
    """Return directions of new vertices by the learned round and, where they are many, by a pass; and who is reached.

    `sums` are those of their neighbours in the space. `grown` returns the graph with the new edges: vertices of the
    space first, then new ones.
    """
    here, reached = place_directions(space.learned, moving, sums, storage=storage, progress=progress)
    sampled = _sample((space.origin == EMBEDDED) & (space.lengths > 0))
    if is_rehearsed(len(space), len(here)) and sampled.size >= _PER_COLUMN * space.dim:
        passed = _rehearsed(space, grown(), sums, here, sampled, storage)
        for rows in row_blocks(len(here)):
            here[rows] = unit(here[rows] + passed[rows])
            release_pages(here, passed)
    return here, reached


def _rehearsed(
    space: Space, graph: Graph, sums: FloatArray, here: FloatArray, sampled: IntArray, storage: Storage
) -> FloatArray:
    """Return the directions of new vertices after a pass over the grown graph; 0 where `here` is.

    They begin at the mean of the neighbours that they have in the space, and where there is none, `here`.
    """
    (n_known, dim), scale = space.vectors.shape, inverse(space.lengths).astype(np.float32)
    copy, scratch = (storage.zeros(graph.n_vertices * dim, np.float32).reshape(-1, dim) for _ in range(2))
    for rows in row_blocks(n_known):
        copy[rows] = space.vectors[rows] * scale[rows, None]
        release_pages(space.vectors, copy)
    new = copy[n_known:]
    for rows in row_blocks(len(here)):
        new[rows] = np.where(sums[rows].any(axis=1, keepdims=True), unit(sums[rows]), here[rows])
    width = max(4, _BUDGET // max(1, 8 * len(copy)) // 4 * 4)
    columns = [slice(first, min(first + width, dim)) for first in range(0, dim, width)]
    A, _ = Adjacency(graph, usable_cores()).moderate()
    whitened_rounds(A, copy, scratch, columns, rounds=ROUNDS, tolerance=0.0)
    with one_blas_thread():
        back = ridge(np.array(copy[sampled]), space.vectors[sampled] * scale[sampled, None], _RIDGE)
        for rows in row_blocks(len(here)):
            found = np.array(new[rows]) @ back[:-1] + back[-1]
            found[~here[rows].any(axis=1)] = 0
            new[rows] = unit(found)
            release_pages(here, new)
    return new


def _sample(able: BoolArray) -> IntArray:
    known = np.flatnonzero(able)
    return np.sort(keyed_rng(0, "rehearsal").permutation(known)[:_SAMPLED])
