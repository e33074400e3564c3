"""Rows: the part of a graph that one shard holds, and what it knows of vertices that others hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.cluster.mesh import Mesh
from parge.run.arrays import DamagedError
from parge.typing import BoolArray, IntArray, PartArray

MOST_VERTICES = 2**31 - 1
"""Vertex numbers take four bytes."""

BLOCK = 1 << 20
"""Arcs that are worked on at a time, so that numbers of eight bytes are there for a few of them only."""

NO_TIMES: PartArray = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Owners:
    """Which shard holds which vertex: blocks of consecutive numbers, each on one shard.

    Parameters
    ----------
    starts : int64, ascending from 0
        The first number of each block.
    shards : int32
        The shard of each block.
    n_vertices : int
        How many vertices there are.
    """

    starts: IntArray
    shards: PartArray
    n_vertices: int

    def __call__(self, numbers: NDArray[Any]) -> PartArray:
        """Return the shard of each vertex."""
        return self.shards[np.searchsorted(self.starts, numbers, side="right") - 1]

    def count(self, rank: int) -> int:
        """Return how many vertices a shard holds."""
        return int(np.diff(self.starts, append=self.n_vertices)[self.shards == rank].sum())

    def held(self, rank: int) -> PartArray:
        """Return the numbers of a shard's vertices, ascending."""
        ends = np.append(self.starts[1:], self.n_vertices)
        mine = np.flatnonzero(self.shards == rank)
        runs = [np.arange(self.starts[i], ends[i], dtype=np.int32) for i in mine]
        return np.concatenate([np.zeros(0, np.int32), *runs])

    @staticmethod
    def even(n_vertices: int, size: int) -> "Owners":
        """Return one block a shard, all as long.

        >>> Owners.even(7, 3).starts.tolist()
        [0, 2, 4]
        """
        starts = np.array([n_vertices * rank // size for rank in range(size)], np.int64)
        return Owners(starts, np.arange(size, dtype=np.int32), n_vertices)

    @staticmethod
    def drawn(n_vertices: int, size: int, rng: np.random.Generator) -> "Owners":
        """Return blocks of any length on any shard: for tests, since nothing may depend on who holds what."""
        n_blocks = int(rng.integers(1, max(2, n_vertices + 1)))
        inner = rng.choice(max(1, n_vertices), min(n_blocks - 1, max(0, n_vertices - 1)), replace=False)
        starts = np.unique(np.append(inner, 0)).astype(np.int64)
        return Owners(starts, rng.integers(0, size, starts.size).astype(np.int32), n_vertices)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a shard's own vertices.

    Neighbours are places: own vertices first, then the *ghosts*, which other shards hold. `sends` and `slots` say
    what is told whom, so that a value of a vertex travels without its name.

    Parameters
    ----------
    names : (n_own,) int32, ascending
        Numbers of the own vertices in the whole graph.
    indptr, indices : CSR
        Rows; places of neighbours, ascending by number within a row.
    times : int32
        How often each edge counts; of size 0, once.
    ghosts : int32, ascending
        Numbers of the vertices of others that the rows name.
    sends : sequence of int32 arrays
        Places of own vertices that each shard has as ghosts.
    slots : sequence of int32 arrays
        Places among the ghosts of those that each shard holds, in the same order as it sends them.
    """

    names: PartArray
    indptr: IntArray
    indices: PartArray
    times: PartArray
    ghosts: PartArray
    sends: Sequence[PartArray]
    slots: Sequence[PartArray]

    @property
    def n_own(self) -> int:
        """How many vertices this shard holds."""
        return self.names.size

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        arrays: list[NDArray[Any]] = [self.names, self.indptr, self.indices, self.times, self.ghosts]
        return sum(array.nbytes for array in [*arrays, *self.sends, *self.slots])

    @property
    def degrees(self) -> IntArray:
        """How many neighbours each own vertex has."""
        return np.diff(self.indptr)

    def blocks(self) -> Iterator[tuple[slice, slice]]:
        """Yield some rows and their arcs at a time: as many as a block has, or one row that has more."""
        start = 0
        while start < self.n_own:
            stop = int(np.searchsorted(self.indptr, self.indptr[start] + BLOCK, side="right")) - 1
            stop = min(self.n_own, max(start + 1, stop))
            yield slice(start, stop), slice(int(self.indptr[start]), int(self.indptr[stop]))
            start = stop

    @property
    def all_names(self) -> PartArray:
        """Numbers of the own vertices and of the ghosts."""
        return np.concatenate([self.names, self.ghosts])

    @property
    def numbers(self) -> PartArray:
        """The neighbours by their numbers in the whole graph."""
        return self.all_names[self.indices]

    def ghost_values(self, mesh: Mesh, values: NDArray[Any]) -> NDArray[Any]:
        """Tell others the values of own vertices; return those of the ghosts."""
        out = np.empty((self.ghosts.size, *values.shape[1:]), values.dtype)
        for slot, (received,) in zip(self.slots, mesh.swap([(values[some],) for some in self.sends]), strict=True):
            out[slot] = received
        return out

    def with_ghosts(self, mesh: Mesh, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of own vertices, and after them those of the ghosts."""
        return np.concatenate([values, self.ghost_values(mesh, values)])

    def update_ghosts(self, mesh: Mesh, values: NDArray[Any], changed: NDArray[np.bool_]) -> None:
        """Fill in the ghosts' values after some of the own ones have changed; `values` has both."""
        out = []
        for some in self.sends:
            new = np.flatnonzero(changed[some]).astype(np.int32)
            out.append((new, values[some[new]]))
        for slot, (new, received) in zip(self.slots, mesh.swap(out), strict=True):
            values[self.n_own + slot[new]] = received


def rows_of(
    mesh: Mesh,
    names: PartArray,
    indptr: IntArray,
    neighbours: PartArray,
    holder: NDArray[Any] | Owners,
    times: PartArray = NO_TIMES,
) -> Rows:
    """Return the rows of a shard, once others know which of its vertices they are told of.

    Parameters
    ----------
    names, indptr, neighbours : arrays
        Own vertices, ascending, and their neighbours by number.
    holder : Owners, or (neighbours.size,) array
        The shard that holds each neighbour.
    """
    ghosts = _foreign(names, neighbours)
    indices = np.empty(neighbours.size, np.int32)
    held_by = holder(ghosts) if isinstance(holder, Owners) else np.empty(ghosts.size, holder.dtype)
    for some in _blocks(neighbours.size):
        place, own = _places(names, neighbours[some])
        there = np.searchsorted(ghosts, neighbours[some])
        indices[some] = np.where(own, place, names.size + there)
        if not isinstance(holder, Owners):
            held_by[there[~own]] = holder[some][~own]
    slots = [np.flatnonzero(held_by == t).astype(np.int32) for t in range(mesh.size)]
    asked = mesh.swap([(ghosts[slot],) for slot in slots])
    sends = [places_of(names, wanted).astype(np.int32) for (wanted,) in asked]
    return Rows(names, indptr, indices, times, ghosts, sends, slots)


def _blocks(n_arcs: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, n_arcs, BLOCK))


def _places(names: PartArray, numbers: PartArray) -> tuple[IntArray, BoolArray]:
    """Return where numbers are among ascending names, and whether they are there at all."""
    place = np.searchsorted(names, numbers)
    if not names.size:
        return place, np.zeros(numbers.size, np.bool_)
    return place, np.asarray(names[np.minimum(place, names.size - 1)] == numbers)


def places_of(names: PartArray, wanted: PartArray) -> IntArray:
    """Return where wanted numbers are among ascending names; where one is not, files of other runs were mixed."""
    place, is_there = _places(names, wanted)
    if not is_there.all():
        raise DamagedError(
            "a shard names a vertex that the other shard does not have: their files are not of one run. Start the run "
            "again in another folder."
        )
    return place


def _foreign(names: PartArray, neighbours: PartArray) -> PartArray:
    """Return the different neighbours that are not among the names, ascending."""
    found = [np.zeros(0, np.int32)]
    for some in _blocks(neighbours.size):
        _, own = _places(names, neighbours[some])
        found.append(np.unique(neighbours[some][~own]))
    return np.unique(np.concatenate(found)).astype(np.int32)


def offsets_of(places: NDArray[Any], n_rows: int) -> IntArray:
    """Return row offsets from the row of each entry.

    >>> offsets_of(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n_rows))]).astype(np.int64)
