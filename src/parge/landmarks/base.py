"""The landmark capability: what a technique adds to embed parts that hold the rest of the graph as landmarks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from parge.errors import InputError
from parge.graph.graph import Counted, Graph
from parge.memory import Footprint
from parge.typing import IntArray, Matrix, Shape


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
            Between and inside landmarks, as `parge.landmarks.backbone.coarse_matrix` has them; may be overwritten.
        noise : (n_landmarks,) float64
            The sum of `noise` over the members of each landmark.
        """
        raise InputError(f"the technique {self.name} needs the whole graph in one place. Embed without --sharded.")

    @abstractmethod
    def landmark_footprint(self, n_landmarks: int) -> Footprint:
        """Return the bound for subgraphs with a context, what `embed_landmarks` returned included."""

    def worker_footprint(self, n_landmarks: int) -> Footprint:
        """Return the bound for a worker, whose rows are in a part folder: at most `landmark_footprint`.

        Parts and contexts are sized by what a subgraph takes where it is in memory: then the same plan has the same
        parts, however rows are read.
        """
        return self.landmark_footprint(n_landmarks)

    def landmark_bytes(self, n_vertices: int, n_landmarks: int) -> int:
        """Return the most memory that `embed_landmarks` needs in addition to the graph; 0 where that is not known."""
        del n_vertices, n_landmarks
        return 0
