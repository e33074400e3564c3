"""node2vec: DeepWalk on walks that remember where they came from."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.subgraph import Subgraph
from parge.techniques.base import check_range
from parge.techniques.deepwalk import SkipGramWalks
from parge.typing import FloatArray


@dataclass(frozen=True)
class Node2Vec(SkipGramWalks):
    """Skip-gram with negative sampling on second-order random walks.

    Use it if walks should stay near their start (small p) or leave it (small q). On the command line: ``--technique
    node2vec``.

    Grover and Leskovec, "node2vec: scalable feature learning for networks" (KDD 2016). The walks are drawn by
    rejection, without tables for edges, so memory is DeepWalk's. With ``p = q = 1`` it is DeepWalk, bit for bit.

    Parameters
    ----------
    p : float
        Return parameter: going back to the previous vertex is weighted by 1/p.
    q : float
        In-out parameter: going to a vertex that is not a neighbour of the previous one is weighted by 1/q.
    dim, walks, walk_length, window, negatives, learning_rate
        As for `SkipGramWalks`.
    """

    p: float = 1.0
    q: float = 1.0

    name: ClassVar[str] = "node2vec"

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("p", "q"):
            check_range(self, field, 1e-6, 1e6)

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has a tiny random one."""
        return self._train(subgraph, rng, progress, float(self.p), float(self.q))
