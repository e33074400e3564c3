"""Anchor rows of all subgraphs: checked, and set aside in folds for checking a map."""

from collections.abc import Sequence

from parge.blocks import all_finite
from parge.errors import InputError
from parge.seeds import stream
from parge.typing import FloatArray, IntArray


def check_anchors(anchors: Sequence[FloatArray]) -> None:
    """Refuse anchor rows that are not one finite matrix of one shape a subgraph."""
    shapes = {rows.shape for rows in anchors}
    if len(shapes) > 1:
        raise InputError(f"every subgraph gives the same anchors vectors of one length; got shapes {sorted(shapes)}")
    if any(len(shape) != 2 for shape in shapes):
        raise InputError(f"anchor rows are matrices (anchors, dim); got shape {shapes.pop()}")
    for i, rows in enumerate(anchors):
        if not all_finite(rows):
            raise InputError(f"subgraph {i} gives an anchor a vector with NaN or infinity; check its technique")


def nothing_to_map(anchors: Sequence[FloatArray]) -> bool:
    """Return whether identity maps are the answer: at most one subgraph, or nothing that they share."""
    return len(anchors) <= 1 or anchors[0].size == 0


def folds(n_anchors: int, n_folds: int = 5) -> IntArray:
    """Return the fold of every anchor, the same on every call.

    Drawn rather than counted off, because anchors come in the order of their numbers, which may have a period.
    """
    order = stream(0, "anchor folds", n_anchors).permutation(n_anchors)
    return order % n_folds
