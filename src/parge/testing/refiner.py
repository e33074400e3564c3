"""Contract tests for refine passes: subclass `RefinerContract` in your tests and return your pass."""

import json
import pickle
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from parge.errors import InputError
from parge.graph.graph import Graph
from parge.linalg.threads import one_blas_thread
from parge.refine.base import Done, Refiner, Workspace
from parge.stage_reports import Refined
from parge.techniques.base import Technique
from parge.testing.reconciler import random_rotation
from parge.testing.technique import communities, content, small_graphs
from parge.typing import FloatArray

# A graph of more vertices than a block of rows has, so that threads and blocks matter; edges per vertex.
_VERTICES, _EDGES = 10_000, 3

# The memory test: columns; bytes that a pass may hold for each entry of the four columns it always may have; rows of
# a block, few so that blocks do not hide a copy of everything; and how many blocks, matrices of columns by columns
# and numbers for each vertex may be held.
_WIDE, _BYTES, _ROWS, _FEW = 128, 8 * 8, 64, 6

# Rotated vectors: inner products may differ by this share of the largest. In shards: by this share of all.
_ROUNDING, _SHARDS = 2e-3, 0.02


@contextmanager
def in_files() -> Iterator[Callable[[tuple[int, int], Any], NDArray[Any]]]:
    """Yield what `Workspace.matrix` takes: every new matrix is a memory-mapped file."""
    with tempfile.TemporaryDirectory(prefix="parge-contract-") as folder:
        names = count()

        def matrix(shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
            return np.lib.format.open_memmap(Path(folder) / f"{next(names)}.npy", "w+", dtype, shape)

        yield matrix


def refined_in_shards(
    refiner: Refiner, graph: Graph, vectors: FloatArray, technique: Technique, n_shards: int = 3
) -> tuple[FloatArray, list[Done]]:
    """Return refined vectors of a graph whose vertices are dealt to shards, and what each shard returned."""
    from parge.cluster.cutting import hold  # contracts of other interfaces do not need it
    from parge.cluster.mesh import Mesh, run_local
    from parge.cluster.redistribute import rows_of_part
    from parge.cluster.refine import shard_workspace

    part = np.arange(graph.n_vertices, dtype=np.int32) % n_shards

    def program(mesh: Mesh) -> tuple[Any, FloatArray, Done]:
        held = hold(mesh, rows_of_part(graph, part, mesh.rank))
        mine = vectors[held.part.names].copy()
        done = refiner.refine_shard(mine, technique, shard_workspace(mesh, held, graph.n_vertices))
        return held.part.names, mine, done

    out, answers = np.empty_like(vectors), []
    for names, mine, done in run_local(n_shards, program):
        out[names] = mine
        answers.append(done)
    return out, answers


def assert_plain(done: Done) -> None:
    """Assert that what a pass returns, a `Refined` or a mapping, is the same after it was written as JSON."""
    plain = done.to_json() if isinstance(done, Refined) else done
    read = json.loads(json.dumps(plain))
    assert read == plain
    assert Refined.of(read, "pass") == Refined.of(done, "pass")


class RefinerContract:
    """Laws of `Refiner`, as tests. Inherit, and override `refiner()` to return the pass under test.

    * Same graph, same vectors: same bits, for any number of threads and any budget, in memory and in files.
    * Every vector stays finite: of isolated vertices, of graphs without edges, with one vertex or with none, of
      disconnected graphs, and where all vectors are 0.
    * The vectors are overwritten in place; a graph without edges leaves them as they are.
    * The graph is not written to, nor is a random generator of the process touched.
    * Rotated vectors give the same inner products, up to rounding.
    * In files, no more is in memory than the budget (or four columns), and a few blocks of rows.
    * Where `in_shards` is True, shards find what one process finds, nearly, and the same bits each time.
    * `check` accepts `technique()` and refuses each of `refuses()` with an `InputError`.
    * The pass is a value: it has a name, can be pickled, and what it returns can be written as JSON: a `Refined`, or a
      mapping of names to plain values.

    Override `technique()` where the pass supports certain techniques only, and `refuses()` to name some that it does
    not support.
    """

    dim = 12

    def refiner(self) -> Refiner:
        """Return the pass under test."""
        raise TypeError("override refiner() to return the refine pass under test")

    def complete(self) -> Refiner:
        """Return the pass with steps enough to come near its end: so far, shards and one process must agree."""
        return self.refiner()

    def technique(self, dim: int) -> Technique:
        """Return a technique that the pass is for."""
        from parge.techniques.hope import HOPE

        return HOPE(dim=dim)

    def refuses(self) -> tuple[Technique, ...]:
        """Return techniques that the pass is not for."""
        return ()

    def vectors(self, graph: Graph, dim: int = 0) -> FloatArray:
        """Return vectors to refine: normal draws."""
        return np.random.default_rng(1).standard_normal((graph.n_vertices, dim or self.dim)).astype(np.float32)

    def refined(self, graph: Graph, vectors: FloatArray, work: Workspace | None = None) -> FloatArray:
        """Return refined vectors; those given stay as they are."""
        out = vectors.copy()
        self.refiner().refine(graph, out, self.technique(vectors.shape[1]), work or Workspace(threads=1))
        return out

    def large(self) -> Graph:
        """Return a graph of several blocks of rows, with weights, isolated vertices and many components."""
        rng = np.random.default_rng(3)
        source, target = rng.integers(0, _VERTICES, (2, _EDGES * _VERTICES))
        return Graph.from_edges(source, target, 0.5 + rng.random(source.size), vertices=_VERTICES + 5)

    def test_threads_budget_and_files_change_no_bit(self) -> None:
        """The same vectors come out, however the work is done."""
        graph = self.large()
        vectors = self.vectors(graph)
        expected = self.refined(graph, vectors)
        for work in (Workspace(threads=1), Workspace(threads=3), Workspace(threads=2, budget=1)):
            assert np.array_equal(self.refined(graph, vectors, work), expected), work
        with in_files() as matrix:
            mapped = matrix(vectors.shape, np.float32)
            mapped[:] = vectors
            work = Workspace(matrix=matrix, budget=1, threads=2)
            self.refiner().refine(graph, mapped, self.technique(self.dim), work)
            assert np.array_equal(mapped, expected), "in files"

    def test_vectors_are_finite_on_every_shape(self) -> None:
        """However odd the graph, and where all vectors are 0."""
        for shape, graph in small_graphs().items():
            for vectors in (self.vectors(graph), np.zeros((graph.n_vertices, self.dim), np.float32)):
                assert np.isfinite(self.refined(graph, vectors)).all(), shape

    def test_a_graph_without_edges_leaves_the_vectors_as_they_are(self) -> None:
        """There is nothing to learn from."""
        for shape, graph in small_graphs().items():
            if graph.n_edges == 0:
                vectors = self.vectors(graph)
                assert np.array_equal(self.refined(graph, vectors), vectors), shape

    def test_only_the_vectors_are_written_to(self) -> None:
        """All arrays of the graph stay as they were, and so do the generators of the process."""
        import random

        subgraph, _ = communities(weighted=True)
        graph = subgraph.graph.with_features(np.random.default_rng(2).random((subgraph.n_vertices, 5)))
        before = content(graph), pickle.dumps((random.getstate(), np.random.get_state()))
        self.refined(graph, self.vectors(graph))
        after = content(graph), pickle.dumps((random.getstate(), np.random.get_state()))
        assert all(np.array_equal(before[0][name], after[0][name]) for name in before[0])
        assert before[1] == after[1]

    def test_rotated_vectors_have_the_same_inner_products(self) -> None:
        """It does not matter which of the separate spaces the others were mapped into."""
        graph = communities()[0].graph
        vectors = self.vectors(graph)
        turn = random_rotation(np.random.default_rng(2), self.dim).astype(np.float32)
        here, there = self.refined(graph, vectors), self.refined(graph, vectors @ turn)
        assert np.allclose(here @ here.T, there @ there.T, atol=_ROUNDING * np.abs(here @ here.T).max())

    def test_progress_rises_to_the_end(self) -> None:
        """Shares never fall, and lie in 0..1."""
        shares: list[float] = []
        graph = communities()[0].graph
        self.refined(graph, self.vectors(graph), Workspace(threads=1, progress=shares.append))
        assert all(0 <= share <= 1 for share in shares)
        assert shares == sorted(shares)

    def test_memory_is_that_of_the_budget(self) -> None:
        """In files, all columns are never in memory at the same time."""
        graph = self.large()
        self.refined(graph, self.vectors(graph))  # what compiling takes is not counted
        width = _WIDE + _WIDE // 4  # a pass may work with a few more columns
        allowed = 4 * _BYTES * graph.n_vertices + 8 * _FEW * (graph.n_vertices + _ROWS * width + width**2)
        with in_files() as matrix, patch("parge.storage.BLOCK_ROWS", _ROWS), one_blas_thread():
            mapped = matrix((graph.n_vertices, _WIDE), np.float32)
            mapped[:] = self.vectors(graph, _WIDE)
            work = Workspace(matrix=matrix, budget=4 * _BYTES * graph.n_vertices, threads=1)
            tracemalloc.start()
            try:
                self.refiner().refine(graph, mapped, self.technique(_WIDE), work)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert peak <= allowed < mapped.nbytes, f"{peak:,} bytes, at most {allowed:,}"

    def test_shards_find_what_one_process_finds(self) -> None:
        """A pass with `in_shards` gives nearly the same inner products where three shards hold the graph, twice alike.

        Any other says that it is not for shards.
        """
        refiner, graph = self.complete(), communities(weighted=True)[0].graph
        vectors, technique = self.vectors(graph), self.technique(self.dim)
        if not refiner.in_shards:
            with pytest.raises(InputError):
                refined_in_shards(refiner, graph, vectors, technique)
            return
        found, done = refined_in_shards(refiner, graph, vectors, technique)
        again, _ = refined_in_shards(refiner, graph, vectors, technique)
        assert np.array_equal(found, again)
        whole = vectors.copy()
        refiner.refine(graph, whole, technique, Workspace(threads=1))
        assert np.linalg.norm(found @ found.T - whole @ whole.T) <= _SHARDS * np.linalg.norm(whole @ whole.T)
        assert all(each == done[0] for each in done), "all shards return the same"
        assert_plain(done[0])

    def test_techniques_are_checked_before_any_work(self) -> None:
        """One that the pass is for is accepted; one that it is not for is refused."""
        refiner = self.refiner()
        refiner.check(self.technique(self.dim))
        for technique in self.refuses():
            with pytest.raises(InputError):
                refiner.check(technique)

    def test_the_pass_is_a_value(self) -> None:
        """It has a name and can be pickled; what it returns are plain values."""
        refiner = self.refiner()
        assert refiner.name
        assert pickle.loads(pickle.dumps(refiner)) == refiner
        graph = communities()[0].graph
        for some in (graph, small_graphs()["no edge"]):
            done = refiner.refine(some, self.vectors(some), self.technique(self.dim), Workspace(threads=1))
            assert_plain(done)
