"""What auto chooses is what tells held-out edges best on a sample, the same for the same seed; in doubt the first."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import parge
from parge.events import Progress, silent
from parge.graph.generate import path, planted, ring_of_cliques, star
from parge.graph.graph import Graph
from parge.graph.sample import connected_sample
from parge.graph.subgraph import Subgraph
from parge.memory import Footprint
from parge.seeds import keyed_rng
from parge.techniques import auto
from parge.techniques.auto import Auto, choose
from parge.techniques.base import Technique
from parge.testing.graphs import graphs


@pytest.fixture
def _always_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let techniques be tried on small graphs, too."""
    monkeypatch.setattr(auto, "_TRIED_FROM", 0)


GRAPH = planted(3_000, 15_000, communities=60, mixing=0.2, seed=5).graph


@dataclass(frozen=True)
class Noise(Technique):
    """Vectors that say nothing."""

    name: ClassVar[str] = "noise"

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> Any:
        return np.random.default_rng(1).standard_normal((subgraph.n_vertices, self.dim)).astype(np.float32)

    def footprint(self) -> Footprint:
        return Footprint(0, 0, 0)


@dataclass(frozen=True)
class Twin(parge.Spectral):
    """The same vectors under another name."""

    name: ClassVar[str] = "twin"


def test_what_is_clearly_better_is_chosen_and_told() -> None:
    chosen, choice = choose(GRAPH, (Noise(dim=64), parge.Spectral(dim=64)))
    assert chosen == parge.Spectral(dim=64), "with all of its columns, not those of the sample"
    assert choice.technique == "spectral"
    noise, spectral = choice.tried
    assert abs(noise.roc_auc - 0.5) < 0.1 < spectral.roc_auc - noise.roc_auc
    assert choice.vertices is not None
    assert 2_000 <= choice.vertices < GRAPH.n_vertices


def test_in_doubt_the_first_is_taken() -> None:
    for first, other in ((parge.Spectral(dim=64), Twin(dim=64)), (Twin(dim=64), parge.Spectral(dim=64))):
        assert choose(GRAPH, (first, other)).technique is first
    assert choose(GRAPH, (parge.Spectral(dim=64), Noise(dim=64))).technique.name == "spectral"


@dataclass(frozen=True)
class Contrary(parge.Spectral):
    """Vectors by which edges between even and odd vertices look less alike than other pairs; and some noise."""

    name: ClassVar[str] = "contrary"
    noise: float = 0.0

    def embed(self, subgraph: Subgraph, rng: np.random.Generator, *, progress: Progress = silent) -> Any:
        vectors = self.noise * np.random.default_rng(1).standard_normal((subgraph.n_vertices, self.dim))
        vectors[:, 0] = np.where(np.arange(subgraph.n_vertices) % 2, 1.0, -1.0)
        return vectors.astype(np.float32)


def test_what_is_worse_than_chance_is_not_preferred_and_no_praise_is_given() -> None:
    ends = np.random.default_rng(0).integers(300, size=(3_000, 2))
    two_sides = Graph.from_edges(2 * ends[:, 0], 2 * ends[:, 1] + 1)
    chosen, choice = choose(two_sides, (Contrary(dim=8), Contrary(dim=8, noise=1.0)))
    worst, other = (each.roc_auc for each in choice.tried)
    assert worst < other - 0.05 < other < 0.5
    assert chosen == Contrary(dim=8)
    assert "better than chance" in choice.because


@pytest.mark.usefixtures("_always_tried")
def test_a_graph_whose_pairs_are_all_edges_has_nothing_to_tell() -> None:
    choice = Auto(dim=8).choose(ring_of_cliques(1, 40)).choice
    assert choice.technique == "blend"
    assert "every pair" in choice.because


def test_of_a_small_graph_nothing_is_tried_unless_it_has_features_or_the_first_is_another() -> None:
    chosen, choice = Auto(dim=8).choose(GRAPH)
    assert (chosen.name, choice.tried, choice.because) == ("blend", (), auto.SMALL)
    assert choose(GRAPH, (parge.Spectral(dim=8), parge.Whitened(dim=8))).choice.tried
    words = np.random.default_rng(0).random((GRAPH.n_vertices, 6)).astype(np.float32)
    assert Auto(dim=8).choose(GRAPH.with_features(words)).choice.tried


