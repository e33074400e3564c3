"""Factorisations: techniques whose vectors are scaled eigenvectors of a matrix of the graph."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.subgraph import Subgraph
from parge.linalg.adjacency import Adjacency
from parge.linalg.subspace import Eigenpairs, Operator, block_width, fixed_bytes, leading_eigenpairs
from parge.linalg.tall import lengths_of, overwrite
from parge.memory import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Footprint
from parge.techniques.base import Technique
from parge.typing import FloatArray, IntArray, Matrix

# Weights of both directions of an edge, and their copy where they are extreme.
_WEIGHT_BYTES_PER_EDGE = 16


@dataclass(frozen=True)
class Factorisation(Technique):
    """Base of techniques whose vectors are scaled eigenvectors of a matrix that a graph's products reach, such as HOPE.

    The pass `subspace` makes those of the whole graph from those of its parts.
    """

    tolerance: ClassVar[float] = 0.01
    """Filters end when the sum of the proximities grows by less, as a share of it."""

    @abstractmethod
    def operator(self, A: Adjacency) -> Operator:
        """Return the matrix, and which of its eigenpairs are wanted."""

    @property
    def n_pairs(self) -> int:
        """How many eigenpairs the vectors are made of."""
        return self.dim

    @abstractmethod
    def scales(self, strength: Matrix) -> tuple[Matrix, ...]:
        """Return what eigenvectors of these proximities are multiplied by, for each block of columns side by side."""

    def finish(self, vectors: FloatArray, typical: float) -> None:
        """Do to the scaled eigenvectors, in place, what the technique does last; `typical` is their mean length."""

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has the zero vector."""
        operator, seed = self.operator(Adjacency(subgraph.graph)), int(rng.integers(2**31))
        pairs = leading_eigenpairs(operator, self.n_pairs, tolerance=self.tolerance, seed=seed, progress=progress)
        vectors = np.empty((subgraph.n_vertices, self.dim), np.float32)
        self.write(subgraph.graph.degrees, operator, pairs, vectors)
        return vectors

    def write(self, degrees: IntArray, operator: Operator, pairs: Eigenpairs, vectors: FloatArray) -> None:
        """Overwrite vectors with those of eigenpairs; missing columns become zeros, and rows of isolated vertices."""
        scales = self.scales(operator.proximity(pairs.values))
        overwrite(vectors, lambda where: _side_by_side(pairs.vectors(where), scales, vectors.shape[1]))
        vectors[degrees == 0] = 0.0
        lengths, count = operator.A.total(*lengths_of(vectors))
        self.finish(vectors, float(lengths[0] / count[0]) if count[0] else 1.0)

    def footprint(self) -> Footprint:
        """Return the bound: the columns twice, or once and the vectors, and the graph."""
        width = block_width(self.n_pairs)
        return Footprint(
            BASE_BYTES + fixed_bytes(self.n_pairs),
            GRAPH_BYTES_PER_VERTEX + 4 * max(2 * width, width + self.dim) + 64,
            GRAPH_BYTES_PER_EDGE + _WEIGHT_BYTES_PER_EDGE,
        )


def _side_by_side(vectors: Matrix, scales: Sequence[Matrix], dim: int) -> Matrix:
    """Return vectors by each of the scales, in blocks of columns of equal width; what is missing is 0."""
    out = np.zeros((len(vectors), len(scales), dim // len(scales)))
    for i, scale in enumerate(scales):
        out[:, i, : scale.size] = vectors * scale
    return out.reshape(len(vectors), -1)
