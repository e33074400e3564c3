r"""Where the vertices of a subgraph with a context start: by regression on the backbone, in closed form.

Let T be the transition matrix of the subgraph, and C the landmark of each of its vertices. R and R' are those of the
backbone (see `parge.landmarks.backbone`; R = w_1 I + P R'). A single vertex v meets the landmarks on a walk with
probabilities

    q_v = T_v Y,   Y_u = w_1 C_u + T_u C R' for a single vertex u,   Y_u = R_u for a landmark or an anchor,

so that two steps of the walk are exact and only the others lead from landmark to landmark; then ``In_v = log max(q_v /
(k p), floor) V S^-1/2``, and Out_v likewise.

With one exact step, q_v = T_v C R, DeepWalk in 8 parts kept 91, 93 and 90 % of the whole graph's micro-F1 on planted
graphs with overlapping communities. With two it keeps 95, 96 and 93 %, with five no more (one seed, no pass).
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parge.errors import TechniqueError
from parge.graph.subgraph import Context, Subgraph
from parge.kernels import products, skipgram, splitmix, walks
from parge.kernels.skipgram import Tables
from parge.landmarks.backbone import ARC_BYTES, EXTENSION_BYTES, EXTENSION_LANDMARKS, FLOOR, LARGE_WEIGHT, step_shares
from parge.linalg.threads import one_blas_thread
from parge.memory import trim_heap
from parge.skipgram.settings import NOISE_POWER, WalkSettings
from parge.storage import arc_blocks, read_rows, release_pages, row_blocks
from parge.typing import FloatArray, IntArray, NeighbourArray

Arrays = Mapping[str, NDArray[Any]]
Slices = tuple[slice, slice]
"""Which vertices are placed one by one: own vertices, and the halo."""

# A vertex with few edges is placed by few numbers, so it borrows from its neighbours: their mean has the weight of so
# many edges besides its own. Chosen on planted graphs and trees: there the start alone scored .95 to .97 of centralised
# DeepWalk without, and .98 to 1.01 with it; on dense graphs it changes little.
BORROWED_EDGES = 4.0
_BORROWING_ROUNDS = 3

# Rows whose chances are computed at a time, so that they stay in the cache: at most, at least, and one for this
# many vertices of the subgraph.
_MOST_ROWS, _LEAST_ROWS, _VERTICES_PER_ROW = 512, 32, 16

# Landmarks whose vectors are read at a time: 64 kB.
_LANDMARKS = 128

# Arcs that are read at a time: a quarter of a megabyte with their weights.
_READ_ARCS = 2**15

# The least positive float32, nearly.
_TINY = float(np.finfo(np.float32).tiny)


class CSR(NamedTuple):
    """Rows of a subgraph with a context, and what each sums to with the edges inside of it, if it is a landmark."""

    indptr: IntArray
    indices: NeighbourArray
    weights: FloatArray
    strength: NDArray[np.float64]

    def pieces(self, some: slice) -> Iterator[tuple[int, "CSR"]]:
        """Yield some rows a few at a time, each with the first of them; what is in a file is read from it.

        So rows in a file take no memory: pages of a map would stay. A piece is overwritten by the next.
        """
        indptr = self.indptr[some.start : some.stop + 1]
        blocks = list(arc_blocks(indptr, _READ_ARCS))
        most = max((int(indptr[end] - indptr[first]) for first, end in blocks), default=0)
        buffers = np.empty(most, self.indices.dtype), np.empty(most, self.weights.dtype)
        for first, end in blocks:
            arcs, begin = slice(int(indptr[first]), int(indptr[end])), some.start + first
            indices, weights = (
                read_rows(matrix, arcs, out[: arcs.stop - arcs.start])
                for matrix, out in zip((self.indices, self.weights), buffers, strict=True)
            )
            offsets = indptr[first : end + 1] - arcs.start
            yield begin, CSR(offsets, indices, weights, self.strength[begin : some.start + end])


def opened(subgraph: Subgraph) -> tuple[Context, CSR]:
    """Return the context of a subgraph, and its rows as they are: those of a part folder stay in their file."""
    context, graph = subgraph.context, subgraph.graph
    if context is None or "reached" not in subgraph.shared:
        raise TechniqueError(f"subgraph {subgraph.index} has no backbone")
    for name, array in subgraph.shared.items():
        if array.dtype != np.float32:
            raise TechniqueError(f"the array {name} of the backbone holds {array.dtype}, not float32")
    weights = np.ones(graph.indices.size, np.float32) if graph.weights is None else graph.weights
    strength = walks.strengths(graph.indptr, weights) + context.loops
    release_pages(graph.indices, weights)
    return context, CSR(np.asarray(graph.indptr), graph.indices, weights, strength)  # cut into often: not as a map


def start(settings: WalkSettings, subgraph: Subgraph, context: Context, rows: CSR, seed: Any) -> Tables:
    """Place every vertex: landmarks where the backbone has them, the others by regression on it."""
    shared, n, dim = subgraph.shared, subgraph.n_vertices, settings.dim
    o, a = subgraph.n_own, context.n_anchors
    single = (slice(0, o), slice(o + a, o + a + context.n_halo))
    # One row more than vertices: see Tables.
    tables = Tables(skipgram.new_table(n + 1, dim), skipgram.new_table(n + 1, dim), False, o)
    width = shared["in"].shape[1]
    _place(settings, shared, np.asarray(context.landmark), rows, single, tables)
    frozen = np.concatenate([np.arange(o, o + a), np.arange(single[1].stop, n)])
    # Not before this: placing takes most memory, and none of these rows.
    for some in row_blocks(len(shared["in"]), _LANDMARKS):
        number = context.landmark[frozen] - some.start
        here = (number >= 0) & (number < some.stop - some.start)
        tables.In[frozen[here], :width] = read_rows(shared["in"], some)[number[here]]
        tables.Out[frozen[here], :width] = read_rows(shared["out"], some)[number[here]]
    _borrow(rows, single, tables, _columns_at_once(rows, shared))
    lone = np.flatnonzero(rows.strength == 0)
    lone = lone[(lone < o) | ((lone >= single[1].start) & (lone < single[1].stop))]
    fresh = skipgram.new_table(lone.size, dim)
    splitmix.fill_uniform(seed, 1.0 / dim, dim, fresh)
    tables.In[lone], tables.Out[lone] = fresh, 0
    return tables


def _place(
    settings: WalkSettings, shared: Arrays, landmark: IntArray, rows: CSR, single: Slices, tables: Tables
) -> None:
    """Write the start of single vertices into tables of zeros, from their chances of meeting landmarks."""
    k, width = settings.negatives, shared["in"].shape[1]
    total = max(float(shared["mass"].sum()), _TINY)
    # Out_v is how often v is met from landmark c: by reversibility q_v(c) d_v / d_c, against v's own noise.
    strength = np.maximum(rows.strength, np.finfo(float).tiny)
    against_noise = _log(strength / (k * strength**NOISE_POWER / total), -np.inf)
    del strength
    back, noise = _log(shared["degree"], np.inf), _log(k * shared["mass"].astype(np.float64) / total, np.inf)
    sides = ((tables.Out, "to_out", back, against_noise), (tables.In, "to_in", noise, np.zeros_like(against_noise)))
    at_once, n_rows = _columns_at_once(rows, shared), 1 + _rows_at_once(rows.strength.size)
    met, moves = np.empty((2, n_rows * at_once), np.float32), np.empty((n_rows, width), np.float32)
    for columns in row_blocks(noise.size, at_once):
        onward = _onward(settings, shared, landmark, rows, single, columns)
        to = {name: read_rows(shared[name], columns) for _, name, _, _ in sides}
        for some, chances, logs in _met(rows, single, onward, met):
            for table, name, below, above in sides:
                products.shift_floored(chances, above[some], below[columns], np.log(FLOOR), logs)
                table[some, :width] += np.matmul(logs, to[name], out=moves[: len(logs)])
        del onward  # before the next ones are made
    del met, moves
    trim_heap()


def _met(
    rows: CSR, single: Slices, onward: FloatArray, buffers: FloatArray
) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
    """Yield single vertices a few at a time: which, the logarithms of T Y, and a matrix of this shape to write to."""
    itself = np.arange(len(onward), dtype=rows.indices.dtype)
    for part in single:
        for begin, piece in rows.pieces(part):
            for some in _few(len(piece.strength), _rows_at_once(rows.strength.size)):
                n_rows = some.stop - some.start
                chances, logs = (row[: n_rows * onward.shape[1]].reshape(n_rows, -1) for row in buffers)
                products.mean_neighbours(*piece, itself[some], itself, onward, chances)
                np.maximum(chances, _TINY, out=chances)
                np.log(chances, out=chances)
                yield slice(begin + some.start, begin + some.stop), chances, logs


def _rows_at_once(n_vertices: int) -> int:
    """Return how many rows are placed at a time, a power of two: a small part has small buffers.

    >>> [_rows_at_once(n) for n in (100, 2_000, 1_000_000)]
    [32, 64, 512]
    """
    wanted = max(_LEAST_ROWS, min(_MOST_ROWS, n_vertices // _VERTICES_PER_ROW))
    return 1 << (wanted.bit_length() - 1)


def _few(n_rows: int, at_once: int) -> Iterator[slice]:
    """Yield rows, `at_once` at a time; where one would be left of `_MOST_ROWS`, the slice before has it too.

    BLAS multiplies a single row by another routine, with other last digits: which rows are alone must not change.

    >>> [(some.start, some.stop) for some in _few(257, 128)], [some.stop for some in _few(513, 256)]
    ([(0, 128), (128, 257)], [256, 512, 513])
    """
    for block in row_blocks(n_rows, _MOST_ROWS):
        starts = range(block.start, max(block.start + 1, block.stop - 1), at_once)
        for first, stop in zip(starts, [*starts[1:], block.stop], strict=True):
            yield slice(first, stop)


def _log(values: NDArray[Any], of_zero: float) -> FloatArray:
    """Return logarithms, float32; those of zeros as given, which has the entry count as the floor."""
    logs = np.full(values.size, of_zero, np.float64)
    np.log(values, where=values > 0, out=logs)
    return logs.astype(np.float32)


def _onward(
    settings: WalkSettings, shared: Arrays, landmark: IntArray, rows: CSR, single: Slices, columns: slice
) -> FloatArray:
    """Return some columns of Y: the chances of meeting landmarks from a vertex on, itself counted."""
    onward: FloatArray = _columns(shared["reached"], columns)[landmark]
    beyond, share = _columns(shared["reached_beyond"], columns), step_shares(settings.window)[0]
    for part in single:
        for begin, piece in rows.pieces(part):
            some = np.arange(len(piece.strength), dtype=rows.indices.dtype)
            products.mean_neighbours(*piece, some, landmark, beyond, onward[begin : begin + some.size])
        here = part.start + np.flatnonzero((landmark[part] >= columns.start) & (landmark[part] < columns.stop))
        onward[here, landmark[here] - columns.start] += share
    return onward


def _columns(transposed: FloatArray, some: slice) -> FloatArray:
    """Return a copy of some columns of a matrix that is stored transposed."""
    return np.ascontiguousarray(read_rows(transposed, some).T)


def _columns_at_once(rows: CSR, shared: Arrays) -> int:
    """Return how many columns for all vertices fit what a worker has for them.

    That is what its rows may take in memory later, when walks are drawn from them, and a little more. Parts of a large
    graph have fewer: rows without weights take half of that, and there it counts (`LARGE_WEIGHT`).
    """
    fit = (EXTENSION_BYTES + ARC_BYTES * rows.indices.size) // (4 * max(1, rows.strength.size))
    least, *more = EXTENSION_LANDMARKS
    if float(shared["degree"].sum(dtype=np.float64)) >= LARGE_WEIGHT:
        more = more[:-1]
    return max([least, *(width for width in more if width <= fit)])


def extension_bytes(rows: CSR, shared: Arrays) -> int:
    """Return what columns for all vertices take."""
    return 4 * rows.strength.size * _columns_at_once(rows, shared)


def _borrow(rows: CSR, single: Slices, tables: Tables, at_once: int) -> None:
    """Mix the start of vertices with the mean of their neighbours', the more the fewer edges they have."""
    weight = (BORROWED_EDGES / (BORROWED_EDGES + rows.strength)).astype(np.float32)
    for table in (tables.In, tables.Out):
        for columns in row_blocks(table.shape[1], at_once):
            out = table[: rows.strength.size, columns]
            before = np.empty(out.shape, np.float32)
            for _ in range(_BORROWING_ROUNDS):
                before[:] = out
                for part in single:
                    for begin, piece in rows.pieces(part):
                        products.mix_neighbours(*piece, begin, weight, before, out)
            del before  # before the next one is made


def place(settings: WalkSettings, subgraph: Subgraph, rng: np.random.Generator) -> FloatArray:
    """Return the vectors of own vertices and anchors as training would start from them."""
    context, rows = opened(subgraph)
    with one_blas_thread():
        tables = start(settings, subgraph, context, rows, rng.integers(2**64, dtype=np.uint64))
    return np.ascontiguousarray(tables.In[: subgraph.n_embedded, : settings.dim])
