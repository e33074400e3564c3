"""Whitened propagation on vectors that shards hold, one part each: as `parge.linalg.whitening`, rows exchanged."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parge.cluster.cutting import Held
from parge.cluster.mesh import Mesh, Message
from parge.kernels.products import sum_around
from parge.linalg.threads import Threads, one_blas_thread
from parge.linalg.whitening import Moments, Turn, change, finish, is_looked_at, propagate, read_from, turn_of
from parge.refine.whiten import Whiten
from parge.typing import FloatArray

# Columns of neighbours' vectors that travel at a time: so many, or as few as take so many bytes.
_COLUMNS, _COLUMN_BYTES = 32, 1 << 26


def columns_at_a_time(n_rows: int) -> int:
    """Return how many columns of so many rows travel at a time; no bit depends on it.

    >>> columns_at_a_time(1000), columns_at_a_time(10**7), columns_at_a_time(10**10)
    (32, 1, 1)
    """
    return min(_COLUMNS, max(1, _COLUMN_BYTES // (4 * max(1, n_rows))))


@dataclass(frozen=True, eq=False)
class State:
    """Where a pass is: rounds done, unit rows, what whitens them, and the changes so far."""

    done: int
    rows: FloatArray
    turn: Turn
    changes: tuple[float, ...]
    length: float
    is_over: bool = False


def begin(mesh: Mesh, vectors: FloatArray) -> State:
    """Return the state before the first round: the vectors themselves, and the mean length of all that are not 0."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    mine = np.array([lengths.sum(), float((lengths > 0).sum())])
    (total,) = mesh.lead(lambda found: (sum((one[0] for one in found), np.zeros(2)),), mine)
    return State(0, vectors, Turn.none(vectors.shape[1]), (), float(total[0] / total[1]) if total[1] else 1.0)


def whiten_shared(
    mesh: Mesh,
    held: Held,
    state: State,
    refiner: Whiten,
    n_vertices: int,
    keep: Callable[[State], None],
) -> State:
    """Run the rounds of a pass from a state on; `keep` is called after each with the state.

    Sums over the rows of a part are that part's, and are added in the order of parts on shard 0. So the bits do not
    depend on where parts are. They are computed in float64 throughout.
    """
    with one_blas_thread(), Threads(1) as threads:
        while state.done < refiner.rounds and not state.is_over:
            state = _round(mesh, held, state, refiner, n_vertices, threads)
            keep(state)
        out = np.empty_like(state.rows)
        finish(state.rows, out, state.turn, state.length, threads)
    return State(state.done, out, state.turn, state.changes, state.length, is_over=True)


def _round(mesh: Mesh, held: Held, state: State, refiner: Whiten, n_vertices: int, threads: Threads) -> State:
    done, before = state.done + 1, state.turn
    look = is_looked_at(done, 1)
    moved = _sums(mesh, held, state.rows, before)
    rows = np.array(state.rows)
    found = propagate(read_from(moved), rows, rows, before, threads, whiten=True, look=look)
    now, changed = _decided(mesh, found, before, n_vertices)
    changes = (*state.changes, changed) if look else state.changes
    return State(done, rows, now, changes, state.length, look and changed < refiner.tolerance)


def _sums(mesh: Mesh, held: Held, rows: FloatArray, turn: Turn) -> FloatArray:
    """Return the sums of the rows of each vertex and its neighbours, less the mean."""
    shard, weights = held.rows, held.part.weights
    weights = np.empty(0, np.float32) if weights is None else weights
    moved, mean = np.empty_like(rows), turn.mean.astype(np.float32)
    most = max(int(found[0][0]) for found in mesh.share(np.array([shard.n_own + shard.ghosts.size])))
    step = columns_at_a_time(most)
    for first in range(0, rows.shape[1], step):
        some = slice(first, min(first + step, rows.shape[1]))
        few = shard.with_ghosts(mesh, np.ascontiguousarray(rows[:, some]))
        out = np.empty((len(rows), few.shape[1]), np.float32)
        sum_around(shard.indptr, shard.indices, weights, few, mean[some], 0, out)
        moved[:, some] = out
    return moved


def _decided(mesh: Mesh, found: Moments, before: Turn, n_vertices: int) -> tuple[Turn, float]:
    """Return what whitens all rows, and how much changed; decided on shard 0."""

    def decide(parts: list[Message]) -> Message:
        rows, gram, across = (sum(one[i] for one in parts[1:]) + parts[0][i] for i in range(3))
        total = Moments(rows, gram, across)
        turn = turn_of(total, n_vertices)
        assert turn.matrix is not None
        return turn.mean, turn.matrix, np.array([turn.rank, change(total, before, turn, n_vertices)])

    mean, matrix, numbers = mesh.lead(decide, found.rows, found.gram, found.across)
    return Turn(mean, matrix, int(numbers[0]), is_narrow=True), float(numbers[1])
