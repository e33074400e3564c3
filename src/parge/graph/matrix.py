"""Square matrices as graphs."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.build import check_weights, dropped_notices, number_dtype, useful_weights
from parge.graph.graph import Graph
from parge.graph.vertices import permuted
from parge.ids import as_ids, repeated, show_ids
from parge.typing import IdArray

VERTEX_BYTES = 24
"""Bytes that `from_matrix` takes for a row without entries: 13 measured, and the ids that others make of it."""

ENTRY_BYTES = 36
"""Bytes that `from_matrix` takes for an entry at its peak, measured; dense or sparse."""


def from_matrix(matrix: Any, *, ids: Any = None, weighted: bool = True) -> Graph:
    """Build a graph from a square matrix, sparse or dense; entry (u, v) is the weight of the edge.

    >>> from_matrix(np.array([[0, 2, 0], [0, 0, 0], [0, 0, 0]])).notices
    ('the matrix is not symmetric. It is read as undirected: an entry in either direction is an edge.',)
    """
    rows = _checked_rows(matrix, weighted=weighted)
    n_loops = int(np.count_nonzero(rows.diagonal()))
    notices = dropped_notices(0, n_loops, 0)
    if n_loops:
        rows.setdiag(0)
        rows.eliminate_zeros()
    rows, symmetric = _symmetric(rows)
    if not symmetric:
        notices += ("the matrix is not symmetric. It is read as undirected: an entry in either direction is an edge.",)
    indices = rows.indices.astype(number_dtype(rows.shape[0]), copy=False)
    graph = Graph(rows.indptr.astype(np.int64), indices, useful_weights(rows.data), notices=notices)
    return graph if ids is None else _with_ids(graph, as_ids(ids))


def _checked_rows(matrix: Any, *, weighted: bool) -> Any:
    """Return a new CSR matrix of positive float32 entries, sorted and without repeats."""
    shape, kind = np.shape(matrix), np.dtype(matrix.dtype)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"an adjacency matrix must be square; its shape is {' x '.join(map(str, shape))}")
    if kind.kind not in "biuf":
        raise InputError(f"an adjacency matrix must hold real numbers; found {kind}")
    if getattr(matrix, "format", "") in ("csr", "csc", "bsr"):
        matrix.check_format(full_check=True)  # indices out of range would crash what follows
    if weighted:
        # Small integers would overflow where repeated entries add up.
        rows = sp.csr_matrix(matrix.astype(np.result_type(kind, np.float32)))
    else:
        entries = sp.coo_matrix(matrix)
        rows = sp.csr_matrix(((entries.data != 0).astype(np.float32), (entries.row, entries.col)), shape=shape)
    rows.sum_duplicates()
    if not weighted:
        rows.data = np.minimum(rows.data, 1)
    rows.data = check_weights(rows.data, rows.data.size)
    rows.eliminate_zeros()
    return rows


def _symmetric(rows: Any) -> tuple[Any, bool]:
    """Return the matrix, or the larger of it and its transpose where they differ, and whether they did not."""
    transpose = rows.T.tocsr()
    transpose.sort_indices()
    same = np.array_equal(rows.indptr, transpose.indptr) and np.array_equal(rows.indices, transpose.indices)
    if same and np.array_equal(rows.data, transpose.data):
        return rows, True
    rows = rows.maximum(transpose).tocsr()
    rows.sort_indices()
    return rows, False


def _with_ids(graph: Graph, ids: IdArray) -> Graph:
    if ids.size != graph.n_vertices:
        raise InputError(f"{ids.size} ids for {graph.n_vertices} vertices")
    twice = repeated(ids)
    if twice.size:
        raise InputError(f"every vertex needs a different id; given more than once: {show_ids(twice)}")
    return permuted(graph, ids)
