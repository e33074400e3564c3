import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from tests.kernels.test_skipgram import _epoch, _graph, _tables

from parge.kernels import skipgram, skipgram_ir
from parge.kernels.skipgram import Tables
from parge.kernels.window_ir import MOST_TILE, make_update, tile_for


@pytest.mark.parametrize(
    ("dim", "window", "negatives"),
    [
        *((1, 1, 1), (7, 3, 2), (16, 10, 3), (40, 2, 4), (128, 5, 5), (100, 3, 6), (33, 4, 7), (130, 12, 5)),
        *((1, 5, 5), (7, 10, 5), (16, 5, 1), (100, 10, 5), (128, 10, 7), (200, 10, 5), (200, 5, 2)),
    ],
)
def test_training_equals_the_plain_kernel_after_an_epoch(dim: int, window: int, negatives: int) -> None:
    graph = _graph(60)
    noise, steps, keys, rates = _epoch(graph, 40)
    fast, plain = _tables(graph.n_vertices, dim), _tables(graph.n_vertices, dim)
    assert skipgram_ir.is_usable(negatives)
    skipgram_ir.train(fast, noise, steps, keys, rates, window, negatives)
    skipgram.train_walks(plain, noise, steps, keys, rates, window, negatives)
    assert np.abs(plain.In - _tables(graph.n_vertices, dim).In).max() > 0.1
    np.testing.assert_allclose(fast.In, plain.In, atol=1e-4)
    np.testing.assert_allclose(fast.Out, plain.Out, atol=1e-4)
    assert not fast.In[:, dim:].any()


def test_one_table_equals_the_plain_kernel() -> None:
    graph = _graph(8)  # so small that negatives often are the context or the centre
    noise, steps, keys, rates = _epoch(graph, 2)
    fast, plain = _tables(8, 20).In, _tables(8, 20).In
    for _ in range(20):
        skipgram_ir.train(Tables(fast, fast, True), noise, steps, keys, rates, 1, 5)
        skipgram.train_walks(Tables(plain, plain, True), noise, steps, keys, rates, 1, 5)
    np.testing.assert_allclose(fast, plain, atol=1e-4)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("n_contexts", [1, 2, 3, 4, 5, 11])
def test_update_equals_the_plain_one_for_every_vector_width(lanes: int, n_contexts: int) -> None:
    update = make_update(lanes)

    @numba.njit
    def run(In, Out, contexts, n_contexts, targets, slots, rate, g):
        update(In, Out, 20, contexts, n_contexts, targets, 1, slots, rate, g)

    fast, plain = _tables(20, 48), _tables(20, 48)
    for tables in (fast, plain):
        tables.In[3] *= 40  # saturates some sigmoids
    rate = np.float32(0.05)
    contexts = np.array([3, 4, 5, 4, 4, 6, 7, 8, 9, 10, 11])[:n_contexts]
    targets = np.array([1, 2, 2, 1, 12, 4])  # a repeat, the centre again, a vertex that is a context
    width = fast.In.shape[1]
    offsets = np.concatenate([contexts * width, np.zeros(MOST_TILE, np.int64)])
    rows = np.stack([np.zeros(6, np.int64), targets * width])
    run(fast.In, fast.Out, offsets, n_contexts, rows, (0,) * 6, rate, np.empty((offsets.size, 8), np.float32))
    g, sums = np.empty((n_contexts, 6), np.float32), np.empty((7, width), np.float32)
    skipgram.update_window(plain, contexts, n_contexts, targets, rate, g, sums)
    np.testing.assert_allclose(fast.In, plain.In, atol=2e-6)
    np.testing.assert_allclose(fast.Out, plain.Out, atol=2e-5)


@pytest.mark.parametrize("logit", [-1e30, -200.0, -88.0, -10.0, -1.0, 0.0, 0.3, 1.0, 10.0, 88.0, 200.0, 1e30])
def test_sigmoid_is_exact_enough_and_saturates(logit: float) -> None:
    tables = Tables(skipgram.new_table(2, 16), skipgram.new_table(2, 16), False)
    tables.In[0, 0], tables.Out[1, 0] = logit, 1.0
    noise = skipgram_ir.AliasTable(np.zeros(1, np.uint32), np.zeros(1, np.int32))  # always vertex 0
    walk, rate = np.array([[1, 0]], np.int32), np.array([1.0], np.float32)
    # The centre 1 with the context 0 comes first; the negative, vertex 0, has an Out of 0.
    skipgram_ir.train(tables, noise, walk, np.zeros(1, np.uint64), rate, 1, 1)
    with np.errstate(over="ignore"):
        expected = 1.0 / (1.0 + np.exp(float(logit)))  # 1 - sigmoid
    assert tables.In[0, 0] - np.float32(logit) == pytest.approx(expected, abs=max(1e-6, abs(logit) * 1e-7))
    assert np.isfinite(tables.Out).all()


def test_same_stream_same_bits_and_batches_do_not_matter() -> None:
    graph = _graph(60)
    noise, steps, keys, rates = _epoch(graph, 20)
    whole, parts = _tables(60, 128), _tables(60, 128)
    skipgram_ir.train(whole, noise, steps, keys, rates, 5, 5)
    for part in (slice(0, 7), slice(7, None)):
        skipgram_ir.train(parts, noise, steps[part], keys[part], rates[part], 5, 5)
    assert np.array_equal(whole.In, parts.In)
    assert np.array_equal(whole.Out, parts.Out)


@pytest.mark.parametrize("targets", range(2, 9))
@pytest.mark.parametrize("features", ["+avx512f,+avx", "+avx2,+avx", "+neon", "+sse2"])
def test_a_tile_fits_the_registers(targets: int, features: str) -> None:
    tile = tile_for(features, targets)
    assert 1 <= tile.contexts <= MOST_TILE
    assert tile.contexts * (targets + 1) + 1 <= (32 if features[:5] in {"+avx5", "+neon"} else 16)


def test_more_negatives_than_a_row_holds_are_left_to_the_plain_kernel() -> None:
    assert not skipgram_ir.is_usable(8)
    graph = _graph()
    noise, steps, keys, rates = _epoch(graph, 12)
    fast, plain = _tables(graph.n_vertices, 16), _tables(graph.n_vertices, 16)
    skipgram_ir.train(fast, noise, steps, keys, rates, 3, 10)
    skipgram.train_walks(plain, noise, steps, keys, rates, 3, 10)
    assert np.array_equal(fast.In, plain.In)


EMBED = """
import hashlib
import numpy as np
import parge
from parge.graph.generate import ring_of_cliques
from parge.graph.subgraph import Subgraph

vectors = parge.DeepWalk(dim=20, walks=1).embed(Subgraph.whole(ring_of_cliques(5, 6)), np.random.default_rng(1))
print(hashlib.sha256(vectors.data).hexdigest())
"""


@pytest.mark.slow
def test_processes_that_start_at_once_on_an_empty_cache_agree(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", EMBED]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], answers
    here = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert {out for out, _ in answers} == {here}
    assert all(error == "" for _, error in answers)  # nobody fell back to the plain kernel
    assert len(list(tmp_path.rglob("skipgram_ir.train_walks*.nbc"))) == 1


def test_the_plain_kernel_can_be_asked_for() -> None:
    script = "from parge.kernels.skipgram_ir import is_usable; print(is_usable(5))"
    environment = {**os.environ, "PARGE_PLAIN_KERNEL": "1"}
    out = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
