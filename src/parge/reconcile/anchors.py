"""Anchor rows of all subgraphs: checked, shortened without loss, and set aside for checking a map."""

from collections.abc import Iterator, Sequence

import numpy as np

from parge.errors import InputError
from parge.reconcile.maps import Matrix, double
from parge.rows import row_blocks, triangle
from parge.seeds import stream
from parge.typing import FloatArray, IntArray

# Above this many columns in all, the triangle that stands for the rows would itself be large (134 MB here).
_MOST_COLUMNS = 4096


def check_anchors(anchors: Sequence[FloatArray]) -> None:
    """Refuse anchor rows that are not one finite matrix of one shape a subgraph."""
    shapes = {rows.shape for rows in anchors}
    if len(shapes) > 1:
        raise InputError(f"every subgraph gives the same anchors vectors of one length; got shapes {sorted(shapes)}")
    if any(len(shape) != 2 for shape in shapes):
        raise InputError(f"anchor rows are matrices (anchors, dim); got shape {shapes.pop()}")
    for i, rows in enumerate(anchors):
        if not np.isfinite(rows).all():
            raise InputError(f"subgraph {i} gives an anchor a vector with NaN or infinity; check its technique")


def nothing_to_map(anchors: Sequence[FloatArray]) -> bool:
    """Return whether identity maps are the answer: at most one subgraph, or nothing that they share."""
    return len(anchors) <= 1 or anchors[0].size == 0


def condense(anchors: Sequence[FloatArray]) -> list[Matrix]:
    """Return matrices with the same products ``H_i^T H_j`` but at most n * dim rows each, in float64.

    With ``[H_1 ... H_n] = Q R``, the column blocks of R have the products of the H_i, because Q is orthogonal.
    Rotations depend on those products alone, so many anchors cost one pass over them and no more.
    """
    dim, n_columns = anchors[0].shape[1], len(anchors) * anchors[0].shape[1]
    if len(anchors[0]) <= 2 * n_columns or n_columns > _MOST_COLUMNS:
        return [double(rows) for rows in anchors]
    R = triangle(_side_by_side(anchors, 2 * n_columns), n_columns)
    return [R[:, start : start + dim] for start in range(0, n_columns, dim)]


def _side_by_side(anchors: Sequence[FloatArray], block_rows: int) -> Iterator[Matrix]:
    for rows in row_blocks(len(anchors[0]), block_rows):
        yield np.hstack([double(matrix[rows]) for matrix in anchors])


def folds(n_anchors: int, n_folds: int = 5) -> IntArray:
    """Return the fold of every anchor, the same on every call.

    Drawn rather than counted off, because anchors come in the order of their numbers, which may have a period.
    """
    order = stream(0, "anchor folds", n_anchors).permutation(n_anchors)
    return order % n_folds
