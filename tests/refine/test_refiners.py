"""Laws of the passes over the whole graph: same bits for any threads and budget, finite, blind to rotations."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy.linalg import subspace_angles
from tests.examples import examples, slow

import parge
from parge.errors import InputError
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.linalg.adjacency import Adjacency
from parge.refine.base import Refiner, Workspace, refiners
from parge.refine.scale import Scale
from parge.refine.subspace import Subspace
from parge.refine.whiten import Whiten, whiten_20
from parge.seeds import keyed_rng
from parge.stage_reports import Refined
from parge.techniques.base import Technique
from parge.techniques.hope import HOPE
from parge.testing.graphs import graphs
from parge.testing.refiner import RefinerContract

PASSES = refiners.names()


def refined(name: str, graph: Graph, vectors: Any, work: Workspace | None = None) -> Any:
    out = vectors.copy()
    refiners.get(name)().refine(graph, out, HOPE(dim=vectors.shape[1]), work or Workspace())
    return out


def some_vectors(graph: Graph, dim: int = 12) -> Any:
    return keyed_rng(1, "vectors").standard_normal((graph.n_vertices, dim)).astype(np.float32)


@dataclass(frozen=True)
class Spoilt(Refiner):
    """A pass that breaks one law."""

    fault: str

    @property
    def name(self) -> str:  # type: ignore[override]
        return "" if self.fault == "has no name" else "spoilt"

    def refine(self, graph: Graph, vectors: Any, technique: Technique, work: Workspace) -> dict[str, Any]:
        match self.fault:
            case "favours a column":
                vectors[:, 0] *= 3
            case "draws from the process":
                np.random.random()
            case "depends on threads":
                vectors *= work.threads
            case "divides by the degree":
                vectors /= graph.degrees[:, None].astype(np.float32)
            case "moves vectors without edges":
                vectors += 1
            case "holds a copy":
                vectors[:] = np.array(vectors)
        return {}


class TestTwentyRounds(RefinerContract):
    def refiner(self) -> Refiner:
        return replace(whiten_20(), rounds=3)  # more rounds keep the laws no better


def test_settle_is_another_name_of_whiten() -> None:
    usual, longer = (parge.Plan(parts=2, refine=name).resolved.refiner for name in ("whiten", "settle"))
    assert isinstance(longer, Whiten)
    assert usual == Whiten()
    assert longer == Whiten(rounds=20, tolerance=longer.tolerance)
    assert (usual.recomputes, longer.recomputes) == (False, True)
    assert (usual.rounds_planned, longer.rounds_planned) == (3, 20)


class TestSubspace(RefinerContract):
    def refiner(self) -> Refiner:
        return Subspace(steps=2)

    def complete(self) -> Refiner:
        return Subspace()

    def refuses(self) -> tuple[Technique, ...]:
        return parge.DeepWalk(dim=self.dim), parge.SGC(dim=self.dim)


class TestScale(RefinerContract):
    def refiner(self) -> Refiner:
        return Scale(sample=100)  # a larger sample is more than a few blocks of rows here

    def technique(self, dim: int) -> Technique:
        return parge.SGC(dim=dim)  # HOPE decomposes a small sample densely


class TestEveryOtherPass(RefinerContract):
    @pytest.fixture(
        autouse=True, params=[*sorted(set(PASSES) - {"settle", "blend", Subspace.name, Scale.name}), *slow("blend")]
    )
    def name(self, request: pytest.FixtureRequest) -> None:
        self.tried = refiners.get(request.param)

    def refiner(self) -> Refiner:
        return self.tried()


@pytest.mark.parametrize(
    ("spoilt", "law"),
    [
        ("favours a column", "test_rotated_vectors_have_the_same_inner_products"),
        ("draws from the process", "test_only_the_vectors_are_written_to"),
        ("depends on threads", "test_threads_budget_and_files_change_no_bit"),
        ("divides by the degree", "test_vectors_are_finite_on_every_shape"),
        ("moves vectors without edges", "test_a_graph_without_edges_leaves_the_vectors_as_they_are"),
        ("holds a copy", "test_memory_is_that_of_the_budget"),
        ("has no name", "test_the_pass_is_a_value"),
    ],
)
def test_the_contract_catches_a_pass_that(spoilt: str, law: str) -> None:
    class Contract(RefinerContract):
        def refiner(self) -> Refiner:
            return Spoilt(spoilt)

    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        getattr(Contract(), law)()


@pytest.mark.parametrize("name", PASSES)
@given(graph=graphs())
@examples(25)
def test_all_vectors_stay_finite(name: str, graph: Graph) -> None:
    assert np.isfinite(refined(name, graph, some_vectors(graph, 5))).all()
    assert np.isfinite(refined(name, graph, np.zeros((graph.n_vertices, 5), np.float32))).all()


def test_products_are_those_of_the_matrix() -> None:
    rng = np.random.default_rng(5)
    graph = Graph.from_edges(rng.integers(0, 300, 2000), rng.integers(0, 300, 2000), rng.uniform(0.5, 2, 2000))
    columns = rng.standard_normal((graph.n_vertices, 7))
    A = Adjacency(graph, threads=2)
    np.testing.assert_allclose(A @ columns, graph.to_scipy().astype(np.float64) @ columns, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(A.sum(), np.asarray(graph.to_scipy().sum(axis=1)).ravel(), rtol=1e-6)


def test_whitening_follows_its_formula() -> None:
    graph = planted(300, 1500, seed=2).graph
    vectors = some_vectors(graph, 6)
    A = graph.to_scipy().toarray().astype(np.float64) + np.eye(graph.n_vertices)
    X = vectors.astype(np.float64)
    for _ in range(3):
        X = (A @ X) / A.sum(axis=1, keepdims=True)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        X -= X.mean(axis=0)
        values, axes = np.linalg.eigh(X.T @ X / len(X))
        X = X @ (axes / np.sqrt(values)) @ axes.T
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X *= np.linalg.norm(vectors, axis=1).mean()
    out = vectors.copy()
    metadata = Whiten(rounds=3, tolerance=0).refine(graph, out, HOPE(dim=6), Workspace())
    assert metadata.rounds == 3
    np.testing.assert_allclose(out, X, atol=1e-3)


def test_whitening_ends_when_the_subspace_stands_still() -> None:
    graph = planted(2000, 20_000, mixing=0.1, seed=2).graph
    out = some_vectors(graph, 8)
    metadata = Whiten(rounds=200, tolerance=0.01).refine(graph, out, HOPE(dim=8), Workspace())
    assert metadata.rounds is not None
    assert metadata.changes is not None
    assert 2 <= metadata.rounds < 200
    assert metadata.changes[-1] < 0.01 <= metadata.changes[-2]


@pytest.mark.parametrize("signal", ["common-neighbours", "katz", "adamic-adar"])
@pytest.mark.parametrize("half", ["source", "target", "both"])
def test_subspace_iteration_ends_at_the_centralised_vectors(signal: Any, half: Any) -> None:
    graph = planted(500, 5000, communities=6, mixing=0.2, seed=4).graph
    technique = HOPE(dim=8, signal=signal, half=half)
    exact = technique.embed(Subgraph.whole(graph), np.random.default_rng(0))
    out = exact + 0.05 * np.abs(exact).max() * some_vectors(graph, 8)
    refiners.get("subspace")(steps=12).refine(graph, out, technique, Workspace())  # type: ignore[call-arg]
    assert np.degrees(subspace_angles(exact[:, :3], out).max()) < 1
    np.testing.assert_allclose(out[:, :3] @ out[:, :3].T, exact[:, :3] @ exact[:, :3].T, atol=0.02 * exact.max() ** 2)


def test_subspace_is_refused_for_other_techniques() -> None:
    with pytest.raises(InputError, match="subspace"):
        parge.Plan(technique="deepwalk", parts=2, refine="subspace").resolved  # noqa: B018  a property that raises


def test_what_auto_means() -> None:
    assert parge.Plan(technique="deepwalk", parts=2).resolved.refine == "whiten"
    assert parge.Plan(technique="hope", capacities=[3, 4]).resolved.refine == "subspace"
    assert parge.Plan(technique="sgc", parts=2).resolved.refine == "settle"
    # The whole graph has the pass, too, but for techniques whose vectors are what it comes to.
    assert parge.Plan(technique="deepwalk", parts=1).resolved.refine == "whiten"
    assert parge.Plan(technique="hope", parts=1).resolved.refine == "none"
    assert parge.Plan(technique="deepwalk", parts=1, refine="whiten").resolved.refine == "whiten"
    assert parge.Plan(technique="deepwalk", parts=8, preset="paper").resolved.refine == "none"


def test_features_that_a_pass_would_forget_are_left_alone() -> None:
    plain = planted(60, 200, communities=3, seed=1).graph
    dressed = plain.with_features(np.eye(60, 8, dtype=np.float32))
    plan = parge.Plan(technique=parge.SGC(dim=8), parts=2, engine="serial")
    assert parge.embed(plain, plan).report.refine.name == "settle"
    assert parge.embed(dressed, plan).report.refine.name == "none"
    asked = replace(plan, refine="whiten")
    assert parge.embed(dressed, asked).report.refine.name == "whiten"


@pytest.mark.parametrize(
    ("done", "kept"),
    [
        ({"moved": 3, "rounds": 2}, {"rounds": 2, "moved": 3}),
        ({"rounds": "many", "name": 5}, {"rounds": "many"}),  # our names with another meaning
        (Refined(name="another", steps=2), {"steps": 2}),
        ({}, {}),
    ],
)
def test_what_a_pass_returns_is_read_in_one_place(done: Any, kept: dict[str, Any]) -> None:
    assert Refined.of(done, "mine").to_json() == {"name": "mine", **kept}
    assert Refined.from_json(Refined.of(done).to_json()) == Refined.of(done)
