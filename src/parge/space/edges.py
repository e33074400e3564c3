"""The edges of a space after others were added and removed, built one block of rows at a time."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.space.learned import row_sums, weights_at
from parge.storage import MEMORY, Storage, arc_blocks, release_pages
from parge.typing import IntArray

# Entries of rows that are looked at together.
_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Arcs:
    """Edges by row numbers, each in both directions, ascending by source and target."""

    source: IntArray
    target: IntArray
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, graph: Graph, row: IntArray) -> "Arcs":
        """Return the edges of a graph whose vertices have these rows; those with a vertex of row -1 are left out."""
        source = row[np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))]
        target, weights = row[graph.indices], weights_at(graph, np.arange(graph.indices.size))
        known = np.flatnonzero((source >= 0) & (target >= 0))
        order = known[np.lexsort((target[known], source[known]))]
        return cls(source[order], target[order], weights[order])

    def within(self, first: int, last: int) -> "Arcs":
        """Return those from the rows `first` to `last`, the latter left out."""
        some = slice(*np.searchsorted(self.source, [first, last]).tolist())
        return Arcs(self.source[some], self.target[some], self.weights[some])


NO_ARCS = Arcs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True, eq=False)
class Changed:
    """A graph after a change, and what changed."""

    graph: Graph
    # Edges that were not there before, and that were.
    added: int
    removed: int
    reweighted: int  # edges that were there with another weight
    missing: int  # edges that were to be removed, and were not there
    # (n_vertices,); weight of each vertex's edges: of those that stayed, of all before and of all now.
    kept: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]


def change(graph: Graph, n_vertices: int, added: Arcs, removed: Arcs, storage: Storage = MEMORY) -> Changed:
    """Return a graph with edges removed, then others added; an edge that is there already gets the new weight.

    New vertices have the last numbers, up to `n_vertices`. `storage` is where the new rows go.
    """
    grown = np.concatenate([graph.indptr, np.full(n_vertices - graph.n_vertices, graph.indptr[-1], np.int64)])
    is_weighted = graph.weights is not None or bool((added.weights != 1).any())
    dtype = graph.indices.dtype if n_vertices <= np.iinfo(graph.indices.dtype).max else np.dtype(np.int64)
    most = graph.indices.size + added.target.size
    neighbours = storage.zeros(most, dtype)
    weights = storage.zeros(most, np.float32) if is_weighted else None
    counts, done = np.zeros(n_vertices, np.int64), 0
    kept, before, after = (np.zeros(n_vertices) for _ in range(3))
    tally = np.zeros(4, np.int64)
    for first, last in arc_blocks(grown, _ENTRIES):
        block = _block(graph, grown, first, last, added.within(first, last), removed.within(first, last), n_vertices)
        rows = slice(first, last)
        counts[rows], kept[rows], before[rows], after[rows] = block.counts, block.kept, block.before, block.after
        some = slice(done, done + block.target.size)
        neighbours[some] = block.target
        if weights is not None:
            weights[some] = block.weights
        done = some.stop
        tally += block.tally
        release_pages(graph.indices, graph.weights, neighbours, weights)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    found = Graph(indptr, neighbours[:done], None if weights is None else weights[:done])
    n_added, n_removed, n_reweighted, n_missing = (tally // 2).tolist()
    return Changed(found, n_added, n_removed, n_reweighted, n_missing, kept, before, after)


@dataclass(frozen=True, eq=False)
class _Block:
    counts: IntArray
    target: IntArray
    weights: NDArray[np.float64]
    kept: NDArray[np.float64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    tally: IntArray
    """Arcs added, removed, given another weight, and missing."""


def _block(
    graph: Graph, indptr: IntArray, first: int, last: int, added: Arcs, removed: Arcs, n_vertices: int
) -> _Block:
    """Return some rows after the change. Keys ascend with rows and neighbours, so all is found by bisection."""
    offsets = indptr[first : last + 1]
    some = np.arange(offsets[0], offsets[-1])
    row = np.repeat(np.arange(last - first), np.diff(offsets))
    keys, weights = row * n_vertices + graph.indices[some], weights_at(graph, some)
    gone, n_gone = _found(keys, (removed.source - first) * n_vertices + removed.target)
    old, old_weights = keys[~gone], weights[~gone]
    given = (added.source - first) * n_vertices + added.target
    place = np.minimum(np.searchsorted(old, given), max(0, old.size - 1))
    there = (old[place] == given) if old.size else np.zeros(given.size, np.bool_)
    other = there & (old_weights[place] != added.weights) if old.size else there
    old_weights = old_weights.copy()
    stays = np.ones(old.size, np.bool_)
    stays[place[other]] = False
    kept = _rows(old[stays], old_weights[stays], last - first, n_vertices)
    old_weights[place[other]] = added.weights[other]
    now = np.concatenate([old, given[~there]])
    order = np.argsort(now, kind="stable")
    now, now_weights = now[order], np.concatenate([old_weights, added.weights[~there]])[order]
    counts = np.bincount(now // n_vertices, minlength=last - first)
    tally = np.array([(~there).sum(), n_gone, other.sum(), removed.source.size - n_gone])
    return _Block(
        counts,
        now % n_vertices,
        now_weights,
        kept,
        row_sums(weights, offsets - offsets[0]),
        _rows(now, now_weights, last - first, n_vertices),
        tally,
    )


def lacking(graph: Graph, source: IntArray, target: IntArray) -> IntArray:
    """Return the places of those edges, given by row numbers, that a graph lacks; all with a row of -1 are."""
    n = graph.n_vertices
    order = np.argsort(source, kind="stable")
    is_there = np.zeros(source.size, np.bool_)
    for first, last in arc_blocks(graph.indptr, _ENTRIES):
        some = order[slice(*np.searchsorted(source[order], [first, last]).tolist())]
        offsets = graph.indptr[first : last + 1]
        row = np.repeat(np.arange(last - first), np.diff(offsets))
        keys = row * n + graph.indices[offsets[0] : offsets[-1]]
        if keys.size:
            wanted = (source[some] - first) * n + target[some]
            is_there[some] = keys[np.minimum(np.searchsorted(keys, wanted), keys.size - 1)] == wanted
        release_pages(graph.indices)
    return np.flatnonzero(~is_there | (target < 0))


def _found(keys: IntArray, wanted: IntArray) -> tuple[NDArray[np.bool_], int]:
    """Return which of the ascending keys are wanted, and how many of the wanted were found."""
    found = np.zeros(keys.size, np.bool_)
    if keys.size:
        place = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
        found[place[keys[place] == wanted]] = True
    return found, int(found.sum())


def _rows(keys: IntArray, weights: NDArray[np.float64], n_rows: int, n_vertices: int) -> NDArray[np.float64]:
    return np.bincount(keys // n_vertices, weights, minlength=n_rows).astype(np.float64)
