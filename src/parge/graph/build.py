"""From arrays of edges to a Graph: rows are sorted, repeats merged, self loops dropped."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.blocks import all_finite, row_blocks
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.graph.numbering import number_integers, number_strings
from parge.ids import STRING, as_ids
from parge.typing import FloatArray, IdArray, IntArray, NeighbourArray

# Below this many edges scipy is as fast, and starting the compiled kernels costs more than the work.
_SMALL = 200_000

# Weights looked at together.
_BLOCK = 1 << 20

CSR = tuple[IntArray, NeighbourArray, FloatArray | None]
"""Row offsets, neighbours, weights."""


def from_edges(source: Any, target: Any = None, weights: Any = None, *, vertices: Any = None) -> Graph:
    """Build a graph from parallel arrays of ids; see `Graph.from_edges`."""
    if target is None:
        pairs = np.asarray(source)
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"edges must be an (m, 2) array or two arrays; got shape {pairs.shape}")
        source, target = pairs[:, 0], pairs[:, 1]
    source, target = _edge_ids(source), _edge_ids(target)
    if source.shape != target.shape:
        raise InputError(f"{source.size} sources, but {target.size} targets")
    number = number_strings if STRING in (source.dtype, target.dtype) else number_integers
    source, target, ids, n_vertices = number(source, target)
    graph = assemble(source, target, weights, n_vertices=n_vertices, ids=ids)
    if vertices is None:
        return graph
    from parge.graph.vertices import add_vertices

    return add_vertices(graph, vertices if isinstance(vertices, (int, np.integer)) else as_ids(vertices))


def _edge_ids(values: Any) -> IdArray:
    """Return ids as int32 where they are, else int64 or numpy strings."""
    array = np.asarray(values)
    return array if array.dtype == np.int32 and array.ndim == 1 else as_ids(array)


def assemble(
    source: NeighbourArray,
    target: NeighbourArray,
    weights: Any = None,
    *,
    n_vertices: int,
    ids: IdArray | None = None,
    notices: tuple[str, ...] = (),
) -> Graph:
    """Build the graph from vertex numbers; report what was merged or dropped.

    Weights of edges repeated in one direction add up; of an edge given in both directions the larger one
    holds, so a file that lists every edge both ways means the same as one that lists it once.
    """
    weights = None if weights is None else check_weights(weights, source.size)
    if weights is not None and not weights.all():
        keep = weights > 0
        notices += (f"{int((~keep).sum()):,} edges of weight 0 dropped",)
        source, target, weights = source[keep], target[keep], weights[keep]
    n_loops = int(np.count_nonzero(source == target))
    if n_loops:
        notices += (f"{n_loops:,} self loops dropped",)
    indptr, indices, data = _rows(source, target, weights, n_vertices)
    n_merged = source.size - n_loops - indices.size // 2
    if n_merged:
        notices += (f"{n_merged:,} repeated edges merged (an edge given in both directions is one edge)",)
    return Graph(indptr, indices, useful_weights(data), ids, notices=notices)


def check_weights(weights: Any, n_edges: int) -> FloatArray:
    """Return finite, non-negative float32 weights, or say which one is not."""
    array = np.asarray(weights)
    if array.shape != (n_edges,):
        raise InputError(f"{array.size} weights for {n_edges} edges")
    if array.dtype.kind not in "biuf":
        found = f" such as {array[0]!r}" if array.size else ""
        raise InputError(f"weights must be numbers; got {array.dtype}{found}")
    with np.errstate(over="ignore", under="ignore"):
        single = array.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(single) & (single >= 0)))
    if bad.size:
        raise InputError(
            f"weights must be finite (below 3.4e38) and not negative; edge {bad[0] + 1} has weight {array[bad[0]]} "
            f"({bad.size:,} such edges)"
        )
    # A weight too small for float32 is not 0, which would drop its edge.
    single[(single == 0) & (array > 0)] = np.finfo(np.float32).tiny
    return single


def useful_weights(data: FloatArray | None) -> FloatArray | None:
    """Return None where every edge weighs 1; refuse sums that left the range of float32."""
    if data is None or all((data[some] == 1).all() for some in row_blocks(data.size, _BLOCK)):
        return None
    if not all_finite(data):
        raise InputError("the weights of repeated edges add up to more than 3.4e38; scale the weights down")
    return data


def _rows(source: NeighbourArray, target: NeighbourArray, weights: FloatArray | None, n_vertices: int) -> CSR:
    if source.size < _SMALL:
        return _small_rows(source, target, weights, n_vertices)
    from parge.graph.arcs import sorted_rows

    return sorted_rows(source, target, weights, n_vertices)


def _small_rows(source: NeighbourArray, target: NeighbourArray, weights: FloatArray | None, n_vertices: int) -> CSR:
    keep = source != target
    data = np.ones(int(keep.sum())) if weights is None else weights[keep].astype(np.float64)
    matrix = sp.coo_matrix((data, (source[keep], target[keep])), shape=(n_vertices, n_vertices)).tocsr()
    matrix = matrix.maximum(matrix.T).tocsr()
    matrix.sort_indices()
    with np.errstate(over="ignore"):
        single = None if weights is None else matrix.data.astype(np.float32)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(source.dtype, copy=False), single
