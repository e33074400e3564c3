"""Every reconciler keeps the contract, and does what its own name promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.errors import InputError
from parge.linalg.procrustes import rotation
from parge.reconcile.base import Backbone, Identity, LinearMap, reconcilers, resolve
from parge.reconcile.linear import Linear
from parge.reconcile.mlp import MLP, PerceptronMap
from parge.reconcile.reconciliation import disagreements
from parge.reconcile.rotations import Consensus, Orthogonal, products
from parge.testing.reconciler import ReconcilerContract, agree, inner_products, random_rotation


class TestConsensus(ReconcilerContract):
    reconciler = Consensus()


class TestOrthogonal(ReconcilerContract):
    reconciler = Orthogonal()


class TestLinear(ReconcilerContract):
    reconciler = Linear()


class TestMLP(ReconcilerContract):
    reconciler = MLP()


class TestIdentity(ReconcilerContract):
    reconciler = Identity()
    undoes_rotations = False


class TestBackbone(ReconcilerContract):
    reconciler = Backbone()
    undoes_rotations = False


def test_every_registered_reconciler_has_its_contract() -> None:
    held = {contract.reconciler.name for contract in ReconcilerContract.__subclasses__()}
    assert held >= set(reconcilers.names())


def test_names_are_those_of_the_command_line() -> None:
    assert set(reconcilers.names()) >= {"consensus", "orthogonal", "linear", "mlp", "none"}
    assert resolve("none") == Identity()
    assert resolve(Orthogonal(2)) == Orthogonal(2)
    with pytest.raises(InputError, match="auto, backbone, consensus, linear, mlp, none, orthogonal"):
        resolve("magic")


def noisy(n: int, n_anchors: int, dim: int, *, noise: float, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n_anchors, dim))
    return [(common + noise * rng.standard_normal(common.shape)) @ random_rotation(rng, dim) for _ in range(n)]


@examples(30)
@given(seed=st.integers(0, 10**6), dim=st.integers(1, 8), rank=st.integers(0, 8))
def test_rotations_are_orthogonal_and_best(seed: int, dim: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    H, T = (rng.standard_normal((20, min(rank, dim))) @ rng.standard_normal((min(rank, dim), dim)) for _ in range(2))
    W = rotation(H.T @ T)
    assert np.allclose(W.T @ W, np.eye(dim), atol=1e-9)
    rivals = [np.eye(dim), *(random_rotation(rng, dim) for _ in range(5))]
    assert all(np.linalg.norm(H @ W - T) <= np.linalg.norm(H @ rival - T) + 1e-9 for rival in rivals)


def test_directions_without_anchors_stay_as_they_are() -> None:
    turn = np.eye(5)
    turn[:2, :2] = [[0, 1], [-1, 0]]
    H = np.zeros((7, 5))
    H[:, :2] = np.random.default_rng(0).standard_normal((7, 2))
    assert np.allclose(rotation(H.T @ (H @ turn)), turn)


def test_the_pivot_is_the_space_in_the_middle() -> None:
    rng = np.random.default_rng(3)
    middle = rng.standard_normal((50, 4))
    near = [(middle + 0.5 * rng.standard_normal(middle.shape)) @ random_rotation(rng, 4) for _ in range(4)]
    anchors = [near[0], near[1], middle, near[2], near[3]]
    maps = Orthogonal().maps(anchors)
    assert np.array_equal(maps[2](middle), middle)
    given_pivot = Orthogonal(pivot=1).maps(anchors)
    assert np.array_equal(given_pivot[1](near[1]), near[1])
    assert not isinstance(maps[1], type(given_pivot[1]))


def test_a_short_space_is_no_better_pivot() -> None:
    anchors = noisy(3, 50, 4, noise=0.1)
    anchors[1] = np.random.default_rng(9).standard_normal((50, 4)) * 1e-6
    maps = Orthogonal().maps(anchors)
    assert isinstance(maps[1], LinearMap)


@pytest.mark.parametrize("pivot", [-1, 3])
def test_a_pivot_that_does_not_exist_is_refused(pivot: int) -> None:
    with pytest.raises(InputError, match=rf"subgraph {pivot}\b"):
        Orthogonal(pivot).maps(noisy(3, 10, 2, noise=0))


def test_consensus_is_at_least_as_good_as_any_pivot() -> None:
    anchors = noisy(6, 30, 5, noise=1.0)

    def spread(maps: tuple) -> float:
        mapped = np.array([apply(rows) for apply, rows in zip(maps, anchors, strict=True)])
        return float(((mapped - mapped.mean(axis=0)) ** 2).sum())

    best = spread(Consensus().maps(anchors))
    assert all(best <= spread(Orthogonal(pivot).maps(anchors)) * (1 + 1e-9) for pivot in range(6))


def test_spaces_that_agree_are_left_alone() -> None:
    rows = np.random.default_rng(0).standard_normal((30, 4))
    for apply in Consensus().maps([rows, rows + 1e-3, rows - 1e-3]):
        assert np.allclose(apply(rows), rows, atol=1e-2)


def test_many_and_few_anchors_are_one_computation() -> None:
    few = noisy(3, 12, 4, noise=0.5)
    many = [np.concatenate([rows, np.zeros((50, 4))]) for rows in few]
    W = [random_rotation(np.random.default_rng(i), 4) for i in range(3)]
    total = sum(rows @ turn for rows, turn in zip(few, W, strict=True))
    for known in (products(few), products(many)):
        assert all(np.allclose(known.pair(i, j), few[i].T @ few[j]) for i in range(3) for j in range(3))
        assert np.allclose(known.with_total(W), [rows.T @ total for rows in few])
    for one, other in zip(Consensus().maps(few), Consensus().maps(many), strict=True):
        assert agree(one(few[0]), other(few[0]), 1e-6)


def test_linear_bends_where_many_anchors_say_so() -> None:
    rng = np.random.default_rng(2)
    anchors = noisy(3, 400, 6, noise=0.02)
    anchors[1] = anchors[1] @ (np.eye(6) + 0.3 * rng.standard_normal((6, 6)))
    assert (
        disagreements(Linear().maps(anchors), anchors)[1] < 0.5 * disagreements(Consensus().maps(anchors), anchors)[1]
    )


@pytest.mark.parametrize("name", ["linear", "mlp"])
@pytest.mark.parametrize("n_anchors", [9, 14, 24, 60])
def test_bending_does_no_harm_where_there_is_only_noise(name: str, n_anchors: int) -> None:
    rows = noisy(3, n_anchors + 300, 12, noise=0.3)
    seen, unseen = [r[:n_anchors] for r in rows], [r[n_anchors:] for r in rows]
    turned, bent = (disagreements(resolve(each).maps(seen), unseen) for each in ("consensus", name))
    assert np.mean(bent) < 1.02 * np.mean(turned)


def test_the_perceptron_learns_what_rotations_cannot() -> None:
    anchors = noisy(2, 1500, 3, noise=0.01)
    anchors[1] = np.tanh(anchors[1])
    maps = MLP(hidden=32, epochs=150).maps(anchors)
    assert any(isinstance(apply, PerceptronMap) for apply in maps)
    assert disagreements(maps, anchors)[1] < 0.7 * disagreements(Consensus().maps(anchors), anchors)[1]


@pytest.mark.parametrize("name", ["consensus", "orthogonal", "linear", "mlp", "none"])
def test_bad_anchors_are_refused(name: str) -> None:
    reconciler = resolve(name)
    rows = np.ones((4, 2))
    with pytest.raises(InputError, match="same length"):
        reconciler.maps([rows, rows[:3]])
    with pytest.raises(InputError, match=r"matrices \(anchors, dim\)"):
        reconciler.maps([rows[0], rows[0]])
    with pytest.raises(InputError, match=r"subgraph 1 .* NaN"):
        reconciler.maps([rows, np.full((4, 2), np.nan)])
    assert reconciler.maps([]) == ()


def square_roots(M: np.ndarray, parts: list[np.ndarray], dim: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return, for every part, some F of `dim` columns with F F^T equal to the part's submatrix."""
    roots = []
    for vertices in parts:
        s, V = np.linalg.eigh(M[np.ix_(vertices, vertices)])
        top = np.argsort(s)[::-1][:dim]
        root = V[:, top] * np.sqrt(np.maximum(s[top], 0))
        root = np.pad(root, ((0, 0), (0, dim - root.shape[1])))
        roots.append(root @ random_rotation(rng, dim))
    return roots


