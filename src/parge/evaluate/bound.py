"""Bounds on what computing in parts costs: the paper's Theorem 1, and one that can be computed and is near.

E is the embedding of the whole graph in `dim` columns, and F the one computed in parts. M is a signal matrix with
singular values λ_1 >= λ_2 >= ..., and α the signal parameter: ``E E^T`` has the eigenvalues λ_i^2α, i <= dim. The page
docs/explain/theory.md has the proofs, and what is wrong with the paper's.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.pip import pip
from parge.evaluate.recovery import Recovery, exact_recovery
from parge.evaluate.signals import Signal, signal_of
from parge.graph.graph import Graph
from parge.linalg.threads import one_blas_thread
from parge.memory import refuse_over_budget
from parge.numbers import MOST_DIM, check_number, check_whole, shown
from parge.storage import row_blocks
from parge.typing import IntArray, Matrix

# Columns of Q that are multiplied by the signal matrix at once.
_COLUMNS = 16

# A difference of two squares is known up to this number of their rounding errors; bounds are raised by that much.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)

# Squares of larger singular values are no numbers any more.
_LARGEST = 1e150


@dataclass(frozen=True)
class Theorem1:
    """The three terms of the paper's Theorem 1, in the order printed; `bound` is their sum."""

    singular_values: float
    gaps: float
    parts: float

    @property
    def bound(self) -> float:
        """The bound on PIP(E, F)."""
        return self.singular_values + self.gaps + self.parts


def theorem_1(
    values: Matrix | Sequence[float], sizes: Sequence[int] | IntArray, *, n_vertices: int, dim: int, alpha: float = 0.5
) -> Theorem1:
    """Return the paper's bound from the singular values of M, with its index range clamped to [0, k].

    ``(N+1) Σ λ_i^2α + sqrt(2N) Σ (λ_i^2α - λ_{i+1}^2α) sqrt(i (n-i)) + Σ_m sqrt(Σ_{i<=2m-n} (λ_i^2α -
    λ_{i+2(n-m)}^2α)^2 + Σ_{i>2m-n} λ_i^4α)``; for N = 2 parts these are the printed constants, 3 and 2. (The paper's
    steps would give N^2 - 1 in the place of N + 1 for more parts; N + 1 is enough, see docs/explain/theory.md.)

    Parameters
    ----------
    values : (l,) float64
        λ, descending. Those that are not given count as 0, which can only raise the bound as long as the
        first min(dim, n) + 1 are there.
    sizes : (n_parts,) int
        Vertices m of each subgraph.

    Examples
    --------
    >>> theorem_1([4.0, 1.0, 1.0], [2, 1], n_vertices=3, dim=1).singular_values
    12.0
    """
    _check_alpha(alpha)
    n, k = check_whole("n_vertices", n_vertices), min(check_whole("dim", dim, 0, MOST_DIM), n_vertices)
    refuse_over_budget(8 * (2 * n + k), f"the bound for {n:,} vertices")
    given, sizes = _singular_values(values), _checked_sizes(sizes, n)
    n_parts = len(sizes)
    powers: Matrix = np.zeros(2 * n + k + 1)
    powers[: given.size] = given[: powers.size] ** (2 * alpha)
    head, i = powers[:k], np.arange(1, k + 1)
    parts = 0.0
    for m in sizes:
        seen, shift = min(max(2 * int(m) - n, 0), k), 2 * (n - int(m))
        fall, rest = head[:seen] - powers[shift : shift + seen], head[seen:]
        parts += float(np.hypot(np.linalg.norm(fall), np.linalg.norm(rest)))
    return Theorem1(
        (n_parts + 1) * float(head.sum()),
        float(np.sqrt(2 * n_parts) * ((head - powers[1 : k + 1]) * np.sqrt(i * (n - i))).sum()),
        parts,
    )


def triangle_bound(values: Matrix | Sequence[float], vectors: Any, *, alpha: float = 0.5) -> float:
    """Return ``|λ^2α|_2 + |F^T F|_F``, the triangle inequality and nothing else.

    Never above the first term of Theorem 1 where every part's singular values are at most those of M.

    Parameters
    ----------
    values : (l,) float64
        λ, descending; as many as F has columns are used.
    vectors : (n_vertices, dim) array
        F.
    """
    _check_alpha(alpha)
    head = _singular_values(values)[: vectors.shape[1]] ** (2 * alpha)
    gram: Matrix = np.zeros((vectors.shape[1],) * 2)
    for rows in row_blocks(len(vectors)):
        block = np.asarray(vectors[rows], np.float64)
        gram += block.T @ block
    return float(np.linalg.norm(head) + np.linalg.norm(gram))


