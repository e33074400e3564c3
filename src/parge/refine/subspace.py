"""Subspace iteration: vectors of a factorisation, computed in parts, become those of the whole graph."""

from dataclasses import dataclass
from typing import ClassVar

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.linalg.subspace import block_width, leading_eigenpairs
from parge.linalg.tall import Block, rows_of
from parge.refine.base import Refiner, Workspace
from parge.refine.shards import ShardWorkspace
from parge.stage_reports import Refined
from parge.techniques.base import Technique
from parge.techniques.factorisation import Factorisation
from parge.typing import FloatArray


@dataclass(frozen=True)
class Subspace(Refiner):
    """The technique's own eigenvectors of the whole graph, found from the merged vectors.

    Use it as ``refine="subspace"`` (``--refine subspace``) for factorisations; it is their default.

    Filters by Chebyshev polynomials, then the best vectors within their span (`parge.linalg.subspace`): what the
    technique itself does, which starts from draws. After a few steps both arrive at the same: the parts contribute only
    the start.

    Parameters
    ----------
    steps : int
        Maximum number of filters. They end when the sum of the proximities grows by less than `tolerance`.
    tolerance : float
        As a share of that sum.
    """

    name: ClassVar[str] = "subspace"
    in_shards: ClassVar[bool] = True
    rounds_planned: ClassVar[int] = 4
    rounds_usual: ClassVar[int] = 4
    recomputes: ClassVar[bool] = True

    steps: int = 20
    tolerance: float = 0.01

    def check(self, technique: Technique) -> None:
        """Raise `InputError` for techniques that do not factorise a matrix of the graph."""
        if not isinstance(technique, Factorisation):
            raise InputError(
                "the refine pass subspace is only for techniques that factorise a matrix of the graph, such as hope "
                f"or spectral, and not for {technique.name or type(technique).__name__}. Use whiten, propagate or none."
            )

    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> Refined:
        """Overwrite the vectors; return the number of steps."""
        assert isinstance(technique, Factorisation)  # `check` refuses others
        if len(vectors) == 0 or graph.n_edges == 0:
            return Refined(steps=0)
        return Refined(steps=self.write(graph, vectors, rows_of(vectors), technique, work))

    def write(self, graph: Graph, out: FloatArray, start: Block, technique: Factorisation, work: Workspace) -> int:
        """Write the technique's eigenvectors, found from those at the start; return the number of steps."""
        operator = technique.operator(self.adjacency(graph, work))
        held = 4 * (1 + len(operator.scales))  # bytes of a column's entry, its product's and those between
        pairs = leading_eigenpairs(
            operator,
            technique.n_pairs,
            start,
            matrix=work.matrix,
            columns=work.columns(len(out), block_width(technique.n_pairs), held),
            tolerance=self.tolerance,
            steps=self.steps,
            progress=work.progress,
        )
        technique.write(graph.degrees, operator, pairs, out)
        return pairs.steps

    def refine_shard(self, vectors: FloatArray, technique: Technique, work: ShardWorkspace) -> Refined:
        """Overwrite the vectors of one part, other shards those of the others; return the number of steps."""
        assert isinstance(technique, Factorisation)  # `check` refuses others
        operator, width = technique.operator(work.adjacency), block_width(technique.n_pairs)
        pairs = leading_eigenpairs(
            operator,
            technique.n_pairs,
            rows_of(vectors),
            columns=work.columns(width),
            tolerance=self.tolerance,
            steps=self.steps,
            resumed=work.checkpoint.load_step(width),
            keep=work.checkpoint.save_step,
        )
        technique.write(work.adjacency.graph.degrees, operator, pairs, vectors)
        return Refined(steps=pairs.steps)
