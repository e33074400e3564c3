import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.graph.graph import Graph
from parge.kernels import csr, products, walks
from parge.seeds import stream
from parge.testing.graphs import graphs


def _with_loops(graph: Graph, seed: int) -> tuple[sp.csr_array, tuple[np.ndarray, ...]]:
    """Return the matrix of a graph with some loops, and what the kernel makes of the two."""
    rng = stream(seed, "loops")
    loops = (rng.random(graph.n_vertices) * (rng.random(graph.n_vertices) < 0.5)).astype(np.float32)
    weights = np.ones(graph.indices.size, np.float32) if graph.weights is None else graph.weights
    matrix = sp.csr_array(graph.to_scipy().toarray() + np.diag(loops))
    return matrix, csr.with_loops(graph.indptr, graph.indices, weights, loops)


@given(graph=graphs(), seed=st.integers(0, 99))
@examples(30)
def test_loops_stand_in_their_sorted_rows(graph: Graph, seed: int) -> None:
    expected, (indptr, indices, weights) = _with_loops(graph, seed)
    np.testing.assert_array_equal(indptr, expected.indptr)
    np.testing.assert_array_equal(indices, expected.indices)
    np.testing.assert_array_equal(weights, expected.data)


@given(graph=graphs(), seed=st.integers(0, 99))
@examples(30)
def test_some_rows_move_toward_the_mean_of_their_neighbours(graph: Graph, seed: int) -> None:
    matrix, rows = _with_loops(graph, seed)
    n, rng = graph.n_vertices, stream(seed, "rows")
    some, table = np.flatnonzero(rng.random(n) < 0.6), rng.standard_normal((n, 5), np.float32)
    share, strength = rng.random(some.size, np.float32), walks.strengths(rows[0], rows[2])
    mean = matrix.toarray()[some] @ table / np.maximum(strength[some], np.finfo(float).tiny)[:, None]
    expected = table.copy()
    expected[some] += share[:, None] * (mean - table[some])
    products.mix_neighbours(*rows, strength, some, share, table.copy(), table)
    np.testing.assert_allclose(table, expected, atol=1e-5)


@given(graph=graphs(), seed=st.integers(0, 99))
@examples(30)
def test_the_mean_of_neighbours_looks_rows_up(graph: Graph, seed: int) -> None:
    matrix, rows = _with_loops(graph, seed)
    n, rng = graph.n_vertices, stream(seed, "rows")
    some, row_of = np.flatnonzero(rng.random(n) < 0.6), rng.integers(0, 4, n)
    source, found = rng.standard_normal((4, 5), np.float32), np.full((some.size, 5), np.nan, np.float32)
    strength = walks.strengths(rows[0], rows[2])
    products.mean_neighbours(*rows, strength, some, row_of, source, found)
    expected = matrix.toarray()[some] @ source[row_of] / np.maximum(strength[some], np.finfo(float).tiny)[:, None]
    np.testing.assert_allclose(found, expected, atol=1e-5)