def test_the_limit_counts_vertices_with_an_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "_TRIED_FROM", 1_000)
    ends = planted(900, 9_000, communities=9, mixing=0.2, seed=5).graph
    source = np.repeat(np.arange(ends.n_vertices), ends.degrees)
    padded = Graph.from_edges(source, ends.indices, vertices=5_000)
    assert not Auto(dim=8).choose(padded).choice.tried
    assert Auto(dim=8).choose(GRAPH).choice.tried


def test_a_sample_is_a_small_part_of_a_large_graph_in_vertices_and_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_LEAST": 100, "_LEAST_DENSE": 100, "_SMALL": 100, "_SMALL_EDGES": 1_000}.items():
        monkeypatch.setattr(auto, name, value)
    dense = planted(4_000, 60_000, communities=20, exponent=2.1, seed=2).graph
    sample = auto._sample(dense, keyed_rng(0, "choose"))
    assert sample.n_vertices <= 0.2 * dense.n_vertices
    assert sample.n_edges <= dense.n_edges / 8
    monkeypatch.setattr(auto, "_SMALL", 2_000)
    monkeypatch.setattr(auto, "_SMALL_EDGES", 100_000)
    assert 4_000 // 4 <= auto._sample(dense, keyed_rng(0, "choose")).n_vertices < 2_000, "of a small graph, a quarter"


def test_a_fifth_of_the_edges_is_held_out_or_a_tenth_where_that_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "_LEAST", GRAPH.n_vertices)
    candidates = (Noise(dim=8), parge.Spectral(dim=8))
    assert choose(GRAPH, candidates).choice.held_out == 3_000, "a fifth of 15,000"
    monkeypatch.setattr(auto, "_ENOUGH", 2_000)
    assert choose(GRAPH, candidates).choice.held_out == 2_000
    monkeypatch.setattr(auto, "_ENOUGH", 100)
    assert choose(GRAPH, candidates).choice.held_out == 1_500, "a tenth"


def test_a_trial_is_narrower_and_rougher_and_what_it_chooses_is_neither() -> None:
    rough = auto._narrow(parge.Spectral(dim=128, regularisation=0.5), 0.1)
    assert isinstance(rough, parge.Spectral)
    assert (rough.dim, rough.regularisation) == (64, 0.5)
    assert rough.tolerance > parge.Spectral.tolerance
    for technique in (parge.Whitened(dim=128, seed=3), parge.Blend(dim=128, seed=3)):
        short = auto._narrow(technique, 0.1)
        assert isinstance(short, type(technique))
        assert (short.dim, short.seed) == (64, 3)
        assert short.rounds < technique.rounds
    candidates = Auto(dim=64).candidates(GRAPH)
    assert choose(GRAPH, candidates[1:]).technique in candidates


def test_a_dense_graph_is_sampled_a_few_times_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_LEAST": 100, "_LEAST_DENSE": 100, "_SMALL": 400, "_SMALL_EDGES": 10, "_SHARE": 1e-6}.items():
        monkeypatch.setattr(auto, name, value)
    asked = []

    def one_more(graph: Graph, wanted: int, rng: np.random.Generator) -> Any:
        asked.append(wanted)
        return np.arange(wanted + 1)

    monkeypatch.setattr(auto, "connected_sample", one_more)
    dense = planted(2_000, 60_000, communities=4, seed=2).graph
    assert auto._sample(dense, keyed_rng(0, "choose")).n_vertices == 101
    assert len(asked) <= 5
    assert asked[-1] == 100


def test_the_spectral_half_of_a_blend_may_be_taken_from_wider_vectors() -> None:
    blend, whole = parge.Blend(dim=16), Subgraph.whole(GRAPH)
    wider = parge.Spectral(dim=16).embed(whole, np.random.default_rng(0))
    made, own = blend.with_spectral(wider, whole), blend.embed(whole, np.random.default_rng(0))
    assert np.array_equal(made[:, 8:], own[:, 8:])
    alike = np.einsum("ij,ij->i", made[:, :8], own[:, :8])
    assert np.median(alike) > 0.9


