"""Take new and removed edges into a frozen space: what changed moves, everything else keeps its bits."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.embedding import Embedding
from parge.errors import InputError
from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.pairs import edges_once
from parge.ids import joined, positions, show_ids
from parge.linalg.tall import unit
from parge.linalg.threads import Threads, one_blas_thread
from parge.numbers import check_number
from parge.space.aging import aged
from parge.space.edges import NO_ARCS, Arcs, Changed, change, lacking
from parge.space.frozen import EMBEDDED, MOVED, PLACED, Age, Space, as_edges, as_space, named_notice
from parge.space.learned import entries, inverse, neighbour_means, row_lengths, unit_of, weights_at
from parge.space.moving import Moving, split_rows, still_sums
from parge.space.rehearsal import new_directions
from parge.storage import MEMORY, Storage, release_pages, row_blocks, usable_cores
from parge.typing import BoolArray, FloatArray, IdArray, IntArray

# A vertex moves where its edges changed by more than this share of their weight, in this update and in those before it
# since it last moved.
THRESHOLD = 0.2

# Edges that a message names.
_NAMED = 3


@dataclass(frozen=True, eq=False)
class Updated:
    """A new version of a space, and what changed.

    Parameters
    ----------
    space : Space
        Vertices of the old space first, in their order, then new ones.
    placed, moved : int
        New vertices that were placed, and old ones that moved; all others have the bits that they had.
    unreachable : IdArray
        New vertices at the origin, which no path of edges leads to.
    added, removed, reweighted, missing : int
        Edges: new ones, those removed, those with another weight, and those that were to be removed and were not there.
    seconds : float
    notices : tuple of str
        What to know of the new ids, and that nothing changed.
    """

    space: Space
    placed: int
    moved: int
    unreachable: IdArray = field(repr=False)
    added: int
    removed: int
    reweighted: int
    missing: int
    seconds: float
    notices: tuple[str, ...] = ()

    @property
    def age(self) -> Age:
        """What the space notes of this update: its drift, and in which version that was found."""
        return self.space.history.ages[-1]

    def to_json(self) -> dict[str, Any]:
        """Return the counts, the version, its drift and the seconds."""
        return {
            "vertices": len(self.space),
            "placed": self.placed,
            "moved": self.moved,
            "kept": len(self.space) - self.placed - self.moved - int(self.unreachable.size),
            "unreachable": int(self.unreachable.size),
            "added": self.added,
            "removed": self.removed,
            "reweighted": self.reweighted,
            "missing": self.missing,
            "version": self.space.history.version,
            "drift": self.age.drift,
            "drift_version": self.age.looked_at,
            "seconds": self.seconds,
        }


Vectors = tuple[FloatArray, BoolArray]
"""Vectors of all vertices after an update, and which of the new ones are not at the origin."""


class Steps:
    """Takes the two steps of an update; `parge.run.updates` has one that keeps what they return on disk."""

    def changed(self, make: Callable[[], Changed]) -> Changed:
        """Return the changed edges."""
        return make()

    def moved(self, make: Callable[[], Vectors]) -> Vectors:
        """Return the vectors after the update."""
        return make()


def update(
    space: Space | Embedding,
    edges: Any = None,
    removed: Any = None,
    *,
    threshold: float = THRESHOLD,
    storage: Storage = MEMORY,
    progress: Progress = silent,
    steps: Steps | None = None,
) -> Updated:
    """Return a new version of a space in which edges were added and removed.

    New vertices are placed. Then an old vertex moves where its edges changed by more than the threshold. It moves to
    where the learned round expects it now, plus what was its own before, as far as its edges stayed. All others keep
    their bits. Old vertices move once, by where the others were: rounds among them would end with all vectors alike.
    The new version notes its drift where many edges changed since that was last looked at, else the drift found then:
    `parge.drift` looks now. Command line: ``parge update SPACE EDGES -o OUT``.

    Parameters
    ----------
    space : Space or Embedding
    edges : graph, path, or pairs of ids, optional
        Edges to add; one that is there already gets the weight that it has here.
    removed : graph, path, or pairs of ids, optional
        Edges to remove, before others are added. Their weights do not matter.
    threshold : float
        Weight of changed edges over that of all its edges, before or after, that a vertex bears without moving.
    storage : Storage
        Where edges and vectors go: memory, or files.
    steps : Steps, optional
        What takes the steps; it may keep what they return, or know it already.
    """
    started = time.perf_counter()
    more, less = graphs_of(edges, removed)
    if not any(given is not None and given.n_vertices for given in (more, less)):
        raise InputError("there is nothing to change: give edges to add, or edges to remove.")
    found = changed_space(as_space(space), more, less, threshold, storage, progress, steps or Steps())
    return replace(found, space=aged(found.space), seconds=time.perf_counter() - started)


def graphs_of(*edges: Any) -> list[Graph | None]:
    """Return edges of any kind as graphs; None stays None."""
    return [None if given is None else as_edges(given) for given in edges]


def changed_space(
    space: Space,
    more: Graph | None,
    less: Graph | None,
    threshold: float,
    storage: Storage,
    progress: Progress,
    steps: Steps,
) -> Updated:
    """Do what `update` does, and note neither drift nor time."""
    check_number("threshold", threshold, 0)
    ids, added = _numbered(space, more)
    gone = NO_ARCS if less is None else Arcs.of(less, positions(space.ids, less.outside_ids))
    found = steps.changed(lambda: change(space.graph, ids.size, added, gone, storage))
    missing = found.missing + (0 if less is None else less.n_edges - gone.source.size // 2)
    _refuse_unless(found.graph.n_vertices == ids.size == found.kept.size == found.before.size == found.after.size)
    stale = _stale(space, found)
    moving = np.flatnonzero((stale[: len(space)] > np.float64(threshold)) & (found.after[: len(space)] > 0))
    vectors, reached = steps.moved(lambda: _moved(space, found, moving, storage, progress))
    _refuse_unless(vectors.shape == (ids.size, space.dim) and reached.size == ids.size - len(space))
    stale[moving] = 0.0
    return Updated(
        _grown(space, ids, found, vectors, moving, stale),
        int(reached.sum()),
        moving.size,
        ids[len(space) :][~reached],
        found.added,
        found.removed,
        found.reweighted,
        missing,
        0.0,
        (*named_notice(space, ids[len(space) :]), *_unchanged_notice(space, found)),
    )


def _unchanged_notice(space: Space, found: Changed) -> tuple[str, ...]:
    if found.added or found.removed or found.reweighted or found.graph.n_vertices > len(space):
        return ()
    return ("nothing changed: the space has the edges that were to be added, and lacks those that were to go.",)


def _refuse_unless(fits: bool) -> None:
    if not fits:
        raise InputError("what an update that was stopped had done does not fit the space. Remove its folder.")


def _numbered(space: Space, edges: Graph | None) -> tuple[IdArray, Arcs]:
    """Return all ids, new ones last and ascending, and the edges by row."""
    if edges is None:
        return space.ids, NO_ARCS
    ids, row = grown_ids(space, edges)
    return ids, Arcs.of(edges, row)


def grown_ids(space: Space, edges: Graph) -> tuple[IdArray, IntArray]:
    """Return the ids after an update, new ones last and ascending, and the rows of the edges' vertices among them."""
    row = positions(space.ids, edges.outside_ids)
    new = np.flatnonzero(row < 0)
    if edges.n_vertices and new.size == edges.n_vertices:
        raise InputError(
            f"the space knows none of the vertices of the edges. It has ids such as {show_ids(space.ids)}; the edges "
            f"have {show_ids(edges.outside_ids)}. Check that the ids mean the same vertices."
        )
    row[new] = len(space) + np.arange(new.size)
    return (joined([space.ids, edges.outside_ids[new]]) if new.size else space.ids), row


