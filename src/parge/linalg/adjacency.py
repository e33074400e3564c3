"""The adjacency matrix of a graph as something that multiplies columns, with several threads and the same bits."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.graph.graph import Graph
from parge.storage import release_pages, row_blocks

# Rows that one thread multiplies at a time.
_ROWS = 8192


class Adjacency:
    """The symmetric adjacency matrix A, never copied: ``A @ columns`` for float32 or float64 columns.

    >>> from parge.graph.generate import star
    >>> (Adjacency(star(4)) @ np.ones((4, 1))).ravel().tolist()
    [3.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, graph: Graph, threads: int = 1) -> None:
        self.graph, self.threads = graph, threads

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.graph.n_vertices, self.graph.n_vertices

    def sum(self, axis: int = 1) -> NDArray[np.float64]:
        """Return the sum of each row, which is that of each column."""
        del axis
        if self.graph.weights is None:
            return self.graph.degrees.astype(np.float64)
        from parge.kernels.walks import strengths

        return strengths(self.graph.indptr, self.graph.weights)

    def __matmul__(self, columns: NDArray[Any]) -> NDArray[Any]:
        from parge.kernels.products import sum_neighbours

        graph, columns = self.graph, np.ascontiguousarray(columns)
        weights = np.empty(0, np.float32) if graph.weights is None else graph.weights
        out: NDArray[Any] = np.empty(columns.shape, columns.dtype)

        def block(rows: slice) -> None:
            sum_neighbours(graph.indptr, graph.indices, weights, columns, rows.start, out[rows])

        if self.threads <= 1:
            for rows in row_blocks(len(out), _ROWS):
                block(rows)
                release_pages(graph.indices, weights)
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(block, row_blocks(len(out), _ROWS)))
            release_pages(graph.indices, weights)
        return out
