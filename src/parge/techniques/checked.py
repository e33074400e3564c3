"""Embedding with a check of the answer, and errors that say which technique failed on which subgraph."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from parge.errors import TechniqueError
from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.landmarks.base import LandmarkTechnique
from parge.storage import all_finite
from parge.techniques.base import Technique
from parge.typing import FloatArray

_SHARED_NAME = re.compile("[a-z][a-z0-9_]{0,39}")
_SHARED_TYPES = tuple(np.dtype(name) for name in ("float32", "float64", "int32", "int64", "uint8", "bool"))

# Rows looked at together; a mask of all vectors would cost a quarter of their memory.
_ROWS = 4096


def embed_checked(
    technique: Technique, subgraph: Subgraph, rng: np.random.Generator, progress: Progress = silent
) -> FloatArray:
    """Return one finite vector per vertex of the subgraph, (n_vertices, dim) float32, or raise `TechniqueError`.

    What the technique raises keeps its type and traceback, and gains a note that names technique and subgraph.

    Raises
    ------
    TechniqueError
        Where the answer is not a matrix of numbers, has the wrong shape, or holds NaN or infinity; where the
        technique tries to end the process.
    """
    try:
        answer = technique.embed(subgraph, rng, progress=progress)
    except SystemExit as error:  # of sys.exit(), which would end the run as if all were well
        raise TechniqueError(
            f"the technique {technique.name} called sys.exit({'' if error.code is None else repr(error.code)}) on "
            f"{_sizes(subgraph)}. It must return vectors or raise an exception."
        ) from error
    except Exception as error:
        error.add_note(f"raised by the technique {technique.name} on {_sizes(subgraph)}")
        raise
    return _as_vectors(answer, technique, subgraph)


class Decomposed(Protocol):
    """What of a decomposition is handed to a technique that prepares arrays for all workers."""

    @property
    def graph(self) -> Graph:
        """The whole graph."""

    @property
    def contexts(self) -> Any:
        """The landmark of every vertex and their number; None where subgraphs have no context."""


def prepare_checked(technique: Technique, decomposition: Decomposed) -> dict[str, NDArray[Any]]:
    """Return the arrays that every worker receives; raise where they differ from what the technique declares."""
    graph, context = decomposition.graph, decomposition.contexts
    found = {name: np.ascontiguousarray(array) for name, array in technique.prepare(graph, decomposition).items()}
    if context is not None and isinstance(technique, LandmarkTechnique):
        found |= technique.embed_landmarks(graph, context.landmark, context.n_landmarks)
    check_shared(technique, found, None if context is None else context.n_landmarks)
    return found


def check_shared(technique: Technique, shared: Mapping[str, NDArray[Any]], n_landmarks: int | None) -> None:
    """Refuse arrays for all workers that differ in name, type or shape from what the technique declares.

    `n_landmarks` is None where subgraphs have no context.
    """
    declared = dict(technique.shared_shapes)
    if n_landmarks is not None and isinstance(technique, LandmarkTechnique):
        declared |= technique.landmark_shapes
    if declared.keys() != shared.keys():
        raise TechniqueError(
            f"{technique.name} declares the shared arrays {_names(declared)}, but prepare() returned {_names(shared)}. "
            "Return what shared_shapes declares."
        )
    lengths: dict[int | str, int] = {} if n_landmarks is None else {"landmarks": n_landmarks}
    for name, array in shared.items():
        if _SHARED_NAME.fullmatch(name) is None:
            raise TechniqueError(f"the shared array {name!r} of {technique.name}: use lower-case letters, digits and _")
        expected = tuple(
            axis if isinstance(axis, int) else lengths.setdefault(axis, length)
            for axis, length in zip(declared[name], array.shape, strict=False)
        )
        if not array.ndim or expected != array.shape or len(declared[name]) != array.ndim:
            raise TechniqueError(
                f"the shared array {name} of {technique.name} has shape {array.shape}, but {declared[name]} is "
                f"declared, with {lengths}"
            )
        if array.dtype not in _SHARED_TYPES or not all_finite(array):
            raise TechniqueError(
                f"the shared array {name} of {technique.name} holds {array.dtype}; finite numbers of "
                f"{', '.join(map(str, _SHARED_TYPES))} are needed"
            )


def _names(arrays: Mapping[str, Any]) -> str:
    return ", ".join(arrays) or "none"


def common_dim(technique: Technique, dims: Sequence[int]) -> int:
    """Return the number of columns that all subgraphs' vectors have, or name two that differ.

    `dims` are the columns of subgraphs 0, 1, ...; 0 for one without vertices, where nothing tells.
    """
    known = [(dim, index) for index, dim in enumerate(dims) if dim]
    for dim, index in known:
        if dim != known[0][0]:
            raise TechniqueError(
                f"the technique {technique.name} must give vectors of one length to all subgraphs; it gave "
                f"{known[0][0]} columns to subgraph {known[0][1]} and {dim} to subgraph {index}. Declare the length "
                f"where the technique is created, for example adapt(..., dim={max(known)[0]})"
            )
    return known[0][0] if known else technique.dim


def _as_vectors(answer: Any, technique: Technique, subgraph: Subgraph) -> FloatArray:
    def wrong(found: str) -> TechniqueError:
        columns = technique.dim or "any number of"
        return TechniqueError(
            f"the technique {technique.name} must return a finite number for each of {subgraph.n_embedded:,} vertices "
            f"x {columns} columns; on {_sizes(subgraph)} it returned {found}"
        )

    if sp.issparse(answer):
        raise wrong(f"a sparse {type(answer).__name__}; return its toarray()")
    try:
        vectors = np.asarray(answer)
    except (TypeError, ValueError) as error:
        raise wrong(f"a {type(answer).__name__} that is not an array ({error})") from error
    if vectors.dtype.kind not in "iuf":
        raise wrong(f"{vectors.dtype} in a {type(answer).__name__}")
    if vectors.ndim != 2:
        raise wrong(f"an array of shape {vectors.shape}")
    if len(vectors) != subgraph.n_embedded:
        raise wrong(f"{len(vectors):,} rows")
    if vectors.shape[1] != technique.dim if technique.dim else not vectors.shape[1] and len(vectors):
        raise wrong(f"{vectors.shape[1]} columns")
    for start in range(0, len(vectors), _ROWS):
        _check_finite(vectors[start : start + _ROWS], start, wrong)
    return np.ascontiguousarray(vectors, np.float32)


def _check_finite(rows: Any, start: int, wrong: Any) -> None:
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(rows.astype(np.float32, copy=False)).all(axis=1))
    if bad.size:
        values = rows[bad[0]]
        beyond = " (beyond float32)" if np.isfinite(values).all() else ""
        shown = values[~np.isfinite(values.astype(np.float32))][0] if beyond == "" else values[np.abs(values).argmax()]
        raise wrong(f"{shown}{beyond} in row {start + bad[0]:,}, counted from 0")


def _sizes(subgraph: Subgraph) -> str:
    return f"subgraph {subgraph.index} ({subgraph.n_vertices:,} vertices, {subgraph.n_edges:,} edges)"
