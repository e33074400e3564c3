"""Hints: what measurements say about a choice, for people; no part of any result."""

from parge.graph.graph import Graph
from parge.techniques.base import Technique

# Of `benchmarks/faster_than_gensim.py --only spectral`: whole graphs, default settings.
_WALKS_AGAINST_PRONE = (
    "of three whole graphs measured, prone took a third of deepwalk's time on two and as long on one; its micro-F1 was "
    "higher on one, the same on one, lower on one: --technique prone is worth a try (numbers in docs/kernel.md)"
)

# Of `benchmarks/quality_against_whole_graph.py`, 8 parts, each with its own pass (docs/quality.md).
_WITH_FEATURES = (
    "this graph has features, which walks do not see: on cora --technique sgc --refine none kept micro-F1 .827 of its "
    ".833 in 8 parts, deepwalk had .807 (one seed; numbers in docs/quality.md)"
)
_SPARSE = (
    "on the sparse graphs measured (cora, a tree; mean degree 4 and 3) --technique closedform had micro-F1 .804 and "
    ".860 in 8 parts, deepwalk .810 and .859, in less time (3 seeds; numbers in docs/quality.md)"
)
# Of `benchmarks/against_peers.py`, 8 parts, each with its own pass.
_DENSE = (
    "on BlogCatalog (mean degree 65) --technique spectral had micro-F1 .438 in 8 parts, deepwalk .421; on sparse "
    "graphs it is behind and slow (numbers in docs/peers.md)"
)
_SPARSE_DEGREE, _DENSE_DEGREE = 6.0, 30.0

# Any technique takes seconds on a smaller graph: try them.
_SMALL = 1000


def hints(technique: Technique, graph: Graph) -> tuple[str, ...]:
    """Return what may be better than this technique for such a graph; a rule of thumb that looks at no label."""
    if technique.name not in {"deepwalk", "node2vec"} or graph.n_vertices < _SMALL:
        return ()
    if graph.features is not None:
        return (_WITH_FEATURES,)
    mean_degree = 2 * graph.n_edges / max(1, graph.n_vertices)
    if mean_degree > _DENSE_DEGREE:
        return (_WALKS_AGAINST_PRONE, _DENSE)
    return (_WALKS_AGAINST_PRONE, *((_SPARSE,) if mean_degree < _SPARSE_DEGREE else ()))
