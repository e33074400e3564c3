"""What a space still tells of its graph: communities of the graph as it is now stand in for labels.

A part of the graph is cut into groups of vertices with many edges within, by a partitioner that sees no vectors.
A linear classifier of one half of the vertices names the groups of the other half: once from the space's vectors, once
from a copy of them after two whitened rounds over the graph as it is now, which is near to what a fresh embedding would
tell. What the vectors tell less than the copy is lost. Nothing is embedded.

A vertex counts by how clearly its neighbours are of one group: others are where they are by chance, and no label
follows them. Of a large graph a part is looked at. Walks find it, so it has too many hubs, and what is lost is lost at
small vertices first: new ones have few edges. Half of the part are therefore vertices drawn from all those whose edges
lead to what the walks met, and each counts for all vertices with about its degree.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from parge.graph.graph import Graph
from parge.graph.sample import connected_sample
from parge.graph.subgraph import induce
from parge.linalg.adjacency import Adjacency
from parge.linalg.tall import unit
from parge.linalg.threads import one_blas_thread
from parge.linalg.whitening import whitened_rounds
from parge.seeds import keyed_rng
from parge.space.learned import row_sums
from parge.storage import arc_blocks, release_pages, row_blocks, usable_cores
from parge.typing import BoolArray, FloatArray, IntArray, Matrix

# Vertices that are looked at, at most and at least; groups that they are cut into at least, vertices of a group in
# larger parts, and how often all are cut, again each time. Where labels had 250 vertices each, 8 groups of 2,000 saw a
# seventh of the loss, and groups of 750 a half (`make bench-space ONLY=large`).
_LOOKED_AT, _FEWEST, _GROUPS, _GROUP, _CUTS = 32_000, 128, 8, 750, 3

# A vertex may be drawn where walks met such a share of its neighbours: else its part of the graph is not looked at.
_MET = 0.5

# A group may hold this many times its share: communities differ in size.
_ROOM = 1.5

# Rounds of the copy: as many as a pass of placing has. After more, the copy tells edges that labels do not follow.
_ROUNDS = 2

# Entries of rows, and vertices, that are looked at together.
_ENTRIES, _AT_ONCE = 1 << 20, 1 << 12

# Of the classifier's ridge, of the mean of the squares.
_RIDGE = 0.03


@dataclass(frozen=True)
class CommunityFit:
    """How much vectors tell of the communities of their graph, as a share of what a copy of them tells."""

    share: float = 1.0  # 1: as much. 0: no more than chance. It may exceed 1
    error: float = 0.0  # standard error
    # Vertices that were asked for, times the square of what the copy tells of them: near 0, the share says nothing. Of
    # a part in which they do not count alike: as many as would say as much if they did.
    weight: float = 0.0

    def beyond_error(self) -> float:
        """Return the share, drawn toward 1 by twice its error, and at least .05.

        >>> CommunityFit(0.75, 0.0625).beyond_error(), CommunityFit(0.99, 0.02).beyond_error()
        (0.875, 1.0)
        """
        apart = self.share - 1.0
        return max(0.05, 1.0 + float(np.copysign(max(0.0, abs(apart) - 2 * self.error), apart)))


def measure_communities(vectors: FloatArray, graph: Graph) -> CommunityFit:
    """Look at a part of the graph; the same one for the same graph.

    Vectors may be a memory map: rows of the part alone are read.
    """
    some = _part(graph, keyed_rng(0, "communities")) if graph.n_edges else np.zeros(0, np.int64)
    if some.size < _FEWEST:
        return CommunityFit()
    part = induce(graph, some, np.zeros(0, np.int64)).graph
    rows: FloatArray = unit(np.array(vectors[some], np.float32))
    release_pages(vectors, graph.indices, graph.weights)
    count = max(_GROUPS, round(some.size / _GROUP))
    groups = np.stack([_groups(part, count, cut) for cut in range(_CUTS)])
    stands_for, chance = _stands_for(graph.degrees, some), 1 / count
    clear = stands_for * np.stack([_clearness(part, count, group) for group in groups])
    if not clear.any():
        return CommunityFit()
    with one_blas_thread():
        both = (_named(X, count, groups) for X in (rows, _after_rounds(part, rows)))
        now, copy = (clear * (named - chance) / (1 - chance) for named in both)
    named = float(copy.sum() / clear.sum())
    if named <= 0:
        return CommunityFit()
    share = float(now.sum() / copy.sum())
    error = float(np.linalg.norm((now - share * copy).sum(axis=0)) / copy.sum())
    return CommunityFit(share, error, float(stands_for.sum() ** 2 / (stands_for**2).sum()) * named**2)


def _part(graph: Graph, rng: np.random.Generator) -> IntArray:
    """Return vertices with edges, ascending: all, or those that walks meet and as many that hang on these."""
    if np.count_nonzero(graph.degrees) <= _LOOKED_AT:
        return np.flatnonzero(graph.degrees)
    met = connected_sample(graph, _LOOKED_AT // 2, rng)
    is_met = np.zeros(graph.n_vertices, np.bool_)
    is_met[met] = True
    into = np.zeros(graph.n_vertices)
    for first, last in arc_blocks(graph.indptr, _ENTRIES):
        some = slice(*graph.indptr[[first, last]].tolist())
        into[first:last] = row_sums(
            is_met[graph.indices[some]].astype(np.float64), graph.indptr[first : last + 1] - some.start
        )
        release_pages(graph.indices)
    near = np.flatnonzero(~is_met & (graph.degrees > 0) & (into >= _MET * graph.degrees))
    return np.sort(np.concatenate([met, rng.permutation(near)[: _LOOKED_AT - met.size]]))


def _stands_for(degrees: IntArray, some: IntArray) -> Matrix:
    """Return how many vertices each one of the part stands for, 1 on average: degrees count by their power of two.

    >>> _stands_for(np.array([1, 1, 1, 1, 5, 6]), np.array([0, 4, 5])).tolist()
    [2.0, 0.5, 0.5]
    """
    kind = np.frexp(degrees.astype(np.float64))[1]
    all_of, here = (np.bincount(kinds) for kinds in (kind[degrees > 0], kind[some]))
    counts = (all_of[: here.size] / np.maximum(here, 1))[kind[some]]
    return np.asarray(counts / counts.mean())


def _groups(graph: Graph, count: int, cut: int) -> IntArray:
    """Cut a graph into groups."""
    from parge.decompose.partitioners import Problem, partitioner_named

    each = np.ones(graph.n_vertices, np.int64)
    limits = np.full(count, int(np.ceil(_ROOM * graph.n_vertices / count)), np.int64)
    problem = Problem(graph.indptr, graph.indices, each, limits, each, seed=cut, quick=True)
    return partitioner_named("kaminpar").split(problem).astype(np.int64)


def _clearness(graph: Graph, count: int, group: IntArray) -> Matrix:
    """Return the share of each vertex's edges that lead to the group most of them lead to, less that of the next."""
    row = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    counts = np.bincount(row * count + group[graph.indices], minlength=graph.n_vertices * count)
    highest = np.sort(counts.reshape(-1, count), axis=1)[:, -2:]
    return np.asarray((highest[:, -1] - highest[:, 0]) / np.maximum(np.diff(graph.indptr), 1))


