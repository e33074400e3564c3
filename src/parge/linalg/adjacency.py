"""The adjacency matrix of a graph as something that multiplies columns, with several threads and the same bits."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.linalg.threads import Threads
from parge.storage import is_mapped, release_pages, row_blocks
from parge.typing import FloatArray, IntArray

# Rows that one thread multiplies at a time.
_ROWS = 8192

# Heaviest weights from this to its inverse need no care in float32.
_LIGHT = 1e-12


class Adjacency:
    """The symmetric adjacency matrix A, never copied: ``A @ columns`` for float32 or float64 columns.

    Its rows may be those of a part of a graph that several processes share: a subclass then says which, and adds up
    over all of them (`n_vertices`, `numbers`, `near`, `total`, `decided`).

    >>> from parge.graph.generate import star
    >>> (Adjacency(star(4)) @ np.ones((4, 1))).ravel().tolist()
    [3.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, graph: Graph, threads: int = 1) -> None:
        self.graph, self.threads = graph, threads
        self._weights = np.empty(0, np.float32) if graph.weights is None else graph.weights
        self._is_mapped = is_mapped(graph.indices) or is_mapped(self._weights)  # asked once, not for every block

    def _release(self) -> None:
        if self._is_mapped:
            release_pages(self.graph.indices, self._weights)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.graph.n_vertices, self.graph.n_vertices

    @property
    def n_vertices(self) -> int:
        """Vertices of the whole graph."""
        return self.graph.n_vertices

    @property
    def is_shared(self) -> bool:
        """Whether other processes hold other rows."""
        return False

    def numbers(self, where: slice) -> IntArray:
        """Return the numbers of some rows in the whole graph."""
        return np.arange(where.start, where.stop)

    def near(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return rows of all vertices that the rows here have as neighbours, those here first."""
        return X

    def total(self, *sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return sums over all rows of the graph, given those over the rows here."""
        return sums

    def decided(self, decide: Callable[[], tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
        """Return what is decided from totals; one process decides for all."""
        return decide()

    def moderate(self) -> "tuple[Adjacency, float]":
        """Return the matrix over a power of two, which is 1 but for extreme weights, and that power.

        Sums of float32 columns over such weights would overflow, or vanish.
        """
        heaviest = self.heaviest()
        if _LIGHT <= heaviest <= 1 / _LIGHT:
            return self, 1.0
        found, power = copy(self), 2.0 ** np.floor(np.log2(heaviest))
        found._weights = (self._weights / power).astype(np.float32)
        return found, power

    def heaviest(self) -> float:
        """Return the largest weight; 1 where there are none."""
        return max((float(self._weights[rows].max()) for rows in row_blocks(self._weights.size)), default=1.0)

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the mean over all vertices of what those here have."""
        (found,) = self.total(np.array([values.sum()]))
        return float(found[0]) / max(1, self.n_vertices)

    def sum(self, axis: int = 1) -> NDArray[np.float64]:
        """Return the sum of each row, which is that of each column."""
        del axis
        if not self._weights.size:
            return self.graph.degrees.astype(np.float64)
        from parge.kernels.walks import strengths

        return strengths(self.graph.indptr, self._weights)

    def sum_around(self, X: FloatArray, mean: FloatArray, first: int, out: FloatArray) -> None:
        """Write rows of ``(A + I) (X - mean)`` into `out`, for the vertices from `first` on; any thread may call it."""
        from parge.kernels.products import sum_around

        sum_around(self.graph.indptr, self.graph.indices, self._weights, X, mean, first, out)
        self._release()

    def step(
        self,
        X: NDArray[Any],
        own: NDArray[Any],
        scale: NDArray[Any],
        factors: tuple[float, float, float],
        first: int,
        out: NDArray[Any],
    ) -> None:
        """Write rows of ``p * scale * (A X) + q * own + r * out`` into `out`, for the vertices from `first` on.

        The factors are p, q, r; a `scale` of size 0 means ones. Any thread may call it.
        """
        from parge.kernels.products import step_rows

        graph, three = self.graph, np.array(factors, X.dtype)
        step_rows(graph.indptr, graph.indices, self._weights, scale, X, own, three, first, out)
        self._release()

    def __matmul__(self, columns: NDArray[Any]) -> NDArray[Any]:
        from parge.kernels.products import sum_neighbours

        graph, weights, columns = self.graph, self._weights, np.ascontiguousarray(columns)
        out: NDArray[Any] = np.empty(columns.shape, columns.dtype)

        def block(rows: slice) -> None:
            sum_neighbours(graph.indptr, graph.indices, weights, columns, rows.start, out[rows])
            self._release()

        with Threads(self.threads) as threads:
            threads.each(block, row_blocks(len(out), _ROWS))
        return out
