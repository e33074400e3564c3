"""Spaces on disk: a folder of checked arrays that appears whole or not at all. docs/how-to/space.md has its files."""

import math
import os
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

import numpy as np

from parge.embedding import Embedding
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.ids import repeated
from parge.io.outputs import is_inside
from parge.memory import format_bytes
from parge.run import arrays
from parge.run.arrays import DamagedError, Stored
from parge.run.codec import Arrays, graph_of, id_arrays, ids_of
from parge.run.folder import is_kind
from parge.run.schema import SPACE, is_array_file
from parge.show.text import count, on_one_line, printable
from parge.space.frozen import MOVED, History, Space, as_space
from parge.space.learned import LearnedRound
from parge.space.update import Updated

# More than any chain of updates has, and than any drift comes to: it is 0 to 1, with some error.
_MOST_VERSIONS, _MOST_DRIFT = 2**31, 2.0


def save_space(
    space: Space | Updated | Embedding, path: str | PathLike[str], stored: dict[str, Stored] | None = None
) -> int:
    """Write a space as a folder; return its size in bytes. A space of parge that is there is replaced, nothing else is.

    Parameters
    ----------
    space : Space, Updated or Embedding
        What `parge.open_space`, `parge.update` or `parge.embed` returned.
    path : path
        Where the folder goes. The folder around it must exist.
    stored : dict, optional
        Arrays that another folder holds: linked instead of written again, where the system can.
    """
    place, space = Path(path), as_space(space.space if isinstance(space, Updated) else space)
    check_space_output(place)
    graph, learned = space.graph, space.learned
    linked = stored or {}
    rows = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights}
    content: Arrays = {
        **{name: array for name, array in rows.items() if array is not None},
        **id_arrays(_own_ids(space)),
        "vectors": space.vectors,
        "origin": space.origin,
        "stale": space.stale,
        "matrix": learned.matrix,
        "offset": learned.offset,
        "lengths": learned.lengths,
        "confidence": learned.confidence,
    }
    content = {name: array for name, array in content.items() if name not in linked}
    arrays.save(place, SPACE, content, space.history.to_json(), stored=linked)
    return space_bytes(place)


def _own_ids(space: Space) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Return the ids; None where row v has the id v."""
    ids = space.ids
    is_plain = ids.dtype.kind == "i" and bool((ids == np.arange(ids.size)).all())
    return None if is_plain else ids


def space_bytes(path: Path) -> int:
    """Return the size of a space's files."""
    return sum(file.lstat().st_size for file in path.iterdir() if is_array_file(file.name))


def open_space(path: str | PathLike[str]) -> Space:
    """Read a space; its arrays stay on disk, memory-mapped, each checked against its checksum.

    Parameters
    ----------
    path : path
        The folder of ``parge embed --space``, or a run folder that was kept.

    Returns
    -------
    Space
        With `place` and `update`.
    """
    place = space_folder(Path(path))
    content, metadata = arrays.load(place, SPACE)
    try:
        return _checked(content, _checked_history(History.from_json(metadata)))
    except (InputError, ValueError, KeyError, TypeError, IndexError) as error:
        raise DamagedError(f"{place} does not hold a space: {printable(error, 200)}") from None


def space_history(path: str | PathLike[str]) -> History:
    """Return where a space comes from and what happened to it since; its arrays are left unread."""
    place = space_folder(Path(path))
    try:
        return _checked_history(History.from_json(arrays.load(place, SPACE, arrays=False)[1]))
    except (InputError, ValueError) as error:
        raise DamagedError(f"{place} does not hold a space: {printable(error, 200)}") from None


def _checked_history(history: History) -> History:
    numbers = [history.fit, history.links, history.communities, history.communities_weight, *history.head]
    numbers += [number for age in history.ages for number in (age.placed, age.edges, age.drift, age.error)]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError("a number of its history is not finite")
    if not 0 <= history.looked <= history.changed:
        raise ValueError("more edges were looked at than have changed")
    _check_ages(history)
    if history.communities <= 0 or history.communities_weight < 0:
        raise ValueError("how well it fitted communities is not above 0")
    if len(history.head) not in (0, 3):
        raise ValueError("its degree head has not three numbers")
    return history


def _check_ages(history: History) -> None:
    """Refuse ages that no chain of updates leaves: one for each, the last that of this version."""
    versions = [age.version for age in history.ages]
    if not 1 <= history.version <= _MOST_VERSIONS or (versions and versions[-1] != history.version):
        raise ValueError("its version is not that of its last update")
    if any(later <= earlier for earlier, later in zip([1, *versions], versions, strict=False)):
        raise ValueError("the versions of its updates do not follow on each other")
    if any(not 0 <= age.seen <= age.version for age in history.ages):
        raise ValueError("its drift was found in a version that there is not")
    if any(abs(age.drift) > _MOST_DRIFT or min(age.error, age.placed, age.edges) < 0 for age in history.ages):
        raise ValueError("a drift, an error or a share of its history is out of bounds")


