"""Embedding: one vector per vertex, with the vertex ids and a report of how it was computed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, Literal, Protocol, get_args

import numpy as np

from parge.errors import InputError, UnknownIdError
from parge.ids import Places, as_ids, repeated, show_ids
from parge.linalg.nearest import nearest
from parge.linalg.tall import unit, unit_rows
from parge.links import LinkHead
from parge.numbers import check_whole
from parge.result import Report
from parge.show.display import embedding_html
from parge.show.text import count
from parge.storage import BLOCK_ROWS, all_finite, release_pages
from parge.typing import FloatArray, IdArray, IntArray, Matrix

Task = Literal["labels", "links"]
"""What nearness is for."""

Metric = Literal["cosine", "ip"]
"""How vectors are compared: by the cosine, or by the inner product."""


class Frozen(Protocol):
    """A space as an embedding knows it; `parge.space.frozen.Space` is one."""

    def place(self, edges: Any) -> "Embedding":
        """Return vectors of new vertices."""

    def update(self, edges: Any = None, removed: Any = None, *, threshold: float | None = None) -> "Frozen":
        """Return the space with changed edges."""

    def embedding(self) -> "Embedding":
        """Return all vectors."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """The vectors of a graph's vertices, which read as a mapping of ids to vectors, and as a matrix.

    ``embedding["ann"]`` is a vector, ``embedding[["ann", "bob"]]`` two rows; ``"ann" in embedding`` and iteration
    go by id. `numpy.asarray`, `numpy.from_dlpack` and whatever reads an Arrow stream take it as it is.

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
    freeze : callable, optional
        Makes the space that `place` and `update` need of this embedding, when it is first asked for. `parge.embed`
        gives it; files of vectors do not hold it.

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
    freeze: "Callable[[Embedding], Frozen] | None" = field(default=None, repr=False)

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
        return f"Embedding({count(len(self), 'vertex')}, dim={self.dim})"

    def _repr_html_(self) -> str:
        return embedding_html(self)

    def __contains__(self, id: Any) -> bool:  # noqa: A002
        try:
            return bool(self._places.of(as_ids([id]))[0] >= 0)
        except InputError:  # neither a number nor a text
            return False

    def __iter__(self) -> Iterator[Any]:
        return iter(self.ids.tolist())

    def keys(self) -> Iterator[Any]:
        """Return the ids, in the order of the rows."""
        return iter(self)

    def items(self) -> Iterator[tuple[Any, FloatArray]]:
        """Return each id with its vector."""
        return zip(self, self.vectors, strict=True)

    def values(self) -> Iterator[FloatArray]:
        """Return the vectors, in the order of the rows."""
        return iter(self.vectors)

    def get(self, id: Any, default: Any = None) -> Any:  # noqa: A002 - the word that callers use
        """Return the vector of an id, or the default where there is none."""
        return self.vector(id) if id in self else default

    def __getitem__(self, key: Any) -> FloatArray:
        """Return the vector of an id, or the rows of several; raise `UnknownIdError`, a KeyError, for others."""
        if isinstance(key, slice):
            raise InputError("an embedding is read by id, not by row; for rows, use embedding.vectors[a:b]")
        return self.vector(key) if isinstance(key, str) or np.ndim(key) == 0 else self.rows(key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the vectors as a numpy array: read-only, and without a copy unless one is asked for or needed."""
        return np.array(self.vectors, dtype, copy=copy)

    def __dlpack__(self, **asked: Any) -> Any:
        """Hand the vectors to `torch.from_dlpack` and the like; a copy to those that cannot promise to only read."""
        try:
            return self.vectors.__dlpack__(**asked)
        except BufferError:
            return np.array(self.vectors).__dlpack__(**asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return that the vectors are in main memory."""
        return self.vectors.__dlpack_device__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export the rows as an Arrow stream, batch by batch: DuckDB, Polars, pandas and pyarrow read it."""
        from parge.io.embeddings.parquet import reader_of

        return reader_of(self._table).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """Return an Arrow table with the columns ``id`` and ``vector``, as in Parquet; vectors are not copied."""
        from parge.io.embeddings.parquet import reader_of

        return reader_of(self._table).read_all()

    def to_pandas(self) -> Any:
        """Return a pandas frame: a row per vertex, its id as the index, a column per dimension."""
        from parge.io.embeddings.parquet import to_pandas

        return to_pandas(self.vectors, self.ids)

    def to_polars(self) -> Any:
        """Return a Polars frame with the columns ``id`` and ``vector``."""
        from parge.io.embeddings.parquet import to_polars

        return to_polars(self._table)

    @property
    def _table(self) -> Any:
        from parge.io.embeddings.common import Vectors

        return Vectors(self.vectors, self.ids, self.report, self.head, self.degrees)

    @cached_property
    def _places(self) -> Places:
        return Places(self.ids)

    @property
    def dim(self) -> int:
        """Number of columns."""
        return int(self.vectors.shape[1])

    def vector(self, id: Any) -> FloatArray:  # noqa: A002 - the word that callers use
        """Return the vector of one vertex."""
        return np.asarray(self.rows([id])[0])

    def rows(self, ids: Any) -> FloatArray:
        """Return the vectors of some vertices, in the order asked for."""
        return np.asarray(self.vectors[self.row_numbers(ids)])

    def row_numbers(self, ids: Any) -> IntArray:
        """Return the row number of each id; raise `UnknownIdError` where an id has no row."""
        wanted = as_ids(ids)
        place = self._places.of(wanted)
        missing = wanted[place < 0]
        if missing.size:
            known = f"it has {count(len(self), 'id')}, such as {show_ids(self.ids)}" if len(self) else "it is empty"
            raise UnknownIdError(f"the embedding has no vector for {show_ids(missing)}; {known}")
        return place

    def neighbors(
        self,
        of: Any,
        k: int = 10,
        *,
        task: Task = "labels",
        metric: Metric = "cosine",
        block_rows: int = BLOCK_ROWS,
    ) -> tuple[IdArray, FloatArray]:
        """Return the ids and scores of the k nearest vertices, nearest first, for one or many questions at once.

        The rows are read one block at a time, so the embedding may be a memory map larger than memory. A zero vector
        has cosine 0 with every other; ties are in the order of rows. On the command line: ``parge neighbors``.

        Parameters
        ----------
        of : id, sequence of ids, vector or matrix
            Vertices, which are not their own neighbours; or vectors of this space, as floats.
        k : int
            How many.
        task : "labels" or "links"
            What nearness means. ``labels``: the cosine, vertices that are alike. ``links``: the score of the degree
            head, vertices that are likely to have an edge with it, known edges included; many edges count. Only for
            vertices.
        metric : "cosine" or "ip"
            What makes vertices alike: the cosine, or the inner product, in which long vectors count more. Links have a
            score of their own.
        block_rows : int
            Rows held in memory at a time.

        Returns
        -------
        ids, scores : arrays of shape (k,), or (n, k) for n questions
            Fewer than k columns where there are fewer vertices.

        Examples
        --------
        >>> embedding = Embedding(np.array([[1, 0], [2, 0.1], [0, 1]]), ["a", "b", "c"])
        >>> embedding.neighbors("a", k=1)[0].tolist(), embedding.neighbors([[0.0, 2.0]], k=1)[0].tolist()
        (['b'], [['c']])
        """
        check_whole("the number of neighbours", k, 1)
        check_whole("block_rows", block_rows, 1)
        if task not in get_args(Task):
            raise InputError(f"there is no task {task!r}; known: {', '.join(get_args(Task))}")
        if metric not in get_args(Metric):
            raise InputError(f"there is no metric {metric!r}; known: {', '.join(get_args(Metric))}")
        if task == "links" and metric != "cosine":
            raise InputError("links have a score of their own. Omit the metric.")
        asked = np.asarray(of)
        if asked.dtype.kind == "f" and asked.size:
            if task != "labels":
                raise InputError("links are scored between vertices, whose degrees are known. Give ids, not vectors.")
            vectors = self._as_questions(asked)
            itself, questions = None, unit_rows(vectors) if metric == "cosine" else np.asarray(vectors, np.float64)
        else:
            if asked.ndim > 1:
                raise InputError(
                    f"ids are a flat list, and vectors are floats; got {asked.dtype} of shape {asked.shape}"
                )
            itself = self.row_numbers(of if asked.ndim else [of])
            questions = self._side(itself, task, metric, 0)
        places, scores = nearest(
            lambda rows: self._side(rows, task, metric, 1),
            len(self),
            questions,
            k,
            without=itself,
            block_rows=block_rows,
        )
        single = asked.ndim == (1 if itself is None else 0)
        return (self.ids[places[0]], scores[0]) if single else (self.ids[places], scores)

    def _as_questions(self, vectors: Any) -> Any:
        found = np.atleast_2d(vectors)
        if found.ndim != 2 or found.shape[1] != self.dim:
            raise InputError(f"vectors of this space have {self.dim} numbers; got shape {vectors.shape}")
        if not np.isfinite(found).all():
            raise InputError("vectors must be finite; some numbers are NaN or infinite")
        return found

    def _side(self, rows: slice | IntArray, task: str, metric: str, which: int) -> Matrix:
        """Return some rows of either side of the inner product that is the score."""
        if metric == "ip":
            plain = np.asarray(self.vectors[rows], np.float64)
            release_pages(self.vectors)
            return plain
        directions = unit_rows(self.vectors[rows])
        release_pages(self.vectors)
        if task == "labels":
            return directions
        head, degrees = self.for_links()
        return head.sides(directions, degrees[rows])[which]

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
            if self.degrees is not None:
                raise InputError(
                    "the embedding has degrees, but no degree head: it is of placed vertices alone, or of a space that "
                    "an earlier version wrote. Use parge update with the space, -o OUT.parquet, and ask that file."
                )
            raise InputError(
                "the embedding has no degree head. Spaces have one, and the .npz and .parquet files of parge embed and "
                "parge update, and folders of --sharded. Those of earlier versions, files of parge place and other "
                "formats have none. Embed the graph to .parquet."
            )
        return self.head, self.degrees

    @cached_property
    def space(self) -> "Frozen":
        """The frozen space: this embedding with its graph. Raises `InputError` where it was read from a file."""
        if self.freeze is None:
            raise InputError(
                "the embedding was read as vectors alone, without a graph, so nothing can be placed in it. If it is of "
                "a space, use parge.open_space(DIR) instead of Embedding.load. Else write one: parge embed --space DIR."
            )
        return self.freeze(self)

    def place(self, edges: Any) -> "Embedding":
        """Return vectors of the vertices in `edges` that the embedding does not have; see `parge.place`.

        The vectors here stay as they are. Command line: ``parge place``.
        """
        return self.space.place(edges)

    def update(self, edges: Any = None, removed: Any = None, *, threshold: float | None = None) -> "Embedding":
        """Return the embedding with edges added and removed; only vertices whose edges changed move: `parge.update`.

        Command line: ``parge update``.
        """
        return self.space.update(edges, removed, threshold=threshold).embedding()

    def save(self, path: str | PathLike[str]) -> None:
        """Write to ``.npy``, ``.npz``, ``.parquet``, or ``.vec``/``.emb``/``.txt``; see `parge.io.embeddings.files`.

        An existing file is replaced, as `numpy.save` does; a symbolic link is followed.
        """
        from parge.io.embeddings.files import write

        write(self._table, path)

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
