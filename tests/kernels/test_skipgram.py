import numpy as np
import pytest
from tests.kernels import naive

from parge.graph.graph import Graph
from parge.kernels import skipgram, splitmix, walks
from parge.kernels.skipgram import Tables
from parge.kernels.walks import AliasTable
from parge.skipgram.settings import NOISE_POWER
from parge.skipgram.train import falling_rates, first_table, vertex_table, walk_rows
from parge.typing import FloatArray, NeighbourArray


def _graph(n: int = 30) -> Graph:
    rng = np.random.default_rng(5)
    return Graph.from_edges(rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n), vertices=n)


def _epoch(
    graph: Graph, length: int, seed: int = 3
) -> tuple[AliasTable, NeighbourArray, splitmix.KeyArray, FloatArray]:
    """Return what one epoch is trained from: noise, walks, their keys and rates."""
    starts = np.flatnonzero(graph.degrees).astype(np.int32)
    keys = splitmix.item_keys(np.uint64(seed), 0, starts)
    steps = np.empty((starts.size, length), np.int32)
    walks.fill_walks(walk_rows(graph), starts, keys, steps)
    return vertex_table(graph, NOISE_POWER), steps, keys, falling_rates(0.1, 0, starts.size, starts.size)


def _tables(n: int, dim: int) -> Tables:
    """Return tables large enough that sigmoids differ from one half, with Out not 0."""
    table, out = first_table(n, dim, np.uint64(1)), first_table(n, dim, np.uint64(2))
    table *= dim
    out *= dim
    return Tables(table, out, False)


@pytest.mark.parametrize("dim", [1, 7, 16, 40])
@pytest.mark.parametrize(("window", "negatives"), [(1, 1), (3, 5), (10, 2)])
def test_training_equals_its_twin_after_an_epoch(dim: int, window: int, negatives: int) -> None:
    graph = _graph()
    noise, steps, keys, rates = _epoch(graph, 12)
    tables = _tables(graph.n_vertices, dim)
    In, Out = tables.In.astype(np.float64), tables.Out.astype(np.float64)
    before = In.copy()
    skipgram.train_walks(tables, noise, steps, keys, rates, window, negatives)
    naive.train(In, Out, noise, steps, keys, rates, window, negatives)
    assert np.abs(In - before).max() > 0.1
    np.testing.assert_allclose(tables.In, In, atol=1e-4)
    np.testing.assert_allclose(tables.Out, Out, atol=1e-4)
    assert not tables.In[:, dim:].any()


def test_one_table_equals_its_twin() -> None:
    graph = _graph()
    noise, steps, keys, rates = _epoch(graph, 2)
    table = _tables(graph.n_vertices, 8).In
    twin = table.astype(np.float64)
    skipgram.train_walks(Tables(table, table, True), noise, steps, keys, rates, 1, 5)
    naive.train(twin, twin, noise, steps, keys, rates, 1, 5)
    np.testing.assert_allclose(table, twin, atol=1e-4)


def test_training_in_batches_is_training_at_once() -> None:
    graph = _graph()
    noise, steps, keys, rates = _epoch(graph, 12)
    whole, parts = _tables(graph.n_vertices, 16), _tables(graph.n_vertices, 16)
    skipgram.train_walks(whole, noise, steps, keys, rates, 3, 5)
    for part in (slice(0, 7), slice(7, None)):
        skipgram.train_walks(parts, noise, steps[part], keys[part], rates[part], 3, 5)
    assert np.array_equal(whole.In, parts.In)
    assert np.array_equal(whole.Out, parts.Out)


@pytest.mark.parametrize("targets", [[1], [1, 2, 2, 5], [0, 0, 7, 3, 9]])
def test_a_window_update_equals_its_twin(targets: list[int]) -> None:
    tables, contexts = _tables(10, 16), [3, 4, 3, 8]
    In, Out = tables.In.astype(np.float64), tables.Out.astype(np.float64)
    g, sums = np.empty((4, len(targets)), np.float32), np.empty((len(targets) + 1, 16), np.float32)
    skipgram.update_window(tables, np.array(contexts), 4, np.array(targets), np.float32(0.1), g, sums)
    naive.update(In, Out, contexts, targets, 0.1)
    np.testing.assert_allclose(tables.In, In, atol=1e-5)
    np.testing.assert_allclose(tables.Out, Out, atol=1e-5)


def test_a_window_update_is_a_step_down_the_loss() -> None:
    tables = _tables(20, 16)
    contexts, targets = np.array([3, 4, 5]), np.array([0, 7, 8, 9])
    signs = np.array([1.0, -1.0, -1.0, -1.0])

    def loss() -> float:
        logits = tables.In[contexts].astype(np.float64) @ tables.Out[targets].T
        return float(np.log1p(np.exp(-signs * logits)).sum())

    def step(rate: float) -> None:
        g, sums = np.empty((3, 4), np.float32), np.empty((5, 16), np.float32)
        skipgram.update_window(tables, contexts, 3, targets, np.float32(rate), g, sums)

    before = loss()
    old = tables.In.astype(np.float64)[contexts], tables.Out.astype(np.float64)[targets]
    step(1e-2)
    # First order of Taylor: the loss falls by rate * |gradient|^2.
    logits = old[0] @ old[1].T
    slope = signs / (1 + np.exp(signs * logits))
    expected = ((slope @ old[1]) ** 2).sum() + ((slope.T @ old[0]) ** 2).sum()
    assert before - loss() == pytest.approx(1e-2 * expected, rel=0.05)


def test_a_negative_that_is_the_centre_trains_nothing() -> None:
    one, two = _tables(10, 16), _tables(10, 16)
    for tables, targets in ((one, np.array([4, 4, 4])), (two, np.array([4]))):
        g, sums = np.empty((2, 3), np.float32), np.empty((4, 16), np.float32)
        skipgram.update_window(tables, np.array([1, 2]), 2, targets, np.float32(0.1), g, sums)
    np.testing.assert_allclose(one.In, two.In, atol=1e-7)
    np.testing.assert_allclose(one.Out, two.Out, atol=1e-7)


def test_saturated_logits_stay_finite() -> None:
    tables = _tables(10, 16)
    tables.In[:] = 1e4
    tables.Out[:] = -1e4
    g, sums = np.empty((2, 3), np.float32), np.empty((4, 16), np.float32)
    skipgram.update_window(tables, np.array([1, 2]), 2, np.array([3, 4, 5]), np.float32(0.1), g, sums)
    assert np.isfinite(tables.In).all()
    assert np.isfinite(tables.Out).all()


@pytest.mark.parametrize("dim", [1, 16, 100, 128])
def test_tables_are_aligned_and_padded(dim: int) -> None:
    table = skipgram.new_table(5, dim)
    assert table.ctypes.data % 64 == 0
    assert table.strides[0] % 64 == 0
    assert dim <= table.shape[1] < dim + 16
    assert table.flags.c_contiguous
