"""A subgraph and its result as folders that can be copied to any machine and back."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from parge.errors import InputError, PargeError
from parge.graph.subgraph import Context, Subgraph
from parge.run import arrays, schema
from parge.run.codec import Arrays, graph_arrays, graph_of
from parge.run.lock import Held, InUseError, hold
from parge.run.metadata import FAILURE, PART_NOTES, ResultMetadata, SubgraphMetadata, read_note, write_note
from parge.run.schema import MANIFEST, RESULT, SUBGRAPH
from parge.show.text import pasteable, printable
from parge.typing import FloatArray
from parge.values import Value

V = TypeVar("V", bound=Value)

# How long a result that another machine has stored may take to be seen here: network file systems keep what they know
# of a folder for up to a minute.
_SEEN_SECONDS, _POLL_SECONDS = 90.0, 0.1


def save_subgraph(
    folder: Path,
    subgraph: Subgraph,
    metadata: SubgraphMetadata,
    shared: Mapping[str, arrays.Stored] = MappingProxyType({}),
) -> None:
    """Write the input of a worker: the induced rows, weights, features, the technique, and the shared arrays.

    Shared arrays are on the disk once for all part folders of a run, where the file system can do that.
    """
    content = graph_arrays(subgraph.graph)
    content["vertices"] = subgraph.vertices
    if subgraph.context is not None:
        content |= {"lump": subgraph.context.landmark, "loops": subgraph.context.loops}
    arrays.save(folder / SUBGRAPH, SUBGRAPH, content, metadata.to_json(), stored=shared)


def load_subgraph(folder: Path) -> tuple[Subgraph, SubgraphMetadata]:
    """Return the subgraph and its metadata."""
    try:
        content, metadata = _loaded(SubgraphMetadata, folder, SUBGRAPH)
    except arrays.DamagedError as error:
        raise arrays.DamagedError(
            f"{error}. Copy the folder again, or repeat the command that wrote it with --resume."
        ) from None
    try:
        shared = {name.removeprefix("shared_"): array for name, array in content.items() if name.startswith("shared_")}
        context = _context(content, metadata)
        subgraph = Subgraph(graph_of(content), content["vertices"], metadata.n_own, metadata.index, context, shared)
        _check(subgraph)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise arrays.DamagedError(f"{folder} does not hold a subgraph: {printable(error, 200)}") from None
    return subgraph, metadata


def _context(content: Arrays, metadata: SubgraphMetadata) -> Context | None:
    """Return the context of a subgraph; kernels use it as indices, so all of it is checked."""
    if "lump" not in content:
        return None
    n_anchors, n_halo, n_landmarks = metadata.n_anchors, metadata.n_halo, metadata.n_landmarks
    if n_anchors is None or n_halo is None:
        raise ValueError("it has landmarks, and does not say how many anchors and halo vertices")
    if n_landmarks is None:  # folders of earlier versions: a backbone has one mass per landmark
        n_landmarks = int(content["shared_mass"].size)
    context = Context(content["lump"], content["loops"], n_anchors, n_halo, n_landmarks)
    n = content["indptr"].size - 1
    counts = (metadata.n_own, n_anchors, n_halo)
    if sum(counts) > n:
        raise ValueError(f"{counts} own vertices, anchors and halo among {n}, {n_landmarks} landmarks")
    if (
        context.landmark.size != n
        or context.loops.size != n
        or not (np.isfinite(context.loops).all() and (context.loops >= 0).all())
    ):
        raise ValueError("its landmarks are not one per vertex")
    if n and not 0 <= context.landmark.min() <= context.landmark.max() < n_landmarks:
        raise ValueError(f"landmarks must lie in 0..{n_landmarks - 1}")
    return context


def _check(subgraph: Subgraph) -> None:
    if subgraph.vertices.size != subgraph.n_vertices or subgraph.n_own > subgraph.n_vertices:
        raise ValueError(f"{subgraph.vertices.size} numbers and {subgraph.n_own} own of {subgraph.n_vertices} vertices")
    context = subgraph.context
    single = subgraph.vertices if context is None else subgraph.vertices[: subgraph.n_embedded + context.n_halo]
    if single.size and single.min() < 0:  # a super-vertex is no vertex of the parent and has -1
        raise ValueError("a vertex has a negative number")


def subgraph_metadata(folder: Path) -> SubgraphMetadata:
    """Return the metadata of an intact subgraph; its arrays are checked but not returned."""
    return _loaded(SubgraphMetadata, folder, SUBGRAPH)[1]


def subgraph_index(folder: Path) -> int:
    """Return the number of the subgraph, for messages; 0 if the folder does not say it."""
    with contextlib.suppress(arrays.DamagedError):
        return _loaded(SubgraphMetadata, folder, SUBGRAPH, arrays_too=False)[1].index
    return 0


def save_result(folder: Path, vectors: FloatArray, metadata: ResultMetadata) -> None:
    """Write the local vectors and their metadata; the record of an earlier failure is removed."""
    arrays.save(folder / RESULT, RESULT, {"vectors": vectors}, metadata.to_json())
    remove_failure(folder)


def save_result_in_place(folder: Path, vectors: FloatArray, metadata: ResultMetadata) -> None:
    """Write the local vectors and their metadata into a folder whose lock another process holds, for this work.

    A machine that was thought lost may do the same work: their vectors have the same bits, and the first ones stay.
    """
    try:
        arrays.save(folder / RESULT, RESULT, {"vectors": vectors}, metadata.to_json(), replaces=False)
    except arrays.OccupiedError:
        if whole_result(folder) is None:
            raise arrays.DamagedError(f"{folder / RESULT} is damaged. Repeat the command with --resume.") from None


def check_stored(folder: Path) -> None:
    """Refuse a part folder in which another machine has stored no result; its checksum is compared when it is read.

    A network file system may show it here only after a while.
    """
    until = time.monotonic() + _SEEN_SECONDS
    while not arrays.exists(folder / RESULT) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    arrays.check_sizes(folder / RESULT, RESULT)
    remove_failure(folder)


def remove_unusable(folder: Path) -> None:
    """Remove a result that is damaged or of another run, so that its place is free for the next one."""
    if os.path.lexists(folder / RESULT) and whole_result(folder) is None:
        arrays.clear(folder / RESULT)


def accept_result(folder: Path, files: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Store the files of a result from another machine; refuse them if they are not intact and finite."""
    arrays.save_files(folder / RESULT, files)
    load_result(folder)
    remove_failure(folder)


