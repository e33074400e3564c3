"""Spectral embedding: leading eigenvectors of the regularised normalised adjacency matrix, rows of length 1."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.linalg.adjacency import Adjacency
from parge.linalg.subspace import Operator
from parge.linalg.tall import overwrite, rows_of, unit
from parge.techniques.base import check_counts, check_range
from parge.techniques.factorisation import Factorisation
from parge.typing import FloatArray, Matrix

# A row this much shorter than rows are on average is of a component that no leading eigenvector reaches: what it holds
# is rounding error, and no direction.
_SHORTEST = 1e-5


@dataclass(frozen=True)
class Spectral(Factorisation):
    """Unit rows of ``V Λ``, the leading eigenvectors of ``L = D~^-1/2 A D~^-1/2``, scaled by their eigenvalues.

    Use it for links and for clusters. On the command line: ``--technique spectral``.

    ``D~ = D + τ I`` adds a share of the mean degree to every degree. Without it a graph of many components has as many
    eigenvalues 1, and chance decides which of their eigenvectors are taken. Branches that hang on one edge come next.
    With it small sets have small eigenvalues. Qin and Rohe, "Regularized spectral clustering under the degree-corrected
    stochastic blockmodel" (NIPS 2013), section 2, for L and the rows of length 1. Zhang and Rohe, "Understanding
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
        τ, as a share of the mean degree. More is better for labels and worse for links. On five generated graphs shares
        of 0, 1/8, 1/4, 1/2 had a mean micro-F1 of .765, .773, .774, .775. With half of the edges held out, the mean
        ROC-AUC was .649, .631, .620, .611 (`benchmarks/regularisation_matters.py`, 2 seeds). An eighth is the least of
        them that leaves nothing to chance.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> from parge.graph.subgraph import Subgraph
    >>> E = Spectral(dim=4).embed(Subgraph.whole(ring_of_cliques(4, 5)), np.random.default_rng(0))
    >>> E.shape, bool(np.allclose(np.linalg.norm(E, axis=1), 1))
    ((20, 4), True)
    """

    name: ClassVar[str] = "spectral"
    leaves_nothing: ClassVar[bool] = True
    refine: ClassVar[str] = "subspace"
    refines_whole: ClassVar[bool] = False  # of the whole graph, its vectors are what the pass comes to

    tolerance: ClassVar[float] = 0.05  # less changed scores of generated graphs by .001 at most, labels and links

    regularisation: float = 0.125

    def __post_init__(self) -> None:
        check_counts(self, 1, "dim")
        check_range(self, "regularisation", 0.0, 1e6)

    def operator(self, A: Adjacency) -> Operator:
        """Return L, whose eigenvectors are those of ``D~^-1 A`` times ``D~^1/2``."""
        A, _ = A.moderate()
        degrees = A.sum()
        raised = degrees + self.regularisation * A.mean(degrees)
        raised = np.where(raised > 0, raised, 1.0)
        return Operator(
            A, lambda values: np.maximum(values, 0.0), lowest=-1.0, scales=(1.0 / raised,), root=np.sqrt(raised)
        )

    def scales(self, strength: Matrix) -> tuple[Matrix, ...]:
        """Return the eigenvalues that eigenvectors are multiplied by; negative ones become 0."""
        return (np.maximum(strength, 0.0),)

    def finish(self, vectors: FloatArray, typical: float) -> None:
        """Scale rows to length 1; those that are rounding error become 0."""
        rows, shortest = rows_of(vectors), _SHORTEST * typical

        def directions(where: slice) -> Matrix:
            found = rows(where)
            found[np.linalg.norm(found, axis=1) <= shortest] = 0.0
            return unit(found)

        overwrite(vectors, directions)
