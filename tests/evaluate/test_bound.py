"""No bound is ever broken, the computable one is near the truth, and exact recovery needs exactly its conditions."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import parge
from parge.cli.main import run
from parge.decompose.decomposition import Decomposition
from parge.decompose.limits import Limits
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate import a_posteriori, bounds, exact_recovery, pip, signal_of, signals, theorem_1, triangle_bound
from parge.evaluate.recovery import no_edge_leaves
from parge.evaluate.signals import factorise
from parge.graph.generate import planted, ring_of_cliques
from parge.graph.graph import Graph
from parge.reconcile.reconciliation import reconcile
from parge.testing.reconciler import random_rotation

N_SETTINGS = 320


def random_adjacency(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a symmetric matrix: sparse or dense, with or without weights, isolated vertices, blocks, hubs."""
    A = np.triu(rng.random((n, n)) < rng.choice([0.05, 0.2, 0.6, 1.0]), 1).astype(float)
    if rng.random() < 0.3:
        A[0, 1:] = 1
    if rng.random() < 0.3:
        A[: n // 2, n // 2 :] = 0
    if rng.random() < 0.3:
        A[:, rng.integers(n)] = 0
    if rng.random() < 0.5:
        A *= rng.exponential(rng.choice([0.01, 1.0, 50.0]), (n, n))
    return A + A.T


def in_parts(rng: np.random.Generator, M_of: Callable, A: np.ndarray, k: int, alpha: float) -> tuple:
    """Return F and the sizes: random parts and anchors, each embedded alone and turned, anchors averaged."""
    n, n_parts = len(A), int(rng.integers(1, 5))
    part, anchor = rng.integers(n_parts, size=n), rng.random(n) < rng.choice([0, 0.2])
    F, copies, sizes = np.zeros((n, k)), np.zeros((n, 1)), []
    for i in range(n_parts):
        here = np.flatnonzero((part == i) | anchor)
        sizes.append(here.size)
        if here.size:
            local = M_of(here).spectrum(k).factors(k, alpha)
            F[here] += local @ random_rotation(rng, k)
            copies[here] += 1
    return F / np.maximum(copies, 1), sizes


def setting(seed: int) -> dict:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    A = random_adjacency(rng, n)
    k, alpha = int(rng.integers(1, n + 3)), float(rng.choice([0, 0.25, 0.5, 0.5, 1, 1, rng.random()]))
    name = str(rng.choice(signals.SIGNALS))
    whole = signal_of(sp.csr_matrix(A), name)

    def part_signal(here: np.ndarray) -> signals.Signal:
        if name == "line":  # with the whole graph's degrees: a submatrix, as the paper supposes
            return signals.Signal(name, whole.root[here][:, here])
        return signal_of(sp.csr_matrix(A[np.ix_(here, here)]), name)

    F, sizes = in_parts(rng, part_signal, A, k, alpha)
    return {"signal": whole, "F": F, "sizes": sizes, "k": k, "alpha": alpha, "n": n}


@pytest.mark.slow
def test_no_bound_is_broken_in_hundreds_of_settings() -> None:
    computable = printed_tighter = 0
    for seed in range(N_SETTINGS):
        at = setting(seed)
        spectrum = at["signal"].spectrum(at["k"] + 1)
        E = spectrum.factors(at["k"], at["alpha"])
        truth = np.linalg.norm(E @ E.T - at["F"] @ at["F"].T)
        rounding = 1e-9 * (np.linalg.norm(E @ E.T) + np.linalg.norm(at["F"] @ at["F"].T))
        printed = theorem_1(spectrum.values, at["sizes"], n_vertices=at["n"], dim=at["k"], alpha=at["alpha"])
        triangle = triangle_bound(spectrum.values, at["F"], alpha=at["alpha"])
        assert truth <= triangle + rounding, seed
        assert truth <= printed.bound + rounding, seed
        assert triangle <= printed.singular_values + rounding, "the first term alone is looser than the triangle"
        printed_tighter += printed.bound < triangle - rounding
        if at["signal"].is_square_root_of(at["alpha"]):
            computable += 1
            found = a_posteriori(at["signal"], at["F"], alpha=at["alpha"])
            assert found.lower - rounding <= truth <= found.upper + rounding, seed
    assert computable > 50
    assert printed_tighter == 0


def test_the_residual_is_that_of_the_formula() -> None:
    rng = np.random.default_rng(0)
    S = random_adjacency(rng, 30)
    F = rng.standard_normal((30, 5))
    M, Q = S @ S, np.linalg.qr(F)[0]
    found = a_posteriori(signal_of(sp.csr_matrix(S), "hope"), F)
    by_squares = np.linalg.norm(M) ** 2 - 2 * np.linalg.norm(S @ F) ** 2 + np.linalg.norm(F.T @ F) ** 2
    assert found.residual == pytest.approx(np.linalg.norm(M - F @ F.T), rel=1e-10)
    assert found.residual == pytest.approx(np.sqrt(by_squares), rel=1e-8)
    assert found.tail == pytest.approx(np.linalg.norm(M - M @ Q @ Q.T), rel=1e-8)
    assert found.size == pytest.approx(np.linalg.norm(M), rel=1e-12)


def test_the_norm_is_gathered_from_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planted(300, 2000, seed=1).graph
    A = graph.to_scipy().toarray().astype(float)
    monkeypatch.setattr(signals, "_ENTRIES", 500)
    assert len(list(signals._product_blocks(graph.to_scipy()))) > 100
    assert signal_of(graph, "hope").square_norm == pytest.approx(np.linalg.norm(A @ A), rel=1e-12)
    assert signal_of(Graph.from_edges([0], [1], vertices=3), "hope").square_norm == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("name", signals.SIGNALS)
def test_large_graphs_have_the_same_spectrum(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    signal = signal_of(planted(400, 3000, seed=2).graph, name)
    exact = signal.spectrum(400)
    monkeypatch.setattr(signals, "DENSE_UP_TO", 10)
    found = signal.spectrum(9)
    assert found.values.size == 9
    assert np.allclose(found.values[:9], exact.values[:9], rtol=1e-6)
    E, F = exact.factors(9, 0.5), found.factors(9, 0.5)
    assert pip(F, E).relative < 1e-4


def test_theorem_1_is_the_printed_one_for_two_parts() -> None:
    values = np.array([9.0, 5.0, 4.0, 2.0, 1.0, 0.5])
    n, k, sizes, alpha = 6, 3, (4, 2), 0.5
    found = theorem_1(values, sizes, n_vertices=n, dim=k, alpha=alpha)
    assert found.singular_values == pytest.approx(3 * (9 + 5 + 4))
    assert found.gaps == pytest.approx(2 * (4 * np.sqrt(5) + 1 * np.sqrt(8) + 2 * np.sqrt(9)))
    # m = 4: i <= 2 against λ_{i+4}; m = 2: 2m - n = -2 is clamped to 0.
    first = np.sqrt((9 - 1) ** 2 + (5 - 0.5) ** 2 + 4**2)
    assert found.parts == pytest.approx(first + np.sqrt(9**2 + 5**2 + 4**2))
    fewer = theorem_1(values[:4], sizes, n_vertices=n, dim=k, alpha=alpha)
    assert fewer.bound >= found.bound


def test_lines_own_degrees_break_theorem_1() -> None:
    """Pairs inside the parts, everything across: the parts' singular values are far above the whole graph's."""
    n, m = 12, 6
    A = np.zeros((n, n))
    A[:m, m:] = A[m:, :m] = 1
    for u in range(0, n, 2):
        A[u, u + 1] = A[u + 1, u] = 1
    spectrum = signal_of(sp.csr_matrix(A), "line").spectrum(n)
    F = np.vstack(
        [signal_of(sp.csr_matrix(A[b, b]), "line").spectrum(n).factors(4, 0.5) for b in (slice(m), slice(m, n))]
    )
    truth = pip(F, spectrum.factors(4, 0.5)).pip
    assert truth > 10 * theorem_1(spectrum.values, [m, m], n_vertices=n, dim=4).bound
    assert truth <= triangle_bound(spectrum.values, F)


def planted_parts(rank: int, n_anchors: int, seed: int = 0) -> tuple[float, bool]:
    """Return relative PIP of four rotated parts of a matrix of that rank, and whether it was promised to be 0."""
    rng = np.random.default_rng(seed)
    n, dim = 200, 32
    S = rng.standard_normal((n, rank))
    M = S @ S.T
    anchors = np.arange(n_anchors)
    own = np.array_split(np.arange(n_anchors, n), 4)
    local = []
    for rows in own:
        here = np.concatenate([rows, anchors])
        values, vectors = np.linalg.eigh(M[np.ix_(here, here)])
        local.append((vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :dim] @ random_rotation(rng, dim))
    maps = reconcile("orthogonal", [vectors[vectors.shape[0] - n_anchors :] for vectors in local]).maps
    F = np.zeros((n, dim))
    for rows, vectors, apply in zip(own, local, maps, strict=True):
        F[np.concatenate([rows, anchors])] = apply(vectors)
    relative = np.linalg.norm(F @ F.T - M) / np.linalg.norm(M)
    return float(relative), exact_recovery(S, anchors, dim).exact


@pytest.mark.parametrize(
    ("rank", "n_anchors", "exact"), [(32, 32, True), (32, 31, False), (20, 20, True), (33, 60, False)]
)
def test_exact_recovery_needs_exactly_its_conditions(rank: int, n_anchors: int, exact: bool) -> None:
    found = [planted_parts(rank, n_anchors, seed) for seed in range(6)]
    assert {promised for _, promised in found} == {exact}
    worst = max(relative for relative, _ in found)
    # One anchor short leaves one direction's sign open in each part: by luck all of them may be right.
    assert worst < 1e-9 if exact else worst > 0.05


def test_exact_recovery_says_what_is_missing() -> None:
    S = np.random.default_rng(0).standard_normal((50, 4))
    assert str(exact_recovery(S, range(9), 3)).startswith("no, the rank of M is above")
    assert re.search(r"rank 3.* 4", str(exact_recovery(S, range(3), 8)))
    assert str(exact_recovery(S, range(4), 4)).startswith("yes")
    assert "not submatrices" in str(exact_recovery(S, range(4), 4, submatrices=False))
    assert exact_recovery(sp.csr_matrix(S), [], 8).to_json() == {
        "exact": False,
        "rank": 4,
        "anchor_rank": 0,
        "dim": 8,
        "submatrices": True,
    }


def test_submatrices_are_told_from_others() -> None:
    graph = ring_of_cliques(2, 4)
    part = np.repeat(np.arange(2), 4).astype(np.int32)
    limits = Limits.of_vertices([8, 8]).capacities
    nothing = np.zeros(0, np.int64)
    assert not no_edge_leaves(Decomposition(graph, part, nothing, limits))
    apart = Graph.from_edges([0, 2], [1, 3])
    halves = np.array([0, 0, 1, 1], np.int32)
    assert no_edge_leaves(Decomposition(apart, halves, nothing, limits))
    assert not no_edge_leaves(Decomposition(apart, halves, np.array([0]), limits))


def test_bounds_meet_the_graph_by_id_and_say_what_applies() -> None:
    graph = planted(120, 600, seed=3).graph
    F = factorise(graph.to_scipy(), np.random.default_rng(0), signal="hope", alpha=0.5, dim=8)
    order = np.random.default_rng(1).permutation(120)
    found = bounds(graph, Embedding(F[order], order), sizes=[120])
    assert found.pip == pytest.approx(0, abs=1e-6)
    assert found.a_posteriori is not None
    assert found.exact_recovery is None
    assert found.a_posteriori.upper == pytest.approx(2 * found.a_posteriori.residual)
    assert bounds(graph, Embedding(F, np.arange(120)), alpha=0.3, sizes=[120]).a_posteriori is None
    cheap = bounds(graph, Embedding(F, np.arange(120)), sizes=[120], spectrum=False)
    assert (cheap.pip, cheap.theorem_1, cheap.triangle) == (None, None, None)


def test_what_makes_no_sense_is_refused() -> None:
    graph = ring_of_cliques(3, 4)
    with pytest.raises(InputError, match="adjacency, hope, line"):
        signal_of(graph, "magic")
    with pytest.raises(InputError, match="from 0 to 1; got 2"):
        theorem_1([1.0], [1], n_vertices=1, dim=1, alpha=2)
    with pytest.raises(InputError, match=r"adjacency.*line.*alpha"):
        a_posteriori(signal_of(graph, "line"), np.ones((12, 2)))
    with pytest.raises(InputError, match=r"5 .* 12\b"):
        a_posteriori(signal_of(graph, "hope"), np.ones((5, 2)))


def test_theorem_1_takes_the_parts_that_the_embedding_had(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, graph = str(tmp_path / "g.txt"), planted(150, 900, seed=1).graph
    parge.write(graph, path)
    embedding = parge.embed(graph, parge.Plan(technique=parge.HOPE(dim=4), parts=3, engine="serial"))
    sizes = [part.vertices for part in embedding.report.parts]
    embedding.save(tmp_path / "told.npz")
    np.save(tmp_path / "bare.npy", embedding.vectors)

    def found(name: str, *more: str) -> dict[str, Any]:
        capsys.readouterr()
        assert run(["evaluate", "bound", path, "--embedding", str(tmp_path / name), "--json", *more]) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        return answer

    expected = bounds(graph, embedding, sizes=sizes).theorem_1
    assert expected is not None
    assert found("told.npz")["theorem_1"] == pytest.approx(expected.bound)
    assert found("told.npz")["parts"] == 3
    assert (found("bare.npy")["theorem_1"], found("bare.npy")["parts"]) == (None, None)
    assert found("bare.npy", "--parts", "2")["theorem_1"] is not None
    assert run(["evaluate", "bound", path, "--embedding", str(tmp_path / "told.npz"), "--parts", "2"]) == 2
    assert "3 parts" in " ".join(capsys.readouterr().err.split())


def test_the_command_prints_every_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "g.txt")
    parge.write(planted(150, 900, seed=1).graph, path)
    assert run(["evaluate", "bound", path, "--dim", "8", "--parts", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["signal"], found["alpha"], found["dim"], found["parts"]) == ("hope", 0.5, 8, 3)
    assert found["a_posteriori"]["lower"] <= found["pip"] <= found["a_posteriori"]["upper"] < found["theorem_1"]
    assert found["pip"] <= found["triangle"]
    assert found["exact_recovery"]["exact"] is False
    np.save(tmp_path / "f.npy", np.ones((150, 4), np.float32))
    own = ["evaluate", "bound", path, "--embedding", str(tmp_path / "f.npy"), "--computable", "--signal", "line"]
    assert run([*own, "--alpha", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["dim"], found["pip"], found["theorem_1"], found["exact_recovery"]) == (4, None, None, None)
    assert found["a_posteriori"]["lower"] > 100
    assert run(own) == 0
    assert "a posteriori" not in capsys.readouterr().out
    assert run(["evaluate", "bound", path, "--alpha", "1.5"]) == 2
    assert "1.5" in capsys.readouterr().err


@pytest.mark.shared
@pytest.mark.slow
def test_the_computable_bound_is_near_the_truth_on_a_real_graph(shared: Callable[[str], Path]) -> None:
    graph = parge.read(shared("blogcatalog.edges.gz"), vertices=10_312)
    plan = parge.Plan(technique=parge.HOPE(dim=128), parts=8, preset="paper", engine="serial")
    found = bounds(graph, parge.embed(graph, plan), sizes=[1290] * 8)
    assert found.a_posteriori is not None
    assert found.theorem_1 is not None
    assert found.pip is not None
    assert found.pip <= found.a_posteriori.upper <= 2 * found.pip  # measured: 1.46
    assert found.a_posteriori.lower <= found.pip
    assert found.theorem_1.bound > 100 * found.pip  # measured: 982
