"""An update that can be stopped: what it has done is kept next to the new space until that is whole."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from parge.errors import InputError, unwritable
from parge.graph.graph import Graph
from parge.io.outputs import is_inside
from parge.run import arrays
from parge.run.arrays import DamagedError, StorageError, stored_as
from parge.run.codec import Arrays, graph_arrays, graph_of, id_arrays
from parge.run.lock import LOCK, hold
from parge.run.schema import CHANGED, MANIFEST, MOVED, SPACE, TEMPORARY_FOLDER, is_array_file
from parge.run.spaces import check_space_output, save_space, space_bytes
from parge.show.text import on_one_line, printable
from parge.space.edges import Changed
from parge.space.frozen import Space
from parge.space.update import Steps, Vectors

_SUFFIX = ".unfinished"
_COUNTS = ("added", "removed", "reweighted", "missing")


def unfinished(place: Path) -> Path:
    """Return the folder that holds what an update of that name has done."""
    return place.with_name(place.name + _SUFFIX)


def check_update_output(place: Path, inputs: Iterable[Path | str] = (), outputs: Iterable[Path] = ()) -> None:
    """Refuse a place where no update can be written; called before any work."""
    given, others, work = list(inputs), list(outputs), unfinished(place)
    check_space_output(place, given, others)
    for other in (*(path for path in given if isinstance(path, Path)), *others):
        if is_inside(other, work):
            raise InputError(
                f"Cannot write the space {place}: {other} is in {work.name}, where its update works. Choose another "
                "folder."
            )
    _check_work(work)


def request_digest(folder: Path, edges: Graph | None, removed: Graph | None, threshold: float) -> str:
    """Return a number that is the same for the same space, edges and threshold, however the edges were written."""
    request = [arrays.file_digest(folder / MANIFEST), *(_graph_digest(given) for given in (edges, removed)), threshold]
    return hashlib.sha256(json.dumps([arrays.FORMAT, *request]).encode()).hexdigest()


def _graph_digest(graph: Graph | None) -> str | None:
    if graph is None:
        return None
    found = hashlib.sha256()
    for name, array in {**graph_arrays(graph), **id_arrays(graph.outside_ids)}.items():
        found.update(f"{name} {array.dtype} {array.shape};".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


class KeptSteps(Steps):
    """Keeps each step of an update in a folder of its own, and takes those that are there as they are.

    Laws: the result has the same bits, however often the update was stopped. What another request left, or what was
    damaged, is not used.

    For `work` see `kept_steps`, for `request` see `request_digest`.
    """

    def __init__(self, work: Path, request: str) -> None:
        self.work, self.request = work, request
        self.resumed: list[str] = []

    def changed(self, make: Callable[[], Changed]) -> Changed:
        """Return the changed edges, as they were kept or as they are made now."""
        known = self._known(CHANGED)
        if known is None:
            made = make()
            kept = {name: getattr(made, name) for name in ("kept", "before", "after")}
            counts = {name: getattr(made, name) for name in _COUNTS}
            arrays.save(self.work / CHANGED, CHANGED, {**graph_arrays(made.graph), **kept}, self._metadata(counts))
            known = arrays.load(self.work / CHANGED, CHANGED)
        content, metadata = known
        try:
            graph, counts = graph_of(content), {name: int(metadata[name]) for name in _COUNTS}
        except (InputError, ValueError, KeyError, TypeError, IndexError) as error:
            raise DamagedError(f"{self.work} was altered: {printable(error, 200)}. Remove that folder.") from None
        return Changed(graph, **counts, kept=content["kept"], before=content["before"], after=content["after"])

    def moved(self, make: Callable[[], Vectors]) -> Vectors:
        """Return the vectors, as they were kept or as they are made now."""
        known = self._known(MOVED)
        if known is None:
            vectors, reached = make()
            arrays.save(self.work / MOVED, MOVED, {"vectors": vectors, "reached": reached}, self._metadata({}))
            known = arrays.load(self.work / MOVED, MOVED)
        return known[0]["vectors"], np.asarray(known[0]["reached"])

    def finish(self, space: Space, place: Path) -> int:
        """Put the new space in its place, of files that are there already; return its size in bytes."""
        graph = {"indptr": space.graph.indptr, "indices": space.graph.indices, "weights": space.graph.weights}
        stored = stored_as(self.work / CHANGED, CHANGED, graph)
        stored |= stored_as(self.work / MOVED, MOVED, {"vectors": space.vectors})
        save_space(space, self.work / SPACE, stored)
        check_space_output(place)
        try:
            arrays.replace_folder(self.work / SPACE, place)
        except OSError as error:
            raise StorageError(unwritable(place, error)) from error
        return space_bytes(place)

    def _metadata(self, more: dict[str, Any]) -> dict[str, Any]:
        return {"request": self.request, **more}

    def _known(self, kind: str) -> tuple[Arrays, dict[str, Any]] | None:
        folder = self.work / kind
        try:
            if arrays.exists(folder) and arrays.load(folder, kind, arrays=False)[1].get("request") == self.request:
                found = arrays.load(folder, kind)
                self.resumed.append(kind)
                return found
        except DamagedError:
            pass
        arrays.discard(folder)
        return None


@contextmanager
def kept_steps(place: Path, request: str) -> Iterator[KeptSteps]:
    """Yield the steps of an update to `place`; what they keep is removed once all is done, and stays after a failure.

    One process at a time works on one place.
    """
    work = unfinished(place)
    _check_work(work)
    try:
        work.mkdir(exist_ok=True)
    except OSError as error:
        raise StorageError(f"Cannot write {work}: {error.strerror}. Choose a folder that you can write to.") from error
    with hold(work):
        arrays.sweep(work)
        yield KeptSteps(work, request)
        for kind in (CHANGED, MOVED, SPACE):
            arrays.discard(work / kind)
    with contextlib.suppress(OSError):
        work.rmdir()


def _check_work(work: Path) -> None:
    """Refuse a folder that holds anything that an update does not write there."""
    if work.is_symlink() or (work.exists() and not work.is_dir()):
        raise InputError(f"Cannot work in {on_one_line(work)}: it is no folder. Remove it, or choose another OUT.")
    if not work.is_dir():
        return
    for entry in sorted(work.iterdir()):
        ours = entry.name in (CHANGED, MOVED, SPACE) or TEMPORARY_FOLDER.fullmatch(entry.name)
        if entry.name != LOCK and not (ours and entry.is_dir() and not entry.is_symlink() and _is_plain(entry)):
            raise InputError(
                f"Cannot work in {on_one_line(work)}: it holds {on_one_line(entry.name, 200)}, which no update wrote. "
                "Remove that folder, or choose another OUT."
            )


def _is_plain(folder: Path) -> bool:
    return all(is_array_file(file.name) and file.is_file() and not file.is_symlink() for file in folder.iterdir())
