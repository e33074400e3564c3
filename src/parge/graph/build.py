"""From arrays of edges to a Graph: rows are sorted, repeats merged, self loops dropped."""

import math
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.errors import InputError
from parge.graph.graph import MAX_INT32_VERTICES, Graph
from parge.ids import STRING, as_ids, unique_ids
from parge.show.text import count
from parge.storage import MEMORY, Storage, all_finite, row_blocks, usable_cores
from parge.typing import FloatArray, IdArray, IntArray, NeighbourArray

# Below this many edges scipy is as fast, and starting the compiled kernels costs more than the work.
_SMALL = 200_000

# Weights looked at together.
_BLOCK = 1 << 20

CSR = tuple[IntArray, NeighbourArray, FloatArray | None]
"""Row offsets, neighbours, weights."""


def from_edges(source: Any, target: Any = None, weights: Any = None, *, vertices: Any = None) -> Graph:
    """Build a graph from parallel arrays of ids; see `Graph.from_edges`."""
    if target is None and _is_list_of_pairs(source):
        source, target = [pair[0] for pair in source], [pair[1] for pair in source]
    elif target is None:
        pairs = np.ma.asarray(source) if np.ma.is_masked(source) else np.asarray(source)
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"edges must be an (m, 2) array or two arrays; got shape {pairs.shape}")
        source, target = pairs[:, 0], pairs[:, 1]
    source, target = _edge_ids(source), _edge_ids(target)
    if source.shape != target.shape:
        raise InputError(f"{source.size} sources, but {target.size} targets; give one of each per edge")
    number = number_strings if STRING in (source.dtype, target.dtype) else number_integers
    source, target, ids, n_vertices = number(source, target)
    graph = assemble(source, target, weights, n_vertices=n_vertices, ids=ids)
    if vertices is None:
        return graph
    from parge.graph.vertices import add_vertices

    return add_vertices(graph, vertices if isinstance(vertices, (int, np.integer)) else as_ids(vertices))


def _is_list_of_pairs(edges: Any) -> bool:
    """Return whether edges are pairs of Python's own, whose ids numpy must not make one kind of."""
    return isinstance(edges, list | tuple) and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in edges)


