"""Contract tests for techniques: subclass `TechniqueContract` in your tests and return your technique."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph, induce, induce_with_context
from parge.landmarks.base import LandmarkTechnique
from parge.linalg.tall import unit
from parge.memory import Footprint, format_bytes, limit_memory, peak_bytes
from parge.techniques.base import Technique, check_shared, embed_checked, prepare_checked
from parge.typing import FloatArray, IntArray

_COMMUNITIES = 4

# A projection is useful where it is not much more than what is needed: under this factor, from this number of edges on.
_MOST_OVER, _FROM_EDGES = 2.0, 50_000

_ARRAYS = ("indptr", "indices", "weights", "ids")


def small_graphs() -> dict[str, Graph]:
    """Return the shapes that break careless techniques, by name."""
    rng = np.random.default_rng(3)
    clique = np.array(np.triu_indices(6, 1))
    return {
        "no vertex": Graph.from_edges([], [], vertices=0),
        "one vertex": Graph.from_edges([], [], vertices=1),
        "no edge": Graph.from_edges([], [], vertices=9),
        "one edge": Graph.from_edges([0], [1]),
        "star": Graph.from_edges(np.zeros(700, int), np.arange(1, 701)),
        "path": Graph.from_edges(np.arange(400), np.arange(1, 401)),
        "clique": Graph.from_edges(*np.triu_indices(12, 1)),
        "many equal components": Graph.from_edges(
            *(clique[:, None, :] + 6 * np.arange(90)[:, None]).reshape(2, -1), vertices=560
        ),
        "weights that differ by 1e12": Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 3], [1e-6, 1e6, 1.0, 3.0]),
        "random and isolated": Graph.from_edges(*rng.integers(0, 500, (2, 900)), vertices=600),
    }


def communities(n_vertices: int = 400, *, weighted: bool = False) -> tuple[Subgraph, IntArray]:
    """Return a graph of four planted communities, and the community of each vertex.

    If weighted, edges are as likely between communities as inside them: only the weights differ.
    """
    rng = np.random.default_rng(11)
    community = np.arange(n_vertices) % _COMMUNITIES
    source, target = rng.integers(0, n_vertices, (2, 20 * n_vertices))
    inside = community[source] == community[target]
    keep = inside | (rng.random(source.size) < 0.03) | weighted
    weights = np.where(inside, 5.0, 0.05)[keep] if weighted else None
    return Subgraph.whole(Graph.from_edges(source[keep], target[keep], weights, vertices=n_vertices)), community


def separation(vectors: FloatArray, community: IntArray) -> float:
    """Return the share of vertices whose nearest other by cosine is of their community; at random, 0.25."""
    directions = unit(vectors)
    cosine = directions @ directions.T
    np.fill_diagonal(cosine, -2.0)
    return float((community[cosine.argmax(axis=1)] == community).mean())


def large_graphs(scale: float = 1.0) -> dict[str, Graph]:
    """Return graphs whose memory is worth measuring, by name; `scale` multiplies their vertices."""
    rng = np.random.default_rng(5)
    n = int(8000 * scale)
    random = (n * rng.random((2, 14 * n)) ** 2).astype(np.int64)  # some degrees are large
    hubs = np.repeat(np.arange(8), n)
    clique = np.array(np.triu_indices(5, 1))
    n_cliques = n // 5
    dense = rng.integers(0, 800, (2, 110_000))
    return {
        "tiny": Graph.from_edges([0, 1], [1, 2]),
        "random": Graph.from_edges(*random, vertices=n),
        "random, weighted": Graph.from_edges(random[0], random[1], 0.5 + rng.random(14 * n), vertices=n),
        "hubs": Graph.from_edges(hubs, np.tile(np.arange(n), 8), vertices=n),
        "dense": Graph.from_edges(*dense, vertices=800),
        "cliques": Graph.from_edges(
            *(clique[:, None, :] + 5 * np.arange(n_cliques)[:, None]).reshape(2, -1), vertices=5 * n_cliques
        ),
        "mostly isolated": Graph.from_edges(*random[:, : n // 10], vertices=n),
    }


def landmark_subgraphs(technique: LandmarkTechnique, graph: Graph, n_anchors: int = 24) -> list[Subgraph]:
    """Return two parts of a graph, each with the anchors, a halo and the other part as super-vertices.

    What the technique embeds of the landmarks is checked, and comes with each part.
    """
    order = np.argsort(-graph.degrees, kind="stable")
    anchors, rest = np.sort(order[:n_anchors]), np.sort(order[n_anchors:])
    parts = (rest[: rest.size // 2], rest[rest.size // 2 :])
    landmark = np.empty(graph.n_vertices, np.int64)
    landmark[anchors] = np.arange(n_anchors)
    first = n_anchors
    for own in parts:
        landmark[own] = first + np.arange(own.size) // 3
        first = int(landmark[own].max()) + 1
    shared = technique.embed_landmarks(graph, landmark, first)
    assert isinstance(technique, Technique)
    check_shared(technique, shared, first)
    halos = (parts[1][:20], parts[0][-20:])
    return [
        replace(induce_with_context(graph, own, anchors, halo, landmark, index=i), shared=shared)
        for i, (own, halo) in enumerate(zip(parts, halos, strict=True))
    ]


@dataclass(frozen=True)
class _Alone:
    """A decomposition into one part without a context, as far as a technique that prepares arrays sees it."""

    graph: Graph
    contexts: None = None


def with_prepared(technique: Technique, subgraph: Subgraph) -> Subgraph:
    """Return the subgraph with the arrays that the technique prepares for all workers, checked; itself if none are."""
    if not technique.shared_shapes:
        return subgraph
    return replace(subgraph, shared={**subgraph.shared, **prepare_checked(technique, _Alone(subgraph.graph))})


@dataclass(frozen=True)
class FreshRun:
    """The memory that a separate process needed for a subgraph, and its result."""

    peak_bytes: int
    digest: str


def embed_in_fresh_process(technique: Technique, subgraph: Subgraph, *, limit_bytes: int | None = None) -> FreshRun:
    """Embed in a process that has done nothing else, as a worker does, with seed 1; optionally under a limit.

    Parameters
    ----------
    limit_bytes : int, optional
        Private memory that the operating system grants the process.
    """
    graph, shared = subgraph.graph, dict(with_prepared(technique, subgraph).shared)
    arrays = {name: getattr(graph, name) for name in ("indptr", "indices", "weights")}
    with tempfile.TemporaryDirectory(prefix="parge-contract-") as folder:
        arguments = {"vertices": subgraph.vertices, "n_own": subgraph.n_own, "index": subgraph.index, "shared": shared}
        content = pickle.dumps((technique, arrays, graph.features, arguments, limit_bytes), protocol=5)
        (Path(folder) / "task").write_bytes(content)
        del content
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        script = f"from {__name__} import _answer; _answer()"
        done = subprocess.run(
            [sys.executable, "-c", script, folder],
            env={**os.environ, **threads},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise AssertionError(f"{technique} failed in a separate process:\n{done.stderr}")
    return FreshRun(**json.loads(done.stdout.splitlines()[-1]))


def _answer() -> None:
    """Do the work of `embed_in_fresh_process` in that process, with all modules of a worker loaded."""
    import parge.run.worker  # noqa: F401  for its memory

    with (Path(sys.argv[1]) / "task").open("rb") as file:
        technique, arrays, features, arguments, limit = pickle.load(file)  # written by our parent
    limit_memory(limit)
    subgraph = Subgraph(Graph(**arrays, features=features), **arguments)
    vectors = embed_checked(technique, subgraph, np.random.default_rng(1))
    json.dump({"peak_bytes": peak_bytes(), "digest": digest(vectors)}, sys.stdout)


def digest(vectors: FloatArray) -> str:
    """Return a checksum of every bit."""
    return hashlib.sha256(np.ascontiguousarray(vectors).data).hexdigest()


class TechniqueContract:
    """Laws of `Technique`, as tests. Inherit, and override `technique()` to return the technique under test.

    Override `quick()` where the default settings are slow, and `tells_apart` where communities are not expected to be
    close together. Override `memory_scale` to measure memory on larger or smaller graphs.
    """

    tells_apart = 0.7
    memory_scale = 1.0

    def technique(self) -> Technique:
        """Return the technique under test, with the settings whose memory is measured."""
        raise TypeError("override technique() to return the technique under test")

    def quick(self) -> Technique:
        """Return it with settings for small graphs."""
        return self.technique()

    def embed(self, subgraph: Subgraph, seed: int = 1) -> FloatArray:
        """Return the vectors of the quick settings, with the arrays that the technique prepares."""
        technique = self.quick()
        return technique.embed(with_prepared(technique, subgraph), np.random.default_rng(seed))

    def test_vectors_are_finite_on_every_shape(self) -> None:
        """One finite float32 vector per vertex, however odd the graph."""
        for shape, graph in small_graphs().items():
            vectors = self.embed(Subgraph.whole(graph))
            assert vectors.shape == (graph.n_vertices, self.quick().dim), shape
            assert vectors.dtype == np.float32, shape
            assert np.isfinite(vectors).all(), shape

    def test_prepared_arrays_are_those_declared(self) -> None:
        """`prepare` returns what `shared_shapes` declares, on every shape, and the same each time."""
        technique = self.quick()
        for shape, graph in small_graphs().items():
            first, second = (with_prepared(technique, Subgraph.whole(graph)).shared for _ in range(2))
            assert first.keys() == set(technique.shared_shapes), shape
            assert all(np.array_equal(first[name], second[name]) for name in first), shape

    def test_same_generator_same_bits(self) -> None:
        """The same subgraph and generator state give the same vectors, on every shape."""
        for shape, graph in small_graphs().items():
            assert np.array_equal(self.embed(Subgraph.whole(graph)), self.embed(Subgraph.whole(graph))), shape

    def test_same_bits_in_another_process(self) -> None:
        """Nothing that the process did before matters, nor how many threads it may use."""
        subgraph, _ = communities()
        assert embed_in_fresh_process(self.quick(), subgraph).digest == digest(self.embed(subgraph))

    def test_process_wide_generators_are_left_alone(self) -> None:
        """Neither numpy's nor Python's own random state changes."""
        import random

        before = pickle.dumps((random.getstate(), np.random.get_state()))
        self.embed(communities()[0])
        assert pickle.dumps((random.getstate(), np.random.get_state())) == before

    def test_the_subgraph_is_not_written_to(self) -> None:
        """All arrays, features included, stay as they were."""
        whole, _ = communities(weighted=True)
        graph = whole.graph.with_features(np.random.default_rng(2).random((whole.n_vertices, 5)))
        subgraph = induce(graph, np.arange(0, 300), np.arange(300, 360), index=2)
        before = {**content(subgraph.graph), "vertices": subgraph.vertices.copy()}
        self.embed(subgraph)
        after = {**content(subgraph.graph), "vertices": subgraph.vertices}
        assert all(np.array_equal(before[name], after[name]) for name in before)

    def test_the_technique_is_a_value(self) -> None:
        """It has a name, can be pickled, and embeds the same afterwards."""
        technique = self.quick()
        sent = pickle.loads(pickle.dumps(technique))
        assert technique.name
        assert sent == technique
        subgraph = Subgraph.whole(small_graphs()["random and isolated"])
        again = sent.embed(with_prepared(sent, subgraph), np.random.default_rng(1))
        assert np.array_equal(again, self.embed(subgraph))

    def test_progress_rises_to_the_end(self) -> None:
        """Shares never fall, and lie in 0..1."""
        shares: list[float] = []
        technique, subgraph = self.quick(), communities()[0]
        technique.embed(with_prepared(technique, subgraph), np.random.default_rng(1), progress=shares.append)
        assert shares
        assert all(0 <= share <= 1 for share in shares)
        assert shares == sorted(shares)

    def test_communities_lie_together(self) -> None:
        """Planted communities are separated, far better than at random."""
        subgraph, community = communities()
        assert separation(self.embed(subgraph), community) >= self.tells_apart

    def test_weights_are_used(self) -> None:
        """Communities that differ only in weights are separated."""
        subgraph, community = communities(weighted=True)
        assert separation(self.embed(subgraph), community) >= self.tells_apart

    def test_subgraphs_agree_where_the_technique_says_so(self) -> None:
        """Aligned: a vertex that sees the same neighbours in two subgraphs has the same vector in both."""
        if not self.quick().aligned:
            return
        graph = Graph.from_edges(
            np.r_[np.arange(60), np.arange(70, 130)], np.r_[np.arange(1, 61), np.arange(71, 131)], vertices=131
        )
        one = induce(graph, np.arange(0, 61), np.arange(100, 110))
        other = induce(graph, np.arange(61, 100), np.r_[np.arange(0, 61), np.arange(100, 110)])
        assert np.allclose(self.embed(one)[:61], self.embed(other, seed=2)[39:100], rtol=1e-5, atol=1e-6)

    def test_parts_around_landmarks_lie_in_one_space(self) -> None:
        """A landmark technique answers for own vertices and anchors; anchors have one vector in all parts."""
        technique = self.quick()
        if not isinstance(technique, LandmarkTechnique):
            return
        for weighted in (False, True):
            parts = landmark_subgraphs(technique, communities(weighted=weighted)[0].graph)
            vectors = [self.embed(part) for part in parts]
            for part, found in zip(parts, vectors, strict=True):
                assert found.shape == (part.n_embedded, technique.dim)
                assert found.dtype == np.float32
                assert np.isfinite(found).all()
                assert np.array_equal(found, self.embed(part))
            anchors = [found[part.n_own :] for part, found in zip(parts, vectors, strict=True)]
            assert np.allclose(anchors[0], anchors[1], rtol=1e-4, atol=1e-5)

    def test_memory_stays_under_the_projection(self) -> None:
        """A process that is granted no more than projected gets by, and needs half of it where the graph is large."""
        technique = self.technique()
        assert isinstance(technique.footprint(), Footprint)
        for shape, graph in large_graphs(self.memory_scale).items():
            projected = technique.projected_bytes(graph.n_vertices, graph.n_edges)
            run = embed_in_fresh_process(technique, Subgraph.whole(graph), limit_bytes=projected)
            sizes = f"{shape}: {format_bytes(run.peak_bytes)} needed, {format_bytes(projected)} projected"
            assert run.peak_bytes <= projected, sizes
            if graph.n_edges > _FROM_EDGES:
                assert projected <= _MOST_OVER * run.peak_bytes, sizes


def content(graph: Graph) -> dict[str, Any]:
    """Return copies of all arrays of a graph with features, by name."""
    arrays = {name: getattr(graph, name) for name in _ARRAYS if getattr(graph, name) is not None}
    return {name: np.array(array) for name, array in {**arrays, "features": graph.features.toarray()}.items()}
