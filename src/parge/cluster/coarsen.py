"""Small groups of neighbouring vertices, found and merged by all shards together."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.cluster.mesh import Mesh, Message, column
from parge.cluster.rows import Owners, Rows, joined, slices_for
from parge.kernels import labels
from parge.kernels.splitmix import item_keys
from parge.reconcile.merge import stretches
from parge.typing import BoolArray, IntArray, PartArray

# Rounds of labels, each in two halves: were all vertices to move at once, neighbours would change places for ever
# (a sparse graph then stayed at 15,773 groups, and the cut was .573 instead of .488 on a dense one).
_ROUNDS, _HALVES = 5, 2

# Vertices without any edge are packed with others whose numbers are near: this many together at the first level, and
# this many times as many at each further one.
_NEAR_NUMBERS = 1024

_HALF, _TIES, _ORDER = 1, 2, 3  # what hashes are for


@dataclass(frozen=True, eq=False)
class Level:
    """A graph in shards, and what its vertices weigh."""

    rows: Rows
    weights: IntArray


class Merged(NamedTuple):
    """The graph of groups: their names, ascending; neighbours by number; how often edges count; what groups weigh."""

    names: PartArray
    indptr: IntArray
    indices: PartArray
    times: PartArray
    loads: IntArray


def hashes(purpose: int, turn: int, numbers: PartArray) -> IntArray:
    """Return a hash of each number, not negative."""
    return (item_keys(np.uint64(purpose), turn, numbers) >> np.uint64(1)).astype(np.int64)


def groups(mesh: Mesh, owners: Owners, level: Level, most: int, depth: int) -> tuple[PartArray, IntArray]:
    """Return the group of each own vertex, named by a number, and the weight of the groups named as own vertices.

    No group weighs more than `most`, unless one vertex does. A vertex asks the group to which most of its edges lead;
    the shard that holds the vertex of that name grants what fits, strongest first.
    """
    state = _Groups(mesh, owners, level, most)
    for turn in range(_ROUNDS):
        half = hashes(_HALF, turn, level.rows.names) % _HALVES
        moved = sum(state.spread(half == side, turn) for side in range(_HALVES))
        if moved == 0:
            break
    state.pack(min(_NEAR_NUMBERS ** (depth + 1), np.iinfo(np.int32).max))  # beyond it all numbers are near
    return state.label[: level.rows.n_own], state.loads


class _Groups:
    """The labels of vertices, and what the groups weigh that bear the number of an own vertex."""

    def __init__(self, mesh: Mesh, owners: Owners, level: Level, most: int) -> None:
        self.mesh, self.owners, self.rows, self.weights, self.most = mesh, owners, level.rows, level.weights, most
        self.label = level.rows.all_names.copy()
        self.loads = level.weights.copy()
        self.avoid = np.full(level.rows.n_own, -1, np.int32)

    def favourites(self, active: BoolArray, turn: int, *, any_will_do: bool = False) -> tuple[PartArray, IntArray]:
        """Return the label that each active vertex would have, or -1, and how many edges lead there."""
        rows = self.rows
        wish, strength = np.empty(rows.n_own, np.int32), np.empty(rows.n_own, np.int64)
        salt = item_keys(np.uint64(_TIES), turn, np.zeros(1, np.int64))[0]
        labels.favourite_labels(
            rows.indptr, rows.indices, rows.times, self.label, active, self.avoid, salt, any_will_do, wish, strength
        )
        return wish, strength

    def spread(self, active: BoolArray, turn: int) -> int:
        """Let vertices join the group that they prefer, as far as it has room; return how many did, of all shards."""
        wish, strength = self.favourites(active, turn)
        askers = np.flatnonzero(wish >= 0)
        granted = self._granted(askers, wish[askers], strength[askers])
        self.avoid[askers[~granted]] = wish[askers[~granted]]
        movers = askers[granted]
        self._relabel(movers, wish[movers])
        return self.mesh.count(movers.size)

    def _granted(self, askers: IntArray, wish: PartArray, strength: IntArray) -> BoolArray:
        """Ask the shards that hold the groups; return which vertices may join."""
        to = self.owners(wish)
        found = self.mesh.deal(to, wish, self.rows.names[askers], self.weights[askers], strength)
        group, name, weight, strong = (column(found, place) for place in range(4))
        place = np.searchsorted(self.rows.names, group)
        rank = np.lexsort((hashes(_ORDER, 0, name), -strong, group))
        ahead = np.cumsum(weight[rank])
        first = np.ones(rank.size, np.bool_)
        first[1:] = group[rank][1:] != group[rank][:-1]
        before = np.maximum.accumulate(np.where(first, ahead - weight[rank], 0))
        fits = np.empty(rank.size, np.bool_)
        fits[rank] = self.loads[place[rank]] + ahead - before <= self.most
        np.add.at(self.loads, place[fits], weight[fits])
        return self._replies(to, found, fits)

    def _replies(self, to: PartArray, found: list[Message], answers: NDArray[Any]) -> NDArray[Any]:
        """Send the answers to what was dealt back to those who asked; return those to what was asked of `to`."""
        ends = np.cumsum([message[0].size for message in found])[:-1]
        replies = column(self.mesh.swap([(some,) for some in np.split(answers, ends)]), 0)
        out = np.empty_like(replies)
        out[np.argsort(to, kind="stable")] = replies
        return out

    def _relabel(self, movers: IntArray, new: PartArray) -> None:
        """Give vertices a new label: the shards that hold their old groups take what they weigh off."""
        old = self.label[movers]
        found = self.mesh.deal(self.owners(old), old, self.weights[movers])
        np.subtract.at(self.loads, np.searchsorted(self.rows.names, column(found, 0)), column(found, 1))
        self.label[movers] = new
        changed = np.zeros(self.rows.n_own, np.bool_)
        changed[movers] = True
        self.rows.update_ghosts(self.mesh, changed, self.label)

    def pack(self, near: int) -> None:
        """Merge vertices that are alone with others that prefer the same group, such as leaves of one vertex.

        Those without edges are merged with others whose numbers are near.
        """
        n_own, names = self.rows.n_own, self.rows.names
        alone = (self.label[:n_own] == names) & (self.loads == self.weights)
        self.avoid[:] = -1
        wish, _ = self.favourites(alone, 0, any_will_do=True)
        isolated = alone & (self.rows.degrees == 0)
        wish[isolated] = names[isolated] // near * near
        askers = np.flatnonzero(alone & (wish >= 0))
        kind = isolated[askers].astype(np.int64)
        to = self.owners(wish[askers])
        found = self.mesh.deal(to, wish[askers], kind, names[askers], self.weights[askers])
        group, isolates, name, weight = (column(found, place) for place in range(4))
        rank = np.lexsort((hashes(_ORDER, 1, name), isolates, group))
        first = labels.packed((2 * group.astype(np.int64) + isolates)[rank], weight[rank], self.most)
        new = np.empty(rank.size, np.int32)
        new[rank] = name[rank][first]
        answer = self._replies(to, found, new)
        joins = answer != names[askers]
        movers, chosen = askers[joins], answer[joins]
        gains = self.mesh.deal(self.owners(chosen), chosen, self.weights[movers])
        np.add.at(self.loads, np.searchsorted(names, column(gains, 0)), column(gains, 1))
        self._relabel(movers, chosen)


def contract(mesh: Mesh, owners: Owners, level: Level, label: PartArray, loads: IntArray) -> Merged:
    """Return the graph of the groups: each is a vertex of its own name, and edges count as often as their members'.

    The groups of a slice of every shard's vertices at a time.
    """
    rows = level.rows
    everywhere = rows.with_ghosts(mesh, label)
    n_slices = slices_for(mesh, rows.indices.size)
    cell, degrees = owners.slices(label, n_slices), rows.degrees
    names = rows.names[loads > 0]
    sizes: IntArray = np.zeros(names.size, np.int64)
    near, counted = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    for place in range(n_slices):
        some = np.flatnonzero(cell == place)
        arcs = stretches(rows.indptr[some], degrees[some])
        source, target = np.repeat(label[some], degrees[some]), everywhere[rows.indices[arcs]]
        times = rows.times[arcs] if rows.times.size else np.ones(source.size, np.int32)
        del arcs
        key, times = _summed((source.astype(np.int64) << 32) | target, times, source != target)
        found = mesh.deal(owners(key >> 32), key, times)
        key, times = _summed(column(found, 0), column(found, 1))
        sizes += np.bincount(np.searchsorted(names, key >> 32), minlength=names.size)
        near.append((key & 0xFFFFFFFF).astype(np.int32))
        counted.append(times)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return Merged(names, indptr, joined(near), joined(counted), loads[loads > 0])


def _summed(key: IntArray, times: PartArray, some: BoolArray | None = None) -> tuple[IntArray, PartArray]:
    """Return the different keys, ascending, and the sums of their numbers."""
    if some is not None:
        key, times = key[some], times[some]
    order = np.argsort(key, kind="stable")
    key, times = key[order], times[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
    if not first.size:
        return key, times.astype(np.int32)
    return key[first], np.add.reduceat(times, first, dtype=np.int64).astype(np.int32)
