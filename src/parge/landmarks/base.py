"""The landmark capability: what a technique adds to embed parts that hold the rest of the graph as landmarks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError
from parge.graph.graph import Counted, Graph
from parge.memory import Footprint
from parge.skipgram.settings import NOISE_POWER, WalkSettings
from parge.typing import IntArray, Matrix, Shape

# A backbone has a quarter of the vertices as landmarks, up to this many: its dense products take about a second, and
# its matrices 17 MB each. With overlapping communities few landmarks blur: 840 instead of 2,000 kept 95 instead of
# 101 % on 8,000 vertices; but 2,600 and 3,300 kept no more than 1,650 on 60,000 (8 parts, one seed, no pass).
MOST_LANDMARKS = 2048

# What walks read of an arc, neighbour and share, in memory; before, these bytes are free.
ARC_BYTES = 8

# Vertices are extended from as many landmarks at a time as take so many bytes more for all of a worker's vertices: at
# least a cache line for each, and no more than make a difference. (Tables are read and written once for each group: a
# worker of youtube-groups took 0.94 s of a core with 16 at a time, 0.55 with 32, 0.46 with 64, 0.42 with 128.)
EXTENSION_BYTES, EXTENSION_LANDMARKS = 500_000, (16, 32, 64)

# Columns beyond the dimensions with which the backbone's matrix is decomposed, and how many tables of that many columns
# are held meanwhile: bases, both factors, LAPACK's own.
DECOMPOSED_EXTRA, _DECOMPOSED_TABLES = 16, 12

# Bytes of a block of a product that is mirrored (`parge.landmarks.backbone`): one at a time where memory is limited.
_MIRRORED = 4 * 64 * 256


class LandmarkTechnique(ABC):
    """A technique that embeds landmarks once, for all workers, and each part around them.

    Landmarks are the anchors and the super-vertices of a graph: see `parge.graph.subgraph`. A technique that has this
    capability inherits from `Technique` and from this class; ``reconcile="backbone"`` asks for it.

    Laws (held by `parge.testing.TechniqueContract`):

    * ``embed_landmarks`` returns the arrays that `landmark_shapes` declares, finite;
    * ``embed`` answers for own vertices and anchors of a subgraph with a context, finite, the same bits each time;
    * vectors of different parts are in one space: an anchor has the same vector in every part.
    """

    dim: int
    name: ClassVar[str]

    @property
    @abstractmethod
    def landmark_shapes(self) -> Mapping[str, Shape]:
        """Names and shapes of what `embed_landmarks` returns; the axis ``"landmarks"`` is their number."""

    @abstractmethod
    def landmark_count(self, graph: Counted) -> int:
        """Return how many landmarks are best for a graph of this size."""

    @abstractmethod
    def embed_landmarks(self, graph: Graph, landmark: IntArray, n_landmarks: int) -> dict[str, NDArray[Any]]:
        """Return small arrays that every worker receives as `Subgraph.shared`.

        `landmark` is the landmark of every vertex, 0..n_landmarks-1.
        """

    def noise(self, strengths: Matrix) -> Matrix:
        """Return what vertices of these strengths (sums of weights) add to the noise of their landmark."""
        return strengths

    def embed_merged(self, weights: Matrix, noise: Matrix) -> dict[str, NDArray[Any]]:
        """Return what `embed_landmarks` returns, for a graph that no process holds.

        Parameters
        ----------
        weights : (n_landmarks, n_landmarks) float64
            Between and inside landmarks, as `parge.graph.subgraph.coarse_matrix` has them; may be overwritten.
        noise : (n_landmarks,) float64
            The sum of `noise` over the members of each landmark.
        """
        raise InputError(f"the technique {self.name} needs the whole graph in one place. Embed without --sharded.")

    @abstractmethod
    def landmark_footprint(self, n_landmarks: int) -> Footprint:
        """Return the bound for subgraphs with a context, what `embed_landmarks` returned included."""

    def landmark_bytes(self, n_vertices: int, n_landmarks: int) -> int:
        """Return the most memory that `embed_landmarks` needs in addition to the graph; 0 where that is not known."""
        del n_vertices, n_landmarks
        return 0


class BackboneTechnique(LandmarkTechnique):
    """A technique whose landmarks get the closed-form optimum of a walk technique: see `parge.landmarks.backbone`."""

    @property
    @abstractmethod
    def walker(self) -> "Walker":
        """The walk technique."""

    @property
    def landmark_shapes(self) -> Mapping[str, Shape]:
        """Vectors, matrices over the landmarks, and one number per landmark."""
        return {
            **dict.fromkeys(("in", "out", "to_in", "to_out"), ("landmarks", "rank")),
            **dict.fromkeys(("reached", "reached_beyond"), ("landmarks", "landmarks")),
            **dict.fromkeys(("mass", "degree"), ("landmarks",)),
        }

    def embed_landmarks(self, graph: Graph, landmark: IntArray, n_landmarks: int) -> dict[str, NDArray[Any]]:
        """Return the closed-form backbone."""
        from parge.landmarks.backbone import prepare  # compiled code: not needed to plan

        return prepare(self.walker, graph, landmark, n_landmarks)

    def noise(self, strengths: Matrix) -> Matrix:
        """Return how often each vertex is drawn as a negative."""
        return np.asarray(strengths**NOISE_POWER)

    def embed_merged(self, weights: Matrix, noise: Matrix) -> dict[str, NDArray[Any]]:
        """Return the closed-form backbone of merged vertices."""
        from parge.landmarks.backbone import prepare_merged  # compiled code: not needed to plan

        return prepare_merged(self.walker, weights, noise)

    def landmark_bytes(self, n_vertices: int, n_landmarks: int) -> int:
        """Return the bound: four matrices over landmarks, or three and what decomposes one; 24 bytes per vertex.

        It holds where memory is limited, so that one thread is at work.
        """
        matrix, table = 4 * n_landmarks**2, 4 * n_landmarks * (self.dim + DECOMPOSED_EXTRA)
        return max(4 * matrix + _MIRRORED, 3 * matrix + _DECOMPOSED_TABLES * table) + 24 * n_vertices

    def landmark_footprint(self, n_landmarks: int) -> Footprint:
        """Return the bound: the walker, its rows again with their loops, columns being extended, landmarks' vectors.

        The matrices over landmarks stay in files, of which some columns are read at a time.
        """
        plain, least, most = self.walker.footprint(), EXTENSION_LANDMARKS[0], EXTENSION_LANDMARKS[-1]
        fixed = plain.fixed + n_landmarks * (4 * self.dim + 3 * 4 * most) + 2 * EXTENSION_BYTES
        return Footprint(fixed, plain.per_vertex + 64 + 4 * least, plain.per_edge + ARC_BYTES)


class Walker(WalkSettings, Protocol):
    """A technique that trains on walks."""

    def footprint(self) -> Footprint:
        """Return the bound on the memory of a worker that trains without a backbone."""
