"""Graph: an immutable, undirected graph in compressed sparse rows, with its vertices' outside ids."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from parge.errors import InputError
from parge.show.display import graph_html
from parge.show.text import count
from parge.storage import row_blocks
from parge.typing import BoolArray, FloatArray, IdArray, IntArray, NeighbourArray

# Vertex numbers fit int32 up to here; larger graphs use int64 neighbours.
MAX_INT32_VERTICES = 2**31 - 1


# Offsets looked at together.
_BLOCK = 1 << 20


def _falls(offsets: IntArray) -> bool:
    return any((np.diff(offsets[block.start : block.stop + 1]) < 0).any() for block in row_blocks(offsets.size, _BLOCK))


class Counted(Protocol):
    """The counts of a `Graph`, or those of one that does not exist: they decide a pass and a backbone."""

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""

    @property
    def n_edges(self) -> int:
        """Number of edges."""

    @property
    def features(self) -> Any:
        """Features of the vertices, or None."""


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph without self loops or repeated edges.

    Create one with `parge.read`, `Graph.from_edges`, `Graph.from_scipy` or the other ``from_`` methods, which normalise
    their input. The constructor checks shapes and ranges, but not symmetry.

    Laws: rows are sorted and hold no repeats; ``v in row u`` if and only if ``u in row v``, with the same weight. No
    vertex is its own neighbour; weights are positive and finite; all arrays are read-only.

    Parameters
    ----------
    indptr : (n_vertices + 1,) int64
        Row offsets.
    indices : (2 * n_edges,) int32, or int64 for over 2^31 vertices
        Neighbours.
    weights : (2 * n_edges,) float32, optional
        Weight of each stored neighbour; None where every edge has weight 1.
    ids : (n_vertices,) int64 or numpy strings, optional
        Ids of the vertices, ascending; None where vertex v has the id v.
    features : (n_vertices, n_features) scipy CSR, optional
        Vertex features.
    notices : tuple of str
        What was changed while reading, as text.

    Examples
    --------
    >>> graph = Graph.from_edges([10, 10, 30], [20, 30, 20])
    >>> graph.n_vertices, graph.n_edges, graph.ids.tolist()
    (3, 3, [10, 20, 30])
    """

    indptr: IntArray
    indices: NeighbourArray
    weights: FloatArray | None = None
    ids: IdArray | None = None
    features: Any = None
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n_vertices = self.indptr.size - 1
        if n_vertices < 0 or self.indptr[0] != 0 or _falls(self.indptr):
            raise InputError("indptr must start at 0 and never decrease")
        if self.indptr[-1] != self.indices.size:
            raise InputError(f"indptr ends at {self.indptr[-1]}, but there are {self.indices.size} neighbours")
        if self.indices.size and not 0 <= self.indices.min() <= self.indices.max() < n_vertices:
            raise InputError(f"neighbours must lie in 0..{n_vertices - 1}")
        if self.weights is not None and self.weights.shape != self.indices.shape:
            raise InputError(f"{self.weights.size} weights for {self.indices.size} neighbours")
        if self.ids is not None and self.ids.size != n_vertices:
            raise InputError(f"{self.ids.size} ids for {n_vertices} vertices")
        if self.features is not None and self.features.shape[0] != n_vertices:
            raise InputError(
                f"the features have {self.features.shape[0]} rows, but the graph has {n_vertices} vertices; give one "
                "row per vertex, in order"
            )
        features = () if self.features is None else (self.features.data, self.features.indices, self.features.indptr)
        for array in (self.indptr, self.indices, self.weights, self.ids, *features):
            if array is not None:
                array.flags.writeable = False

    def __copy__(self) -> "Graph":
        return self  # nothing of it can change

    def __deepcopy__(self, _known: object) -> "Graph":
        return self  # scikit-learn copies the parameters of every estimator

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        features = "" if self.features is None else f", {count(self.features.shape[1], 'feature')}"
        return f"Graph({count(self.n_vertices, 'vertex')}, {count(self.n_edges, 'edge')}{weighted}{features})"

    def _repr_html_(self) -> str:
        return graph_html(self)

    @property
    def n_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return self.indptr.size - 1

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return self.indices.size // 2

    @cached_property
    def degrees(self) -> IntArray:
        """Number of neighbours of each vertex."""
        degrees = np.diff(self.indptr)
        degrees.flags.writeable = False
        return degrees

    @property
    def strengths(self) -> NDArray[np.float64]:
        """The degree of every vertex, weights counted."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        from parge.kernels.walks import strengths  # compiled code, loaded only where it is needed

        return strengths(self.indptr, self.weights)

    @cached_property
    def outside_ids(self) -> IdArray:
        """The ids as given: `ids`, or 0..n_vertices-1."""
        return np.arange(self.n_vertices) if self.ids is None else self.ids

    def has_edges(self, pairs: IntArray) -> BoolArray:
        """Return which pairs are edges, by bisection in the sorted rows: nothing as large as the edges is made.

        >>> Graph.from_edges([0, 1], [1, 2]).has_edges(np.array([[0, 1], [0, 2], [2, 1]])).tolist()
        [True, False, True]
        """
        low, end = self.indptr[pairs[:, 0]], self.indptr[pairs[:, 0] + 1]
        high, wanted = end.copy(), pairs[:, 1]
        while (low < high).any():
            middle = (low + high) // 2
            right = (low < high) & (self.indices[np.minimum(middle, self.indices.size - 1)] < wanted)
            low, high = np.where(right, middle + 1, low), np.where(right, high, np.minimum(middle, high))
        there = low < end
        there[there] = self.indices[low[there]] == wanted[there]
        return there

    def to_scipy(self) -> Any:
        """Return the symmetric adjacency matrix as scipy CSR (float32, shares memory where it can)."""
        data = np.ones(self.indices.size, np.float32) if self.weights is None else self.weights
        indptr = self.indptr
        if self.indices.dtype == np.int32 and self.indices.size <= MAX_INT32_VERTICES:
            indptr = indptr.astype(np.int32)  # scipy copies the neighbours where the two dtypes differ
        matrix = sp.csr_matrix((data, self.indices, indptr), shape=(self.n_vertices, self.n_vertices), copy=False)
        matrix.has_sorted_indices = True
        matrix.has_canonical_format = True
        return matrix

    def with_features(self, features: Any) -> "Graph":
        """Return the same graph with one row of features per vertex (dense or sparse)."""
        matrix = sp.csr_matrix(features, dtype=np.float32, copy=True)
        if not np.isfinite(matrix.data).all():
            raise InputError("features must be finite numbers; some are NaN or infinite")
        return replace(self, features=matrix)

    @staticmethod
    def from_edges(source: Any, target: Any = None, weights: Any = None, *, vertices: Any = None) -> "Graph":
        """Build a graph from arrays of ids (integers or strings), or from an (m, 2) array of them.

        Self loops are dropped, repeated edges merged, isolated vertices kept where `vertices` (a count, or a list of
        ids) names them; `Graph.notices` lists what was changed.
        """
        from parge.graph.build import from_edges

        return from_edges(source, target, weights, vertices=vertices)

    @staticmethod
    def from_scipy(matrix: Any, *, ids: Any = None) -> "Graph":
        """Build a graph from a square scipy matrix; an asymmetric one is read as undirected, with a notice."""
        from parge.graph.convert import from_scipy

        return from_scipy(matrix, ids=ids)

    @staticmethod
    def from_networkx(graph: Any, *, weight: str | None = "weight") -> "Graph":
        """Build a graph from a networkx graph; vertex names become ids."""
        from parge.graph.convert import from_networkx

        return from_networkx(graph, weight=weight)

    @staticmethod
    def from_igraph(graph: Any, *, weight: str | None = "weight") -> "Graph":
        """Build a graph from an igraph graph; the ``name`` attribute, where there is one, gives the ids."""
        from parge.graph.convert import from_igraph

        return from_igraph(graph, weight=weight)

    @staticmethod
    def from_pyg(data: Any, num_nodes: int | None = None) -> "Graph":
        """Build a graph from PyG `Data`, or from an ``edge_index`` array or tensor of shape (2, m)."""
        from parge.graph.convert import from_pyg

        return from_pyg(data, num_nodes)

    @staticmethod
    def from_frame(
        frame: Any, source: str | None = None, target: str | None = None, weight: str | None = None
    ) -> "Graph":
        """Build a graph from a pandas, polars or arrow frame of edges."""
        from parge.graph.convert import from_frame

        return from_frame(frame, source, target, weight)

    def to_networkx(self) -> Any:
        """Return a networkx graph whose vertices are the outside ids."""
        from parge.graph.convert import to_networkx

        return to_networkx(self)

    def to_igraph(self) -> Any:
        """Return an igraph graph with the outside ids as ``name``."""
        from parge.graph.convert import to_igraph

        return to_igraph(self)

    def to_pyg(self) -> IntArray:
        """Return an ``edge_index`` array of shape (2, 2 * n_edges) over vertex numbers."""
        from parge.graph.convert import to_pyg

        return to_pyg(self)

    def to_frame(self) -> Any:
        """Return an arrow table of edges, each once, with columns source, target and, if any, weight."""
        from parge.graph.convert import to_frame

        return to_frame(self)
