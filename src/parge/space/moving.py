"""New vertices on their way to a place in a frozen space, in which everything else stands still."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.events import Progress, silent
from parge.linalg.threads import Threads, one_blas_thread
from parge.space.learned import LearnedRound, shares
from parge.storage import MEMORY, Storage, release_pages, row_blocks, usable_cores
from parge.typing import BoolArray, FloatArray, IntArray

# Rounds over edges between moving vertices once each has a first place (`make bench-space ONLY=choices`).
ROUNDS = 2

# Rows that one thread moves at a time: a number of its own, since products of other blocks round differently.
_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Moving:
    """Some vertices and their edges: to vertices that stand still, and among each other."""

    # Rows over the rows of the space's vectors; weights are shares of all edges of the moving vertex.
    still_indptr: IntArray
    still_neighbours: NDArray[Any]
    still_weights: NDArray[np.float64]
    # Rows over the moving vertices themselves.
    indptr: IntArray
    neighbours: NDArray[Any]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.indptr.size - 1)

    @property
    def still_edges(self) -> IntArray:
        """Number of edges of each to vertices that stand still."""
        return np.asarray(np.diff(self.still_indptr), np.int64)


def split_rows(
    indptr: IntArray,
    neighbours: NDArray[Any],
    weights: NDArray[np.float64],
    place_of: Callable[[NDArray[Any]], IntArray],
    moves: Callable[[NDArray[Any]], BoolArray],
) -> Moving:
    """Return rows as those of moving vertices; `place_of` a neighbour is its row in the space, or among the moving.

    `weights` are those of the edges.
    """
    weights = shares(weights, indptr)
    row = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    among, place = moves(neighbours), place_of(neighbours)

    def part(which: BoolArray) -> tuple[IntArray, NDArray[Any], NDArray[np.float64]]:
        counts = np.bincount(row[which], minlength=indptr.size - 1)
        return np.concatenate([[0], np.cumsum(counts)]), place[which], weights[which]

    return Moving(*part(~among), *part(among))


def layers(moving: Moving) -> list[IntArray]:
    """Return moving vertices by their distance to the space; those that no path leads to are in none."""
    here = np.flatnonzero(moving.still_edges > 0)
    seen = np.zeros(len(moving), np.bool_)
    seen[here] = True
    found = []
    while here.size:
        found.append(here)
        reached = [moving.neighbours[moving.indptr[v] : moving.indptr[v + 1]] for v in here.tolist()]
        there = np.unique(np.concatenate(reached))
        here = there[~seen[there]].astype(np.int64)
        seen[here] = True
    return found


def still_sums(
    moving: Moving, vectors: FloatArray, scale: NDArray[np.float64], storage: Storage, threads: Threads
) -> FloatArray:
    """Return the weighted sums of the unit rows of the neighbours that stand still."""
    from parge.kernels.products import sum_neighbours

    out = _matrix(storage, len(moving), vectors.shape[1])

    def block(rows: slice) -> None:
        indptr = moving.still_indptr[rows.start : rows.stop + 1]
        some = slice(int(indptr[0]), int(indptr[-1]))
        neighbours = moving.still_neighbours[some]
        weights = (moving.still_weights[some] * scale[neighbours]).astype(np.float32)
        if weights.size:
            sum_neighbours(indptr - indptr[0], neighbours, weights, vectors, 0, out[rows])
        release_pages(vectors, out)

    threads.each(block, row_blocks(len(out), _ROWS))
    return out


def _matrix(storage: Storage, n_rows: int, dim: int) -> FloatArray:
    return storage.zeros(n_rows * dim, np.float32).reshape(n_rows, dim)


def place_directions(
    learned: LearnedRound,
    moving: Moving,
    sums: FloatArray,
    *,
    storage: Storage = MEMORY,
    progress: Progress = silent,
) -> tuple[FloatArray, BoolArray]:
    """Return the directions of moving vertices, and which of them are reached from what is known.

    Vertices are placed layer by layer, each from the layers before it; then all of them `ROUNDS` times at once from
    their neighbours. So the order of vertices and edges does not matter, nor do threads.

    `sums` are those of the neighbours that stand still.
    """
    here = _matrix(storage, *sums.shape)
    reached = np.zeros(len(moving), np.bool_)
    with one_blas_thread(), Threads(usable_cores()) as threads:
        for layer in layers(moving):
            reached[layer] = True
            for some in row_blocks(layer.size, _ROWS):
                here[layer[some]] = _moved(learned, moving, sums, here, layer[some])
        for done in range(ROUNDS):
            here = _round(learned, moving, sums, here, reached, storage, threads)
            progress((done + 1) / ROUNDS)
    return here, reached


def _round(
    learned: LearnedRound,
    moving: Moving,
    sums: FloatArray,
    here: FloatArray,
    reached: BoolArray,
    storage: Storage,
    threads: Threads,
) -> FloatArray:
    there = _matrix(storage, *here.shape)

    def block(rows: slice) -> None:
        some = np.arange(rows.start, rows.stop)[reached[rows]]
        there[some] = _moved(learned, moving, sums, here, some)
        release_pages(sums, here, there)

    threads.each(block, row_blocks(len(here), _ROWS))
    return there


def _moved(learned: LearnedRound, moving: Moving, sums: FloatArray, here: FloatArray, some: IntArray) -> FloatArray:
    """Return new directions of some vertices from where all of them are."""
    from parge.kernels.products import sum_neighbours

    counts = np.diff(moving.indptr)[some]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    total = np.array(sums[some])
    if indptr[-1]:
        place = np.arange(indptr[-1]) + np.repeat(moving.indptr[:-1][some] - indptr[:-1], counts)
        among: FloatArray = np.empty_like(total)
        sum_neighbours(indptr, moving.neighbours[place], moving.weights[place].astype(np.float32), here, 0, among)
        total += among
    return learned.directions(total)
