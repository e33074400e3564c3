"""From the edges of a large graph to its sorted rows: compiled, on several threads, in linear time."""

import math
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from parge.blocks import usable_cores
from parge.kernels import csr
from parge.storage import MEMORY, Storage
from parge.typing import FloatArray, IntArray, NeighbourArray

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

    Arcs are dealt into buckets of neighbouring vertices and each bucket, which fits a cache, is sorted. Threads
    share first the edges, then the buckets; every place is dealt out beforehand in the order of the edges,
    so the result does not depend on how many threads there are.

    With edges and `storage` in files this is an external sort: dealing writes to every bucket in turn, a page of
    each in use at a time, and sorting reads one bucket after the other.
    """
    edges = Edges(source, target, _NOTHING if weights is None else weights, n_vertices)
    n_threads = min(_MAX_THREADS, usable_cores())
    with ThreadPoolExecutor(n_threads) as pool:
        buckets = _deal(edges, pool, n_threads, storage)
        indptr, indices, data = _sort(edges, buckets, pool, storage)
    return indptr, indices, None if weights is None else data


def _deal(edges: Edges, pool: Executor, n_threads: int, storage: Storage) -> Buckets:
    """Write both directions of every edge into the bucket of their first vertex."""
    shift, n_edges = edges.bucket_bits, edges.source.size
    n_buckets = (edges.n_vertices >> shift) + 1
    cuts = np.linspace(0, n_edges, n_threads + 1).astype(np.int64).tolist()
    shares = [edges[start:stop] for start, stop in pairwise(cuts)]

    def count(share: Edges) -> IntArray:
        sizes = np.zeros(n_buckets, np.int64)
        csr.bucket_sizes(share.source, share.target, shift, sizes)
        return sizes

    sizes = np.stack(list(pool.map(count, shares)), axis=1)
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
    shift, bits = edges.bucket_bits, edges.vertex_bits
    n_buckets = buckets.starts.size - 1
    indptr = storage.zeros((n_buckets << shift) + 1, np.int64)
    indices = storage.zeros(buckets.arcs.size, edges.source.dtype)
    data = storage.zeros(buckets.weights.size, np.float32)
    weighted = bool(edges.weights.size)

    def finish(bucket: int) -> int:
        here = slice(*buckets.starts[bucket : bucket + 2].tolist())
        beside = here if weighted else slice(0)
        arcs, weights = buckets.arcs[here], buckets.weights[beside]
        rows = indptr[1 + (bucket << shift) : 1 + ((bucket + 1) << shift)]
        # The direction, bit 0, matters to weights only.
        csr.sort_arcs(arcs, weights, 0 if weighted else 1, 1 + bits + shift)
        return csr.rows_of_arcs(arcs, weights, bits, rows, indices[here], data[beside])

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
