"""The sample: the same each time, of the right rows, and no other row is read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parge.decompose.decomposition import Decomposition
from parge.events import ignore
from parge.graph.generate import planted
from parge.reconcile.base import IdentityMap
from parge.report.sample import MOST_VERTICES, draw_sample
from parge.run.open_run import open_planned
from parge.run.pipeline import merge_parts, reconcile_parts


class Recorder:
    """Vectors that remember how many of their rows were read; they cannot be read whole."""

    def __init__(self, n_rows: int, subgraph: int) -> None:
        self.n_rows, self.subgraph, self.read = n_rows, subgraph, 0

    def __getitem__(self, rows: Any) -> np.ndarray[Any, Any]:
        assert isinstance(rows, np.ndarray)
        assert rows.max(initial=0) < self.n_rows
        self.read += rows.size
        return np.stack([rows, np.full(rows.size, self.subgraph)], axis=1).astype(np.float32)


def decomposed(n_vertices: int, n_parts: int, n_anchors: int) -> Decomposition:
    graph = planted(n_vertices, 2 * n_vertices, seed=1).graph
    rng = np.random.default_rng(0)
    part = rng.integers(n_parts, size=n_vertices).astype(np.int32)
    anchors = np.sort(rng.choice(n_vertices, n_anchors, replace=False))
    return Decomposition(graph, part, anchors, np.full(n_parts, n_vertices))


@pytest.mark.parametrize(("n_parts", "n_anchors"), [(1, 0), (2, 40), (8, 900), (100, 500), (3, 0)])
def test_few_rows_are_read_and_they_are_the_right_ones(n_parts: int, n_anchors: int) -> None:
    found = decomposed(20_000, n_parts, n_anchors)
    local = [Recorder(size, i) for i, size in enumerate(found.sizes.tolist())]
    sample = draw_sample(found, local, [IdentityMap()] * n_parts)  # type: ignore[arg-type]
    assert sample.vertices.size <= MOST_VERTICES
    assert sum(vectors.read for vectors in local) == sample.place.size <= MOST_VERTICES + 8 * n_parts + 320
    assert np.array_equal(np.unique(sample.place), np.arange(sample.vertices.size))
    vertex = sample.vertices[sample.place]
    assert np.array_equal(sample.is_copy, found.is_anchor[vertex])
    assert np.array_equal(sample.part[~sample.is_copy], found.part[vertex[~sample.is_copy]])
    for i in range(n_parts):
        numbering = np.concatenate([found.own(i), found.anchors])
        mine = sample.part == i
        assert np.array_equal(numbering[sample.before[mine, 0].astype(int)], vertex[mine])
    copies = np.bincount(sample.place)[found.is_anchor[sample.vertices]]
    assert (copies == n_parts).all()


def test_the_same_sample_every_time_and_everybody_of_a_small_graph() -> None:
    found = decomposed(500, 4, 30)
    local = [Recorder(size, i) for i, size in enumerate(found.sizes.tolist())]
    one, two = (draw_sample(found, local, [IdentityMap()] * 4) for _ in range(2))  # type: ignore[arg-type]
    assert np.array_equal(one.vertices, np.arange(500))
    assert np.array_equal(one.place, two.place)
    assert np.array_equal(one.before, two.before)


def test_after_is_what_the_embedding_holds(kept: Path) -> None:
    with open_planned(kept) as run:
        reconciliation = reconcile_parts(run, ignore)
        merged = merge_parts(run, reconciliation, np.empty(run.shape, np.float32))
        sample = draw_sample(run.decomposition, run.local_vectors, reconciliation.maps)
    own = ~sample.is_copy
    np.testing.assert_allclose(sample.after[own], merged[sample.vertices[sample.place[own]]], rtol=1e-5, atol=1e-6)
    assert not np.allclose(sample.before[own], sample.after[own], atol=1e-3)