def test_a_blend_that_shares_the_start_of_whitened_columns_is_the_same() -> None:
    blend, whole = parge.Blend(dim=16, rounds=4), Subgraph.whole(GRAPH)
    spectral, start = parge.Spectral(dim=16).embed(whole, np.random.default_rng(0)), parge.Whitened(dim=16).start(whole)
    kept = start.copy()
    assert np.array_equal(blend.with_spectral(spectral, whole, start), blend.with_spectral(spectral, whole))
    assert np.array_equal(start, kept), "others begin with it, too"


def test_what_is_tried_together_is_what_each_has_alone() -> None:
    techniques = (
        parge.Blend(dim=8, rounds=4),
        parge.Whitened(dim=8, rounds=4),
        parge.Whitened(dim=6, rounds=2, seed=3),
    )
    whole = Subgraph.whole(GRAPH)
    for technique, vectors in zip(techniques, auto._embedded(techniques, GRAPH), strict=True):
        assert np.array_equal(vectors, technique.embed(whole, np.random.default_rng(0)))


@examples(20)
@given(*(st.lists(st.integers(0, 6), min_size=1, max_size=12) for _ in range(2)))
def test_shares_are_their_definition(alike: list[int], apart: list[int]) -> None:
    edges, others = np.array(alike, float), np.array(apart, float)
    wins = (edges[:, None] > others) + 0.5 * (edges[:, None] == others)
    test = auto._Test(*auto._shares(edges, others))
    assert np.allclose(test.above, wins.mean(axis=1))
    assert np.allclose(test.below, wins.mean(axis=0))


@pytest.mark.usefixtures("_always_tried")
def test_the_same_seed_chooses_the_same_sample() -> None:
    samples = [connected_sample(GRAPH, 2_000, keyed_rng(seed, "choose")) for seed in (1, 1, 2)]
    assert np.array_equal(samples[0], samples[1])
    assert not np.array_equal(samples[0], samples[2])
    first, again = (Auto(dim=32).choose(GRAPH, 4).choice for _ in range(2))
    assert first == again


def test_a_sample_is_ascending_has_edges_and_most_of_them_are_near() -> None:
    sample = connected_sample(GRAPH, 2_000, keyed_rng(0, "choose"))
    assert np.array_equal(sample, np.unique(sample))
    assert GRAPH.degrees[sample].min() > 0
    inside = np.isin(GRAPH.indices, sample)
    rows = np.repeat(np.isin(np.arange(GRAPH.n_vertices), sample), GRAPH.degrees)
    share = sample.size / GRAPH.n_vertices
    assert inside[rows].mean() > 1.02 * share, "vertices drawn alone would keep that share of their edges"


@pytest.mark.usefixtures("_always_tried")
@pytest.mark.parametrize("graph", [path(3_500), star(4_000), ring_of_cliques(700, 5)], ids=["path", "star", "cliques"])
def test_walks_find_enough_vertices_of_odd_graphs(graph: Graph) -> None:
    assert connected_sample(graph, 2_000, keyed_rng(0, "choose")).size >= 2_000
    assert Auto(dim=8).choose(graph).technique.dim == 8


@examples(20)
@given(graphs())
def test_any_graph_has_a_choice(graph: Graph) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(auto, "_TRIED_FROM", 0)
        chosen, choice = Auto(dim=4).choose(graph)
    assert chosen in Auto(dim=4).candidates(graph)
    assert choice.technique == chosen.name
    assert choice.because


def test_features_are_tried_where_there_are_some() -> None:
    graph = ring_of_cliques(40, 5)
    assert "sgc" not in {each.name for each in Auto(dim=4).candidates(graph)}
    with_words = graph.with_features(np.repeat(np.eye(40), 5, axis=0))
    assert "sgc" in {each.technique for each in Auto(dim=8).choose(with_words).choice.tried}