def unknown_edges(space: Space, edges: Graph) -> str:
    """Name the first edges that a space lacks, as ``a - b``."""
    row = positions(space.ids, edges.outside_ids)
    source, target, _ = edges_once(edges)
    places = lacking(space.graph, row[source], row[target])
    ids = edges.outside_ids
    some = [f"{show_ids(ids[[source[place]]])} - {show_ids(ids[[target[place]]])}" for place in places[:_NAMED]]
    return ", ".join(some) + (f" and {places.size - _NAMED:,} more" if places.size > _NAMED else "")


def _stale(space: Space, found: Changed) -> FloatArray:
    """Return the share of each vertex's edges that changed since it was embedded, placed or moved."""
    most = np.maximum(np.maximum(found.before, found.after), np.finfo(np.float64).tiny)
    share = ((most - found.kept) / most).astype(np.float32)
    share[len(space) :] = 0.0
    share[: len(space)] += space.stale
    return share


def _moved(space: Space, found: Changed, moving: IntArray, storage: Storage, progress: Progress) -> Vectors:
    """Return all vectors: new vertices are placed, then old ones move."""
    vectors, reached = _placed(space, found, storage, progress)
    _shift(space, found, moving, vectors)
    return vectors, reached


def _placed(space: Space, found: Changed, storage: Storage, progress: Progress) -> Vectors:
    """Return all vectors, those of new vertices placed, and which of the new ones are not at the origin."""
    n_old, n = len(space), found.graph.n_vertices
    vectors = storage.zeros(n * space.dim, np.float32).reshape(n, space.dim)
    for rows in row_blocks(n_old):
        vectors[rows] = space.vectors[rows]
        release_pages(space.vectors, vectors)
    new = np.arange(n_old, n)
    if not new.size:
        return vectors, np.zeros(0, np.bool_)
    rows_of_new, scale = _rows_of(found.graph, new), inverse(space.lengths)
    with one_blas_thread(), Threads(usable_cores()) as threads:
        sums = still_sums(rows_of_new, space.vectors, scale, storage, threads)
    here, reached = new_directions(space, rows_of_new, sums, lambda: found.graph, storage=storage, progress=progress)
    length = np.where(reached, _lengths(space, found, new), 0.0).astype(np.float32)
    for rows in row_blocks(new.size):
        vectors[new[rows]] = here[rows] * length[rows, None]
    return vectors, reached


