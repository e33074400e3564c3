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

BLOCK = 1 << 16
"""Arcs that are worked on at a time, so that numbers of eight bytes are there for a few of them only."""

# What all shards exchange is sent in slices, at most this many; a slice has at least this many items on some shard.
_MOST_SLICES, _LEAST_SLICE = 32, 1 << 14

NO_TIMES: PartArray = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Owners:
    """Which shard holds which vertex: blocks of consecutive numbers, each on one shard."""

    starts: IntArray  # ascending from 0: the first number of each block
    shards: PartArray  # the shard of each block
    n_vertices: int  # how many vertices there are

    def __call__(self, numbers: NDArray[Any]) -> PartArray:
        """Return the shard of each vertex."""
        return self.shards[np.searchsorted(self.starts, numbers, side="right") - 1]

    @property
    def _sizes(self) -> IntArray:
        return np.diff(self.starts, append=self.n_vertices)

    def slices(self, numbers: NDArray[Any], n_slices: int) -> NDArray[np.uint8]:
        """Return the slice of each vertex: every shard's vertices, ascending, are cut into as many equal runs.

        So what is sent slice after slice arrives everywhere in order, and evenly.

        >>> Owners.even(8, 2).slices(np.arange(8), 2).tolist()
        [0, 0, 1, 1, 0, 0, 1, 1]
        """
        sizes, n_shards = self._sizes, int(self.shards.max(initial=0)) + 1
        held = np.bincount(self.shards, sizes, n_shards).astype(np.int64)
        order = np.argsort(self.shards, kind="stable")
        ahead = np.empty(sizes.size, np.int64)
        ahead[order] = np.cumsum(sizes[order]) - sizes[order]
        ahead -= (np.cumsum(held) - held)[self.shards]
        out = np.empty(numbers.size, np.uint8)
        for some in blocks(numbers.size):
            block = np.searchsorted(self.starts, numbers[some], side="right") - 1
            place = numbers[some] - self.starts[block] + ahead[block]
            out[some] = place * n_slices // held[self.shards[block]]
        return out

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
    def of_blocks(starts: IntArray, shards: PartArray, n_vertices: int) -> "Owners":
        """Return owners of blocks; neighbouring ones of one shard become one.

        >>> Owners.of_blocks(np.array([0, 2, 4]), np.array([1, 1, 0]), 7).starts.tolist()
        [0, 4]
        """
        new = np.diff(shards, prepend=-1) != 0
        return Owners(starts[new], shards[new], n_vertices)

    @staticmethod
    def drawn(n_vertices: int, size: int, rng: np.random.Generator) -> "Owners":
        """Return blocks of any length on any shard: for tests, since nothing may depend on which shard holds what."""
        n_blocks = int(rng.integers(1, max(2, n_vertices + 1)))
        inner = rng.choice(max(1, n_vertices), min(n_blocks - 1, max(0, n_vertices - 1)), replace=False)
        starts = np.unique(np.append(inner, 0)).astype(np.int64)
        return Owners(starts, rng.integers(0, size, starts.size).astype(np.int32), n_vertices)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a shard's own vertices.

    Neighbours are places: own vertices first, then the *ghosts*, which other shards hold. `sends` and `slots` say
    what is sent where, so that a value of a vertex travels without its name.
    """

    names: PartArray  # (n_own,), ascending: numbers of the own vertices in the whole graph
    # Rows; places of neighbours, ascending by number within a row.
    indptr: IntArray
    indices: PartArray
    times: PartArray  # how often each edge counts; of size 0, once
    ghosts: PartArray  # ascending: numbers of the vertices of others that the rows name
    sends: Sequence[PartArray]  # places of own vertices that each shard has as ghosts
    # Places among the ghosts of those that each shard holds, in the same order as it sends them.
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

    @property
    def all_names(self) -> PartArray:
        """Numbers of the own vertices and of the ghosts."""
        return np.concatenate([self.names, self.ghosts])

    @property
    def numbers(self) -> PartArray:
        """The neighbours by their numbers in the whole graph."""
        return self.all_names[self.indices]

    def ghost_values(self, mesh: Mesh, values: NDArray[Any]) -> NDArray[Any]:
        """Send others the values of own vertices; return those of the ghosts."""
        out = np.empty((self.ghosts.size, *values.shape[1:]), values.dtype)
        for slot, (received,) in zip(self.slots, mesh.swap([(values[some],) for some in self.sends]), strict=True):
            out[slot] = received
        return out

    def with_ghosts(self, mesh: Mesh, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of own vertices, and after them those of the ghosts."""
        return np.concatenate([values, self.ghost_values(mesh, values)])

    def update_ghosts(self, mesh: Mesh, changed: BoolArray, *values: NDArray[Any]) -> None:
        """Fill in the ghosts' values after those of some own vertices have changed; `values` have both."""
        out = []
        for some in self.sends:
            new = some[changed[some]]
            out.append((_marks(changed[some]), *(array[new] for array in values)))
        for slot, (marks, *received) in zip(self.slots, mesh.swap(out), strict=True):
            place = self.n_own + slot[_marked(marks, slot.size)]
            for array, new in zip(values, received, strict=True):
                array[place] = new


