"""Whitened propagation: vectors follow their neighbours, and no direction may drown the others."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from parge.graph.graph import Graph
from parge.refine.base import Refiner, Workspace
from parge.refine.tall import Matrix, gram, mean_length, overwrite, rows_of, unit
from parge.rows import row_blocks, rows_at_once
from parge.techniques.base import Technique
from parge.typing import FloatArray


@dataclass(frozen=True)
class Whiten(Refiner):
    """Rounds in which vectors follow their neighbours, and all directions get the same variance.

    ``X <- unit rows of D~^-1 (A + I) X``, then ``X <- (X - mean) C^-1/2`` with the covariance C. Plain
    averaging ends with all vectors alike; whitening keeps the directions in which they differ. In the end every
    row is as long as the rows were on average before, so that a classifier's regularisation means the same.

    Many rounds forget where they began, so they end when the subspace of the columns changes by less than
    `tolerance` a round: one minus the mean squared cosine of the principal angles between two rounds.

    Parameters
    ----------
    rounds : int
        The most rounds.
    tolerance : float
        Change of the subspace below which no further round follows.
    """

    name: ClassVar[str] = "whiten"

    rounds: int = 10
    tolerance: float = 0.02

    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> dict[str, Any]:
        """Overwrite the vectors; return the number of rounds and how much each changed."""
        n, dim = vectors.shape
        if n == 0 or graph.n_edges == 0:
            return {"rounds": 0, "changes": []}
        length = mean_length(vectors)
        moved = work.matrix((n, dim), np.float32)
        changes: list[float] = []
        for done in range(1, self.rounds + 1):
            _propagate(self.adjacency(graph, work), vectors, moved, work)
            changes.append(_whiten(vectors, moved))
            work.progress(done / self.rounds)
            if done > 1 and changes[-1] < self.tolerance:
                break
        rows = rows_of(vectors)
        overwrite(vectors, lambda where: length * unit(rows(where)))
        return {"rounds": len(changes), "changes": [round(change, 4) for change in changes[1:]]}


def _propagate(A: Any, vectors: FloatArray, moved: FloatArray, work: Workspace) -> None:
    """Write ``D~^-1 (A + I) X`` into `moved`, some columns at a time: they alone must be in memory."""
    weight = (1.0 / (1.0 + A.sum())).astype(np.float32)[:, None]
    for columns in work.columns(len(vectors), vectors.shape[1], bytes_per_entry=8):
        X = np.ascontiguousarray(vectors[:, columns])
        summed = A @ X
        summed += X
        summed *= weight
        moved[:, columns] = summed


def _whiten(vectors: FloatArray, moved: FloatArray) -> float:
    """Overwrite `vectors` with the whitened unit rows of `moved`; return how much the columns' subspace changed."""
    (n, dim), raw, before = vectors.shape, rows_of(moved), rows_of(vectors)

    def rows(where: slice) -> Matrix:
        return unit(raw(where))

    mean = np.zeros(dim)
    for where in row_blocks(n, rows_at_once(dim)):
        mean += rows(where).sum(axis=0)
    mean /= n

    def centred(where: slice) -> Matrix:
        return rows(where) - mean

    turn, rank = _inverse_root(gram(n, centred, dim=dim) / n)
    seen: Matrix = np.zeros((dim, dim))

    def whitened(where: slice) -> Matrix:
        new = centred(where) @ turn
        seen[:] += new.T @ before(where)  # what stood there, before it is overwritten
        return new

    overwrite(vectors, whitened)
    return 1.0 - float((seen**2).sum()) / float(n**2 * max(1, rank))


def _inverse_root(covariance: Matrix) -> tuple[Matrix, int]:
    """Return C^-1/2 of a positive semidefinite C, and its rank; directions without variance stay without."""
    values, axes = np.linalg.eigh(covariance)
    kept = values > 1e-10 * values.max(initial=0.0)
    scale = np.divide(1.0, np.sqrt(np.where(kept, values, 1.0)), where=kept, out=np.zeros_like(values))
    return np.asarray((axes * scale) @ axes.T), int(kept.sum())
