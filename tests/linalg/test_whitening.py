"""Whitened propagation keeps to its formula, with the same bits for any threads, in memory and in files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parge
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.adjacency import Adjacency
from parge.linalg.whitening import blocks_of, whitened_rounds


def slow_rounds(graph: Graph, vectors: Any, rounds: int, whitened: Iterable[int] = range(100)) -> Any:
    """The formula, word by word, in float64; rounds other than those that are `whitened` only scale rows."""
    n = graph.n_vertices
    A, X = graph.to_scipy().toarray().astype(np.float64) + np.eye(n), vectors.astype(np.float64)
    for done in range(1, rounds + 1):
        X = units((A @ X) / A.sum(axis=1, keepdims=True))
        if done not in whitened:
            continue
        X = X - X.mean(axis=0)
        values, axes = np.linalg.eigh(X.T @ X / n)
        is_kept = values > max(1e-10 * values.max(), 1e-12)
        X = X @ (axes * np.where(is_kept, 1 / np.sqrt(np.where(is_kept, values, 1)), 0)) @ axes.T
    return units(X)


def units(rows: Any) -> Any:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def some_graphs() -> dict[str, Graph]:
    rng = np.random.default_rng(5)
    source, target = rng.integers(0, 300, (2, 1500))
    communities = planted(400, 3000, communities=5, seed=2).graph
    return {
        "communities": communities,
        "weighted": Graph.from_edges(source, target, 0.5 + rng.random(1500)),
        "isolated": Graph.from_edges(source, target, vertices=320),
        "disconnected": Graph.from_edges(
            np.concatenate([source, 300 + source]), np.concatenate([target, 300 + target]), vertices=600
        ),
    }


def start(graph: Graph, dim: int) -> Any:
    return np.random.default_rng(1).standard_normal((graph.n_vertices, dim)).astype(np.float32)


def fast_rounds(graph: Graph, vectors: Any, *, threads: int = 1, rounds: int = 4, **options: Any) -> Any:
    out = vectors.copy()
    A = Adjacency(graph, threads)
    whitened_rounds(A, out, np.empty_like(out), [slice(None)], rounds=rounds, tolerance=0, **options)
    return out


@pytest.mark.parametrize("kind", list(some_graphs()))
@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_rounds_follow_the_formula(kind: str, rounds: int) -> None:
    graph = some_graphs()[kind]
    vectors = start(graph, 8)
    fast = fast_rounds(graph, vectors, rounds=rounds, length=2.5)
    np.testing.assert_allclose(fast, 2.5 * slow_rounds(graph, vectors, rounds), atol=5e-3)


@pytest.mark.parametrize("kind", list(some_graphs()))
@pytest.mark.parametrize(
    ("rounds", "every", "whitened"), [(5, 2, {2, 4, 5}), (7, 3, {3, 6, 7}), (9, 2, {2, 4, 6, 7, 8, 9})]
)
def test_rounds_between_whitenings_scale_rows(kind: str, rounds: int, every: int, whitened: set[int]) -> None:
    """The last is whitened, and so is the round before one whose change is measured (the eighth)."""
    graph = some_graphs()[kind]
    vectors = start(graph, 8)
    expected = slow_rounds(graph, vectors, rounds, whitened)
    np.testing.assert_allclose(fast_rounds(graph, vectors, rounds=rounds, every=every), expected, atol=5e-3)


@pytest.mark.parametrize("every", [1, 2])
def test_rounds_end_when_the_subspace_stands_still(every: int) -> None:
    graph = planted(2000, 20_000, communities=9, mixing=0.1, seed=2).graph
    vectors = start(graph, 8)
    found = whitened_rounds(
        Adjacency(graph), vectors, np.empty_like(vectors), [slice(None)], rounds=300, tolerance=1e-3, every=every
    )
    assert found.done < 300
    assert found.changes[-1] < 1e-3 <= min(found.changes[:-1])
    again = vectors.copy()
    whitened_rounds(Adjacency(graph), again, np.empty_like(again), [slice(None)], rounds=1, tolerance=0)
    cosines = np.linalg.svd(np.linalg.qr(vectors)[0].T @ np.linalg.qr(again)[0])[1]
    assert (cosines**2).mean() > 0.99, "a further round changes little"


def test_directions_of_little_variance_are_whitened_like_others() -> None:
    """Variances of 1e-6 of the largest are more than float32 sums keep."""
    graph = planted(3000, 20_000, communities=5, seed=2).graph
    vectors = start(graph, 6) * np.float32(10.0) ** -np.arange(6, dtype=np.float32)[::-1] / 2
    np.testing.assert_allclose(fast_rounds(graph, vectors, rounds=3), slow_rounds(graph, vectors, 3), atol=2e-2)


@pytest.mark.parametrize("shape", ["one vertex", "two vertices", "fewer vertices than columns", "complete"])
def test_graphs_of_little_rank_give_finite_vectors(shape: str) -> None:
    graph = {
        "one vertex": Graph.from_edges([], [], vertices=1),
        "two vertices": Graph.from_edges([0], [1]),
        "fewer vertices than columns": Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4]),
        "complete": Graph.from_edges(*np.triu_indices(30, 1)),
    }[shape]
    for vectors in (start(graph, 16), np.zeros((graph.n_vertices, 16), np.float32)):
        found = fast_rounds(graph, vectors, rounds=6)
        lengths = np.linalg.norm(found, axis=1)
        assert np.isfinite(found).all()
        assert np.all((np.abs(lengths - 1) < 1e-4) | (lengths == 0))


def large() -> Graph:
    rng = np.random.default_rng(3)
    return Graph.from_edges(*rng.integers(0, 7000, (2, 30_000)), 0.5 + rng.random(30_000), vertices=7005)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("every", [1, 2])
def test_threads_change_no_bit(threads: int, every: int) -> None:
    graph = large()
    vectors = start(graph, 96)
    assert len(list(blocks_of(vectors))) > 5
    one = fast_rounds(graph, vectors, every=every)
    assert np.array_equal(fast_rounds(graph, vectors, threads=threads, every=every), one)


@pytest.mark.parametrize("columns", [[slice(0, 96)], [slice(0, 7), slice(7, 90), slice(90, 96)]])
@pytest.mark.parametrize(("threads", "every"), [(1, 1), (2, 1), (2, 3)])
def test_files_change_no_bit(tmp_path: Path, columns: list[slice], threads: int, every: int) -> None:
    graph = large()
    vectors = start(graph, 96)
    here, there = (np.lib.format.open_memmap(tmp_path / n, "w+", np.float32, vectors.shape) for n in ("a.npy", "b.npy"))
    here[:] = vectors
    found = whitened_rounds(Adjacency(graph, threads), here, there, columns, rounds=4, tolerance=0, every=every)
    assert np.array_equal(here, fast_rounds(graph, vectors, every=every))
    assert found.done == 4


def test_columns_of_another_order_change_no_bit() -> None:
    graph = large()
    vectors = start(graph, 96)
    out = np.asfortranarray(vectors)
    whitened_rounds(Adjacency(graph), out, np.empty_like(vectors), [slice(None)], rounds=4, tolerance=0)
    np.testing.assert_allclose(out, fast_rounds(graph, vectors), atol=1e-4)


def test_the_technique_is_the_same_for_any_threads() -> None:
    whole = Subgraph.whole(large())
    one, two, three = (
        parge.Whitened(dim=64, rounds=6, threads=threads).embed(whole, np.random.default_rng()) for threads in (1, 2, 3)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, three)


def test_further_threads_are_in_the_projection() -> None:
    assert parge.Whitened(threads=3).projected_bytes(1000, 5000) > parge.Whitened().projected_bytes(1000, 5000) + 2e7
