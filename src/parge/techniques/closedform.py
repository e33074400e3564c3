"""The closed form of skip-gram: DeepWalk's optimum on landmarks, extended to all vertices without training."""

from dataclasses import dataclass, replace
from math import isqrt
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.clusters import group_vertices
from parge.graph.graph import Counted, Graph
from parge.graph.subgraph import Subgraph, induce_with_context
from parge.landmarks.backbone import EXTENSION_BYTES, EXTENSION_LANDMARKS, BackboneTechnique
from parge.memory import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Footprint
from parge.storage import padded
from parge.techniques.base import WHITEN_20, Technique, check_counts
from parge.techniques.deepwalk import DeepWalk
from parge.typing import FloatArray

# Landmarks are 9 sqrt(n), so that their matrix is linear in the vertices: 900 of 10,000, 2,500 of 77,000.
_LANDMARKS, _MOST_LANDMARKS = 9, 4096

# Weights, and what grouping takes besides the graph: 137 and 126 bytes per edge at 2 and 6 M edges.
_GROUPING_BYTES_PER_EDGE = 150


@dataclass(frozen=True)
class ClosedForm(Technique, BackboneTechnique):
    """DeepWalk in closed form: landmarks are embedded directly and all other vertices by regression, without training.

    Use it for vectors like those of DeepWalk in less time. On the command line: ``--technique closedform``.

    The matrix that skip-gram with negative sampling factorises is computed for a few hundred to 4,096 landmarks and
    decomposed. Half of the landmarks are vertices of high degree, half are groups of the others. Every other vertex is
    computed from its chances of meeting each landmark on a walk, and from its neighbours where it has few edges.

    In parts around a backbone (``reconcile="backbone"``) the landmarks are those of the whole graph. All spaces are
    then one by construction. With a rotation every part has its own landmarks.

    Parameters
    ----------
    dim : int
        Length of a vector.
    window, negatives : int
        As for `parge.DeepWalk`.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> ClosedForm(dim=8).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng(1)).shape
    (20, 8)
    """

    name: ClassVar[str] = "closedform"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = WHITEN_20
    link_refine: ClassVar[str] = "blend"

    window: int = 5
    negatives: int = 5

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim", "window", "negatives")

    @property
    def walker(self) -> DeepWalk:
        """The technique whose optimum this is."""
        return DeepWalk(dim=self.dim, window=self.window, negatives=self.negatives)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has a tiny random one."""
        from parge.landmarks.extension import place  # compiled code: not needed to plan

        if subgraph.context is not None:
            vectors = place(self.walker, subgraph, rng)
            progress(1.0)
            return vectors
        around = self._with_landmarks(subgraph.graph)
        progress(0.5)
        vectors = np.empty((subgraph.n_vertices, self.dim), np.float32)
        vectors[around.vertices] = place(self.walker, around, rng)
        progress(1.0)
        return vectors

    def _with_landmarks(self, graph: Graph) -> Subgraph:
        """Return the whole graph as one part around landmarks of its own."""
        n_landmarks = self.landmark_count(graph)
        anchors = np.sort(np.argsort(-graph.degrees, kind="stable")[: n_landmarks // 2])
        own = np.setdiff1d(np.arange(graph.n_vertices), anchors)
        landmark = np.empty(graph.n_vertices, np.int64)
        landmark[anchors] = np.arange(anchors.size)
        landmark[own] = anchors.size + group_vertices(graph, own, n_landmarks - anchors.size)
        n_landmarks = int(landmark.max(initial=-1)) + 1
        shared = self.embed_landmarks(graph, landmark, n_landmarks)
        return replace(induce_with_context(graph, own, anchors, np.zeros(0, np.int64), landmark), shared=shared)

    def landmark_count(self, graph: Counted) -> int:
        """Return how many landmarks the graph has."""
        return min(_MOST_LANDMARKS, -(-graph.n_vertices // 2), _LANDMARKS * isqrt(graph.n_vertices))

    def footprint(self) -> Footprint:
        """Return the bound: matrices over landmarks, tables and vectors, columns being extended, rows being grouped.

        Four matrices are held while the landmarks are decomposed; then two of them, the two tables, the columns of
        the landmarks from which vertices are extended, and the vectors twice. Groups are formed from the rows in
        float64, sorted.
        """
        matrices, columns = 4 * 4 * _LANDMARKS**2, 4 * EXTENSION_LANDMARKS[0]
        tables = 4 * (2 * padded(self.dim) + 2 * self.dim)
        return Footprint(
            BASE_BYTES + 2 * EXTENSION_BYTES,
            GRAPH_BYTES_PER_VERTEX + 80 + matrices + columns + tables,
            GRAPH_BYTES_PER_EDGE + _GROUPING_BYTES_PER_EDGE,
        )
