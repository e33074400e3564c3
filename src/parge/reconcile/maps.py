"""The maps that reconcilers answer with: small values that carry rows into the common space."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.blocks import row_blocks, rows_at_once
from parge.typing import FloatArray, Matrix


@dataclass(frozen=True)
class IdentityMap:
    """The map that leaves every vector as it is."""

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the same array."""
        return vectors


@dataclass(frozen=True, eq=False)
class LinearMap:
    """The map ``x -> x W``; it computes in float64 and answers in the precision of its input.

    Parameters
    ----------
    matrix : (dim, dim) float64
        W; orthogonal for rotations.
    """

    matrix: Matrix

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the rows times W, one block at a time so that float64 copies stay small."""
        out = np.empty((len(vectors), self.matrix.shape[1]), vectors.dtype)
        for rows in row_blocks(len(vectors), rows_at_once(self.matrix.shape[1])):
            out[rows] = within(double(vectors[rows]) @ self.matrix, out.dtype)
        return out


def double(vectors: NDArray[Any]) -> Matrix:
    """Return the rows in float64, copied only where they are not."""
    return np.asarray(vectors, np.float64)


def within(rows: Matrix, dtype: np.dtype[Any]) -> Matrix:
    """Return the rows with what would overflow a precision, and be infinite, as its largest number."""
    most = float(np.finfo(dtype).max)
    return np.clip(rows, -most, most)
