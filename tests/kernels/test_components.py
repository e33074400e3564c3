"""Components found by the kernel are those of its twin and of scipy, each called by its smallest vertex."""

import scipy.sparse.csgraph
from hypothesis import given
from tests.examples import examples
from tests.kernels import naive_cut

from parge.graph.graph import Graph
from parge.kernels.cut import component_roots
from parge.testing.graphs import graphs


@examples(60)
@given(graph=graphs(max_vertices=40))
def test_roots_are_the_smallest_vertices_of_components(graph: Graph) -> None:
    roots = component_roots(graph.indptr, graph.indices).tolist()
    assert roots == naive_cut.component_roots(graph)
    count, _ = scipy.sparse.csgraph.connected_components(graph.to_scipy(), directed=False)
    assert len(set(roots)) == count
