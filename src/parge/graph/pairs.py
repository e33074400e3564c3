"""Pairs of vertices: the edges of a graph, each once, and distinct pairs drawn by weight, in communities or across."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.typing import BoolArray, IntArray, NeighbourArray

# Pairs drawn at a time: bounds the memory of drawing (some 200 MB), whatever the number of edges.
_DRAWN_AT_ONCE = 2**20

# Where fewer draws than this are new, there is hardly room left and drawing on would take forever.
_FULL = 0.02

Draw = Callable[[int], IntArray]
"""Draws at most that many keys, repeats included."""


def pair_keys(u: NeighbourArray, v: NeighbourArray, n_vertices: int) -> IntArray:
    """Return one number per pair, the same for both directions: lower end times `n_vertices` plus higher end."""
    return np.minimum(u, v).astype(np.int64) * n_vertices + np.maximum(u, v)


def distinct(draw: Draw, wanted: int, rng: np.random.Generator, known: IntArray) -> IntArray:
    """Add drawn keys to `known` (ascending) until there are `wanted`, or until hardly any draw is new."""
    keys, share = known, 1.0
    while keys.size < wanted and share > _FULL:
        missing = wanted - keys.size
        asked = min(int(1.02 * missing / share) + 64, 4 * missing + 1024)
        sizes = [min(_DRAWN_AT_ONCE, asked - start) for start in range(0, asked, _DRAWN_AT_ONCE)]
        fresh = _ascending(np.concatenate([draw(size) for size in sizes]))
        fresh = fresh[~contains(keys, fresh)]
        share = fresh.size / asked
        if fresh.size > missing:
            fresh = np.delete(fresh, rng.choice(fresh.size, fresh.size - missing, replace=False))
        keys = np.concatenate([keys, fresh])
        keys.sort()
    return keys


def _ascending(keys: IntArray) -> IntArray:
    keys.sort()  # numpy's own `unique` hashes before it sorts: six times slower on 25 M keys
    return keys[np.diff(keys, prepend=-1) > 0]


def contains(keys: IntArray, wanted: IntArray) -> BoolArray:
    """Return which of the wanted are among the ascending keys."""
    if not keys.size:
        return np.zeros(wanted.size, np.bool_)
    return np.asarray(keys[np.minimum(np.searchsorted(keys, wanted), keys.size - 1)] == wanted)


class PairSource:
    """Where pairs of vertices come from: each end is drawn in proportion to its weight.

    Memberships are laid out community by community, so that one cumulative sum over them serves every draw. The first
    end is drawn by a stratified (hence sorted) sweep. The second comes from the stretch of the first one's community,
    which is in the cache by then.

    `indicator` says which vertex is in which community; none, one or several. `weight` are expected degrees, up to a
    common factor; a vertex spends its weight evenly over its communities.
    """

    def __init__(self, indicator: Any, weight: NDArray[np.float64], rng: np.random.Generator) -> None:
        by_community = indicator.tocsc()
        self._indicator, self._rng = indicator, rng
        self.n_vertices = indicator.shape[0]
        self._member: IntArray = by_community.indices.astype(np.int64)
        self._first: IntArray = by_community.indptr.astype(np.int64)
        self._community: IntArray = np.repeat(np.arange(indicator.shape[1]), np.diff(self._first))
        share = weight / np.maximum(1, np.diff(indicator.indptr))
        self._upto = np.cumsum(share[self._member])
        self._upto_vertex = np.cumsum(weight)

    def pairs(self, n_inside: int, n_across: int, known: IntArray | None = None) -> IntArray:
        """Return distinct keys: the `known` ones, and that many more that share and do not share a community.

        Where communities have too few pairs left, the rest is drawn from the whole graph, so the total is reached
        whenever enough pairs exist.
        """
        keys = np.empty(0, np.int64) if known is None else known
        wanted = keys.size + n_inside + n_across
        keys = distinct(self._inside, keys.size + n_inside, self._rng, keys)
        keys = distinct(self._across, keys.size + n_across, self._rng, keys)
        if keys.size < wanted and self.n_vertices * (self.n_vertices - 1) <= 8 * wanted:
            return np.concatenate([keys, self._left_over(wanted - keys.size, keys)])
        return distinct(self._anywhere, wanted, self._rng, keys)

    def _inside(self, count: int) -> IntArray:
        if not self._member.size:
            return np.empty(0, np.int64)
        one = self._spread(self._upto, count)
        first, last = self._first[self._community[one]], self._first[self._community[one] + 1] - 1
        before = np.where(first > 0, self._upto[first - 1], 0.0)
        point = before + self._rng.random(count) * (self._upto[last] - before)
        other = np.clip(np.searchsorted(self._upto, point, "right"), first, last)
        u, v = self._member[one], self._member[other]
        return self._keys(u, v, u != v)

    def _across(self, count: int) -> IntArray:
        u = self._spread(self._upto_vertex, count)
        point = self._rng.random(count) * self._upto_vertex[-1]
        v = np.minimum(np.searchsorted(self._upto_vertex, point, "right"), self.n_vertices - 1)
        common = self._indicator[u].multiply(self._indicator[v]).sum(axis=1)
        return self._keys(u, v, (u != v) & (np.asarray(common).ravel() == 0))

    def _anywhere(self, count: int) -> IntArray:
        u, v = self._rng.integers(self.n_vertices, size=(2, count))
        return self._keys(u, v, u != v)

    def _keys(self, u: IntArray, v: IntArray, keep: BoolArray) -> IntArray:
        return pair_keys(u[keep], v[keep], self.n_vertices)

    def _left_over(self, count: int, keys: IntArray) -> IntArray:
        everything = pair_keys(*np.triu_indices(self.n_vertices, 1), self.n_vertices)
        return self._rng.choice(np.setdiff1d(everything, keys, assume_unique=True), count, replace=False)

    def _spread(self, upto: NDArray[np.float64], count: int) -> IntArray:
        point = (np.arange(count) + self._rng.random(count)) * (upto[-1] / count)
        return np.asarray(np.minimum(np.searchsorted(upto, point, "right"), upto.size - 1), np.int64)


def edges_once(graph: Graph) -> tuple[NeighbourArray, NeighbourArray, Any]:
    """Return every edge once, from its lower to its higher vertex, ascending, and the weights, if any."""
    source = np.repeat(np.arange(graph.n_vertices, dtype=graph.indices.dtype), graph.degrees)
    once = source < graph.indices
    return source[once], graph.indices[once], None if graph.weights is None else graph.weights[once]
