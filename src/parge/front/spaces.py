"""The verbs of a space in Python: place, update and drift, for a space, its folder, an embedding or an update."""

from os import PathLike
from typing import Any

from parge.embedding import Embedding
from parge.events import Progress, silent
from parge.run.spaces import open_space
from parge.space.aging import Drift
from parge.space.drift import drift as drift_of
from parge.space.frozen import Space
from parge.space.place import Placed
from parge.space.place import place as place_in
from parge.space.update import THRESHOLD, Updated
from parge.space.update import update as updated_from
from parge.spelling import naming_slips
from parge.storage import MEMORY, Storage

AnySpace = Space | Embedding | Updated | str | PathLike[str]
"""What holds a space."""


@naming_slips
def place(space: AnySpace, edges: Any, *, storage: Storage = MEMORY, progress: Progress = silent) -> Placed:
    """Return vectors of the vertices in `edges` that the space does not know, in the same space.

    Nothing is trained, and no vector of the space changes. Edges between two vertices that the space knows are not
    used; `parge.update` takes them into account. Command line: ``parge place SPACE EDGES -o OUT``.

    Parameters
    ----------
    space : Space, path to one, Embedding or Updated
        See `parge.open_space`.
    edges : graph, path, or pairs of ids
        Edges of new vertices to known ones and to each other.
    storage : Storage
        Where the vectors go while they are placed: memory, or files.
    """
    return place_in(_opened(space), edges, storage=storage, progress=progress)


@naming_slips
def update(
    space: AnySpace,
    edges: Any = None,
    removed: Any = None,
    *,
    threshold: float = THRESHOLD,
    storage: Storage = MEMORY,
    progress: Progress = silent,
) -> Updated:
    """Return a new version of a space in which edges were added and removed; the space itself stays as it is.

    New vertices are placed. Then an old vertex moves where its edges changed by more than the threshold; all others
    keep their bits. `parge.save_space` writes what is returned. Command line: ``parge update SPACE EDGES -o OUT``.

    Parameters
    ----------
    space : Space, path to one, Embedding or Updated
        See `parge.open_space`.
    edges : graph, path, or pairs of ids, optional
        Edges to add; one that is there already gets the weight that it has here.
    removed : graph, path, or pairs of ids, optional
        Edges to remove, before others are added. Their weights do not matter.
    threshold : float
        Weight of changed edges over that of all its edges, before or after, that a vertex bears without moving.
    storage : Storage
        Where edges and vectors go: memory, or files.
    """
    return updated_from(_opened(space), edges, removed, threshold=threshold, storage=storage, progress=progress)


@naming_slips
def drift(space: AnySpace, edges: Any = None, removed: Any = None) -> Drift:
    """Estimate how far a space is from what a fresh embedding would be.

    Some vertices are looked at: whether they still are where their neighbours expect them, and rank edges that are held
    out. Command line: ``parge drift SPACE [EDGES]``.

    Parameters
    ----------
    space : Space, path to one, Embedding or Updated
        See `parge.open_space`.
    edges, removed : graph, path, or pairs of ids, optional
        Edges that came and went since, as `parge.update` takes them: the drift after that update, which is not kept.
    """
    return drift_of(_opened(space), edges, removed)


def _opened(space: AnySpace) -> Space | Embedding:
    """Return the space in a folder or in an update; what else is given is looked at where it is used."""
    if isinstance(space, Updated):
        return space.space
    return open_space(space) if isinstance(space, str | PathLike) else space