def _rows_of(graph: Graph, new: IntArray) -> Moving:
    place, indptr = entries(graph, new)
    return split_rows(
        indptr,
        graph.indices[place],
        weights_at(graph, place),
        lambda vertices: np.where(vertices >= new[0], vertices - new[0], vertices),
        lambda vertices: vertices >= new[0],
    )


def _shift(space: Space, found: Changed, moving: IntArray, vectors: FloatArray) -> None:
    """Move old vertices to where their neighbours expect them now; `vectors` has those of new vertices already."""
    if not moving.size:
        return
    was = inverse(space.lengths)
    now = np.concatenate([was, inverse(row_lengths(vectors[len(space) :]))])  # no old vertex has moved yet
    moved: FloatArray = np.empty((moving.size, space.dim), np.float32)
    most = np.maximum(found.before, found.after)[moving]
    stayed = np.where(found.before[moving] > 0, found.kept[moving] / np.maximum(most, np.finfo(float).tiny), 0.0)
    with one_blas_thread():
        for rows in row_blocks(moving.size):
            some = moving[rows]
            before = space.learned.directions(neighbour_means(space.graph, space.vectors, was, some)[0])
            after = space.learned.directions(neighbour_means(found.graph, vectors, now, some)[0])
            own = unit_of(space.vectors, was, some) - before
            moved[rows] = unit(after + stayed[rows, None].astype(np.float32) * own)
    length = np.where(space.lengths[moving] > 0, space.lengths[moving], _lengths(space, found, moving))
    vectors[moving] = moved * length[:, None].astype(np.float32)


def _lengths(space: Space, found: Changed, some: IntArray) -> NDArray[np.float64]:
    """Return the lengths that the learned round expects."""
    place, indptr = entries(found.graph, some)
    near = found.graph.indices[place]
    around = space.lengths_around(np.where(near < len(space), near, -1), indptr)
    return space.learned.length(found.after[some], around)


def _grown(
    space: Space, ids: IdArray, found: Changed, vectors: FloatArray, moving: IntArray, stale: FloatArray
) -> Space:
    origin = np.concatenate([space.origin, np.full(ids.size - len(space), PLACED, np.uint8)])
    origin[moving] = np.where(origin[moving] == EMBEDDED, MOVED, origin[moving])
    was = space.history
    history = replace(was, version=was.version + 1, changed=was.changed + found.added + found.removed)
    return Space(vectors, ids, found.graph, space.learned, history, origin, stale)
