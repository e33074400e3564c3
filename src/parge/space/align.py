"""Rotate one embedding into the space of another, using the ids that both have."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from parge.embedding import Embedding
from parge.errors import InputError
from parge.ids import positions, show_ids
from parge.linalg.procrustes import rotation
from parge.reconcile.base import LinearMap, double, few_anchors, folds
from parge.reconcile.reconciliation import smallest_strength, unrelated
from parge.storage import release_pages, row_blocks
from parge.typing import IntArray, Matrix

_FOLDS = 5


@dataclass(frozen=True)
class Alignment:
    """How well an aligned embedding agrees with its reference.

    Residuals are relative, ``|X - Y| / sqrt((|X|^2 + |Y|^2) / 2)`` over the shared ids: 0 where they are identical,
    about 1.41 where they are unrelated.

    Parameters
    ----------
    shared, only_source, only_reference : int
        Number of ids that both have, and that only one of them has.
    before, after : float
        Residual before and after the rotation.
    held_out : float, optional
        Residual of shared ids under rotations fitted without them (five folds): an estimate for ids that are not
        shared. None with fewer than 5 shared ids.
    smallest_singular_value : float
        Smallest singular value of the source's shared rows; 0 where they span fewer than `dim` directions.
    dim : int
        Dimensions of both.
    """

    shared: int
    only_source: int
    only_reference: int
    before: float
    after: float
    held_out: float | None
    smallest_singular_value: float
    dim: int

    @property
    def warning(self) -> str | None:
        """A warning of too few shared ids for the dimensions, or of unrelated spaces; None otherwise."""
        few = few_anchors(self.shared, self.dim, "shared ids")
        if unrelated(self.after, self.held_out, determined=few is None):
            return (
                "the spaces hardly agree after rotation: the shared ids are about as far apart as unrelated vectors "
                "are (141 %). Check that the ids mean the same vertices"
            )
        return few

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers under the names of the fields."""
        return asdict(self)

    def __str__(self) -> str:
        held_out = "" if self.held_out is None else f" ({self.held_out:.1%} on ids held out)"
        lines = [
            f"{self.shared:,} shared ids, {self.only_source:,} only in the source, "
            f"{self.only_reference:,} only in the reference",
            f"off by {self.before:.1%} before the rotation, {self.after:.1%} after it{held_out}; 0% is identical, 141% "
            "unrelated",
        ]
        return "\n".join([*lines, f"warning: {self.warning}"] if self.warning else lines)


def align(source: Embedding, reference: Embedding) -> tuple[Embedding, Alignment]:
    """Rotate the source into the space of the reference. Embeddings of any tool can be given.

    The rotation is the best orthogonal map on the shared ids, applied to all rows of the source. It changes no inner
    product within the source. Memory-mapped files are read one block at a time. Command line: ``parge align``.

    Parameters
    ----------
    source, reference : Embedding
        Embeddings of the same dimension that share some ids.

    Returns
    -------
    Embedding
        The source's ids with rotated vectors.
    Alignment
        Residuals before, after, and on held-out ids.
    """
    if source.dim != reference.dim:
        raise InputError(
            f"both must have the same dimensions; the source has {source.dim}, the reference {reference.dim}"
        )
    pairs = _shared_rows(source, reference)
    products = _products(source, reference, pairs)
    turn = rotation(products.sum(axis=0))
    out = np.empty(source.vectors.shape, source.vectors.dtype)
    for rows in row_blocks(len(source)):
        out[rows] = LinearMap(turn)(source.vectors[rows])
        release_pages(source.vectors)
    return Embedding(out, source.ids, source.report), _measure(source, reference, pairs, products, turn)


def _shared_rows(source: Embedding, reference: Embedding) -> IntArray:
    """Return the rows of every shared id in source and reference, (2, n_shared)."""
    place = positions(reference.ids, source.ids)
    here = np.flatnonzero(place >= 0)
    if not here.size:
        raise InputError(
            "the embeddings share no id, so no rotation can be found; the source has ids such as "
            f"{show_ids(source.ids)}, the reference {show_ids(reference.ids)}"
        )
    return np.stack([here, place[here]])


def _blocks(source: Embedding, reference: Embedding, pairs: IntArray) -> Iterator[tuple[slice, Matrix, Matrix]]:
    for rows in row_blocks(pairs.shape[1]):
        yield rows, double(source.vectors[pairs[0, rows]]), double(reference.vectors[pairs[1, rows]])
        release_pages(source.vectors, reference.vectors)


def _products(source: Embedding, reference: Embedding, pairs: IntArray) -> Matrix:
    """Return ``H^T T`` of every fold of the shared rows, (n_folds, dim, dim)."""
    fold = folds(pairs.shape[1], _FOLDS)
    out = np.zeros((_FOLDS, source.dim, source.dim))
    for rows, H, T in _blocks(source, reference, pairs):
        for i in range(_FOLDS):
            mine = fold[rows] == i
            out[i] += H[mine].T @ T[mine]
    return out


def _measure(source: Embedding, reference: Embedding, pairs: IntArray, products: Matrix, turn: Matrix) -> Alignment:
    n_shared, dim = pairs.shape[1], source.dim
    fold = folds(n_shared, _FOLDS)
    blind = [rotation(products.sum(axis=0) - products[i]) for i in range(_FOLDS)] if n_shared >= _FOLDS else []
    squares = np.zeros(4)  # misfit before, after, held out; size of both
    for rows, H, T in _blocks(source, reference, pairs):
        squares[0] += _square(H - T)
        squares[1] += _square(H @ turn - T)
        for i, unseen in enumerate(blind):
            mine = fold[rows] == i
            squares[2] += _square(H[mine] @ unseen - T[mine])
        squares[3] += _square(H) + _square(T)
    before, after, held_out = np.sqrt(squares[:3] / max(squares[3] / 2, np.finfo(np.float64).tiny)).tolist()
    return Alignment(
        shared=n_shared,
        only_source=len(source) - n_shared,
        only_reference=len(reference) - n_shared,
        before=before,
        after=after,
        held_out=held_out if blind else None,
        smallest_singular_value=smallest_strength((H for _, H, _ in _blocks(source, reference, pairs)), n_shared, dim),
        dim=dim,
    )


def _square(matrix: Matrix) -> float:
    return float(np.vdot(matrix, matrix))
