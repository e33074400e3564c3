"""From arrays of edges to a Graph: ids become vertex numbers, rows are sorted, repeats are merged."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.graph import MAX_INT32_VERTICES, Graph
from parge.kernels import csr
from parge.typing import FloatArray, IdArray, IntArray, NeighbourArray

STRING = np.dtypes.StringDType()

# A table over all ids up to the largest costs less than sorting them while that id is below this many
# times the number of ids read.
_DENSE_FACTOR = 8

# Below this many edges scipy is as fast, and starting the compiled kernels costs more than the work.
_SMALL = 200_000


def from_edges(source: Any, target: Any = None, weights: Any = None, *, vertices: Any = None) -> Graph:
    """Build a graph from parallel arrays of ids; see `Graph.from_edges`."""
    if target is None:
        pairs = np.asarray(source)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"edges must be an (m, 2) array or two arrays; got shape {pairs.shape}")
        source, target = pairs[:, 0], pairs[:, 1]
    source, target = _as_ids(source), _as_ids(target)
    if source.shape != target.shape:
        raise InputError(f"{source.size} sources, but {target.size} targets")
    if (source.dtype == STRING) != (target.dtype == STRING):
        source, target = source.astype(STRING), target.astype(STRING)
    known = vertices if vertices is None or isinstance(vertices, (int, np.integer)) else _as_ids(vertices)
    source, target, ids, n_vertices = encode(source, target, known)
    return assemble(source, target, weights, n_vertices=n_vertices, ids=ids)


def _as_ids(values: Any) -> IdArray:
    """Return a flat array of int64 or of numpy strings."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1:
        raise InputError(f"ids must be a flat array; got shape {array.shape}")
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
            return array.astype(str).astype(STRING)
        return array if array.dtype == np.int32 else array.astype(np.int64)
    if array.dtype.kind in "UT" or (array.dtype == object and all(isinstance(v, str) for v in array)):
        return array.astype(STRING)
    raise InputError(f"ids must be integers or strings; got {array.dtype} such as {array[0]!r}")


def encode(
    source: IdArray, target: IdArray, vertices: int | np.integer[Any] | IdArray | None
) -> tuple[NeighbourArray, NeighbourArray, IdArray | None, int]:
    """Number the ids in ascending order; return both ends as numbers, the ids, and how many there are.

    `vertices` as a count n says that the ids are 0..n-1; as an array it adds ids that edges may not name.
    """
    if isinstance(vertices, (int, np.integer)):
        return _encode_counted(source, target, int(vertices))
    extra = np.zeros(0, np.int64) if vertices is None else np.asarray(vertices)
    everything = [ids for ids in (source, target, extra) if ids.size]
    if any(ids.dtype == STRING for ids in everything):
        return _encode_strings(source.astype(STRING), target.astype(STRING), extra.astype(STRING))
    return _encode_integers(source, target, extra)


def _encode_counted(
    source: IdArray, target: IdArray, n_vertices: int
) -> tuple[NeighbourArray, NeighbourArray, None, int]:
    if n_vertices < 0:
        raise InputError(f"the number of vertices must not be negative; got {n_vertices}")
    for ids in (source, target):
        if not ids.size:
            continue
        if ids.dtype == STRING:
            raise InputError(
                f"a vertex count was given, so ids must be 0..{n_vertices - 1}; found the id {ids[0]!r}; "
                "name the vertices in a file instead"
            )
        for found in (int(ids.min()), int(ids.max())):
            if not 0 <= found < n_vertices:
                raise InputError(f"the graph was said to have vertices 0..{n_vertices - 1}; found the id {found}")
    dtype = _number_dtype(n_vertices)
    return source.astype(dtype, copy=False), target.astype(dtype, copy=False), None, n_vertices


