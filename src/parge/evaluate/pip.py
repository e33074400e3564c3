"""PIP: how far two embeddings are apart in their pairwise inner products, whatever their rotation.

``|Z1 Z1^T - Z2 Z2^T|_F`` over n vertices, without an n x n matrix: with ``[Z1 Z2] = Q [R1 R2]`` it equals
``|R1 R1^T - R2 R2^T|_F``, because Q is orthogonal. R is gathered from row blocks in float64, so embeddings may be
larger than memory. (Squares of Gram matrices would be cheaper still, but lose every digit where the relative
difference is 1e-8.)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.scores import PIP
from parge.ids import as_ids, positions, show_ids
from parge.linalg.tall import triangle
from parge.numbers import check_whole
from parge.seeds import keyed_rng
from parge.storage import BLOCK_ROWS, release_pages, row_blocks
from parge.typing import FloatArray, IntArray, Matrix

Vectors = Embedding | FloatArray | NDArray[np.float64]
"""An embedding, or the rows of one in the order of vertices 0..n-1."""


def different_passes(a: Embedding, b: Embedding) -> str:
    """Return a text that names the refine passes of two embeddings if they are known and differ, else an empty text.

    >>> rows = np.eye(2)
    >>> raw, refined = (Embedding(rows, np.arange(2), {"refine": {"name": name}}) for name in ("none", "whiten"))
    >>> different_passes(raw, refined), different_passes(raw, Embedding(rows, np.arange(2)))
    ("refine passes differ, 'none' and 'whiten'", '')
    """
    passes = [embedding.report.refine for embedding in (a, b)]
    names = ["none" if each.factor is not None else each.name for each in passes]  # a factor only changes the scale
    return f"refine passes differ, {names[0]!r} and {names[1]!r}" if None not in names and names[0] != names[1] else ""


def pip(
    a: Vectors,
    b: Vectors,
    *,
    core: Any = None,
    floor: Vectors | None = None,
    seed: int = 0,
    block_rows: int = BLOCK_ROWS,
) -> PIP:
    """Return the PIP distance of an embedding from a reference.

    Parameters
    ----------
    a, b : Embedding, or (n_vertices, dim) array
        The embedding and the reference; they are matched by id and may have different dimensions. Plain arrays have the
        ids 0..n-1.
    core : int or ids, optional
        Compare inner products with these core vertices L only, or with this number of vertices drawn at random. `pip`
        is then ``|Z1 L1^T - Z2 L2^T|_F * sqrt(n / |L|)``, an estimate of the whole (exact for L = V).
    floor : Embedding or array, optional
        The reference computed again with another seed, to say how close two runs are anyway.
    seed : int
        Seed of the core.
    block_rows : int
        Rows held in memory at a time.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> pip(rows, rows[:, ::-1]).relative < 1e-12
    True
    """
    pairs = _Pairs.meet(a, b, block_rows)
    R = pairs.triangle(None)
    C, share = (R, 1.0) if core is None else pairs.core(core, seed)
    d = pairs.first.dim
    # |Z1 L1^T - Z2 L2^T| = |Q (R1 C1^T - R2 C2^T) Q_L^T| for [Z1 Z2] = Q R and [L1 L2] = Q_L C.
    own, reference = R[:, :d] @ C[:, :d].T, R[:, d:] @ C[:, d:].T
    distance = float(np.linalg.norm(own - reference))
    whole, per_vertex = distance / share**0.5, 1 / (share**0.5 * max(1, pairs.n_vertices))
    squares, factor = _fit(own, reference)
    mapped = reference - _onto(R[:, :d]) @ reference @ _onto(C[:, :d])
    return PIP(
        whole,
        distance * per_vertex,
        _ratio(distance, float(np.linalg.norm(reference))),
        factor,
        float(np.linalg.norm(squares * own - reference)) * per_vertex,
        float(np.linalg.norm(mapped)) * per_vertex,
        None if floor is None else pip(floor, b, core=core, seed=seed, block_rows=block_rows).per_vertex,
    )


def _fit(own: Matrix, reference: Matrix) -> tuple[float, float]:
    """Return s >= 0 with the least ``|s Z1 Z1^T - Z2 Z2^T|``, and its root, the factor of Z1."""
    size = float((own * own).sum())
    squares = max(0.0, float((own * reference).sum()) / size) if size > 0 else 1.0
    return squares, squares**0.5


def _onto(rows: Matrix) -> Matrix:
    """Return the projection on the columns; ``P B Q`` is the nearest to B of all ``R1 M C1^T``."""
    U, values, _ = np.linalg.svd(rows, full_matrices=False)
    kept = U[:, values > values.max(initial=0.0) * len(rows) * np.finfo(np.float64).eps]
    return np.asarray(kept @ kept.T)


def core_distances(
    a: Vectors, b: Vectors, *, core: Any = None, seed: int = 0, block_rows: int = BLOCK_ROWS
) -> NDArray[np.float64]:
    """Return the paper's d(z_1u, z_2u | L) of every vertex u of the reference, in the order of `a`'s rows.

    ``d(u | L) = |z_1u L1^T - z_2u L2^T|``: how differently the two embeddings see u from the core vertices L. By
    default these are all vertices; then the squares of all d sum to the square of PIP. Parameters are those of `pip`.
    """
    pairs = _Pairs.meet(a, b, block_rows)
    C = pairs.triangle(None) if core is None else pairs.core(core, seed)[0]
    d = pairs.first.dim
    turn = np.vstack([C[:, :d].T, -C[:, d:].T])
    return np.concatenate([np.zeros(0), *(np.linalg.norm(block @ turn, axis=1) for block in pairs.blocks(None))])


class _Pairs:
    """Rows of two embeddings side by side, matched by id, one block at a time."""

    def __init__(self, first: Embedding, second: Embedding, place: IntArray | None, block_rows: int) -> None:
        self.first, self.second, self._place, self._block_rows = first, second, place, block_rows
        self.n_vertices = len(first)

    @staticmethod
    def meet(a: Vectors, b: Vectors, block_rows: int) -> "_Pairs":
        check_whole("block_rows", block_rows, 1)
        first, second = _as_embedding(a), _as_embedding(b)
        if first.ids.dtype == second.ids.dtype and np.array_equal(first.ids, second.ids):
            return _Pairs(first, second, None, block_rows)
        place = positions(second.ids, first.ids)
        extra = first.ids[place < 0]
        missing = second.ids[positions(first.ids, second.ids) < 0]
        if extra.size or missing.size:
            found = [f"only the embedding has {show_ids(extra)}"] if extra.size else []
            found += [f"only the reference has {show_ids(missing)}"] if missing.size else []
            raise InputError(f"both must have the same vertices; {'; '.join(found)}")
        return _Pairs(first, second, place, block_rows)

    def blocks(self, chosen: IntArray | None) -> Iterator[Matrix]:
        """Yield blocks of ``[Z1 Z2]`` in float64: all rows, or the chosen ones."""
        n_rows = self.n_vertices if chosen is None else chosen.size
        for rows in row_blocks(n_rows, self._block_rows):
            here: Any = rows if chosen is None else chosen[rows]
            there = here if self._place is None else self._place[here]
            yield np.hstack([self.first.vectors[here], self.second.vectors[there]], dtype=np.float64)
            release_pages(self.first.vectors, self.second.vectors)

    def triangle(self, chosen: IntArray | None) -> Matrix:
        return triangle(self.blocks(chosen), self.first.dim + self.second.dim)

    def core(self, core: Any, seed: int) -> tuple[Matrix, float]:
        """Return the triangle of the core rows, and their share of all rows."""
        if isinstance(core, int | np.integer):
            size = min(check_whole("the number of core vertices", core, 1), self.n_vertices)
            chosen = np.sort(keyed_rng(seed, "core").choice(self.n_vertices, size, replace=False))
        else:
            chosen = np.unique(self.first.row_numbers(as_ids(core)))
        if not chosen.size:
            raise InputError("the core must have at least one vertex; got none")
        return self.triangle(chosen), chosen.size / self.n_vertices


def _as_embedding(vectors: Vectors) -> Embedding:
    return vectors if isinstance(vectors, Embedding) else Embedding(vectors, np.arange(len(vectors)))  # type: ignore[arg-type]


def _ratio(distance: float, size: float) -> float:
    if size > 0:
        return distance / size
    return 0.0 if distance == 0 else float("inf")