def _edge_ids(values: Any) -> IdArray:
    """Return ids as int32 where they are, else int64 or numpy strings."""
    return values if getattr(values, "dtype", None) == np.int32 and np.ndim(values) == 1 else as_ids(values)


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

    Weights of edges repeated in one direction add up; for an edge given in both directions the larger sum counts. So a
    file that lists every edge both ways means the same as one that lists it once.
    """
    weights = None if weights is None else check_weights(weights, source.size)
    n_given = source.size
    if weights is not None and not weights.all():
        keep = weights > 0
        source, target, weights = source[keep], target[keep], weights[keep]
    n_loops = int(np.count_nonzero(source == target))
    sort = _small_rows if source.size < _SMALL else sorted_rows
    indptr, indices, data = sort(source, target, weights, n_vertices)
    notices += dropped_notices(n_given - source.size, n_loops, source.size - n_loops - indices.size // 2)
    return Graph(indptr, indices, useful_weights(data), ids, notices=notices)


def dropped_notices(n_weightless: int, n_loops: int, n_merged: int) -> tuple[str, ...]:
    """Say how many edges were dropped or merged, and why."""
    said = [
        (n_weightless, "edge", "of weight 0 dropped"),
        (n_loops, "self loop", "dropped"),
        (n_merged, "repeated edge", "merged (an edge given in both directions is one edge)"),
    ]
    return tuple(f"{count(number, what)} {why}" for number, what, why in said if number)


def check_weights(weights: Any, n_edges: int) -> FloatArray:
    """Return float32 weights; raise `InputError` where one is not finite or is negative."""
    array = np.asarray(weights)
    if array.shape != (n_edges,):
        raise InputError(f"{count(array.size, 'weight')} for {count(n_edges, 'edge')}; give one weight per edge")
    if array.dtype.kind not in "iuf" and array.size:  # yes and no are no weights; an empty list has any type
        raise InputError(f"weights must be numbers; got {array.dtype} such as {array[0]!r}")
    with np.errstate(over="ignore", under="ignore"):
        single = array.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(single) & (single >= 0)))
    if bad.size:
        raise InputError(
            f"weights must be finite (below 3.4e38) and not negative; edge {bad[0] + 1} has weight {array[bad[0]]} "
            f"({count(bad.size, 'such edge')})"
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


def _small_rows(source: NeighbourArray, target: NeighbourArray, weights: FloatArray | None, n_vertices: int) -> CSR:
    keep = source != target
    data = np.ones(int(keep.sum())) if weights is None else weights[keep].astype(np.float64)
    matrix = sp.coo_matrix((data, (source[keep], target[keep])), shape=(n_vertices, n_vertices)).tocsr()
    matrix = matrix.maximum(matrix.T).tocsr()
    matrix.sort_indices()
    with np.errstate(over="ignore"):
        single = None if weights is None else matrix.data.astype(np.float32)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(source.dtype, copy=False), single


Numbered = tuple[NeighbourArray, NeighbourArray, IdArray | None, int]
"""Both ends as vertex numbers, the ids in ascending order (None where they are the numbers), how many there are."""

# A table over all ids up to the largest (5 bytes each) is the fastest way while that id is below this many times the
# number of ids read.
_DENSE_FACTOR = 2

# From this many edges on, hashing the ids beats sorting them and searching for each.
_MANY = 200_000


def number_dtype(n_vertices: int) -> Any:
    """Return the integer type of vertex numbers in a graph of that size."""
    return np.int32 if n_vertices <= MAX_INT32_VERTICES else np.int64


def number_integers(source: IdArray, target: IdArray) -> Numbered:
    """Number integer ids.

    >>> number_integers(np.array([30, 10]), np.array([10, 20]))[2:]
    (array([10, 20, 30]), 3)
    """
    if not source.size:
        return source.astype(np.int32), target.astype(np.int32), None, 0
    low, high = min(source.min(), target.min()), int(max(source.max(), target.max()))
    if is_dense(low, high, source.size):
        return _number_dense(source, target, high)
    return _number_sparse(source, target)


def is_dense(low: int, high: int, n_edges: int) -> bool:
    """Return whether a table over all ids up to the largest is the way to number them."""
    return low >= 0 and high < _DENSE_FACTOR * 2 * n_edges + 1024


def _number_dense(source: IdArray, target: IdArray, high: int) -> Numbered:
    present = np.zeros(high + 1, np.bool_)
    present[source] = True
    present[target] = True
    n_vertices = int(np.count_nonzero(present))
    dtype = number_dtype(n_vertices)
    if n_vertices == high + 1:
        return source.astype(dtype, copy=False), target.astype(dtype, copy=False), None, n_vertices
    number = np.cumsum(present, dtype=dtype)
    number -= 1
    return number[source], number[target], np.flatnonzero(present), n_vertices


def _number_sparse(source: IdArray, target: IdArray) -> Numbered:
    if source.size < _MANY:
        ids = np.unique(np.concatenate([source, target])).astype(np.int64)
        dtype = number_dtype(ids.size)
        return np.searchsorted(ids, source).astype(dtype), np.searchsorted(ids, target).astype(dtype), ids, ids.size
    from parge.kernels import codes

    dtype = number_dtype(2 * source.size)
    ends = np.empty(source.size, dtype), np.empty(target.size, dtype)
    table, n_vertices = codes.encode(source, ends[0], np.full((2**16, 2), -1, np.int64), 0)
    table, n_vertices = codes.encode(target, ends[1], table, n_vertices)
    ids = codes.decode(table, n_vertices)
    del table
    order = np.argsort(ids)
    return *_renumbered(ends, order), ids[order], n_vertices


def _renumbered(ends: tuple[NeighbourArray, NeighbourArray], order: IntArray) -> tuple[NeighbourArray, NeighbourArray]:
    """Replace places in an array of ids by places in the sorted array ``ids[order]``."""
    number = np.empty(order.size, number_dtype(order.size))
    number[order] = np.arange(order.size)
    return number[ends[0]], number[ends[1]]


def number_strings(source: IdArray, target: IdArray) -> Numbered:
    """Number string ids by code point; integers among them are taken as written.

    >>> number_strings(np.array(["b", "a"], STRING), np.array(["a", "c"], STRING))[:2]
    (array([1, 0], dtype=int32), array([0, 2], dtype=int32))
    """
    both = np.concatenate([source.astype(STRING), target.astype(STRING)])
    ids, place = unique_ids(both)
    number = place.astype(number_dtype(ids.size))
    return number[: source.size], number[source.size :], ids, ids.size


def number_names(source: NeighbourArray, target: NeighbourArray, names: Any) -> Numbered:
    """Number edges whose ends are places in an arrow array of distinct names."""
    import pyarrow.compute as pc

    # Arrow compares the bytes of UTF-8, whose order is that of the code points.
    order = pc.sort_indices(names)
    ids = np.array(names.take(order).to_pylist(), STRING)
    return *_renumbered((source, target), order.to_numpy()), ids, ids.size


# Arcs sorted at a time: with their copy 1 MB, about a core's second-level cache. On a graph of 4.0 M vertices and
# 34.5 M edges, a quarter of it or four times it took 1.3 to 1.8 times as long.
_BUCKET_ARCS = 2**16

_MAX_THREADS = 8

_NOTHING: FloatArray = np.empty(0, np.float32)


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges by vertex number; `weights` of size 0 where there are none."""

    source: NeighbourArray
    target: NeighbourArray
    weights: FloatArray
    n_vertices: int

    def __getitem__(self, some: slice) -> "Edges":
        return Edges(self.source[some], self.target[some], self.weights[some], self.n_vertices)

    @property
    def vertex_bits(self) -> int:
        """Bits that hold any vertex number."""
        return max(1, (self.n_vertices - 1).bit_length())

    @property
    def bucket_bits(self) -> int:
        """Binary logarithm of the vertices in a bucket, which holds `_BUCKET_ARCS` arcs where degrees are equal."""
        share = self.n_vertices * _BUCKET_ARCS / max(1, 2 * self.source.size)
        return min(16, max(8, self.vertex_bits - 12, round(math.log2(max(1, share)))))