class Result(NamedTuple):
    """Local vectors (memory-mapped, all finite) and their metadata."""

    vectors: FloatArray
    metadata: ResultMetadata


def load_result(folder: Path) -> Result:
    """Return the result of a part folder; it is read once and checked against its checksum."""
    try:
        content, metadata = _loaded(ResultMetadata, folder, RESULT)
        return Result(content["vectors"], metadata)
    except arrays.DamagedError as error:
        raise arrays.DamagedError(f"{error}. Embed it again: {pasteable('parge', 'embed-part', folder)}") from None


def whole_result(folder: Path) -> ResultMetadata | None:
    """Return the metadata of the local vectors if they are intact and belong to this subgraph; None otherwise."""
    schema.check_part(folder)
    if not arrays.exists(folder / RESULT):
        return None
    with contextlib.suppress(arrays.DamagedError):
        asked, found = subgraph_metadata(folder), load_result(folder).metadata
        if (found.run, found.index) == (asked.run, asked.index):
            return found
    return None


def load_metadata(folder: Path) -> ResultMetadata:
    """Return the metadata of the local vectors, without reading the vectors."""
    return _loaded(ResultMetadata, folder, RESULT, arrays_too=False)[1]


def _loaded(kind: type[V], folder: Path, name: str, *, arrays_too: bool = True) -> tuple[Arrays, V]:
    """Return the arrays and the metadata of a subgraph or result."""
    content, plain = arrays.load(folder / name, name, arrays=arrays_too)
    try:
        return content, kind.from_json(plain)
    except InputError as error:
        raise arrays.DamagedError(f"{folder / name} lacks metadata of parge: {printable(error, 200)}") from None


@contextmanager
def at_work(folder: Path) -> Iterator[Held]:
    """Lock a part folder against other workers; temporary files of a killed worker are removed."""
    if not arrays.exists(folder / SUBGRAPH):
        raise InputError(
            f"{folder} is not a part folder: it has no {SUBGRAPH}/{MANIFEST}. Give a folder such as run/parts/000."
        )
    schema.check_part(folder)
    with hold(folder) as lock:
        arrays.sweep(folder)
        yield lock


def remove(folder: Path) -> None:
    """Remove what parge writes into a part folder, and the folder if it is then empty; not while a worker uses it."""
    with contextlib.suppress(OSError, PargeError):
        with hold(folder, patience=0):
            arrays.sweep(folder)
            for name in (RESULT, SUBGRAPH):
                arrays.discard(folder / name)
            for name in PART_NOTES:
                (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def record_failure(folder: Path, error: BaseException) -> None:
    """Store why a subgraph could not be embedded, for `parge status`."""
    if isinstance(error, InUseError):
        return  # another process's work, which has not failed
    notes = getattr(error, "__notes__", [])
    message = f"{type(error).__name__}: {error}"
    write_note(folder / FAILURE, {"message": message, "notes": notes, "time": time.time()})


def remove_failure(folder: Path) -> None:
    """Remove the record of a failure, if there is one."""
    with contextlib.suppress(OSError):
        (folder / FAILURE).unlink(missing_ok=True)


def failure(folder: Path) -> str | None:
    """Return why the subgraph could not be embedded the last time, or None."""
    path = folder / FAILURE
    if not os.path.lexists(path):
        return None
    message = (read_note(path) or {}).get("message")
    return printable(message) if isinstance(message, str) else "its record cannot be read"
