"""Products ``H_i^T H_j`` of the subgraphs' anchor rows: all that rotations depend on."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parge.blocks import forget, row_blocks, rows_at_once
from parge.reconcile.maps import double
from parge.typing import FloatArray, Matrix

# Above this many columns in all (n * dim), the table of all products would itself be large: 134 MB here.
_MOST_COLUMNS = 4096


class Products(ABC):
    """The products of anchor rows, in float64, kept in whichever form is smaller."""

    n: int

    @abstractmethod
    def pair(self, i: int, j: int) -> Matrix:
        """Return ``H_i^T H_j``, (dim, dim)."""

    @abstractmethod
    def with_total(self, W: Sequence[Matrix]) -> list[Matrix]:
        """Return ``H_i^T (H_1 W_1 + ... + H_n W_n)`` for every i."""


def products(anchors: Sequence[FloatArray]) -> Products:
    """Return the products of these rows; many anchors are read once, block by block, and not kept."""
    n_columns = len(anchors) * anchors[0].shape[1]
    if len(anchors[0]) <= n_columns or n_columns > _MOST_COLUMNS:
        return _OfRows(len(anchors), tuple(anchors))
    table = np.zeros((n_columns, n_columns))
    for rows in row_blocks(len(anchors[0]), rows_at_once(n_columns)):
        block = np.hstack([matrix[rows] for matrix in anchors], dtype=np.float64)
        table += block.T @ block
        forget(*anchors)
    return _Table(len(anchors), table)


@dataclass(frozen=True, eq=False)
class _OfRows(Products):
    """The rows themselves, in the precision they have; float64 a block at a time."""

    n: int
    H: tuple[FloatArray, ...]

    def pair(self, i: int, j: int) -> Matrix:
        product = np.zeros((self.H[i].shape[1], self.H[j].shape[1]))
        for rows in self._blocks():
            product += double(self.H[i][rows]).T @ double(self.H[j][rows])
        return product

    def with_total(self, W: Sequence[Matrix]) -> list[Matrix]:
        dim = self.H[0].shape[1]
        found = [np.zeros((dim, dim)) for _ in W]
        for rows in self._blocks():
            total = np.zeros((rows.stop - rows.start, dim))
            for matrix, turn in zip(self.H, W, strict=True):
                total += double(matrix[rows]) @ turn
            for i, matrix in enumerate(self.H):
                found[i] += double(matrix[rows]).T @ total
        return found

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(len(self.H[0]), rows_at_once(self.H[0].shape[1]))


@dataclass(frozen=True, eq=False)
class _Table(Products):
    n: int
    table: Matrix

    def pair(self, i: int, j: int) -> Matrix:
        dim = len(self.table) // self.n
        return self.table[i * dim : (i + 1) * dim, j * dim : (j + 1) * dim]

    def with_total(self, W: Sequence[Matrix]) -> list[Matrix]:
        return np.split(self.table @ np.vstack(W), self.n)
