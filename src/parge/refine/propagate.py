"""ProNE's second step as a refine pass for the vectors of any technique."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.graph.graph import Graph
from parge.linalg.chebyshev import propagate
from parge.linalg.signs import signs, weighed_sums
from parge.linalg.tall import gram, inverse_roots, mean_length, overwrite, rows_of, unit
from parge.refine.base import Refiner, Workspace
from parge.stage_reports import Refined
from parge.techniques.base import Technique
from parge.typing import FloatArray

# Tall arrays of float64 that the filter holds for the columns at hand.
_BYTES = 8 * 7


@dataclass(frozen=True)
class Propagate(Refiner):
    """The Gaussian filter of Zhang et al. (IJCAI 2019, section 3.2), then orthogonal columns and equal lengths.

    Use it as ``refine="propagate"`` (``--refine propagate``) to smooth vectors of any technique a little, as
    `parge.ProNE` does.

    Every row gets the mean length of the rows before.

    Parameters
    ----------
    step, mu, theta
        Those of `parge.ProNE`.
    """

    name: ClassVar[str] = "propagate"
    uses_technique: ClassVar[bool] = False

    step: int = 10
    mu: float = 0.2
    theta: float = 0.5

    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> Refined:
        """Overwrite the vectors; return the number of sparse products."""
        n, dim = vectors.shape
        if n == 0 or graph.n_edges == 0:
            return Refined(products=0)
        A, length = self.adjacency(graph, work), mean_length(vectors)
        passed = work.matrix((n, dim), np.float32)
        for columns in work.columns(n, dim, _BYTES):
            passed[:, columns] = propagate(A, np.array(vectors[:, columns], np.float64), self.step, self.mu, self.theta)
            work.progress(columns.stop / dim)
        rows = rows_of(passed)
        squares, axes = np.linalg.eigh(gram(n, rows, dim=dim))
        strengths = np.sqrt(np.maximum(squares, 0.0))[::-1]
        turn = axes[:, ::-1] * inverse_roots(strengths, 1e-7)
        turn *= signs(weighed_sums(n, rows, dim=dim) @ turn)
        overwrite(vectors, lambda where: length * unit(rows(where) @ turn))
        return Refined(products=2 * self.step - 1)
