"""Rotations into one space: onto a pivot (as in the paper, corrected), or onto the mean of all spaces."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg

from parge.errors import InputError
from parge.linalg.procrustes import rotation
from parge.reconcile.base import IdentityMap, LinearMap, Map, Reconciler, check_anchors, double, nothing_to_map
from parge.storage import release_pages, row_blocks, rows_at_once
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
        release_pages(*anchors)
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


def choose_pivot(anchors: Products) -> int:
    """Return the subgraph to which all others can be rotated with the smallest total residual.

    The residual of a pair is ``min_W |H_i W - H_p|^2 / (|H_i|^2 + |H_p|^2)``, between 0 and 1, so that a subgraph is
    not preferred for being short. It equals ``1 - 2 sum(svd(H_i^T H_p)) / (|H_i|^2 + |H_p|^2)``.
    """
    squares = [float(np.trace(anchors.pair(i, i))) for i in range(anchors.n)]
    agreement = np.zeros(anchors.n)
    for i in range(anchors.n):
        for j in range(i):
            total = squares[i] + squares[j]
            if total > 0:
                nuclear = scipy.linalg.svdvals(anchors.pair(i, j)).sum()
                agreement[[i, j]] += 2 * nuclear / total
    # Differences of rounding must not decide: they would follow the order of the subgraphs.
    return int(np.flatnonzero(agreement >= agreement.max() * (1 - 1e-12))[0])


@dataclass(frozen=True)
class Orthogonal(Reconciler):
    """Rotates every space onto that of one pivot.

    Use it as ``reconcile="orthogonal"`` (``--reconcile orthogonal``) where one part's vectors must stay as they are.

    Parameters
    ----------
    pivot : int, optional
        The subgraph whose space becomes the common one; by default the one with the smallest total residual.
    """

    pivot: int | None = None

    name: ClassVar[str] = "orthogonal"

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return the identity for the pivot and a rotation for every other subgraph."""
        check_anchors(anchors)
        if self.pivot is not None and not 0 <= self.pivot < max(1, len(anchors)):
            raise InputError(
                f"there is no subgraph {self.pivot} for the pivot; the subgraphs are 0..{len(anchors) - 1}"
            )
        if nothing_to_map(anchors):
            return (IdentityMap(),) * len(anchors)
        known = products(anchors)
        pivot = choose_pivot(known) if self.pivot is None else self.pivot
        return tuple(
            IdentityMap() if i == pivot else LinearMap(rotation(known.pair(i, pivot))) for i in range(len(anchors))
        )


# Relative gain of a round under which the rounds stop. On vectors of ProNE in 8 parts (a tree, a planted graph) 1e-7
# took 60 rounds and this 10 and 6, with residuals of .8414 and .8418, .4460 and .4465.
_TOLERANCE = 1e-4
_MOST_ROUNDS = 60

# Below two anchors a fold there is no evidence to choose a correction by.
FEWEST_ANCHORS = 10

# A correction must lower the held-out error by more than rounding does.
_ENOUGH = 1 - 1e-6


@dataclass(frozen=True)
class Consensus(Reconciler):
    """Rotates every space onto the mean of all; mean and rotations are found together.

    Use it as ``reconcile="consensus"`` (``--reconcile consensus``): the default for techniques without a backbone.

    Minimises ``sum_i |H_i W_i - C|^2`` over orthogonal W_i and C. Uncentred: a translation would change inner products
    (and multiplied the PIP of HOPE by 7 when it was tried). Rounds start from the best pivot and update all rotations
    at once, so the order of the subgraphs does not matter.
    """

    name: ClassVar[str] = "consensus"
    falls_back: ClassVar[bool] = True

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return one map per subgraph: its rotation, corrected where a subclass does that."""
        check_anchors(anchors)
        if nothing_to_map(anchors):
            return (IdentityMap(),) * len(anchors)
        return self._mapped(anchors, rotations(products(anchors)))

    def _mapped(self, anchors: Sequence[FloatArray], W: Sequence[Matrix]) -> tuple[Map, ...]:
        del anchors
        return tuple(LinearMap(turn) for turn in W)


@dataclass(frozen=True)
class Corrected(Consensus):
    """Rotates every space to the consensus, then learns from the anchors what the rotation leaves over."""

    def _mapped(self, anchors: Sequence[FloatArray], W: Sequence[Matrix]) -> tuple[Map, ...]:
        pairs = zip(W, rotated_and_target(anchors, W), strict=True)
        return tuple(self.corrected(turn, rows, target) for turn, (rows, target) in pairs)

    @abstractmethod
    def corrected(self, turn: Matrix, rows: Matrix, target: Matrix) -> Map:
        """Return the map of one subgraph, given its rotation, its rotated anchors and where they belong."""


def best_choice(errors: Sequence[float]) -> int:
    """Return the choice of the smallest held-out error; 0, no correction, where the gain is rounding.

    >>> best_choice([1.0, 0.5, 0.7]), best_choice([1.0, 1.0 - 1e-9])
    (1, 0)
    """
    best = int(np.argmin(errors))
    return best if errors[best] < _ENOUGH * errors[0] else 0


def rotations(anchors: Products) -> list[Matrix]:
    """Return the rotations W_i that bring all ``H_i W_i`` nearest to their mean."""
    pivot, before = choose_pivot(anchors), 0.0
    W = [rotation(anchors.pair(i, pivot)) for i in range(anchors.n)]
    for _ in range(_MOST_ROUNDS):
        onto = anchors.with_total(W)
        # |sum_i H_i W_i|^2 rises in every round exactly as much as the objective falls.
        agreement = sum(float(np.vdot(turn, product)) for turn, product in zip(W, onto, strict=True))
        if agreement <= before * (1 + _TOLERANCE):
            break
        before = agreement
        W = [rotation(product) for product in onto]
    return _upright(W)


def _upright(W: Sequence[Matrix]) -> list[Matrix]:
    """Turn the common space, which is free to be turned, to where the maps are nearest to the identity.

    So the pivot of the start leaves no trace, and spaces that agree already are left as they are.
    """
    common = rotation(np.asarray(sum(W)).T)
    return [map_ @ common for map_ in W]


def rotated_and_target(anchors: Sequence[FloatArray], W: Sequence[Matrix]) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield, for every subgraph, its rotated anchor rows and the mean of everybody's, in float64.

    The mean of all, not of the others: two spaces that each bend toward the other would only change places.
    Three matrices of anchor rows are alive at a time, however many subgraphs there are.
    """
    mean = np.zeros(anchors[0].shape)
    for rows, turn in zip(anchors, W, strict=True):
        mean += double(rows) @ turn
    mean /= len(anchors)
    for rows, turn in zip(anchors, W, strict=True):
        yield double(rows) @ turn, mean
