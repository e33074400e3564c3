"""Filters by Chebyshev polynomials: of eigenvalues (`parge.linalg.subspace`), and ProNE's of a graph's frequencies."""

from math import factorial
from typing import Any

import numpy as np

from parge.events import Progress, silent
from parge.typing import Matrix

# Columns filtered at once: filters act on each column alone, and few columns keep the six tall arrays small.
COLUMNS = 16

Factors = tuple[float, float, float]

# After a filter a column may hold this much of a stronger direction, as a multiple of itself: float32 keeps the
# rest well enough. And the most products of a filter.
_SWAMPED, _MOST_DEGREE = 100.0, 20


def propagate(
    adjacency: Any,
    vectors: Matrix,
    step: int = 10,
    mu: float = 0.2,
    theta: float = 0.5,
    *,
    progress: Progress = silent,
) -> Matrix:
    """Return vectors after ProNE's Gaussian filter of the graph's frequencies, by Chebyshev polynomials.

    Zhang et al. (IJCAI 2019), section 3.2: with ``L = I - D~^-1 A~``, ``A~ = A + I`` and ``H = ((L - mu I)^2 - 2 I) /
    2`` the result is ``A~ (X - e^(-theta H) X)``. Here ``e^(-theta H) ≈ I_0(theta) + 2 Σ_i (-1)^i I_i(theta) T_i(H)``
    for i < step, with modified Bessel functions I_i. 2 step - 1 sparse products. One step filters nothing: the vectors
    come back as they are.

    The adjacency matrix is symmetric, without self loops; `vectors` are not written to.
    """
    if step <= 1:
        return vectors.astype(np.float64)
    lazy = 1.0 / (1.0 + np.asarray(adjacency.sum(axis=1)).reshape(-1, 1))
    out = np.empty(vectors.shape)
    for first in range(0, vectors.shape[1], COLUMNS):
        block = slice(first, first + COLUMNS)
        X = np.ascontiguousarray(vectors[:, block], np.float64)
        passed = X - _gaussian(adjacency, lazy, X, step, mu, theta)
        out[:, block] = adjacency @ passed + passed
        progress(min(1.0, (first + COLUMNS) / vectors.shape[1]))
    return out


def _gaussian(adjacency: Any, lazy: Matrix, X: Matrix, step: int, mu: float, theta: float) -> Matrix:
    """Return ``e^(-theta H) X``; T_0 = X, T_1 = H X, T_(i+1) = 2 H T_i - T_(i-1)."""

    def shifted(columns: Matrix) -> Matrix:
        """Return ``(L - mu I) columns``."""
        walked = adjacency @ columns
        walked += columns
        walked *= -lazy
        walked += (1.0 - mu) * columns
        return np.asarray(walked)

    def twice_h(columns: Matrix) -> Matrix:
        return shifted(shifted(columns)) - 2.0 * columns

    bessel = [modified_bessel(i, theta) for i in range(step)]
    before, now = X, 0.5 * twice_h(X)
    total = bessel[0] * before - 2.0 * bessel[1] * now
    for i in range(2, step):
        before, now = now, twice_h(now) - before
        total += (2.0 if i % 2 == 0 else -2.0) * bessel[i] * now
    return np.asarray(total)


def modified_bessel(order: int, x: float) -> float:
    """Return ``I_order(x) = Σ_k (x/2)^(2k + order) / (k! (k + order)!)`` of a whole order and x >= 0.

    All terms are positive, so the plain sum is exact to rounding. By hand, because `scipy.special` loads a second
    BLAS, whose 40 MB count against a worker's limit.

    >>> round(modified_bessel(0, 0.5), 9), round(modified_bessel(3, 0.5), 9)
    (1.063483371, 0.002645112)
    """
    total, k = 0.0, 0
    term = (x / 2) ** order / factorial(order)
    while term > 1e-17 * total:
        total += term
        k += 1
        term *= (x / 2) ** 2 / (k * (k + order))
    return total


def filter_degree(values: Matrix, residuals: Matrix, interval: tuple[float, float]) -> int:
    """Return the most products before float32 columns drown in directions that grow faster.

    Other columns hold as much of a direction as its own vector is wrong, or rounding; a filter multiplies that by
    ``cosh(degree * arccosh(distance / half))``.
    """
    middle, half = sum(interval) / 2, (interval[1] - interval[0]) / 2
    distance = np.abs(values - middle)
    wrong = np.clip(residuals / np.maximum(distance, half), 2.5 * np.finfo(np.float32).eps, 1.0)
    speed = np.arccosh(np.maximum(distance / half, 1.0 + 1e-9))
    return int(np.clip((np.log(2 * _SWAMPED / wrong) / speed).min(initial=_MOST_DEGREE), 1, _MOST_DEGREE))


def filter_factors(low: float, high: float, degree: int) -> list[Factors]:
    """Return the factors of a Chebyshev polynomial that stays within 1 between two eigenvalues, and grows outside."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [(1 / half, -middle / half, 0.0), *[(2 / half, -2 * middle / half, -1.0)] * (degree - 1)]