def recovered(reconciler: Orthogonal | Consensus, rank: int, dim: int, n_anchors: int, seed: int) -> float:
    """Return the relative PIP between a psd matrix of that rank and what comes of embedding it in three parts."""
    rng = np.random.default_rng(seed)
    n_vertices = 3 * (dim + 5) + n_anchors
    root = rng.standard_normal((n_vertices, rank))
    M = root @ root.T
    anchors = np.arange(n_vertices - n_anchors, n_vertices)
    own = np.split(np.arange(n_vertices - n_anchors), 3)
    local = square_roots(M, [np.concatenate([vertices, anchors]) for vertices in own], dim, rng)
    maps = reconciler.maps([rows[len(vertices) :] for rows, vertices in zip(local, own, strict=True)])
    spaces = [apply(rows) for apply, rows in zip(maps, local, strict=True)]
    own_rows = [rows[: len(vertices)] for rows, vertices in zip(spaces, own, strict=True)]
    found = inner_products([*own_rows, spaces[0][len(own[0]) :]])
    return float(np.linalg.norm(found - M) / np.linalg.norm(M))


@examples(25)
@given(
    reconciler=st.sampled_from([Orthogonal(), Consensus()]),
    rank=st.integers(2, 10),
    spare=st.integers(0, 4),
    more=st.integers(0, 6),
    seed=st.integers(0, 10**6),
)
def test_exact_recovery(reconciler: Orthogonal | Consensus, rank: int, spare: int, more: int, seed: int) -> None:
    dim = rank + spare
    assert recovered(reconciler, rank, dim, rank + more, seed) < 1e-8
    # One direction is left to chance, where dim = rank only its sign: a few draws, so that one of them goes wrong.
    assert max(recovered(reconciler, rank, dim, rank - 1, seed + i) for i in range(12)) > 1e-4
