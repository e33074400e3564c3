"""Spectral embedding: leading eigenvectors of the regularised normalised adjacency matrix, rows of length 1."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.eigen import (
    Product,
    adjacency_matrix,
    eigen_footprint,
    largest,
    padded_vectors,
    top_eigenpairs,
)
from parge.linalg.tall import mean_length, overwrite, rows_of, unit
from parge.linalg.threads import one_blas_thread
from parge.memory import Footprint
from parge.techniques.base import Technique, check_counts, check_range
from parge.typing import FloatArray, Matrix

# A row this much shorter than rows are on average is of a component that no leading eigenvector reaches: what it holds
# is rounding error, and no direction.
_SHORTEST = 1e-5


@dataclass(frozen=True)
class Spectral(Technique):
    """Unit rows of ``V Λ``, the leading eigenvectors of ``L = D~^-1/2 A D~^-1/2``, scaled by their eigenvalues.

    ``D~ = D + τ I`` adds a share of the mean degree to every degree. Without it a graph of many components has as many
    eigenvalues 1, and chance decides which of their eigenvectors are taken; branches that hang on one edge come next.
    With it small sets have small eigenvalues. Qin and Rohe, "Regularized spectral clustering under the degree-corrected
    stochastic blockmodel" (NIPS 2013), section 2, for L and the rows of length 1; Zhang and Rohe, "Understanding
    regularized spectral clustering via graph conductance" (NeurIPS 2018) for why. They do not scale by eigenvalues.

    Eigenvectors are taken by value: those of negative eigenvalues separate vertices that are linked. The first one,
    nearly constant, stays: with it pairs of vertices of many neighbours are closer than others, as their links are
    likelier. Rows of random walks' eigenvectors, ``D~^-1/2 V``, differ from these by their lengths alone.

    Parameters
    ----------
    dim : int
        Length of a vector. A subgraph of fewer vertices, or of fewer positive eigenvalues, has that many columns, then
        zeros.
    regularisation : float
        τ, as a share of the mean degree. More is better for labels and worse for links: on five generated graphs shares
        of 0, 1/8, 1/4, 1/2 had a mean micro-F1 of .765, .773, .774, .775 and, half of the edges held out, a mean
        ROC-AUC of .649, .631, .620, .611 (`benchmarks/regularisation_matters.py`, 2 seeds). An eighth is the least of
        them that leaves nothing to chance.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> E = Spectral(dim=4).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng(0))
    >>> E.shape, bool(np.allclose(np.linalg.norm(E, axis=1), 1))
    ((20, 4), True)
    """

    name: ClassVar[str] = "spectral"
    refine: ClassVar[str] = "subspace"
    refines_whole: ClassVar[bool] = False  # of the whole graph, its vectors are what the pass comes to

    regularisation: float = 0.125

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim")
        check_range(self, "regularisation", 0.0, 1e6)

    @property
    def n_pairs(self) -> int:
        """How many eigenpairs are used, one per column."""
        return self.dim

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; at the origin where isolated, or where no leading eigenvector reaches."""
        graph = subgraph.graph
        with one_blas_thread():
            multiply = self._normalised(graph, adjacency_matrix(graph).__matmul__)
            values, vectors = top_eigenpairs(
                multiply, graph.n_vertices, self.n_pairs, rng, rank=largest, progress=progress
            )
            embedding = padded_vectors(vectors, self.scales(values), self.dim)
            del vectors
            self.finish(graph, embedding)
            return embedding

    def products(
        self, graph: Graph, multiply: Product, rng: np.random.Generator
    ) -> tuple[Product, Callable[[Matrix], Matrix]]:
        """Return the product by ``(L + I) / 2``, whose largest eigenvalues are L's by value, and how L's come back."""
        del rng
        normalised = self._normalised(graph, multiply)

        def shifted(columns: Matrix) -> Matrix:
            image = normalised(columns)
            image += columns
            image *= 0.5
            return image

        return shifted, lambda eigenvalues: np.maximum(2 * eigenvalues - 1, 0.0)

    def scales(self, strength: Matrix) -> tuple[Matrix, ...]:
        """Return the eigenvalues that eigenvectors are multiplied by; negative ones become 0."""
        return (np.maximum(strength, 0.0),)

    def finish(self, graph: Graph, vectors: FloatArray) -> None:
        """Scale rows to length 1; those that are rounding error become 0."""
        rows, shortest = rows_of(vectors), _SHORTEST * mean_length(vectors)

        def directions(where: slice) -> Matrix:
            found = rows(where)
            found[(graph.degrees[where] == 0) | (np.linalg.norm(found, axis=1) <= shortest)] = 0.0
            return unit(found)

        overwrite(vectors, directions)

    def footprint(self) -> Footprint:
        """Return the bound: the basis of the eigenvectors, the vectors, rows being scaled, the graph and its matrix."""
        plain = eigen_footprint(self.n_pairs, self.dim)
        return replace(plain, per_vertex=plain.per_vertex + 2 * 8 * self.dim)

    def _normalised(self, graph: Graph, multiply: Product) -> Product:
        """Return the product by L."""
        degrees = multiply(np.ones((graph.n_vertices, 1)))
        raised = degrees + self.regularisation * degrees.mean() if graph.n_edges else degrees
        root = 1.0 / np.sqrt(np.where(raised > 0, raised, 1.0))
        return lambda columns: root * multiply(root * columns)
