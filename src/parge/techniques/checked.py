"""Embedding one subgraph with any technique, the answer checked and every failure named."""

from typing import Any

import numpy as np

from parge.errors import TechniqueError
from parge.graph.subgraph import Subgraph
from parge.techniques.base import Progress, Technique, silent
from parge.typing import FloatArray


def embed_checked(
    technique: Technique, subgraph: Subgraph, rng: np.random.Generator, progress: Progress = silent
) -> FloatArray:
    """Return the local vectors, float32 and finite, one row a vertex; or say which subgraph failed, and how.

    An exception of the technique keeps its type and traceback and gains a note.
    """
    try:
        answer = technique.embed(subgraph, rng, progress=progress)
    except Exception as error:
        error.add_note(f"while {_where(technique, subgraph)}")
        raise
    return _check(answer, technique, subgraph)


def _where(technique: Technique, subgraph: Subgraph) -> str:
    return (
        f"embedding subgraph {subgraph.index} ({subgraph.n_vertices:,} vertices, {subgraph.n_edges:,} edges) "
        f"with {technique.name}"
    )


def _check(answer: Any, technique: Technique, subgraph: Subgraph) -> FloatArray:
    try:
        vectors = np.asarray(answer)
        numeric = vectors.dtype.kind in "biuf"
    except (TypeError, ValueError):
        vectors, numeric = np.zeros(0), False
    expected = f"{subgraph.n_vertices:,} rows of numbers"
    if not numeric:
        raise TechniqueError(f"{_where(technique, subgraph)}: {expected} were expected, got {type(answer).__name__}")
    if vectors.ndim != 2 or vectors.shape[0] != subgraph.n_vertices or (vectors.size == 0 and subgraph.n_vertices):
        raise TechniqueError(f"{_where(technique, subgraph)}: {expected} were expected, got shape {vectors.shape}")
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(vectors, np.float32)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise TechniqueError(
            f"{_where(technique, subgraph)}: {bad.size:,} vectors are not finite, the first of vertex "
            f"{subgraph.graph.outside_ids[bad[0]]!r}"
        )
    return vectors