def _marks(chosen: BoolArray) -> NDArray[Any]:
    """Return places as numbers where they are few, and as a bit for each item otherwise: whatever is shorter."""
    places = np.flatnonzero(chosen).astype(np.int32)
    return places if places.nbytes <= chosen.size // 8 else np.packbits(chosen)


def _marked(marks: NDArray[Any], n_items: int) -> NDArray[Any]:
    """Return the places that `_marks` packed."""
    return np.flatnonzero(np.unpackbits(marks, count=n_items)) if marks.dtype == np.uint8 else marks


def label_type(n_parts: int) -> type[np.int8] | type[np.int16]:
    """Return the smallest type of a part's number, and -1."""
    return np.int8 if n_parts <= np.iinfo(np.int8).max else np.int16


def rows_of(
    mesh: Mesh,
    names: PartArray,
    indptr: IntArray,
    neighbours: PartArray,
    holder: NDArray[Any] | Owners,
    times: PartArray = NO_TIMES,
) -> Rows:
    """Return the rows of a shard, once others know which of its vertices they get.

    `names` are ascending; `holder` says which shard holds each neighbour.
    """
    ghosts = _foreign(names, neighbours)
    indices = np.empty(neighbours.size, np.int32)
    held_by = holder(ghosts) if isinstance(holder, Owners) else np.empty(ghosts.size, holder.dtype)
    for some in blocks(neighbours.size):
        place, own = _places(names, neighbours[some])
        there = np.searchsorted(ghosts, neighbours[some])
        indices[some] = np.where(own, place, names.size + there)
        if not isinstance(holder, Owners):
            held_by[there[~own]] = holder[some][~own]
    slots = [np.flatnonzero(held_by == t).astype(np.int32) for t in range(mesh.size)]
    asked = mesh.swap([(ghosts[slot],) for slot in slots])
    sends = [places_of(names, wanted).astype(np.int32) for (wanted,) in asked]
    return Rows(names, indptr, indices, times, ghosts, sends, slots)


def blocks(n_items: int) -> Iterator[slice]:
    """Yield slices of `BLOCK` items."""
    return (slice(start, start + BLOCK) for start in range(0, n_items, BLOCK))


def slices_for(mesh: Mesh, n_items: int) -> int:
    """Return in how many slices shards that hold that many items exchange them: the same number on all shards."""
    most = max(int(found[0][0]) for found in mesh.share(np.array([n_items])))
    return min(_MOST_SLICES, max(1, -(-most // _LEAST_SLICE)))


def joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Return all pieces as one array; each is let go when it has been copied.

    >>> joined([np.array([1, 2]), np.array([3])]).tolist()
    [1, 2, 3]
    """
    out, end = np.empty(sum(piece.size for piece in pieces), pieces[0].dtype), 0
    pieces.reverse()
    while pieces:
        piece = pieces.pop()
        out[end : end + piece.size] = piece
        end += piece.size
    return out


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
    """Return the different neighbours that are not among the names, ascending; those of some numbers at a time."""
    n_runs = min(_MOST_SLICES, max(1, -(-neighbours.size // _LEAST_SLICE)))
    last = max((int(neighbours[some].max()) for some in blocks(neighbours.size)), default=0)
    found = [np.zeros(0, np.int32)]
    for run in range(n_runs):
        low, high = ((last + 1) * end // n_runs for end in (run, run + 1))
        here = [np.zeros(0, np.int32)]
        for some in blocks(neighbours.size):
            near = neighbours[some]
            here.append(near[(near >= low) & (near < high)])
        different = np.unique(np.concatenate(here))
        found.append(different[~_places(names, different)[1]].astype(np.int32))
    return joined(found)


def offsets_of(places: NDArray[Any], n_rows: int) -> IntArray:
    """Return row offsets from the row of each entry.

    >>> offsets_of(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n_rows))]).astype(np.int64)