def _encode_integers(
    source: IdArray, target: IdArray, extra: IdArray
) -> tuple[NeighbourArray, NeighbourArray, IdArray | None, int]:
    everything = [ids for ids in (source, target, extra) if ids.size]
    if not everything:
        return source.astype(np.int32), target.astype(np.int32), None, 0
    low = min(int(ids.min()) for ids in everything)
    high = max(int(ids.max()) for ids in everything)
    if low >= 0 and high < _DENSE_FACTOR * sum(ids.size for ids in everything) + 1024:
        present = np.zeros(high + 1, np.bool_)
        for ids in everything:
            present[ids] = True
        ids = np.flatnonzero(present)
        dtype = _number_dtype(ids.size)
        if ids.size == high + 1:
            return source.astype(dtype, copy=False), target.astype(dtype, copy=False), None, ids.size
        number = np.cumsum(present, dtype=dtype)
        number -= 1
        return number[source], number[target], ids, ids.size
    ids = np.unique(np.concatenate(everything))
    dtype = _number_dtype(ids.size)
    return np.searchsorted(ids, source).astype(dtype), np.searchsorted(ids, target).astype(dtype), ids, ids.size


def _encode_strings(
    source: IdArray, target: IdArray, extra: IdArray
) -> tuple[NeighbourArray, NeighbourArray, IdArray, int]:
    ids, number = np.unique(np.concatenate([source, target, extra]), return_inverse=True)
    number = number.astype(_number_dtype(ids.size))
    return number[: source.size], number[source.size : source.size + target.size], ids, ids.size


def _number_dtype(n_vertices: int) -> Any:
    return np.int32 if n_vertices <= MAX_INT32_VERTICES else np.int64


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
    n_loops = int(np.count_nonzero(source == target))
    if n_loops:
        notices += (f"{n_loops:,} self loops dropped",)
    weights = None if weights is None else check_weights(weights, source.size)
    if weights is not None and not weights.all():
        keep = weights > 0
        notices += (f"{int((~keep).sum()):,} edges of weight 0 dropped",)
        n_loops = int(np.count_nonzero(source[keep] == target[keep]))
        source, target, weights = source[keep], target[keep], weights[keep]
    if weights is None or (weights == 1).all():
        indptr, indices = _unweighted_rows(source, target, n_vertices)
        data = None
    else:
        indptr, indices, data = _weighted_rows(source, target, weights, n_vertices)
    n_merged = source.size - n_loops - indices.size // 2
    if n_merged:
        notices += (f"{n_merged:,} repeated edges merged (an edge given in both directions is one edge)",)
    return Graph(indptr, indices, data, ids, notices=notices)


def check_weights(weights: Any, n_edges: int) -> FloatArray:
    """Return finite, non-negative float32 weights, or say which one is not."""
    array = np.asarray(weights)
    if array.shape != (n_edges,):
        raise InputError(f"{array.size} weights for {n_edges} edges")
    if array.dtype.kind not in "biuf":
        raise InputError(f"weights must be numbers; got {array.dtype} such as {array[0]!r}")
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(single) & (single >= 0)))
    if bad.size:
        raise InputError(
            f"weights must be finite and not negative; edge {bad[0] + 1} has weight {array[bad[0]]} "
            f"({bad.size:,} such edges)"
        )
    return single


def _unweighted_rows(
    source: NeighbourArray, target: NeighbourArray, n_vertices: int
) -> tuple[IntArray, NeighbourArray]:
    if source.size < _SMALL:
        indptr, indices, _ = _weighted_rows(source, target, np.ones(source.size, np.float32), n_vertices)
        return indptr, indices
    indptr = csr.arc_offsets(source, target, n_vertices)
    rows = np.empty(indptr[-1], source.dtype)
    csr.scatter_arcs(source, target, indptr, rows)
    indices = np.empty_like(rows)
    csr.transpose(indptr, rows, indices)
    del rows
    indptr = csr.drop_repeats(indptr, indices)
    return indptr, indices if indptr[-1] == indices.size else indices[: indptr[-1]].copy()


def _weighted_rows(
    source: NeighbourArray, target: NeighbourArray, weights: FloatArray, n_vertices: int
) -> tuple[IntArray, NeighbourArray, FloatArray]:
    keep = source != target
    shape = (n_vertices, n_vertices)
    matrix = sp.coo_matrix((weights[keep], (source[keep], target[keep])), shape=shape).tocsr()
    matrix = matrix.maximum(matrix.T).tocsr()
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(source.dtype, copy=False), matrix.data
