"""Linear maps from one set of rows to another, by ridge regression: how much they are drawn is found on other rows."""

import numpy as np

from parge.linalg.tall import unit
from parge.typing import FloatArray, Matrix

# Ridges that are tried, of the mean of the squares, strongest first; rows that each is tried on.
RIDGES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
_TRIED_ON = 2_000

# The strongest ridge is taken whose mean cosine is within this of the best: a weaker one also finds traces that a
# vertex left in its own neighbours (`make bench-space ONLY=choices`).
WITHIN = 0.01


def chosen_ridge(features: FloatArray, targets: FloatArray) -> float:
    """Return the strongest ridge that is nearly the best for the other half of the rows, of each of two halves."""
    found = np.zeros(len(RIDGES))
    for here, there in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        rows, truth = features[there][:_TRIED_ON], targets[there][:_TRIED_ON]
        sums = _sums(features[here], targets[here])
        for i, share in enumerate(RIDGES):
            by = _solved(*sums, share)
            found[i] += np.einsum("ij,ij->", unit(rows @ by[:-1] + by[-1]), truth) / max(1, 2 * len(rows))
    return float(RIDGES[int(np.argmax(found >= found.max() - WITHIN))])


def ridge(features: FloatArray, targets: FloatArray, share: float) -> FloatArray:
    """Return weights of the features and, last, of a constant; drawn toward a multiple of the identity, and 0."""
    return _solved(*_sums(features, targets), share)


def _sums(features: FloatArray, targets: FloatArray) -> tuple[Matrix, Matrix]:
    """Return the products of the features, and of a constant, with themselves and with the targets."""
    X = np.hstack([features, np.ones((len(features), 1))], dtype=np.float64)
    return X.T @ X, X.T @ targets.astype(np.float64)


def _solved(gram: Matrix, with_targets: Matrix, share: float) -> FloatArray:
    dim = len(gram) - 1
    multiple = np.trace(with_targets[:dim]) / max(float(np.trace(gram[:dim, :dim])), np.finfo(np.float64).tiny)
    toward: Matrix = multiple * np.eye(dim + 1, dim)
    drawn = gram + share * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.asarray(toward + np.linalg.solve(drawn, with_targets - gram @ toward), np.float32)