@dataclass(frozen=True, eq=False)
class Buckets:
    """Both directions of every edge, grouped by runs of vertices.

    Bucket b holds ``arcs[starts[b]:starts[b + 1]]``, the arcs out of the vertices
    ``b * 2**bucket_bits .. (b + 1) * 2**bucket_bits - 1``, in the order of the edges.
    """

    arcs: IntArray
    weights: FloatArray
    starts: IntArray


def sorted_rows(
    source: NeighbourArray,
    target: NeighbourArray,
    weights: FloatArray | None,
    n_vertices: int,
    storage: Storage = MEMORY,
) -> tuple[IntArray, NeighbourArray, FloatArray | None]:
    """Return row offsets, neighbours and weights of the undirected graph of these edges.

    Arcs are dealt into buckets of neighbouring vertices and each bucket, which fits a cache, is sorted. Threads share
    first the edges, then the buckets. Every place is dealt out beforehand in the order of the edges, so the result does
    not depend on how many threads there are.

    With edges and `storage` in files this is an external sort. Dealing writes to every bucket in turn, a page of each
    in use at a time; sorting reads one bucket after the other.
    """
    edges = Edges(source, target, _NOTHING if weights is None else weights, n_vertices)
    n_threads = min(_MAX_THREADS, usable_cores())
    with ThreadPoolExecutor(n_threads) as pool:
        buckets = _deal(edges, pool, n_threads, storage)
        indptr, indices, data = _sort(edges, buckets, pool, storage)
    return indptr, indices, None if weights is None else data


def _deal(edges: Edges, pool: Executor, n_threads: int, storage: Storage) -> Buckets:
    """Write both directions of every edge into the bucket of their first vertex."""
    from parge.kernels import csr

    shift, n_edges = edges.bucket_bits, edges.source.size
    n_buckets = (edges.n_vertices >> shift) + 1
    cuts = np.linspace(0, n_edges, n_threads + 1).astype(np.int64).tolist()
    shares = [edges[start:stop] for start, stop in pairwise(cuts)]

    def per_row(share: Edges) -> IntArray:
        sizes = np.zeros(n_buckets, np.int64)
        csr.bucket_sizes(share.source, share.target, shift, sizes)
        return sizes

    sizes = np.stack(list(pool.map(per_row, shares)), axis=1)
    places = np.concatenate([[0], np.cumsum(sizes)])
    arcs = storage.zeros(int(places[-1]), np.int64)
    weights = storage.zeros(arcs.size if edges.weights.size else 0, np.float32)

    def write(share: Edges, cursor: IntArray) -> None:
        bits = edges.vertex_bits
        csr.bucket_arcs(share.source, share.target, share.weights, shift, bits, cursor, arcs, weights)

    cursors = places[:-1].reshape(n_buckets, n_threads).T.copy()
    list(pool.map(write, shares, cursors))
    return Buckets(arcs, weights, places[::n_threads].copy())


def _sort(
    edges: Edges, buckets: Buckets, pool: Executor, storage: Storage
) -> tuple[IntArray, NeighbourArray, FloatArray]:
    """Sort every bucket and decode it into rows without repeats."""
    from parge.kernels import csr

    shift, bits = edges.bucket_bits, edges.vertex_bits
    n_buckets = buckets.starts.size - 1
    indptr = storage.zeros((n_buckets << shift) + 1, np.int64)
    indices = storage.zeros(buckets.arcs.size, edges.source.dtype)
    data = storage.zeros(buckets.weights.size, np.float32)
    weighted = bool(edges.weights.size)

    def finish(bucket: int) -> int:
        here = slice(*buckets.starts[bucket : bucket + 2].tolist())
        its_weights = here if weighted else slice(0)
        arcs, weights = buckets.arcs[here], buckets.weights[its_weights]
        rows = indptr[1 + (bucket << shift) : 1 + ((bucket + 1) << shift)]
        # The direction, bit 0, matters to weights only.
        csr.sort_arcs(arcs, weights, 0 if weighted else 1, 1 + bits + shift)
        return csr.rows_of_arcs(arcs, weights, bits, rows, indices[here], data[its_weights])

    kept = list(pool.map(finish, range(n_buckets)))
    np.cumsum(indptr, out=indptr)
    runs = [slice(start, start + size) for start, size in zip(buckets.starts.tolist(), kept, strict=False)]
    rows = indptr[: edges.n_vertices + 1]
    return rows, _joined(indices, runs, storage), _joined(data, runs if weighted else [], storage)


def _joined(array: Any, runs: list[slice], storage: Storage) -> Any:
    """Return the runs of an array one after the other; the array itself where they are all of it."""
    total = sum(run.stop - run.start for run in runs)
    if total == array.size:
        return array
    out = storage.zeros(total, array.dtype)
    for run, end in zip(runs, _ends(runs), strict=True):
        out[end - (run.stop - run.start) : end] = array[run]
    return out


def _ends(runs: list[slice]) -> Iterator[int]:
    end = 0
    for run in runs:
        end += run.stop - run.start
        yield end
