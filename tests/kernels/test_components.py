"""Components found by the kernel are those of scipy, each called by its smallest vertex."""

import numpy as np
import scipy.sparse.csgraph
from hypothesis import given
from tests.examples import examples

from parge.graph.graph import Graph
from parge.kernels.components import component_roots
from parge.testing.graphs import graphs


@examples(60)
@given(graph=graphs(min_vertices=1, max_vertices=40))
def test_roots_are_the_smallest_vertices_of_scipy_s_components(graph: Graph) -> None:
    _, component = scipy.sparse.csgraph.connected_components(graph.to_scipy(), directed=False)
    smallest = [int(np.flatnonzero(component == each)[0]) for each in component]
    assert component_roots(graph.indptr, graph.indices).tolist() == smallest
