"""The vertices that a report draws, and their vectors before and after alignment; no others are read."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from parge.decompose.decomposition import Decomposition
from parge.reconcile.base import Map
from parge.seeds import keyed_rng
from parge.storage import release_pages
from parge.typing import BoolArray, FloatArray, IntArray

# As many dots as a picture of a few hundred pixels can show, and as can be laid out in a few seconds.
MOST_VERTICES = 2_000

# An anchor is drawn once a subgraph, and its copies are joined: with more than some hundred lines nobody sees any.
_MOST_ANCHORS, _MOST_COPIES, _FEWEST_ANCHORS = 60, 320, 8


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to draw: a non-anchor has one row, an anchor one row per subgraph."""

    vertices: IntArray  # (n_sampled,): the vertices, ascending
    place: IntArray  # (n_rows,): which of `vertices` each row belongs to
    part: IntArray  # (n_rows,): the part that computed the vector
    is_copy: BoolArray  # (n_rows,): whether the vertex is an anchor
    # (n_rows, dim): local vectors as computed, and in the common space.
    before: FloatArray = field(repr=False)
    after: FloatArray = field(repr=False)


def draw_sample(decomposition: Decomposition, local: Sequence[FloatArray], maps: Sequence[Map]) -> Sample:
    """Sample at most `MOST_VERTICES` vertices, anchors included, the same ones on every call, and read only their rows.

    Only the pages with sampled rows of memory maps are read.
    """
    anchors = _some(decomposition.anchors, _anchor_quota(decomposition.n_parts))
    own = _some(np.flatnonzero(~decomposition.is_anchor), MOST_VERTICES - anchors.size)
    vertices = np.sort(np.concatenate([anchors, own]))
    place, part, before, after = [], [], [], []
    for i, (vectors, apply) in enumerate(zip(local, maps, strict=True)):
        members = own[decomposition.part[own] == i]
        mine = decomposition.own(i)
        rows = [np.searchsorted(mine, members), mine.size + np.searchsorted(decomposition.anchors, anchors)]
        read = np.asarray(vectors[np.concatenate(rows)])
        release_pages(vectors)
        place.append(np.searchsorted(vertices, np.concatenate([members, anchors])))
        part.append(np.full(len(read), i))
        before.append(read)
        after.append(apply(read))
    places = np.concatenate(place)
    order = np.argsort(places, kind="stable")  # by vertex, so that no part is always painted last
    return Sample(
        vertices=vertices,
        place=places[order],
        part=np.concatenate(part)[order],
        is_copy=decomposition.is_anchor[vertices[places[order]]],
        before=np.concatenate(before)[order],
        after=np.concatenate(after)[order],
    )


def sample_rows(vectors: FloatArray) -> Sample:
    """Sample rows of vectors whose parts are not known, the same ones on every call."""
    chosen = _some(np.arange(len(vectors)), MOST_VERTICES)
    rows, zeros = np.asarray(vectors[chosen], np.float32), np.zeros(chosen.size, np.int64)
    return Sample(chosen, np.arange(chosen.size), zeros, np.zeros(chosen.size, np.bool_), rows, rows)


def _anchor_quota(n_parts: int) -> int:
    if n_parts < 2:
        return MOST_VERTICES  # one space: there is nothing to join, and anchors, if any, are vertices like others
    return min(_MOST_ANCHORS, max(_FEWEST_ANCHORS, _MOST_COPIES // n_parts), MOST_VERTICES)


def _some(vertices: IntArray, n_wanted: int) -> IntArray:
    if vertices.size <= n_wanted:
        return vertices
    return np.sort(keyed_rng(0, "report sample", vertices.size).choice(vertices, n_wanted, replace=False))
