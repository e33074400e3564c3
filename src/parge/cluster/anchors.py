"""Anchors of a graph in shards: thresholds on lost edges instead of one vertex after the other."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from parge.cluster.coarsen import hashes
from parge.cluster.mesh import Mesh
from parge.cluster.rows import Rows
from parge.kernels import cut
from parge.kernels.prices import LEVELS, level_of
from parge.typing import BoolArray, IntArray, PartArray

# Vertices of one level of lost edges are divided by hash, so that few of them can be taken.
_SLICES = 256

# Steps in which at least half of what is left is taken, or the rest where it is so few.
_FEW = 8
_STEPS = 64

_ORDER = 5


def choose_anchors(mesh: Mesh, rows: Rows, part: PartArray, n_anchors: int) -> BoolArray:
    """Return which own vertices are anchors: those with most lost edges, less the edges that other anchors save.

    In each step the vertices above a threshold are candidates, up to half of the anchors that are left. Those stay
    whose lost edges, less the ones to better candidates, are still above it. The greedy choice of one vertex after
    another (`parge.kernels.cut.greedy_cover`) loses as many edges within 1 % on all graphs that both were run on.
    """
    marked = np.zeros(rows.n_own + rows.ghosts.size, np.bool_)
    anchors, everywhere = marked[: rows.n_own], rows.with_ghosts(mesh, part.astype(np.int16))
    left = n_anchors - _by(mesh, rows, marked, n_anchors, lambda: _lost(rows, everywhere, marked), everywhere)
    if left > 0:  # no edge is lost any more: then those with most neighbours
        degrees = rows.degrees
        _by(mesh, rows, marked, left, lambda: np.where(anchors, 0, degrees + 1), None)
    return anchors.copy()


def lost_edges(mesh: Mesh, rows: Rows, part: PartArray, anchors: BoolArray) -> IntArray:
    """Return for each own vertex how many edges lead to another part, edges of anchors left aside."""
    return _lost(rows, rows.with_ghosts(mesh, part.astype(np.int16)), rows.with_ghosts(mesh, anchors))


def _lost(rows: Rows, part: NDArray[np.int16], marked: BoolArray) -> IntArray:
    alone = np.where(marked, np.int16(-1), part)
    found = cut.cut_degrees(rows.indptr, rows.indices, alone).astype(np.int64)
    found -= cut.marked_neighbours(rows.indptr, rows.indices, marked)
    found[marked[: rows.n_own]] = 0
    return found


def _by(
    mesh: Mesh,
    rows: Rows,
    marked: BoolArray,
    wanted: int,
    score: Callable[[], IntArray],
    part: NDArray[np.int16] | None,
) -> int:
    """Mark up to `wanted` vertices with the highest scores, a threshold at a time; return how many.

    `marked` and `part` have the own vertices and the ghosts.
    """
    taken = 0
    for _ in range(_STEPS):
        left = wanted - taken
        scores = score() if left else np.zeros(0, np.int64)
        if left == 0 or mesh.count(int((scores > 0).sum())) == 0:
            break
        least, candidates = _threshold(mesh, rows, scores, left)
        if part is not None:
            candidates = _undisputed(mesh, rows, part, marked, scores, candidates, least)
        new = np.zeros(rows.n_own, np.bool_)
        new[candidates] = True
        marked[candidates] = True
        rows.update_ghosts(mesh, new, marked)
        taken += mesh.count(candidates.size)
    return taken


def _threshold(mesh: Mesh, rows: Rows, scores: IntArray, left: int) -> tuple[int, IntArray]:
    """Return the vertices of the highest levels, no more than are left, and the least score among them."""
    most = left if left <= _FEW else max(_FEW, left // 2)
    some = np.flatnonzero(scores > 0)
    level = np.array([level_of(int(value)) for value in np.unique(scores[some])], np.int64)
    levels = level[np.searchsorted(np.unique(scores[some]), scores[some])] if some.size else np.zeros(0, np.int64)
    hashed = hashes(_ORDER, 0, rows.names[some])
    bins = (LEVELS - 1 - levels) * _SLICES + hashed % _SLICES
    counts = mesh.total(np.bincount(bins, minlength=LEVELS * _SLICES).astype(np.int64))
    ahead = np.cumsum(counts)
    last = int(np.searchsorted(ahead, most, side="right"))  # bins before it are taken whole
    whole = int(ahead[last - 1]) if last else 0
    if whole:
        chosen = some[bins < last]
    else:  # one bin is too many: its first by hash
        first = int(np.flatnonzero(counts)[0])
        here = some[bins == first]
        keys = np.sort(np.concatenate([found[0] for found in mesh.share(hashes(_ORDER, 1, rows.names[here]))]))
        chosen = here[hashes(_ORDER, 1, rows.names[here]) < keys[most]] if keys.size > most else here
    least = min((int(scores[chosen].min()) if chosen.size else np.iinfo(np.int64).max), np.iinfo(np.int64).max)
    return int(min(found[0][0] for found in mesh.share(np.array([least])))), chosen


def _undisputed(
    mesh: Mesh,
    rows: Rows,
    part: NDArray[np.int16],
    marked: BoolArray,
    scores: IntArray,
    candidates: IntArray,
    least: int,
) -> IntArray:
    """Return the candidates that still save that many edges once better candidates are anchors."""
    rank, is_candidate = np.full(marked.size, -1, np.int32), np.zeros(rows.n_own, np.bool_)
    rank[candidates] = scores[candidates]
    is_candidate[candidates] = True
    rows.update_ghosts(mesh, is_candidate, rank)
    saved = cut.saved_alone(rows.indptr, rows.indices, part, marked, rank, rows.all_names, candidates)
    return candidates[saved >= least]
