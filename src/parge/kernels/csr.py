"""Loops over compressed sparse rows: building and inducing them, and merging vertices (the quotient)."""

import numpy as np
from numpy.typing import NDArray

from parge.kernels.jit import kernel
from parge.kernels.splitmix import GOLDEN, high, mix
from parge.typing import FloatArray, IntArray, NeighbourArray

# Bits sorted per pass: 4096 counters stay in the first-level cache.
_DIGIT = 12

# What is left of a sum of weights when all of its terms are taken off again is less than this share of it.
ROUNDING = 1e-7


@kernel
def bucket_sizes(source: NeighbourArray, target: NeighbourArray, shift: int, sizes: IntArray) -> None:
    """Count the arcs in every bucket of ``2**shift`` vertices; an edge is two arcs, a self loop none."""
    for e in range(source.size):
        if source[e] != target[e]:
            sizes[source[e] >> shift] += 1
            sizes[target[e] >> shift] += 1


@kernel
def bucket_arcs(
    source: NeighbourArray,
    target: NeighbourArray,
    weights: FloatArray,
    shift: int,
    bits: int,
    cursor: IntArray,
    arcs: IntArray,
    arc_weights: FloatArray,
) -> None:
    """Write both directions of every edge into the bucket of their first vertex, from `cursor` on.

    An arc is one number: its first vertex within the bucket, its second vertex in `bits` bits, and one last bit. That
    is set where it runs against the edge as given. So arcs in ascending order are sorted rows. `weights` of size 0
    means unweighted edges.
    """
    low = (1 << shift) - 1
    for e in range(source.size):
        u, v = np.int64(source[e]), np.int64(target[e])
        if u == v:
            continue
        i = cursor[u >> shift]
        cursor[u >> shift] = i + 1
        j = cursor[v >> shift]
        cursor[v >> shift] = j + 1
        arcs[i] = (((u & low) << bits) | v) << 1
        arcs[j] = ((((v & low) << bits) | u) << 1) | 1
        if weights.size:
            arc_weights[i] = weights[e]
            arc_weights[j] = weights[e]


@kernel
def sort_arcs(arcs: IntArray, weights: FloatArray, first_bit: int, last_bit: int) -> None:
    """Sort arcs in place by their bits ``first_bit..last_bit-1``; arcs equal in these keep their order.

    A radix sort from the lowest digit up: linear, and blind to the order of its input.
    """
    n = arcs.size
    keys, other = arcs, np.empty(n, np.int64)
    values, other_values = weights, np.empty(weights.size, np.float32)
    count = np.empty(1 << _DIGIT, np.int64)
    for bit in range(first_bit, last_bit, _DIGIT):
        mask = (1 << min(_DIGIT, last_bit - bit)) - 1
        count[:] = 0
        for i in range(n):
            count[(keys[i] >> bit) & mask] += 1
        total = 0
        for d in range(mask + 1):
            here = count[d]
            count[d] = total
            total += here
        for i in range(n):
            d = (keys[i] >> bit) & mask
            other[count[d]] = keys[i]
            if weights.size:
                other_values[count[d]] = values[i]
            count[d] += 1
        keys, other = other, keys
        values, other_values = other_values, values
    if ((last_bit - first_bit + _DIGIT - 1) // _DIGIT) % 2:
        arcs[:] = keys
        weights[:] = values


@kernel
def rows_of_arcs(
    arcs: IntArray,
    arc_weights: FloatArray,
    bits: int,
    degrees: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
) -> int:
    """Decode sorted arcs into rows without repeats, count them in `degrees`, and return how many remain.

    Weights of repeats in one direction add up; of the two directions the larger sum holds.
    """
    mask = (1 << bits) - 1
    end = 0
    last = np.int64(-1)
    sums = np.zeros(2)
    for i in range(arcs.size):
        arc = arcs[i] >> 1
        if arc != last:
            indices[end] = arc & mask
            degrees[arc >> bits] += 1
            end += 1
            last = arc
            sums[:] = 0
        if arc_weights.size:
            sums[arcs[i] & 1] += arc_weights[i]
            weights[end - 1] = max(sums[0], sums[1])
    return end


@kernel
def induced_offsets(
    indptr: IntArray, indices: NeighbourArray, vertices: IntArray, position: NeighbourArray
) -> IntArray:
    """Return row offsets of the subgraph induced on `vertices`; `position` is -1 outside it."""
    out = np.zeros(vertices.size + 1, np.int64)
    for i in range(vertices.size):
        count = 0
        for j in range(indptr[vertices[i]], indptr[vertices[i] + 1]):
            count += position[indices[j]] >= 0
        out[i + 1] = out[i] + count
    return out


@kernel
def induced_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    vertices: IntArray,
    position: NeighbourArray,
    n_first: int,
    out_indices: NeighbourArray,
    out_weights: FloatArray,
) -> None:
    """Fill the induced rows, sorted, for vertices that are two ascending runs split at `n_first`.

    `weights` of size 0 means an unweighted graph. Neighbours in the first run are written first, so two
    sweeps over a sorted row leave it sorted in the new numbering.
    """
    end = 0
    for i in range(vertices.size):
        row = range(indptr[vertices[i]], indptr[vertices[i] + 1])
        for second in range(2):
            for j in row:
                p = position[indices[j]]
                if p >= 0 and (p >= n_first) == (second == 1):
                    out_indices[end] = p
                    if weights.size:
                        out_weights[end] = weights[j]
                    end += 1


