"""Signal matrices: what an embedding factorises, known by products with one sparse matrix and never formed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.linalg.eigen import top_eigenpairs
from parge.linalg.signs import best_first, fix_signs
from parge.linalg.threads import one_blas_thread
from parge.seeds import keyed_rng
from parge.typing import Matrix

SIGNALS = ("adjacency", "hope", "line")

# Up to this number of vertices every eigenvalue is computed, densely (1024: 0.2 s); above it, only those asked for.
DENSE_UP_TO = 1024

# Entries of a sparse product that exist at once: 100 MB.
_ENTRIES = 2**23


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The largest singular values of a signal matrix, descending, and their singular vectors."""

    values: Matrix  # (k,): what is below the rounding errors of the first is 0
    vectors: Matrix  # (n_vertices, k): orthonormal; for their signs, see `parge.linalg.signs`

    def factors(self, dim: int, alpha: float) -> Matrix:
        """Return the paper's ``E = U_{1:dim} D_{1:dim}^alpha``; columns that do not exist are 0."""
        k = min(dim, self.values.size)
        out = np.zeros((len(self.vectors), dim))
        out[:, :k] = self.vectors[:, :k] * self.values[:k] ** alpha
        return out


@dataclass(frozen=True, eq=False)
class Signal:
    """A signal matrix ``M = S^power`` of a graph, with S sparse and symmetric.

    Parameters
    ----------
    name : str
        ``adjacency``: M = A. ``hope``: M = A·A. ``line``: M = (1/vol) C^-1 A C^-1 as the paper prints it, with the
        degrees C; a vertex without neighbours has a row of zeros.
    root : (n_vertices, n_vertices) scipy CSR of float64
        S.
    power : int
        1, or 2.

    Examples
    --------
    >>> triangle = Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> signal_of(triangle, "hope").spectrum(3).values.round(9).tolist()
    [4.0, 1.0, 1.0]
    """

    name: str
    root: Any
    power: int = 1

    @property
    def n_vertices(self) -> int:
        """Rows of M."""
        return int(self.root.shape[0])

    def spectrum(self, k: int, seed: int = 0) -> Spectrum:
        """Return k singular values and vectors; of a small graph, all of them."""
        n = self.n_vertices
        with one_blas_thread():
            if n <= DENSE_UP_TO:
                values, vectors = np.linalg.eigh(self.root.toarray())
                best = best_first(values, np.abs)
                values, vectors = values[best], fix_signs(vectors[:, best])
            else:
                values, vectors = top_eigenpairs(self.root.__matmul__, n, min(k, n), keyed_rng(seed, "spectrum"))
        strengths = np.abs(values)
        strengths[strengths <= n * np.finfo(np.float64).eps * strengths.max(initial=0.0)] = 0.0
        return Spectrum(strengths**self.power, vectors)

    def is_square_root_of(self, alpha: float) -> bool:
        """Return whether E E^T, before it is cut to `dim` columns, is S·S: known without an eigenvector.

        ``E E^T = |S|^(2 power alpha)``, so it is where ``power * alpha = 1``: hope at 1/2, the others at 1.
        """
        return abs(self.power * alpha - 1.0) < 1e-12

    @cached_property
    def square_norm(self) -> float:
        """``|S·S|_F``, from sparse products of a few rows at a time."""
        total = 0.0
        for rows in _product_blocks(self.root):
            block = (self.root[rows] @ self.root).data
            total += float(block @ block)
        return float(np.sqrt(total))


def signal_of(graph: Graph | Any, name: str) -> Signal:
    """Return a signal matrix of a graph, or of a symmetric scipy matrix."""
    matrix = graph.to_scipy() if isinstance(graph, Graph) else graph
    A = sp.csr_matrix(matrix, dtype=np.float64)
    if name == "adjacency":
        return Signal(name, A)
    if name == "hope":
        return Signal(name, A, 2)
    if name == "line":
        degrees = np.asarray(A.sum(axis=1)).ravel()
        inverse = sp.diags(np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0))
        return Signal(name, sp.csr_matrix(inverse @ A @ inverse) / max(degrees.sum(), np.finfo(np.float64).tiny))
    raise InputError(f"there is no signal {name!r}; known: {', '.join(SIGNALS)}")


def factorise(csr: Any, rng: np.random.Generator, *, signal: str, alpha: float, dim: int) -> Matrix:
    """Return the embedding of a subgraph by its own signal matrix: a technique for any signal and alpha."""
    return signal_of(csr, signal).spectrum(dim, int(rng.integers(2**31))).factors(dim, alpha)


def _product_blocks(root: Any) -> Iterator[slice]:
    """Yield row slices whose product with the whole matrix has at most `_ENTRIES` entries (or is one row)."""
    n = root.shape[0]
    lengths = np.diff(root.indptr).astype(np.float64)
    pattern = sp.csr_matrix((np.ones(root.indices.size), root.indices, root.indptr), shape=root.shape)
    entries = np.cumsum(np.minimum(pattern @ lengths, n))
    first = 0
    while first < n:
        before = entries[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(entries, before + _ENTRIES, side="right")))
        yield slice(first, last)
        first = last
