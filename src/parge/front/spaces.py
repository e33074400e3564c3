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
"""What holds a space: the space, the path of its folder, an embedding, or what `update` returned."""


@naming_slips
def place(space: AnySpace, edges: Any, *, storage: Storage = MEMORY, progress: Progress = silent) -> Placed:
    """Return vectors of the vertices in `edges` that the space does not know, in the same space.

    The same as `parge.space.place.place`, which says what the arguments mean, for anything that holds a space.
    Command line: ``parge place SPACE EDGES -o OUT``.
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

    The same as `parge.space.update.update`, which says what the arguments mean, for anything that holds a space.
    `parge.save_space` writes what is returned. Command line: ``parge update SPACE EDGES -o OUT``.
    """
    return updated_from(_opened(space), edges, removed, threshold=threshold, storage=storage, progress=progress)


@naming_slips
def drift(space: AnySpace, edges: Any = None, removed: Any = None) -> Drift:
    """Estimate how much a space has lost compared with a fresh embedding.

    The same as `parge.space.drift.drift`, which says what the arguments mean, for anything that holds a space.
    Command line: ``parge drift SPACE [EDGES]``.
    """
    return drift_of(_opened(space), edges, removed)


def _opened(space: AnySpace) -> Space | Embedding:
    """Return the space in a folder or in an update; what else is given is looked at where it is used."""
    if isinstance(space, Updated):
        return space.space
    return open_space(space) if isinstance(space, str | PathLike) else space