@kernel
def merged_size(indptr: IntArray, rows: IntArray, offsets: IntArray, n_labels: int) -> int:
    """Return at least as many entries as `quotient_rows` writes."""
    size = 0
    for g in range(offsets.size - 1):
        degrees = 0
        for i in range(offsets[g], offsets[g + 1]):
            degrees += indptr[rows[i] + 1] - indptr[rows[i]]
        size += min(degrees, n_labels)
    return size


@kernel
def link_chance(weight: float, ours: float, theirs: float) -> float:
    """Return how likely an edge of that weight is kept between two groups; 1 unless both are thinned out.

    With ``ours = k / (2 d)``, d the weight of a group, a group keeps about k / 2 edges for its own sake and as many
    for others'. Heavy edges stay; light ones stay with a chance and then count for those that went.
    """
    return 1.0 if ours == 0.0 or theirs == 0.0 else min(1.0, weight * (ours + theirs))


@kernel
def is_link(chance: float, one: int, other: int) -> bool:
    """Return whether an edge stays; the same for both its directions, in every part and on every machine."""
    first, second = np.uint64(min(one, other)), np.uint64(max(one, other))
    return chance >= 1.0 or float(high(mix(mix(first + GOLDEN) + second))) < chance * 4294967296.0


@kernel
def quotient_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    rows: IntArray,
    offsets: IntArray,
    label: NeighbourArray,
    label_of: IntArray,
    n_labels: int,
    out_indptr: IntArray,
    out_indices: NeighbourArray,
    out_weights: FloatArray | NDArray[np.float64],
    loops: FloatArray | NDArray[np.float64],
) -> None:
    """Write for each group g of vertices, rows[offsets[g]:offsets[g+1]], its weight to each label, ascending.

    `label` is that of every vertex, ``label_of[g]`` that of a group. What lies inside of a group goes to `loops`. An
    empty `weights` means ones.
    """
    total = np.zeros(n_labels, np.float64)
    size = 0
    for g in range(offsets.size - 1):
        first = size
        for i in range(offsets[g], offsets[g + 1]):
            for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
                c = label[indices[j]]
                if total[c] == 0.0 and c != label_of[g]:  # weights are positive
                    out_indices[size] = c
                    size += 1
                total[c] += 1.0 if weights.size == 0 else weights[j]
        out_indices[first:size].sort()
        for k in range(first, size):
            out_weights[k] = total[out_indices[k]]
            total[out_indices[k]] = 0.0
        loops[g] = total[label_of[g]]
        total[label_of[g]] = 0.0
        out_indptr[g + 1] = size


@kernel
def thinned_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: NDArray[np.float64],
    inside: NDArray[np.float64],
    taken_indptr: IntArray,
    taken_indices: IntArray,
    taken_weights: NDArray[np.float64],
    groups: IntArray,
    place: NeighbourArray,
    thin: NDArray[np.float64],
    out_indptr: IntArray,
    out_indices: NeighbourArray,
    out_weights: FloatArray,
    loops: FloatArray,
) -> None:
    """Thin out the edges among some groups, given the rows of weights between all groups and inside each.

    Entries that are taken are subtracted first; what is left of a sum by rounding is no edge. ``place[h]`` is where
    edges to group h are written, -1 where they are not. Edges between groups for which `thin` is not 0 stay with a
    chance (see `link_chance`), by draws that depend on the numbers of both groups. What stays is heavier by as much,
    so that every weight is right on average.
    """
    total = np.zeros(inside.size, np.float64)
    size = 0
    for i in range(groups.size):
        g = groups[i]
        for j in range(indptr[g], indptr[g + 1]):
            total[indices[j]] = weights[j]
        total[g] = inside[g]
        for j in range(taken_indptr[g], taken_indptr[g + 1]):
            total[taken_indices[j]] -= taken_weights[j]
        for j in range(indptr[g], indptr[g + 1]):
            h = indices[j]
            weight = total[h]
            total[h] = 0.0
            if place[h] >= 0 and weight > ROUNDING * weights[j]:
                chance = link_chance(weight, thin[g], thin[h])
                if is_link(chance, g, h):
                    out_indices[size], out_weights[size] = place[h], weight / chance
                    size += 1
        loops[i] = total[g] if total[g] > ROUNDING * inside[g] else 0.0
        total[g] = 0.0
        out_indptr[i + 1] = size


