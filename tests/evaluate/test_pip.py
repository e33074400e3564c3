"""PIP equals its n x n form, keeps its digits where squares lose them, and never needs all rows at once."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import parge.evaluate
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate import core_distances, pip
from parge.testing.reconciler import random_rotation


def naive(Z1: np.ndarray, Z2: np.ndarray, core: np.ndarray | slice = slice(None)) -> np.ndarray:
    return Z1 @ Z1[core].T - Z2 @ Z2[core].T


def draw(seed: int, n: int, d1: int, d2: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d1)), rng.standard_normal((n, d2)) * 3


@examples(40)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    d1=st.integers(1, 9),
    d2=st.integers(1, 9),
    block_rows=st.integers(1, 70),
)
def test_pip_equals_the_full_form(seed: int, n: int, d1: int, d2: int, block_rows: int) -> None:
    Z1, Z2 = draw(seed, n, d1, d2)
    found = pip(Z1, Z2, block_rows=block_rows)
    assert found.pip == pytest.approx(np.linalg.norm(naive(Z1, Z2)), rel=1e-10)
    assert found.per_vertex == pytest.approx(found.pip / n, rel=1e-12)
    assert found.relative == pytest.approx(found.pip / np.linalg.norm(Z2 @ Z2.T), rel=1e-10)


@pytest.mark.parametrize("size", [1e-4, 1e-6, 1e-8, 1e-10])
def test_pip_keeps_its_digits_where_the_gram_form_loses_them(size: float) -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((300, 8))
    # Moved along itself by a known amount, then turned: |Z1 Z1^T - Z Z^T| = ((1 + size)^2 - 1) |Z Z^T|.
    moved = (1 + size) * Z @ random_rotation(rng, 8)
    expected = (2 * size + size**2) * np.linalg.norm(Z @ Z.T)
    assert pip(moved, Z, block_rows=32).pip == pytest.approx(expected, rel=1e-13 / size)
    gram = np.linalg.norm(moved.T @ moved) ** 2 + np.linalg.norm(Z.T @ Z) ** 2 - 2 * np.linalg.norm(moved.T @ Z) ** 2
    if size <= 1e-8:
        assert abs(np.sqrt(max(gram, 0)) - expected) > 0.1 * expected


def test_a_rotation_costs_nothing() -> None:
    Z, _ = draw(0, 200, 6, 6)
    assert pip(Z @ random_rotation(np.random.default_rng(1), 6), Z).relative < 1e-12


@examples(25)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), block_rows=st.integers(1, 50))
def test_core_distances_are_the_papers(seed: int, n: int, block_rows: int) -> None:
    Z1, Z2 = draw(seed, n, 4, 3)
    core = np.random.default_rng(seed).choice(n, max(1, n // 3), replace=False)
    found = core_distances(Z1, Z2, core=core, block_rows=block_rows)
    assert np.allclose(found, np.linalg.norm(naive(Z1, Z2, core), axis=1), rtol=1e-9)
    whole = core_distances(Z1, Z2, block_rows=block_rows)
    assert np.sqrt((whole**2).sum()) == pytest.approx(pip(Z1, Z2).pip, rel=1e-10)
    estimate = pip(Z1, Z2, core=core, block_rows=block_rows)
    partial = np.linalg.norm(naive(Z1, Z2, core))
    assert estimate.pip == pytest.approx(partial * np.sqrt(n / core.size), rel=1e-9)
    assert estimate.relative == pytest.approx(partial / np.linalg.norm(Z2 @ Z2[core].T), rel=1e-9)


def test_a_sampled_core_estimates_the_whole() -> None:
    Z1, Z2 = draw(0, 3000, 8, 8)
    whole = pip(Z1, Z2)
    estimates = [pip(Z1, Z2, core=300, seed=seed).pip for seed in range(8)]
    assert len(set(estimates)) == 8
    assert np.mean(estimates) == pytest.approx(whole.pip, rel=0.05)
    assert pip(Z1, Z2, core=3000).pip == pytest.approx(whole.pip, rel=1e-10)
    assert pip(Z1, Z2, core=10**9).pip == pytest.approx(whole.pip, rel=1e-10)
    assert pip(Z1, Z2, core=300) == pip(Z1, Z2, core=300)


def test_embeddings_meet_by_id() -> None:
    Z1, Z2 = draw(0, 50, 4, 4)
    order = np.random.default_rng(1).permutation(50)
    ids = np.array([f"v{i}" for i in range(50)])
    one, other = Embedding(Z1, ids), Embedding(Z2[order], ids[order])
    assert pip(one, other, block_rows=7).pip == pytest.approx(pip(Z1, Z2).pip, rel=1e-12)
    assert np.allclose(core_distances(one, other, core=ids[:5]), core_distances(Z1, Z2, core=np.arange(5)))


def test_missing_and_extra_vertices_are_named() -> None:
    one, other = (Embedding(np.ones((3, 2)), np.array(ids)) for ids in (["a", "b", "c"], ["b", "c", "d"]))
    with pytest.raises(InputError, match=r"'a'.*'d'"):
        pip(one, other)
    with pytest.raises(InputError, match="3, 4"):
        pip(np.ones((3, 2)), np.ones((5, 2)))
    with pytest.raises(InputError, match="'z'"):
        pip(one, one, core=["z"])
    for core in (0, []):
        with pytest.raises(InputError, match=r"at least (1|one)"):
            pip(one, one, core=core)


def test_zero_and_empty_embeddings_have_an_answer() -> None:
    zero = np.zeros((3, 2))
    assert set(pip(zero, zero).to_json().values()) <= {0.0, 1.0}
    far = json.loads(json.dumps(pip(zero + 1, zero).to_json()))
    assert [far["pip"], far["per_vertex"], far["relative"]] == [pytest.approx(6), pytest.approx(2), None]
    assert pip(zero[:0], zero[:0]).pip == 0
    assert core_distances(zero[:0], zero[:0]).size == 0


def test_mapped_files_are_compared_in_blocks(tmp_path: Path) -> None:
    Z1, Z2 = (Z.astype(np.float32) for Z in draw(0, 500, 4, 5))
    for name, Z in (("a", Z1), ("b", Z2)):
        np.save(tmp_path / f"{name}.npy", Z)
    loaded = [Embedding.load(tmp_path / f"{name}.npy") for name in "ab"]
    assert pip(*loaded, block_rows=16) == pip(Z1, Z2, block_rows=16)


def test_the_function_is_what_users_call() -> None:
    assert callable(parge.evaluate.pip)


MEASURE = """
import sys
from parge.embedding import Embedding
from parge.evaluate import pip
from parge.memory import peak_bytes

