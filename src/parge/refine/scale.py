"""The pass that gives vectors in parts the scale of the technique's own."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.graph.graph import Graph
from parge.graph.sample import connected_sample
from parge.graph.subgraph import Subgraph, induce
from parge.linalg.tall import overwrite, rows_of
from parge.refine.base import Refiner, Workspace
from parge.seeds import keyed_rng
from parge.stage_reports import Refined
from parge.techniques.base import Technique, embed_checked
from parge.typing import FloatArray, Matrix

# A factor nearer to 1 than this, times the share of the vertices that the sample lacks, may be 1.
_DOUBT = 0.15


@dataclass(frozen=True)
class Scale(Refiner):
    """One factor for all vectors: inner products become as large as those of the technique on the whole graph.

    Use it as ``refine="scale"`` to be near to the whole graph's vectors in PIP. Around a backbone, vectors start at the
    optimum of the technique, which ten walks from a random start do not reach: DeepWalk's are up to twice as long in
    parts. The technique embeds a sample of the graph, as it is. The factor is the one by which the inner products of
    the sample's vectors are nearest to those. No embedding of the whole graph is needed.

    The less of the graph the sample holds, the less the factor is known. One that is nearer to 1 than its error may be
    is taken as 1, so that vectors of the right length stay as they are. (On a sparse planted graph, whose factor is
    .98, a sample of half of the vertices gave .94, and PIP grew by 2 %.)

    Directions stay, so rankings of neighbours do, too. What depends on lengths may change, such as the regularisation
    of a classifier. It is for graphs in parts: one part has the technique's scale already, and is left as it is.
    ``parge embed --faithful`` means this pass.

    Parameters
    ----------
    sample : int
        About how many vertices are embedded again. More come nearer: BlogCatalog's factor is .58, found .53 of 4,000
        vertices and .56 of 8,000 (`benchmarks/scale_is_faithful.py`).
    """

    name: ClassVar[str] = "scale"
    parts_only: ClassVar[bool] = True
    rounds_planned: ClassVar[int] = 1
    rounds_usual: ClassVar[int] = 1

    sample: int = 4_000

    def refine(self, graph: Graph, vectors: FloatArray, technique: Technique, work: Workspace) -> Refined:
        """Multiply the vectors by the factor; return it."""
        if graph.n_edges == 0:
            return Refined(factor=1.0)
        rng = keyed_rng(0, "scale")
        vertices = connected_sample(graph, self.sample, rng)
        sample = induce(graph, vertices, np.zeros(0, np.int64)).graph
        found = _factor(embed_checked(technique, Subgraph.whole(sample), rng), np.asarray(vectors[vertices]))
        factor = _trusted(found, vertices.size / max(1, int((graph.degrees > 0).sum())))
        rows = rows_of(vectors)

        def scaled(where: slice) -> Matrix:
            return np.asarray(factor * rows(where))

        overwrite(vectors, scaled)
        work.progress(1.0)
        return Refined(factor=round(factor, 6))


def _factor(own: FloatArray, found: FloatArray) -> float:
    """Return f where ``f^2 X X^T`` is nearest to the inner products of the technique's own vectors; 1 if none is."""
    X, E = found.astype(np.float64), own.astype(np.float64)
    across, size = np.square(E.T @ X).sum(), np.square(X.T @ X).sum()
    return float(np.sqrt(across / size).round(6)) if across > 0 and size > 0 else 1.0


def _trusted(factor: float, share: float) -> float:
    """Return the factor that a sample of that share of the vertices gave, or 1 where the two cannot be told apart.

    >>> _trusted(0.95, share=0.5), _trusted(0.6, share=0.5), _trusted(0.95, share=1.0)
    (1.0, 0.6, 0.95)
    """
    return 1.0 if abs(factor - 1.0) <= _DOUBT * (1.0 - share) else factor
