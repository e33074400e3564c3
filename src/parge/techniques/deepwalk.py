"""DeepWalk: vectors that predict which vertices meet on uniform random walks."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.events import Progress, silent
from parge.graph.subgraph import Subgraph
from parge.skipgram.settings import SkipGramWalks
from parge.typing import FloatArray


@dataclass(frozen=True)
class DeepWalk(SkipGramWalks):
    """Skip-gram with negative sampling on first-order random walks, which follow the weights of edges.

    Perozzi, Al-Rfou and Skiena, "DeepWalk: online learning of social representations" (KDD 2014), with
    negative sampling instead of the hierarchical softmax. The parameters are those of `SkipGramWalks`.
    The default rate, 0.05, is twice word2vec's: at 0.025 one pass over the walks undertrains.

    Examples
    --------
    >>> from parge.graph.generate import ring_of_cliques
    >>> subgraph = Subgraph.whole(ring_of_cliques(8, 10))
    >>> DeepWalk(dim=16).embed(subgraph, np.random.default_rng(1)).shape
    (80, 16)
    """

    name: ClassVar[str] = "deepwalk"

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> FloatArray:
        """Return one vector per vertex; an isolated vertex has a tiny random one."""
        return self._train(subgraph, rng, progress)
