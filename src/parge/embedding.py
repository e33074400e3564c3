"""Embedding: one vector per vertex, with the vertex ids and a report of how it was computed."""

from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from parge.errors import InputError
from parge.ids import as_ids, positions, repeated, show_ids
from parge.linalg.tall import unit
from parge.links import LinkHead
from parge.result import Report
from parge.storage import all_finite
from parge.typing import FloatArray, IdArray, IntArray


@dataclass(frozen=True, eq=False)
class Embedding:
    """The vectors of a graph's vertices.

    Laws, checked here: one finite vector per id; no id twice; all arrays are read-only.

    Parameters
    ----------
    vectors : (n_vertices, dim) float32
        One row per vertex. Float64 input is kept (for example from another tool), so that comparisons lose no digits;
        other numbers become float32.
    ids : (n_vertices,) int64 or numpy strings
        The vertex of each row.
    report : Report
        How the embedding was computed: times, memory, residuals; empty where unknown. A plain dict, such as
        `Report.to_json` gives, becomes one. Saved with ``.npz`` and ``.parquet``.
    head : LinkHead, optional
        What turns the vectors into scores of links (`link_vectors`). Saved with ``.npz`` and ``.parquet``.
    degrees : (n_vertices,) int64, optional
        Edges of each vertex, which the head needs.

    Examples
    --------
    >>> embedding = Embedding(np.eye(2), ["ann", "bob"])
    >>> embedding.vector("bob").tolist(), len(embedding), embedding.dim
    ([0.0, 1.0], 2, 2)
    """

    vectors: FloatArray = field(repr=False)
    ids: IdArray = field(repr=False)
    report: Report = field(default_factory=Report, repr=False)
    head: LinkHead | None = field(default=None, repr=False)
    degrees: IntArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        vectors, ids = _as_vectors(self.vectors), as_ids(self.ids).view()
        if len(vectors) != ids.size:
            raise InputError(f"{len(vectors):,} vectors for {ids.size:,} ids; give one of each per vertex")
        twice = repeated(ids)
        if twice.size:
            raise InputError(f"every vertex must have one vector, but more than one is given for {show_ids(twice)}")
        for array in (vectors, ids):
            array.flags.writeable = False
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "report", Report.of(self.report))
        object.__setattr__(self, "degrees", _as_degrees(self.degrees, ids.size))

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"Embedding({len(self):,} vertices, dim={self.dim})"

    @property
    def dim(self) -> int:
        """Number of columns."""
        return int(self.vectors.shape[1])

    def vector(self, id: Any) -> FloatArray:  # noqa: A002 - the word of everybody who calls it
        """Return the vector of one vertex."""
        return np.asarray(self.rows([id])[0])

    def rows(self, ids: Any) -> FloatArray:
        """Return the vectors of some vertices, in the order asked for."""
        return np.asarray(self.vectors[self.row_numbers(ids)])

    def row_numbers(self, ids: Any) -> IntArray:
        """Return the row number of each id; raise `InputError` where an id has no row."""
        wanted = as_ids(ids)
        place = positions(self.ids, wanted)
        missing = wanted[place < 0]
        if missing.size:
            known = f"it has {len(self):,} ids, such as {show_ids(self.ids)}" if len(self) else "it is empty"
            raise InputError(f"the embedding has no vector for {show_ids(missing)}; {known}")
        return place

    def link_vectors(self) -> tuple[FloatArray, FloatArray]:
        """Return two matrices: the inner product of a row of the first and one of the second scores the link of both.

        Give the second to an index of vectors by inner product, and ask it with rows of the first. The scores are those
        of the degree head: cosine and degrees, in proportions fitted on the edges of the graph.
        """
        head, degrees = self.for_links()
        left, right = head.sides(unit(self.vectors.astype(np.float64)), degrees)
        return left.astype(np.float32), right.astype(np.float32)

    def for_links(self) -> tuple[LinkHead, IntArray]:
        """Return the degree head and the degrees; raise `InputError` where the embedding has none."""
        if self.head is None or self.degrees is None:
            raise InputError(
                "the embedding has no degree head. Only .npz and .parquet files that parge embed wrote have one. Embed "
                "again to such a file."
            )
        return self.head, self.degrees

    def save(self, path: str | PathLike[str]) -> None:
        """Write to ``.npy``, ``.npz``, ``.parquet``, or ``.vec``/``.emb``/``.txt``; see `parge.io.embeddings.files`.

        An existing file is replaced, as `numpy.save` does; a symbolic link is followed.
        """
        from parge.io.embeddings.common import Vectors
        from parge.io.embeddings.files import write

        write(Vectors(self.vectors, self.ids, self.report, self.head, self.degrees), path)

    @staticmethod
    def load(path: str | PathLike[str]) -> "Embedding":
        """Read any format that `save` writes; the vectors of ``.npy`` stay on disk, memory-mapped."""
        from parge.io.embeddings.files import read

        found = read(path)
        try:
            return Embedding(*found)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


def _as_degrees(degrees: Any, n_vertices: int) -> IntArray | None:
    if degrees is None:
        return None
    found = np.asarray(degrees)
    if found.shape != (n_vertices,) or found.dtype.kind not in "iu" or (found < 0).any():
        raise InputError(f"degrees must be {n_vertices:,} whole numbers; got {found.dtype} of shape {found.shape}")
    found = found.astype(np.int64)
    found.flags.writeable = False
    return found


def _as_vectors(values: Any) -> FloatArray:
    vectors = values if isinstance(values, np.ndarray) else np.asarray(values)
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise InputError(f"vectors must form a matrix, one row per vertex; got shape {vectors.shape}")
    if vectors.dtype.kind not in "iuf":
        raise InputError(f"vectors must be real numbers; got {vectors.dtype}")
    if vectors.dtype not in (np.float32, np.float64):
        double = vectors.dtype.kind == "f" and vectors.dtype.itemsize == 8
        vectors = vectors.astype(np.float64 if double else np.float32)
    if not all_finite(vectors):
        bad = next(i for i, row in enumerate(vectors) if not np.isfinite(row).all())
        raise InputError(f"vectors must be finite; row {bad:,} (counted from 0) holds NaN or infinity")
    return vectors.view()