def _after_rounds(graph: Graph, rows: FloatArray) -> FloatArray:
    copy, scratch = rows.copy(), np.empty_like(rows)
    A, _ = Adjacency(graph, usable_cores()).moderate()
    whitened_rounds(A, copy, scratch, [slice(None)], rounds=_ROUNDS, tolerance=0.0)
    return copy


def _named(rows: FloatArray, count: int, groups: IntArray) -> Matrix:
    """Return 1 where a classifier of the other half names a vertex's group, 0 elsewhere, (n_cuts, n_vertices)."""
    half: BoolArray = keyed_rng(0, "halves").permutation(len(rows)) % 2 == 0
    found = np.empty(groups.shape)
    for trained, asked in ((half, ~half), (~half, half)):
        classifier = _classifier(rows, count, groups, np.flatnonzero(trained))
        for some in _blocks(np.flatnonzero(asked)):
            said = (_with_ones(rows[some]) @ classifier).reshape(-1, len(groups), count)
            found[:, some] = groups[:, some] == np.argmax(said, axis=2).T
    return found


def _classifier(rows: FloatArray, count: int, groups: IntArray, trained: IntArray) -> Matrix:
    """Return the ridge regression of some vertices' groups on their rows, (dim + 1, n_cuts * count)."""
    share = np.concatenate([np.bincount(group[trained], minlength=count) for group in groups]) / trained.size
    gram, cross = np.zeros((rows.shape[1] + 1,) * 2), np.zeros((rows.shape[1] + 1, share.size))
    for some in _blocks(trained):
        X = _with_ones(rows[some])
        truth = (groups[:, some].T[:, :, None] == np.arange(count)).reshape(some.size, -1)
        gram += X.T @ X
        cross += X.T @ (truth - share)
    gram[np.diag_indices(len(gram))] += _RIDGE * np.trace(gram) / len(gram)
    return np.asarray(np.linalg.solve(gram, cross))


def _with_ones(rows: FloatArray) -> Matrix:
    return np.hstack([rows, np.ones((len(rows), 1))], dtype=np.float64)


def _blocks(vertices: IntArray) -> Iterator[IntArray]:
    """Yield some vertices after the other: what a classifier sees of them is many times their rows."""
    return (vertices[some] for some in row_blocks(vertices.size, _AT_ONCE))
