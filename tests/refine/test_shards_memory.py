"""What a pass in shards holds besides the vectors."""

import tracemalloc

import numpy as np

from parge.linalg.adjacency import Adjacency
from parge.refine.shards import ShardWorkspace


def test_the_mean_length_takes_no_copy_of_the_vectors() -> None:
    vectors = np.random.default_rng(2).normal(size=(40_000, 64)).astype(np.float32)
    vectors[::7] = 0
    work = ShardWorkspace(object.__new__(Adjacency), lambda array: [array], lambda _width: [])
    tracemalloc.start()
    try:
        found = work.mean_length(vectors)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert found == lengths.sum() / (lengths > 0).sum()
    assert peak < 0.8 * vectors.nbytes
