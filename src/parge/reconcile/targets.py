"""What every subgraph's anchors should become: the mean of all, once they have been rotated together."""

from collections.abc import Iterator, Sequence

import numpy as np

from parge.reconcile.maps import double
from parge.typing import FloatArray, Matrix


def rotated_and_target(anchors: Sequence[FloatArray], W: Sequence[Matrix]) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield, for every subgraph, its rotated anchor rows and the mean of everybody's, in float64.

    The mean of all, not of the others: two spaces that each bend toward the other would only change places.
    Three matrices of anchor rows are alive at a time, however many subgraphs there are.
    """
    mean = np.zeros(anchors[0].shape)
    for rows, rotation in zip(anchors, W, strict=True):
        mean += double(rows) @ rotation
    mean /= len(anchors)
    for rows, rotation in zip(anchors, W, strict=True):
        yield double(rows) @ rotation, mean