@kernel
def is_merged(c: int, n_own: int, n_anchors: int, n_halo: int) -> bool:
    """Return whether a vertex of a subgraph with a context is an anchor or a foreign super-vertex."""
    return n_own <= c < n_own + n_anchors or c >= n_own + n_anchors + n_halo


@kernel
def joined_rows(
    indptr: IntArray,
    indices: NeighbourArray,
    weights: FloatArray,
    merged_indptr: IntArray,
    merged_indices: NeighbourArray,
    merged_weights: FloatArray,
    n_own: int,
    n_anchors: int,
    n_halo: int,
    out_indptr: IntArray,
    out_indices: NeighbourArray,
    out_weights: FloatArray,
) -> None:
    """Write the rows of a subgraph with a context, ascending: own vertices, anchors, halo, foreign super-vertices.

    `indptr` to `weights` are the rows of own vertices and halo to all; `merged_indptr` to `merged_weights` those of
    anchors and super-vertices among each other. What these have to the former is the same seen from there.
    """
    single, n = n_own + n_anchors + n_halo, out_indptr.size - 1
    for v in range(n_own + n_halo):
        out_indptr[(v if v < n_own else v + n_anchors) + 1] += indptr[v + 1] - indptr[v]
        for j in range(indptr[v], indptr[v + 1]):
            if is_merged(indices[j], n_own, n_anchors, n_halo):
                out_indptr[indices[j] + 1] += 1
    for m in range(n_anchors + n - single):
        out_indptr[n_own + m + (0 if m < n_anchors else n_halo) + 1] += merged_indptr[m + 1] - merged_indptr[m]
    for v in range(n):
        out_indptr[v + 1] += out_indptr[v]
    end, read = out_indptr[:n].copy(), merged_indptr[:-1].copy()
    for halo in range(2):  # columns of own vertices and anchors, then of halo and super-vertices
        for v in range(n_own if halo else 0, n_own + n_halo if halo else n_own):
            row = v + (n_anchors if halo else 0)
            for j in range(indptr[v], indptr[v + 1]):
                c = indices[j]
                out_indices[end[row]], out_weights[end[row]] = c, weights[j]
                end[row] += 1
                if is_merged(c, n_own, n_anchors, n_halo):
                    out_indices[end[c]], out_weights[end[c]] = row, weights[j]
                    end[c] += 1
        for m in range(n_anchors + n - single):
            row = n_own + m + (0 if m < n_anchors else n_halo)
            while read[m] < merged_indptr[m + 1] and (halo or merged_indices[read[m]] < n_own + n_anchors):
                out_indices[end[row]], out_weights[end[row]] = merged_indices[read[m]], merged_weights[read[m]]
                end[row] += 1
                read[m] += 1


@kernel
def quotient_matrix(
    indptr: IntArray, indices: NeighbourArray, weights: FloatArray, label: IntArray, out: NDArray[np.float64]
) -> None:
    """Add to a matrix of zeros the weights between groups of vertices, both directions, and inside them, twice.

    `label` is the group of every vertex. An empty `weights` means ones.
    """
    for v in range(label.size):
        g = label[v]
        for j in range(indptr[v], indptr[v + 1]):
            out[g, label[indices[j]]] += 1.0 if weights.size == 0 else weights[j]


@kernel
def thinned_block(
    weights: NDArray[np.float64],
    name: IntArray,
    thin: NDArray[np.float64],
    first: int,
    out_indices: NeighbourArray,
    out_weights: FloatArray,
    out_sizes: IntArray,
    loops: FloatArray,
) -> int:
    """Thin out the edges among groups as `thinned_rows` does, given rows of the matrix of their weights.

    Row i of the block is group ``first + i``; weights that are not positive are no edges. Returns how many stay.
    """
    size = 0
    for i in range(weights.shape[0]):
        g, before = first + i, size
        for c in range(weights.shape[1]):
            weight = weights[i, c]
            if c == g:
                loops[g] = max(weight, 0.0)
            elif weight > 0.0:
                chance = link_chance(weight, thin[g], thin[c])
                if is_link(chance, name[g], name[c]):
                    out_indices[size], out_weights[size] = c, weight / chance
                    size += 1
        out_sizes[i] = size - before
    return size
