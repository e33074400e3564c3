"""Groups of neighbouring vertices: as many as asked, of similar size, never across what edges keep apart."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.graph.clusters import group_vertices
from parge.graph.generate import ring_of_cliques, star
from parge.graph.graph import Graph
from parge.testing.graphs import graphs


@given(graph=graphs(), count=st.integers(1, 12))
@examples(40)
def test_every_vertex_has_a_group_and_there_are_as_many_as_asked(graph: Graph, count: int) -> None:
    group = group_vertices(graph, np.arange(graph.n_vertices), count)
    assert group.size == graph.n_vertices
    assert np.unique(group).size == min(count, graph.n_vertices)
    assert group.max(initial=-1) == min(count, graph.n_vertices) - 1


def test_cliques_are_groups() -> None:
    group = group_vertices(ring_of_cliques(16, 8), np.arange(128), 16)
    of_clique = group.reshape(16, 8)
    assert np.mean([np.bincount(row).max() for row in of_clique]) >= 7


def test_leaves_of_a_star_share_groups_of_similar_size() -> None:
    sizes = np.bincount(group_vertices(star(101), np.arange(1, 101), 10))
    assert sizes.size == 10
    assert sizes.max() <= 20
