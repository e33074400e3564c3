"""Subspace iteration: vectors of a factorisation, computed in parts, become those of the whole graph."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.refine.base import Refiner, Workspace
from parge.techniques.base import Technique
from parge.techniques.tall import Matrix, gram, orthonormalise, overwrite, rows_of
from parge.typing import FloatArray

Product = Callable[[Matrix], Matrix]

# Tall arrays of float64 that a product holds for the columns at hand.
_BYTES = 8 * 4


@runtime_checkable
class Factorisation(Protocol):
    """A technique whose vectors are eigenvectors of a matrix that a graph's products reach, such as HOPE."""

    def products(
        self, graph: Graph, multiply: Product, rng: np.random.Generator
    ) -> tuple[Product, Callable[[Matrix], Matrix]]:
        """Return a symmetric product made of `multiply` (by A), and the proximity of each of its eigenvalues."""

    def scales(self, strength: Matrix) -> tuple[Matrix, ...]:
        """Return what eigenvectors are multiplied by, for each of the blocks of columns side by side."""

    @property
    def n_pairs(self) -> int:
        """How many eigenpairs the vectors are made of."""


@dataclass(frozen=True)
class Subspace(Refiner):
    """Steps of ``F <- orth(M(M F))`` with the technique's own matrix M, then the best vectors within that space.

    The last is the method of Rayleigh and Ritz.
    After two or three steps a random start is as good as the merged vectors: what the parts contribute is
    then the start, not the end.

    Parameters
    ----------
    steps : int
        The most steps. They end when the sum of the proximities within the space grows by less than `tolerance`.
    tolerance : float
        As a share of that sum.
    """

    name: ClassVar[str] = "subspace"

    steps: int = 8
    tolerance: float = 0.003

    def check(self, technique: Technique) -> None:
        """Refuse techniques that factorise no matrix that the graph's products reach."""
        if not isinstance(technique, Factorisation):
            raise InputError(
                f"the refine pass subspace is for techniques that factorise a matrix of the graph, such as hope; "
                f"{technique.name or type(technique).__name__} is none: use whiten, propagate or none"
            )

    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> dict[str, Any]:
        """Overwrite the vectors; return the number of steps."""
        n, dim = vectors.shape
        if n == 0 or graph.n_edges == 0 or not isinstance(technique, Factorisation):
            return {"steps": 0}
        product, proximity = technique.products(graph, self.adjacency(graph, work).__matmul__, np.random.default_rng(0))
        basis = work.matrix((n, dim), np.float64)
        image = work.matrix((n, dim), np.float64)
        overwrite(basis, rows_of(vectors))
        before, done = 0.0, 0
        while True:
            orthonormalise(basis)
            _apply(product, basis, image, work)
            projected = gram(n, rows_of(basis), rows_of(image), dim=dim)
            values, rotation = np.linalg.eigh((projected + projected.T) / 2)
            strength = proximity(values)
            total = float(np.abs(strength).sum())
            if done == self.steps or (done and total <= (1 + self.tolerance) * before):
                break
            _apply(product, image, basis, work)
            before, done = total, done + 1
            work.progress(done / (self.steps + 1))
        best = np.argsort(-np.abs(strength), kind="stable")[: technique.n_pairs]
        turn = np.zeros((dim, dim))
        for i, scale in enumerate(technique.scales(strength[best])):
            turn[:, i * best.size : (i + 1) * best.size] = rotation[:, best] * scale
        rows = rows_of(basis)
        overwrite(vectors, lambda where: rows(where) @ turn)
        return {"steps": done}


def _apply(product: Product, source: Any, target: Any, work: Workspace) -> None:
    """Multiply a matrix, some columns at a time: they alone must be in memory. Both may be the same matrix."""
    for columns in work.columns(len(source), source.shape[1], bytes_per_entry=_BYTES):
        target[:, columns] = product(np.array(source[:, columns]))