def space_folder(path: Path) -> Path:
    """Return the folder of a space: itself, or the one within a run that was kept; refuse others."""
    for place in (path, path / SPACE):
        if is_space(place):
            return place
    if arrays.exists(path):  # a space, but damaged or of another version: say which
        arrays.load(path, SPACE, arrays=False)
    what = "there is no such folder" if not os.path.lexists(path) else "parge did not write one there"
    raise InputError(
        f"{on_one_line(path)} is not a space: {what}. Give the DIR of parge embed GRAPH -o OUT --space DIR."
    )


def is_space(path: Path) -> bool:
    """Return whether a folder has the manifest of a space; its arrays are left unread."""
    return is_kind(path, SPACE)


def check_space_output(path: Path, inputs: Iterable[Path | str] = (), outputs: Iterable[Path] = ()) -> None:
    """Refuse a place where no space can be written; called before any work.

    Only a space of parge or an empty folder is ever replaced, whatever options say. No input and no other output may be
    inside it, and it may not be one of them; inputs that are no paths come from elsewhere.
    """
    if not path.name or path.name == "..":
        raise InputError(f"Cannot write the space {str(path)!r}: give the name of a folder.")
    if path.is_symlink():
        raise InputError(f"Cannot write the space {path}: it is a link. Give the folder itself, or another name.")
    if not path.parent.is_dir():
        raise InputError(f"Cannot write the space {path}: the folder {path.parent} does not exist. Create it first.")
    if path.exists():
        _check_replaced(path)
    for other in (*(given for given in inputs if isinstance(given, Path)), *outputs):
        if is_inside(other, path) or is_inside(path, other):
            raise InputError(
                f"Cannot write the space {path}: {other} is the same place, or one is inside the other. Choose another "
                "folder."
            )


def _check_replaced(path: Path) -> None:
    if not path.is_dir():
        raise InputError(f"Cannot write the space {path}: it is a file. Choose another name.")
    strange = [entry for entry in sorted(path.iterdir()) if not is_array_file(entry.name) or not entry.is_file()]
    if strange or (any(path.iterdir()) and not is_space(path)):
        held = f" (it holds {on_one_line(strange[0].name, 200)})" if strange else ""
        raise InputError(f"Cannot write the space {path}: it is no space of parge{held}. Choose a new folder.")


def described(path: Path, size: int) -> str:
    """Say where a space is, and how large."""
    return f"the space is in {on_one_line(path)} ({format_bytes(size)})"


def replaced(path: Path) -> list[str]:
    """Return a notice that names the space which is to be replaced, if there is one; ask before it is."""
    if not is_space(path):
        return []
    was = space_history(path)
    return [
        f"replaced the space that was in {on_one_line(path)}: version {was.version}, "
        f"{count(was.edges, 'edge')} at first and {was.changed:,} changed since"
    ]


def _checked(content: Arrays, history: History) -> Space:
    vectors = content["vectors"]
    n, dim = vectors.shape
    graph = graph_of({name: content[name] for name in ("indptr", "indices", "weights") if name in content})
    ids = ids_of(content)
    found = np.arange(n) if ids is None else ids
    learned = LearnedRound(*(content[name] for name in ("matrix", "offset", "lengths", "confidence")))
    shapes = {
        "rows of the graph": (graph.n_vertices, n),
        "ids": (found.size, n),
        "origins": (content["origin"].size, n),
        "shares": (content["stale"].size, n),
        "columns of the map": (learned.matrix.shape, (dim, dim)),
        "offsets": (learned.offset.size, dim),
        "numbers of lengths": (learned.lengths.size, 5),
        "numbers of confidence": (learned.confidence.size, 3),
    }
    wrong = [f"{name} are {was}, not {wanted}" for name, (was, wanted) in shapes.items() if was != wanted]
    if wrong:
        raise ValueError("; ".join(wrong))
    if repeated(found).size:
        raise ValueError("an id occurs twice")
    if n and content["origin"].max() > MOVED:
        raise ValueError("an origin is none")
    return Space(vectors, found, _plain(graph), learned, history, content["origin"], content["stale"])


def _plain(graph: Graph) -> Graph:
    return Graph(graph.indptr, graph.indices, graph.weights)
