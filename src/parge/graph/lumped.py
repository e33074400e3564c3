"""Lumped subgraphs: a part's own vertices as they are, the rest of the graph merged into few vertices."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from parge.graph.graph import Graph
from parge.graph.subgraph import Lumps, Subgraph
from parge.typing import IntArray


def between_lumps(graph: Graph, lump: IntArray, n_lumps: int) -> Any:
    """Return the weights between and inside lumps, (n_lumps, n_lumps) CSR; a row sums to its members' degrees."""
    return _merged(graph, np.arange(graph.n_vertices), lump, n_lumps, lump, n_lumps)


def lumped(
    graph: Graph,
    own: IntArray,
    anchors: IntArray,
    halo: IntArray,
    lump: IntArray,
    weights: Any,
    *,
    index: int = 0,
) -> Subgraph:
    """Merge all of the graph but the vertices that are named into their lumps.

    Parameters
    ----------
    own, anchors, halo : ascending and disjoint
        Vertices that stand for themselves.
    lump : (n_vertices,) int64
        The lump of every vertex: of anchor j it is j, of the others a number after the anchors'. No lump holds
        vertices of two parts.
    weights : (n_lumps, n_lumps) CSR
        `between_lumps` of the same graph.
    """
    n_lumps = weights.shape[0]
    ours = np.zeros(n_lumps, np.bool_)
    ours[lump[own]] = True
    ours[: anchors.size] = True
    foreign = np.flatnonzero(~ours)
    o, a, h = own.size, anchors.size, halo.size
    n = o + a + h + foreign.size
    place = np.full(n_lumps, -1, np.int64)
    place[:a] = o + np.arange(a)
    place[foreign] = o + a + h + np.arange(foreign.size)
    label = place[lump]  # of own vertices it is overwritten here: no other part has their lumps
    label[own], label[halo] = np.arange(o), o + a + np.arange(h)
    of_own, of_halo = (_relabelled(graph, rows, label, n) for rows in (own, halo))
    # Edges among lumps, less those of the halo's vertices, which stand for themselves.
    among = np.full(graph.n_vertices, -1)
    among[halo] = lump[halo]
    out, both = (_merged(graph, halo, lump[halo], n_lumps, seen, n_lumps) for seen in (lump, among))
    kept = np.concatenate([np.arange(a), foreign])
    rest = (weights - out - out.T + both)[kept][:, kept].tocsr()
    rest.data[rest.data < 0.5 * _least(graph)] = 0  # what is left of rounding where the halo took all
    rest.eliminate_zeros()
    columns = np.concatenate([np.arange(o, o + a), np.arange(o + a + h, n)])
    matrix = sp.vstack([of_own, _scattered(of_own, of_halo, rest, columns, o, a, h, n)]).tocsr()
    order = np.concatenate(
        [np.arange(o), o + np.arange(a), o + a + foreign.size + np.arange(h), o + a + np.arange(foreign.size)]
    )
    matrix = matrix[order]
    loops = matrix.diagonal().astype(np.float32)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    rows = Graph(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(graph.indices.dtype),
        np.ascontiguousarray(matrix.data, np.float32),
    )
    vertices = np.concatenate([own, anchors, halo, np.full(foreign.size, -1)]).astype(np.int64)
    lumps = Lumps(np.concatenate([lump[own], np.arange(a), lump[halo], foreign]).astype(np.int64), loops, a, h)
    return Subgraph(rows, vertices, o, index, lumps)


def _scattered(of_own: Any, of_halo: Any, rest: Any, columns: IntArray, o: int, a: int, h: int, n: int) -> Any:
    """Return the rows of anchors and foreign lumps, then of the halo; what own rows say of them is turned around."""
    toward_own = of_own[:, columns].T
    toward_halo = of_halo[:, columns].T
    spread = sp.csr_matrix((np.ones(columns.size), (np.arange(columns.size), columns)), shape=(columns.size, n))
    rows = sp.hstack(
        [toward_own, sp.csr_matrix((columns.size, a)), toward_halo, sp.csr_matrix((columns.size, n - o - a - h))]
    )
    return sp.vstack([rows + rest @ spread, of_halo])


def _relabelled(graph: Graph, rows: IntArray, label: IntArray, n_labels: int) -> Any:
    """Return the rows of some vertices with their neighbours' labels as columns, equal ones summed, float64."""
    return _merged(graph, rows, np.arange(rows.size), rows.size, label, n_labels)


def _merged(graph: Graph, rows: IntArray, group: IntArray, n_groups: int, label: IntArray, n_labels: int) -> Any:
    """Return the weight from each group of `rows` to each label, (n_groups, n_labels) CSR float64; negative: none."""
    from parge.kernels import lumping  # compiled code, loaded only by who needs it

    members = rows[np.argsort(group, kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])
    size = lumping.merged_size(graph.indptr, members, offsets, n_labels)
    indptr, indices, data = np.zeros(n_groups + 1, np.int64), np.empty(size, np.int64), np.empty(size)
    weights = np.empty(0, np.float32) if graph.weights is None else graph.weights
    lumping.merge_rows(graph.indptr, graph.indices, weights, members, offsets, label, n_labels, indptr, indices, data)
    used = indptr[-1]
    return sp.csr_matrix((data[:used], indices[:used], indptr), shape=(n_groups, n_labels))


def _least(graph: Graph) -> float:
    return 1.0 if graph.weights is None else float(graph.weights.min(initial=1.0))
