"""ProNE: a sparse factorisation of the graph, then a filter of its frequencies."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.subgraph import Subgraph
from parge.linalg.chebyshev import COLUMNS, propagate
from parge.linalg.eigen import (
    LINEAR_ALGEBRA_BYTES,
    MATRIX_BYTES_PER_EDGE,
    MATRIX_BYTES_PER_VERTEX,
    ROWS,
    adjacency_matrix,
    principal_vectors,
    randomised_svd,
    with_values,
)
from parge.linalg.tall import unit
from parge.linalg.threads import one_blas_thread
from parge.memory import Footprint
from parge.techniques.base import WHITEN_20, Technique, check_counts, check_range
from parge.typing import FloatArray, Matrix

# Negatives are drawn in proportion to this power of how often a vertex is met (section 3.1 of the paper).
_NOISE_POWER = 0.75

_OVERSAMPLING = 10


@dataclass(frozen=True)
class ProNE(Technique):
    """Vectors of edges' log odds against noise, propagated through a band of the graph's frequencies.

    Use it for quick vectors without walks. On the command line: ``--technique prone``.

    Zhang et al., "ProNE: fast and scalable network representation learning" (IJCAI 2019). Step one factorises the
    sparse matrix ``log p_ij - log n_j`` over the edges as ``U S^1/2``, by randomised SVD. Here ``p_ij`` is the chance
    to walk from i to j, and ``n_j ∝ (Σ_i p_ij)^0.75``. Step two filters (`chebyshev.propagate`) and makes the columns
    orthogonal again. Rows have length 1.

    Parameters
    ----------
    dim : int
        Length of a vector. A subgraph of fewer vertices has that many columns, then zeros.
    step : int
        Terms of the Chebyshev expansion; 1 skips step two.
    mu, theta : float
        Centre of the band of frequencies, and how narrow it is.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> ProNE(dim=8).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng(1)).shape
    (20, 8)
    """

    name: ClassVar[str] = "prone"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = WHITEN_20
    link_refine: ClassVar[str] = "blend"

    step: int = 10
    mu: float = 0.2
    theta: float = 0.5

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "step")
        check_range(self, "mu", 0.0, 2.0)
        check_range(self, "theta", 0.0, 100.0)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has the zero vector."""
        with one_blas_thread():
            A = adjacency_matrix(subgraph.graph)
            vectors = factorise(A, self.dim, rng, progress=lambda share: progress(0.5 * share))
            if self.step > 1:
                vectors = propagate(
                    A, vectors, self.step, self.mu, self.theta, progress=lambda share: progress(0.5 + 0.5 * share)
                )
            return principal_vectors(vectors, self.dim)

    def footprint(self) -> Footprint:
        """Return the bound: two tall matrices, the columns in the filter, the graph and two of its matrices."""
        width = self.dim + _OVERSAMPLING
        return Footprint(
            LINEAR_ALGEBRA_BYTES + 8 * (4 * width**2 + 2 * ROWS * width),
            MATRIX_BYTES_PER_VERTEX + 8 * (2 * width + 8 * COLUMNS) + 4 * self.dim,
            MATRIX_BYTES_PER_EDGE + 16,
        )


def factorise(adjacency: Any, dim: int, rng: np.random.Generator, *, progress: Progress = silent) -> Matrix:
    """Return step one: at most `dim` columns ``U S^1/2`` of the log odds of edges, rows of length 1."""
    odds = log_odds(adjacency)
    vectors, strengths = randomised_svd(odds, dim, rng, oversampling=_OVERSAMPLING, progress=progress)
    vectors *= np.sqrt(strengths)
    return unit(vectors, out=vectors)


def log_odds(adjacency: Any) -> Any:
    """Return ``log p_ij - log n_j`` on the pattern of the adjacency matrix."""
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    leaving = 1.0 / np.where(degrees > 0, degrees, 1.0)
    arrivals = (adjacency @ leaving) ** _NOISE_POWER  # A is symmetric: Σ_i p_ij = Σ_i a_ji / d_i
    noise = np.log(np.where(arrivals > 0, arrivals, 1.0)) - np.log(max(arrivals.sum(), np.finfo(float).tiny))
    values = np.log(adjacency.data)
    values += np.repeat(np.log(leaving), np.diff(adjacency.indptr))
    values -= noise[adjacency.indices]
    return with_values(adjacency, values)