def measure(a, b):
    return pip(Embedding.load(a), Embedding.load(b), block_rows=1024)

measure(*sys.argv[3:5])
before = peak_bytes()
measure(*sys.argv[1:3])
print(peak_bytes() - before)
"""


@pytest.mark.slow
def test_large_files_pass_through_little_memory(tmp_path: Path) -> None:
    sizes = {"a": 400_000, "b": 400_000, "c": 20_000, "d": 20_000}
    for name, n in sizes.items():
        np.save(tmp_path / f"{name}.npy", np.random.default_rng(n).standard_normal((n, 64), np.float32))
    paths = [str(tmp_path / f"{name}.npy") for name in sizes]
    done = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60e6, "two files of 102 MB each must not be in memory at once"


@examples(30)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), d1=st.integers(1, 6), d2=st.integers(1, 6))
def test_the_best_factor_and_map_are_their_definitions(seed: int, n: int, d1: int, d2: int) -> None:
    F, E = draw(seed, n, d1, d2)
    found = pip(F, E, block_rows=7)
    scales = np.linspace(0, 3, 301) * found.factor
    assert found.scaled_per_vertex <= min(np.linalg.norm(s**2 * F @ F.T - E @ E.T) for s in scales) / n + 1e-9
    K = np.linalg.lstsq(F, E, rcond=None)[0]  # M = K K^T is the least ||E E^T - F M F^T|| for F of full rank
    assert found.mapped_per_vertex == pytest.approx(np.linalg.norm(E @ E.T - F @ K @ K.T @ F.T) / n, rel=1e-6, abs=1e-9)
    assert found.mapped_per_vertex <= found.scaled_per_vertex + 1e-9 <= found.per_vertex + 2e-9


def test_a_linear_map_of_the_reference_is_recognised() -> None:
    rng = np.random.default_rng(0)
    E = rng.standard_normal((50, 4))
    scaled, mapped, other = 0.5 * E, E * [1, 2, 3, 4], rng.standard_normal((50, 4))
    again = E + 0.1 * rng.standard_normal((50, 4))
    found = pip(scaled, E, floor=again)
    assert found.factor == pytest.approx(2)
    assert found.scaled_per_vertex == pytest.approx(0, abs=1e-9)
    assert "one factor" in found.judgement
    assert "scale of its directions" in pip(mapped, E, floor=again).judgement
    assert "After the best linear map, the embedding is still" in pip(other, E, floor=again).judgement
    near = pip(E + 1e-3 * other, E, floor=again)
    assert near.floor_per_vertex is not None
    times = near.per_vertex / near.floor_per_vertex
    assert f"about as close to the reference as another seed of it ({times:.2f} times as far)" in near.judgement
    assert "--floor" in pip(other, E).judgement
    assert "same inner products" in pip(E, E[:, ::-1]).judgement or pip(E, E[:, ::-1]).relative < 1e-12