@dataclass(frozen=True)
class APosteriori:
    """An interval that holds PIP(E, F), from F and sparse products alone.

    Parameters
    ----------
    inside : float
        ``|M Q - F F^T Q|_F`` with Q an orthonormal basis that holds F's columns: where F looks, by how much it is off.
    tail : float
        ``τ_Q = |M - M Q Q^T|_F``, what F cannot see of M; at least what E misses.
    size : float
        ``|M|_F``.
    """

    inside: float
    tail: float
    size: float

    @property
    def residual(self) -> float:
        """``r = |M - F F^T|_F``, by how much F misses M itself; ``r^2 = inside^2 + τ_Q^2``."""
        return math.hypot(self.inside, self.tail)

    @property
    def upper(self) -> float:
        """``min(r + τ_Q, 2 r)``; in exact arithmetic r + τ_Q, because τ_Q <= r."""
        return min(self.residual + self.tail, 2 * self.residual)

    @property
    def lower(self) -> float:
        """``sqrt(r^2 - τ_Q^2)``."""
        return self.inside

    def to_json(self) -> dict[str, float]:
        """Return ``{"upper", "lower", "residual", "tail", "size"}``."""
        return {name: getattr(self, name) for name in ("upper", "lower", "residual", "tail", "size")}


def a_posteriori(signal: Signal, vectors: Any, *, alpha: float = 0.5) -> APosteriori:
    """Return how far F can be from the centralised E of as many columns, without computing E.

    For ``E E^T`` the best approximation of a positive semidefinite M = S·S: hope at α = 1/2, adjacency and
    line at α = 1. F may come from anywhere. In exact arithmetic ``r^2 = |M|^2 - 2 |S F|^2 + |F^T F|^2``; here,
    with F = Q R, it is ``τ_Q^2 + |M Q - F R^T|^2``, which subtracts no squares but those of τ_Q.

    Parameters
    ----------
    signal : Signal
        Of the whole graph.
    vectors : (n_vertices, dim) array
        F, in vertex order.
    """
    _check_alpha(alpha)
    if not signal.is_square_root_of(alpha):
        raise InputError(
            f"the a-posteriori bound needs E E^T as a product of sparse matrices; got {signal.name} with alpha "
            f"{alpha:g}. Use hope with alpha 0.5, or adjacency or line with alpha 1"
        )
    F = np.asarray(vectors, np.float64)
    if len(F) != signal.n_vertices:
        raise InputError(
            f"{len(F):,} vectors for a graph of {signal.n_vertices:,} vertices; give one vector per vertex"
        )
    S, size = signal.root, signal.square_norm
    with one_blas_thread():  # two threads on busy cores took 2.3 s for what one does in 0.4 s (10,312 x 128)
        Q, R = np.linalg.qr(F)
    seen = missed = 0.0
    for first in range(0, Q.shape[1], _COLUMNS):
        columns = slice(first, first + _COLUMNS)
        image = S @ (S @ Q[:, columns])
        seen += float(np.vdot(image, image))
        image -= F @ R[columns].T
        missed += float(np.vdot(image, image))
    tail = float(np.sqrt(max(size**2 - seen, 0.0) + _ROUNDING * size**2))
    return APosteriori(float(np.sqrt(missed)), tail, size)


