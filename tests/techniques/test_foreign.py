"""Other people's techniques ride along: scikit-network's, karateclub's kind, plain functions, PyTorch's."""

from pathlib import Path

import numpy as np
import pytest

import parge
from parge.evaluate.labels import Labels
from parge.graph.generate import planted
from parge.techniques.resolve import Described, describe, resolve, restore

MADE = planted(240, 1500, communities=4, mixing=0.1, seed=3)
COMMUNITY = np.array([MADE.labels.of(v)[0] for v in range(240)])


def same_community(vectors: np.ndarray) -> float:  # type: ignore[type-arg]
    """Return the share of vertices whose nearest other by cosine is of their community."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    return float((COMMUNITY[cosine.argmax(axis=1)] == COMMUNITY).mean())


class Walker:
    """A class in the manner of karateclub: fit takes a networkx graph, get_embedding answers."""

    def __init__(self, dimensions: int = 6, seed: int = 42) -> None:
        self.dimensions, self.seed = dimensions, seed

    def fit(self, graph) -> None:  # type: ignore[no-untyped-def]
        import networkx

        A = networkx.to_scipy_sparse_array(graph, nodelist=range(graph.number_of_nodes()))
        start = np.random.default_rng(self.seed).normal(size=(A.shape[0], self.dimensions))
        for _ in range(6):
            start = np.linalg.qr(A @ start + start)[0]
        self.found = start

    def get_embedding(self) -> np.ndarray:  # type: ignore[type-arg]
        return self.found


def propagated(csr, rng):  # type: ignore[no-untyped-def]
    start = rng.normal(size=(csr.shape[0], 6))
    for _ in range(6):
        start = np.linalg.qr(csr @ start + start)[0]
    return start


def embed(technique: object, **fields: object) -> parge.Embedding:
    return parge.embed(MADE.graph, parge.Plan(technique=technique, engine="serial", seed=1, **fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["scikit-network", "karateclub", "function"])
def test_parts_are_embedded_and_their_spaces_meet(kind: str) -> None:
    if kind == "scikit-network":
        from sknetwork.embedding import Spectral

        technique: object = Spectral(6)
    else:
        technique = Walker() if kind == "karateclub" else propagated
    whole = embed(technique, parts=1)
    assert same_community(whole.vectors) > 0.8
    residuals = embed(technique, parts=3, anchors="20%").report.reconcile.residuals
    assert all(residual.after < residual.before for residual in residuals)


def test_objects_are_left_as_they_were() -> None:
    walker = Walker()
    embed(walker, parts=2)
    assert not hasattr(walker, "found")
    assert walker.seed == 42


@pytest.mark.parametrize("name", ["deepwalk", "node2vec", "line", "hope", "netmf", "prone", "sgc"])
def test_a_technique_survives_being_described(name: str) -> None:
    technique = resolve(name, {"dim": "24"})
    described = describe(technique)
    assert described is not None
    assert restore(described) == technique
    assert technique.dim == 24


def test_a_path_is_described_and_a_live_object_is_not() -> None:
    by_path = resolve("tests.techniques.test_foreign:propagated", {})
    described = describe(by_path)
    assert described is not None
    assert restore(described).name == by_path.name
    assert describe(resolve(lambda csr, rng: csr)) is None


@pytest.mark.slow
def test_graphsage_learns_communities_deterministically() -> None:
    pytest.importorskip("torch", reason="GraphSAGE needs PyTorch: pip install 'parge[torch]'")
    technique = parge.GraphSAGE(dim=16, learning_rate=0.01)
    one, two = embed(technique, parts=2), embed(technique, parts=2)
    assert np.array_equal(one.vectors, two.vectors)
    assert same_community(embed(technique, parts=1).vectors) > 0.32  # chance is 0.25


def test_a_technique_of_ones_own_is_described_by_where_its_class_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a_class_of_mine.py").write_text(
        "from dataclasses import dataclass\nfrom parge.techniques.sgc import SGC\n"
        "@dataclass(frozen=True)\nclass Mine(SGC):\n    extra: object = None\n    name = 'mine'\n"
    )
    monkeypatch.chdir(tmp_path)
    mine = resolve("a_class_of_mine:Mine", {"dim": "8", "extra": 2})
    described = describe(mine)
    assert described == Described("a_class_of_mine:Mine", (("dim", 8), ("hops", 2), ("seed", 0), ("extra", 2)))
    assert restore(described) == mine
    assert describe(resolve(mine, {"extra": [1]})) is None  # no file carries that


LARGER = planted(900, 6000, communities=4, mixing=0.2, seed=3)


def micro_f1(technique: object, reconcile: str) -> tuple[float, parge.Embedding]:
    """Return how well the labels are told from vectors in 4 parts."""
    plan = parge.Plan(technique=technique, parts=4, anchors="10%", reconcile=reconcile, engine="serial", seed=1)
    embedding = parge.embed(LARGER.graph, plan)
    vertices = np.repeat(np.arange(900), np.diff(LARGER.labels.indptr))
    labels = Labels.from_pairs(vertices, LARGER.labels.labels.astype(np.int64))
    return parge.evaluate.classify(embedding, labels, repeats=5, seed=1).micro_f1.mean, embedding


@pytest.mark.parametrize("kind", ["scikit-network", "function", "strangers"])
def test_reconciling_is_no_worse_than_leaving_the_spaces_alone(kind: str) -> None:
    if kind == "scikit-network":
        technique: object = pytest.importorskip("sknetwork.embedding").Spectral(6)
    else:
        technique = {"function": propagated, "strangers": strangers}[kind]
    (mapped, embedding), (alone, apart) = (micro_f1(technique, how) for how in ("consensus", "none"))
    found = embedding.report.reconcile
    assert mapped >= alone - 0.01, (mapped, alone)
    if kind == "strangers":  # nothing to rotate: held-out anchors say so, and the spaces stay
        assert found.fell_back
        np.testing.assert_array_equal(embedding.vectors, apart.vectors)
        assert any("did not help" in warning for warning in embedding.report.warnings)
    else:
        assert found.helped is not None
        assert found.helped.held_out <= found.helped.before


def strangers(csr, rng):  # type: ignore[no-untyped-def]
    return rng.normal(size=(csr.shape[0], 6))
