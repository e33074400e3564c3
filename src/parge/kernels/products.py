"""Products of a graph's rows with columns of numbers."""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from parge.kernels.jit import fast_kernel, is_compiling, kernel
from parge.kernels.vector_ir import INT, emit_prefetch
from parge.typing import FloatArray, IntArray, NeighbourArray

_TINY = float(np.finfo(float).tiny)


# A cache line in bytes.
_LINE = 64

# Rows of this many neighbours ahead are asked for while others are added: a row that is not in the cache takes as long
# to come as eight take to be added (measured: 1.3 to 1.6 times the speed without, where the table exceeds the cache).
_AHEAD = 8


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def _fetch(_: Any, table: Any, row: Any) -> Any:
    """Ask for a row of a table to be brought near, to be read; changes nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        width, step = builder.extract_value(array.shape, 1), _LINE // (signature.args[0].dtype.bitwidth // 8)
        start = builder.gep(array.data, [builder.mul(arguments[1], width)])
        with cgutils.for_range_slice(builder, INT(0), width, INT(step), inc=True) as (c, _):
            emit_prefetch(builder, start, c, to_write=False)
        return context.get_dummy_value()

    return types.void(table, types.int64), generate


def _no_fetch(table: NDArray[Any], row: np.int64) -> None:
    """Do nothing: what Python runs in the place of `_fetch`."""


fetch_row = _fetch if is_compiling() else _no_fetch


@kernel
def add_rows(indices: NeighbourArray, columns: NDArray[Any], start: int, stop: int, row: NDArray[Any]) -> None:
    """Add to `row` the rows of `columns` that ``indices[start:stop]`` name.

    Four at a time, so that the sum is read and written once for them: (a + b) + (c + d), whoever computes it. Every
    column is the same, whatever other columns there are.
    """
    last, j = indices.size - 1, start
    while j + 3 < stop:
        for k in range(j + _AHEAD, j + _AHEAD + 4):
            fetch_row(columns, np.int64(indices[min(k, last)]))
        a, b, c, d = columns[indices[j]], columns[indices[j + 1]], columns[indices[j + 2]], columns[indices[j + 3]]
        for i in range(row.size):
            row[i] += (a[i] + b[i]) + (c[i] + d[i])
        j += 4
    while j < stop:
        fetch_row(columns, np.int64(indices[min(j + _AHEAD, last)]))
        a = columns[indices[j]]
        for i in range(row.size):
            row[i] += a[i]
        j += 1


@kernel
def add_weighted_rows(
    indices: NeighbourArray, weights: FloatArray, columns: NDArray[Any], start: int, stop: int, row: NDArray[Any]
) -> None:
    """Add to `row` weighted rows of `columns`, as `add_rows` does; one loop for both would be slower."""
    last, j = indices.size - 1, start
    while j + 3 < stop:
        for k in range(j + _AHEAD, j + _AHEAD + 4):
            fetch_row(columns, np.int64(indices[min(k, last)]))
        a, b, c, d = columns[indices[j]], columns[indices[j + 1]], columns[indices[j + 2]], columns[indices[j + 3]]
        p, q, r, s = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(row.size):
            row[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i])
        j += 4
    while j < stop:
        fetch_row(columns, np.int64(indices[min(j + _AHEAD, last)]))
        a, p = columns[indices[j]], weights[j]
        for i in range(row.size):
            row[i] += p * a[i]
        j += 1


@kernel
def sum_neighbours(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    columns: NDArray[Any],
    first: int,
    out: NDArray[Any],
) -> None:
    """Write into `out` the weighted sums of the neighbours' rows of `columns`, for vertices from `first` on.

    A row is summed in the order of its neighbours, whoever computes it. `weights` of size 0 means ones.
    """
    for i in range(out.shape[0]):
        row, start, stop = out[i], indptr[first + i], indptr[first + i + 1]
        row[:] = 0
        if weights.size:
            add_weighted_rows(indices, weights, columns, start, stop, row)
        else:
            add_rows(indices, columns, start, stop, row)


@kernel
def sum_around(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    columns: FloatArray,
    mean: FloatArray,
    first: int,
    out: FloatArray,
) -> None:
    """Write into `out` rows of ``(A + I) (X - mean)`` for vertices from `first` on, where X are the columns.

    The mean is taken from the sum, once for a row: X itself is read as it is. `weights` of size 0 means ones.
    """
    for i in range(out.shape[0]):
        v = first + i
        row, own, start, stop, total = out[i], columns[v], indptr[v], indptr[v + 1], 1.0
        for c in range(row.size):
            row[c] = own[c]
        if weights.size:
            add_weighted_rows(indices, weights, columns, start, stop, row)
            for j in range(start, stop):
                total += weights[j]
        else:
            add_rows(indices, columns, start, stop, row)
            total += stop - start
        share = np.float32(total)
        for c in range(row.size):
            row[c] -= share * mean[c]


@kernel
def step_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    scale: NDArray[Any],
    columns: NDArray[Any],
    own: NDArray[Any],
    factors: NDArray[Any],
    first: int,
    out: NDArray[Any],
) -> None:
    """Write ``p * scale * (A X) + q * own + r * out`` into `out`, for vertices from `first` on: a step of a recurrence.

    X are the columns; `own` has rows as `out`; the factors are p, q, r. `weights` or `scale` of size 0 mean ones. Where
    r is 0, what is in `out` is not read.
    """
    p, q, r = factors[0], factors[1], factors[2]
    total = np.empty(columns.shape[1], columns.dtype)
    for i in range(out.shape[0]):
        v = first + i
        row, here, start, stop = out[i], own[i], indptr[v], indptr[v + 1]
        total[:] = 0
        if weights.size:
            add_weighted_rows(indices, weights, columns, start, stop, total)
        else:
            add_rows(indices, columns, start, stop, total)
        times = p * scale[v] if scale.size else p
        if r == 0:
            for c in range(row.size):
                row[c] = times * total[c] + q * here[c]
        else:
            for c in range(row.size):
                row[c] = (times * total[c] + q * here[c]) + r * row[c]


@fast_kernel
def unit_rows(rows: FloatArray, length: float, sums: NDArray[np.float64]) -> None:
    """Scale rows to a length, in place, and add them to `sums`; a row of zeros stays.

    Lengths and sums are in float64: squares of float32 neither overflow nor vanish there.
    """
    for i in range(rows.shape[0]):
        row, square = rows[i], 0.0
        for c in range(row.size):
            square += np.float64(row[c]) * np.float64(row[c])
        scale = length / np.sqrt(square) if square > 0 else 0.0
        for c in range(row.size):
            scaled = np.float32(scale * row[c])
            row[c] = scaled
            sums[c] += scaled


@kernel
def mix_neighbours(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    strength: NDArray[np.float64],
    first: int,
    share: FloatArray,
    columns: FloatArray,
    out: FloatArray,
) -> None:
    """Write rows of `columns` into `out`, moved by a share of the way to the mean of their neighbours' rows.

    `indptr` and `strength`, the sums of the weights, are those of the vertices from `first` on.
    """
    mean = np.empty(columns.shape[1], np.float32)
    for i in range(strength.size):
        v, scale = first + i, 1.0 / max(strength[i], _TINY)
        mean[:] = 0
        for j in range(indptr[i], indptr[i + 1]):
            row, weight = columns[indices[j]], np.float32(scale * weights[j])
            for c in range(mean.size):
                mean[c] += weight * row[c]
        for c in range(mean.size):
            out[v, c] = columns[v, c] + share[v] * (mean[c] - columns[v, c])


@kernel
def mean_neighbours(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    strength: NDArray[np.float64],
    some: IntArray,
    row_of: IntArray,
    source: FloatArray,
    out: FloatArray,
) -> None:
    """Write into `out`, for some vertices, the mean over their neighbours u of row ``row_of[u]`` of `source`.

    `strength` are the sums of the weights; a vertex without edges gets zeros. Four neighbours at a time, as in
    `add_rows`.
    """
    last = indices.size - 1
    for i in range(some.size):
        v, row = some[i], out[i]
        j, stop, scale = indptr[v], indptr[v + 1], 1.0 / max(strength[v], _TINY)
        row[:] = 0
        while j + 3 < stop:
            for k in range(j + _AHEAD, j + _AHEAD + 4):
                fetch_row(source, np.int64(row_of[indices[min(k, last)]]))
            a, b = source[row_of[indices[j]]], source[row_of[indices[j + 1]]]
            c, d = source[row_of[indices[j + 2]]], source[row_of[indices[j + 3]]]
            p, q = np.float32(scale * weights[j]), np.float32(scale * weights[j + 1])
            r, s = np.float32(scale * weights[j + 2]), np.float32(scale * weights[j + 3])
            for x in range(row.size):
                row[x] += (p * a[x] + q * b[x]) + (r * c[x] + s * d[x])
            j += 4
        while j < stop:
            a, p = source[row_of[indices[j]]], np.float32(scale * weights[j])
            for x in range(row.size):
                row[x] += p * a[x]
            j += 1


@kernel
def shift_floored(values: FloatArray, above: FloatArray, below: FloatArray, floor: float, out: FloatArray) -> None:
    """Write into `out` the values plus a number for each row, less one for each column, and no less than a floor."""
    least = np.float32(floor)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = max((values[i, j] - below[j]) + above[i], least)