@dataclass(frozen=True)
class Bounds:
    """All bounds on PIP(E, F), and its true value where E was computed."""

    signal: str
    alpha: float
    dim: int
    sizes: tuple[int, ...]
    theorem_1: Theorem1 | None
    triangle: float | None
    a_posteriori: APosteriori | None
    exact_recovery: Recovery | None
    pip: float | None

    def to_json(self) -> dict[str, Any]:
        """Return plain values; null where something was not requested or does not apply."""
        return {
            "signal": self.signal,
            "alpha": self.alpha,
            "dim": self.dim,
            "parts": len(self.sizes) or None,
            "pip": self.pip,
            "theorem_1": None if self.theorem_1 is None else self.theorem_1.bound,
            "triangle": self.triangle,
            "a_posteriori": None if self.a_posteriori is None else self.a_posteriori.to_json(),
            "exact_recovery": None if self.exact_recovery is None else self.exact_recovery.to_json(),
        }

    def __str__(self) -> str:
        parts = f", {len(self.sizes)} parts" if self.sizes else ""
        lines = [f"signal {self.signal}, alpha {self.alpha:g}, {self.dim} columns{parts}"]
        lines += [] if self.pip is None else [f"PIP of F from E: {self.pip:.6g}"]
        if self.theorem_1 is not None:
            warning = "; does not hold for parts that use their own degrees" if self.signal == "line" else ""
            lines.append(f"Theorem 1: at most {self._times(self.theorem_1.bound)}{warning}")
        if self.triangle is not None:
            lines.append(f"triangle inequality: at most {self._times(self.triangle)}")
        if self.a_posteriori is not None:
            upper = self._times(self.a_posteriori.upper)
            lines.append(f"a posteriori: at most {upper}, at least {self.a_posteriori.lower:.6g}")
        if self.exact_recovery is not None:
            lines.append(f"exact recovery: {self.exact_recovery}")
        return "\n".join(lines)

    def _times(self, bound: float) -> str:
        return f"{bound:.6g}" + (f" ({bound / self.pip:.3g} times the truth)" if self.pip else "")


def bounds(
    graph: Graph,
    embedding: Embedding,
    *,
    signal: str = "hope",
    alpha: float = 0.5,
    sizes: Sequence[int] | IntArray = (),
    anchors: IntArray | None = None,
    submatrices: bool = False,
    spectrum: bool = True,
) -> Bounds:
    """Return every bound that applies to an embedding computed in parts, and the true value to compare with.

    Parameters
    ----------
    graph : Graph
    embedding : Embedding
        F; its vertices are matched with the graph's by id.
    signal, alpha
        The signal matrix that E factorises, and its parameter.
    sizes : (n_parts,) int, optional
        Vertices of each subgraph; without them there is no Theorem 1.
    anchors : (n_anchors,) int, optional
        Vertex numbers; without them exact recovery is not checked.
    submatrices : bool
        Passed to `exact_recovery`.
    spectrum : bool
        Whether to compute E and the singular values of the whole graph. Without it, only the a-posteriori bound and the
        check of exact recovery are computed, which need sparse products only.
    """
    _check_alpha(alpha)
    sizes = _checked_sizes(sizes, graph.n_vertices)
    matrix, F = signal_of(graph, signal), embedding.rows(graph.outside_ids)
    dim, known = embedding.dim, matrix.is_square_root_of(alpha)
    printed, triangle, truth = None, None, None
    if spectrum:
        found = matrix.spectrum(dim + 1)
        if len(sizes):
            printed = theorem_1(found.values, sizes, n_vertices=graph.n_vertices, dim=dim, alpha=alpha)
        triangle = triangle_bound(found.values, F, alpha=alpha)
        truth = pip(F, found.factors(dim, alpha)).pip
    return Bounds(
        signal,
        alpha,
        dim,
        tuple(sizes),
        printed,
        triangle,
        a_posteriori(matrix, F, alpha=alpha) if known else None,
        exact_recovery(matrix.root, anchors, dim, submatrices=submatrices) if known and anchors is not None else None,
        truth,
    )


def _singular_values(values: Any) -> Matrix:
    """Return what is given as a flat array of float64, or refuse it."""
    try:
        given = np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"singular values must be numbers; got {shown(values)}") from None
    if given.ndim != 1 or not ((given >= 0) & (given <= _LARGEST)).all():
        raise InputError(f"singular values must be a list of numbers from 0 to {_LARGEST:g}; got {shown(values)}")
    return given


def _checked_sizes(sizes: Any, n_vertices: int) -> list[int]:
    """Return the sizes of subgraphs of a graph, or refuse them."""
    if not isinstance(sizes, Iterable):
        raise InputError(f"sizes must be a list, one per subgraph; got {shown(sizes)}")
    return [check_whole("the size of a subgraph", size, 0, n_vertices) for size in sizes]


def _check_alpha(alpha: float) -> None:
    check_number("the signal parameter alpha", alpha, 0, 1)
