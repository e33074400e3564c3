"""A part of a graph that is like the whole: vertices that random walks meet."""

import numpy as np

from parge.graph.graph import Graph
from parge.typing import IntArray

# Steps of a walk from one look to the next, vertices a walk is to find, and the chance to start again.
_STEPS, _PER_WALK, _RESTART = 50, 500, 0.15


def connected_sample(graph: Graph, wanted: int, rng: np.random.Generator) -> IntArray:
    """Return about that many vertices with edges, ascending, as random walks meet them: near each other.

    Walks that return to where they began keep degrees and clusters of a graph better than vertices or edges drawn
    alone (Leskovec and Faloutsos, KDD 2006). Where walks meet few new vertices, they start again elsewhere.

    >>> from parge.graph.generate import ring_of_cliques
    >>> connected_sample(ring_of_cliques(40, 5), 1000, np.random.default_rng(0)).size
    200
    """
    with_edges = np.flatnonzero(graph.degrees > 0)
    if wanted >= with_edges.size:
        return with_edges
    seen, known = np.zeros(graph.n_vertices, np.bool_), 0
    n_walks = max(16, wanted // _PER_WALK)
    home = with_edges[rng.integers(with_edges.size, size=n_walks)]
    met = np.empty((_STEPS, n_walks), np.int64)
    while known < wanted:
        at, draws = home, rng.random((_STEPS, 2, n_walks))
        goes_home = draws[:, 1] < _RESTART
        for i in range(_STEPS):
            met[i] = at
            step = (draws[i, 0] * graph.degrees[at]).astype(np.int64)
            at = np.where(goes_home[i], home, graph.indices[graph.indptr[at] + step])
        seen[met] = True
        found = int(seen.sum())
        if found < known + max(1, known // 50):
            home = with_edges[rng.integers(with_edges.size, size=n_walks)]
        known = found
    return np.flatnonzero(seen)
