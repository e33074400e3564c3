"""The pass that makes half of the columns spectral and whitens the others."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from parge.graph.graph import Graph
from parge.linalg.signs import signs, weighed_sums
from parge.linalg.tall import Block, gram, mean_length, overwrite, rows_of
from parge.refine.base import Refiner, Workspace
from parge.refine.subspace import Subspace
from parge.refine.whiten import whiten_20
from parge.stage_reports import Refined
from parge.techniques.base import Technique
from parge.techniques.blend import Blend
from parge.typing import FloatArray, Matrix


@dataclass(frozen=True)
class Blended(Refiner):
    """The vectors of `parge.Blend` for the whole graph, computed from the merged vectors of any technique.

    Use it as ``refine="blend"`` (``--refine blend``) for vectors that serve links and labels alike.

    Both halves start from the strongest directions of the merged vectors. What `subspace` does makes the first half
    spectral, and 20 rounds of `whiten` make the other. After both, little depends on the start. Every row gets the mean
    length of the rows before.
    """

    name: ClassVar[str] = "blend"
    recomputes: ClassVar[bool] = True
    rounds_planned: ClassVar[int] = 12  # half of the columns have 20 rounds of `whiten`, half those of `subspace`
    rounds_usual: ClassVar[int] = 5

    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> Refined:
        """Overwrite the vectors; return the number of steps and rounds."""
        n, dim = vectors.shape
        if n == 0 or dim == 0 or graph.n_edges == 0:
            return Refined(steps=0, rounds=0)
        blend = technique if isinstance(technique, Blend) and technique.dim == dim else Blend(dim=dim)
        length, start = mean_length(vectors), _by_strength(vectors)
        whitened = work.matrix((n, dim // 2), np.float32)
        overwrite(whitened, lambda where: start(where)[:, : dim // 2])
        first_half = replace(work, progress=lambda share: work.progress(share / 2))
        other_half = replace(work, progress=lambda share: work.progress((1 + share) / 2))
        spectral = work.matrix((n, blend.spectral.dim), np.float32)
        steps = Subspace().write(graph, spectral, start, blend.spectral, first_half)
        rounds = 0
        if whitened.shape[1]:
            rounds = replace(whiten_20(), rounds=blend.rounds).write(graph, whitened, 1.0, other_half).done
        first, other = rows_of(spectral), rows_of(whitened)
        overwrite(vectors, lambda where: length * np.sqrt(0.5) * np.hstack([first(where), other(where)]))
        return Refined(steps=steps, rounds=rounds)


def _by_strength(vectors: FloatArray) -> Block:
    """Return rows turned onto the principal axes of the vectors, the strongest first: blind to rotations."""
    n, dim = vectors.shape
    rows = rows_of(vectors)
    _, axes = np.linalg.eigh(gram(n, rows, dim=dim))
    turn = axes[:, ::-1]
    turn = turn * signs(weighed_sums(n, rows, dim=dim) @ turn)

    def block(where: slice) -> Matrix:
        return np.asarray(rows(where) @ turn)

    return block
