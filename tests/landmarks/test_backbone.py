"""The backbone: subgraphs with a context within their limits, one space before training, same bits on every way."""

import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import parge
from parge.cli.main import run as parge_command
from parge.errors import InfeasibleError, InputError, TechniqueError
from parge.graph.generate import planted, ring_of_cliques, tree
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph, context_edges, induce_with_context
from parge.kernels import skipgram, skipgram_ir
from parge.kernels.skipgram import Tables
from parge.kernels.walks import alias_table
from parge.landmarks import backbone, extension
from parge.planning.decision import decide, decompose
from parge.run.status import status
from parge.seeds import keyed_rng
from parge.testing.graphs import graphs
from parge.testing.technique import landmark_subgraphs

GRAPH = planted(1500, 9000, communities=6, mixing=0.2, seed=3).graph
TECHNIQUE = parge.DeepWalk(dim=16, walks=4, walk_length=20)


def plan(**fields: object) -> parge.Plan:
    return parge.Plan(**{"technique": TECHNIQUE, "parts": 4, "reconcile": "backbone", "engine": "serial", **fields})  # type: ignore[arg-type]


@given(graph=graphs(), seed=st.integers(0, 99))
@examples(60)
def test_a_subgraph_with_a_context_is_the_quotient_of_the_graph(graph: Graph, seed: int) -> None:
    rng, n = keyed_rng(seed, "lumps"), graph.n_vertices
    part = rng.integers(0, 3, n)
    anchors = np.flatnonzero(rng.random(n) < 0.2)
    rest = np.setdiff1d(np.arange(n), anchors)
    landmark = np.empty(n, np.int64)
    landmark[anchors] = np.arange(anchors.size)
    _, landmark[rest] = np.unique(3 * rng.integers(0, 2, rest.size) + part[rest], return_inverse=True)
    landmark[rest] += anchors.size
    own = rest[part[rest] == 0]
    halo = rest[(part[rest] != 0) & (rng.random(rest.size) < 0.3)]
    found = induce_with_context(graph, own, anchors, halo, landmark)
    assert found.context is not None
    # Every vertex by its name here: itself, or its landmark.
    label = np.empty(n, np.int64)
    label[found.vertices[found.vertices >= 0]] = np.flatnonzero(found.vertices >= 0)
    for v in np.setdiff1d(np.arange(n), found.vertices):
        label[v] = np.flatnonzero((found.vertices < 0) & (found.context.landmark == landmark[v]))[0]
    member = sp.csr_matrix((np.ones(n), label, np.arange(n + 1)), shape=(n, found.n_vertices))
    expected = (member.T @ graph.to_scipy().astype(np.float64) @ member).toarray()
    np.testing.assert_allclose(
        found.graph.to_scipy().toarray() + np.diag(found.context.loops), expected, rtol=1e-5, atol=1e-5
    )
    assert found.n_embedded == own.size + anchors.size
    assert found.n_edges == context_edges(graph, own, anchors, halo, landmark)


@given(graph=graphs(), seed=st.integers(0, 99))
@examples(60)
def test_weights_between_landmarks_are_the_quotient(graph: Graph, seed: int) -> None:
    n, n_landmarks = graph.n_vertices, 5
    landmark = keyed_rng(seed, "lumps").integers(0, n_landmarks, n)
    member = sp.csr_matrix((np.ones(n), landmark, np.arange(n + 1)), shape=(n, n_landmarks))
    expected = (member.T @ graph.to_scipy().astype(np.float64) @ member).toarray()
    np.testing.assert_allclose(backbone.coarse_matrix(graph, landmark, n_landmarks), expected, rtol=1e-6)


@pytest.mark.parametrize(("n_landmarks", "dim"), [(700, 16), (400, 128), (300, 256)])
def test_preparing_stays_under_the_projection(n_landmarks: int, dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backbone, "usable_cores", lambda: 1)  # as where memory is limited
    technique = parge.DeepWalk(dim=dim)
    landmark = np.arange(GRAPH.n_vertices) % n_landmarks
    technique.embed_landmarks(GRAPH, landmark, n_landmarks)  # what is compiled first is not of the arrays
    tracemalloc.start()
    try:
        technique.embed_landmarks(GRAPH, landmark, n_landmarks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    projected = technique.landmark_bytes(GRAPH.n_vertices, n_landmarks)
    assert peak <= projected <= 2 * peak


@pytest.mark.slow
@pytest.mark.parametrize("dim", [8, 48, 128])
@pytest.mark.parametrize("n_free", [0, 10, 30])
def test_frozen_rows_stay_and_free_ones_learn_alike_by_both_kernels(dim: int, n_free: int) -> None:
    rng = np.random.default_rng(0)
    walks, keys = rng.integers(0, 30, (40, 12)).astype(np.int32), rng.integers(1, 2**60, 40).astype(np.uint64)
    noise, rates = alias_table(np.ones(30)), np.full(40, 0.05, np.float32)

    def tables() -> Tables:
        both = skipgram.new_table(31, dim), skipgram.new_table(31, dim)
        for table, seed in zip(both, (1, 2), strict=True):
            table[:30, :dim] = np.random.default_rng(seed).standard_normal((30, dim)) / dim**0.5
        return Tables(*both, False, n_free)

    start, plain, fast = tables(), tables(), tables()
    skipgram.train_walks(plain, noise, walks, keys, rates, 3, 4)
    skipgram_ir.train_walks(fast, noise, walks, keys, rates, 3, (0,) * 5)
    for slow, quick, before in ((plain.In, fast.In, start.In), (plain.Out, fast.Out, start.Out)):
        np.testing.assert_allclose(quick[:30], slow[:30], atol=1e-5)
        for after in (slow, quick):
            np.testing.assert_array_equal(after[n_free:30], before[n_free:30])
            assert (after[:n_free, :dim] != before[:n_free, :dim]).any(axis=1).all()


@pytest.mark.parametrize(("n_rows", "n_columns"), [(256, 64), (16, 8), (16, 64), (7, 5)])
def test_the_backbone_is_the_factorised_matrix(monkeypatch: pytest.MonkeyPatch, n_rows: int, n_columns: int) -> None:
    monkeypatch.setattr(backbone, "_ROWS", n_rows)
    monkeypatch.setattr(backbone, "_SQUARE", n_columns)
    monkeypatch.setattr(backbone, "_SCALED", 8)
    graph = planted(60, 400, communities=3, seed=1).graph
    technique = parge.DeepWalk(dim=60, window=3, negatives=2)
    found = backbone.prepare(technique, graph, np.arange(60), 60)
    A = graph.to_scipy().toarray().astype(np.float64)
    P = A / A.sum(axis=1, keepdims=True)
    Q = (3 * P + 2 * P @ P + P @ P @ P) / 6
    noise = A.sum(axis=1) ** 0.75
    expected = np.log(np.maximum(Q / (2 * noise / noise.sum()), backbone.FLOOR))
    np.testing.assert_allclose(found["in"] @ found["out"].T, expected, atol=2e-3)
    # A vertex that is placed by its own row lies where the factorisation has it.
    logs = np.log(np.maximum(P @ found["reached"].T / (2 * noise / noise.sum()), backbone.FLOOR))
    np.testing.assert_allclose(logs @ found["to_in"], found["in"], atol=2e-3)
    np.testing.assert_allclose(found["reached"].T, (3 * np.eye(60) + 2 * P + P @ P) / 6, atol=1e-6)
    np.testing.assert_allclose(found["reached_beyond"].T, (2 * np.eye(60) + P) / 6, atol=1e-6)


@pytest.mark.parametrize("heavy", [1.0, 1e30])
def test_landmarks_without_edges_and_with_heavy_ones_have_finite_rows(heavy: float) -> None:
    weights = np.array([[0.0, heavy, 0.0], [heavy, 2.0, 0.0], [0.0, 0.0, 0.0]])
    P = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1)
    found = backbone.prepare_merged(parge.DeepWalk(dim=2, window=2), weights, np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(found["reached"].T, (2 * np.eye(3) + P) / 3, rtol=1e-6, atol=1e-30)
    assert all(np.isfinite(array).all() for array in found.values())


def test_threads_change_no_bit_of_the_backbone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backbone, "_ROWS", 16)
    graph, found = planted(60, 400, communities=3, seed=1).graph, []
    for threads in (1, 3):
        monkeypatch.setattr(backbone, "usable_cores", lambda threads=threads: threads)
        found.append(backbone.prepare(parge.DeepWalk(dim=16), graph, np.arange(60), 60))
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name])


@pytest.mark.parametrize("landmarks_at_once", [7, 1000])
def test_vertices_are_placed_by_two_exact_steps(landmarks_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "EXTENSION_LANDMARKS", (landmarks_at_once, landmarks_at_once))
    monkeypatch.setattr(extension, "_READ_ARCS", 5 * landmarks_at_once)
    monkeypatch.setattr(extension, "_MOST_ROWS", landmarks_at_once)
    monkeypatch.setattr(extension, "_LEAST_ROWS", landmarks_at_once // 2)
    monkeypatch.setattr(extension, "BORROWED_EDGES", 1e-9)
    technique = parge.DeepWalk(dim=16, window=3, negatives=2)
    run = decompose(GRAPH, decide(GRAPH, plan(technique=technique)))
    around = run.decomposition.contexts
    assert around is not None
    shared = technique.embed_landmarks(GRAPH, around.landmark, around.n_landmarks)
    subgraph = replace(run.decomposition.subgraph(1), shared=shared)
    context, o = subgraph.context, subgraph.n_own
    assert context is not None
    assert context.n_halo
    W = subgraph.graph.to_scipy().toarray().astype(np.float64) + np.diag(context.loops)
    T = W / W.sum(axis=1, keepdims=True)
    C = np.eye(around.n_landmarks)[context.landmark]
    onward = C @ shared["reached"].T
    single = [*range(o), *range(o + context.n_anchors, o + context.n_anchors + context.n_halo)]
    onward[single] = (C / 2 + T @ C @ shared["reached_beyond"].T)[single]
    noise = 2 * shared["mass"] / shared["mass"].sum()
    expected = np.log(np.maximum((T @ onward)[:o] / noise, backbone.FLOOR)) @ shared["to_in"]
    found = extension.place(technique, subgraph, np.random.default_rng(0))
    np.testing.assert_allclose(found[:o], expected, atol=1e-3)
    np.testing.assert_array_equal(found[o:], shared["in"][: context.n_anchors])


@pytest.mark.parametrize("capacities", [[900, 900, 900, 900], [500, 700, 900, 1400]])
def test_limits_hold_with_everything_counted(capacities: list[int]) -> None:
    decision = decide(GRAPH, plan(parts=None, capacities=capacities))
    decomposer, limits = decision.decomposer, decision.limits
    found = decomposer.decompose(GRAPH, limits)
    assert (found.held <= np.array(capacities)).all()
    for i in range(4):
        subgraph = found.subgraph(i)
        assert subgraph.n_vertices == found.held[i] <= capacities[i]
        assert subgraph.n_edges == found.edges[i]
        assert subgraph.context is not None
        weight = subgraph.graph.to_scipy().sum() + subgraph.context.loops.sum()
        assert weight == pytest.approx(2 * GRAPH.n_edges, rel=0.02)  # edges among landmarks are thinned out


def test_budgets_hold_with_everything_counted() -> None:
    budgets = [315_000_000, 325_000_000, 315_000_000, 345_000_000]
    decision = decide(GRAPH, plan(parts=None, memory=budgets))
    decomposer, limits = decision.decomposer, decision.limits
    found = decomposer.decompose(GRAPH, limits)
    assert found.contexts is not None
    assert (found.projected(TECHNIQUE.landmark_footprint(found.contexts.n_landmarks)) <= np.array(budgets)).all()


def test_rotations_for_want_of_room_say_so() -> None:
    narrow = replace(plan(parts=None, capacities=[380] * 4), reconcile=None)
    found = decompose(GRAPH, decide(GRAPH, narrow)).decomposition
    assert [notice for notice in found.notices if notice.startswith("consensus instead: a backbone takes at least 24")]
    assert not decompose(GRAPH, decide(GRAPH, replace(plan(), reconcile=None))).decomposition.notices


def test_budgets_that_leave_little_room_have_fewer_landmarks() -> None:
    graph = planted(8000, 60_000, communities=20, seed=1).graph
    sizes = []
    for budget in (600_000_000, 320_000_000):
        found = decompose(graph, decide(graph, parge.Plan(technique=parge.DeepWalk(dim=64), memory=[budget] * 8)))
        assert found.plan.reconcile == "backbone"
        assert found.decomposition.contexts is not None
        sizes.append(found.decomposition.contexts.n_landmarks)
    assert sizes[0] > 1.5 * sizes[1] > 1.5 * 96


def test_too_little_room_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match=r"24 .* 5\b"):
        parge.embed(GRAPH, plan(parts=None, capacities=[380] * 4), run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="1,501 parts of 1,500 vertices"):
        decide(GRAPH, plan(parts=1501))
    with pytest.raises(InfeasibleError, match=r"24 .* 5\b"):
        decide(GRAPH, plan(parts=None, capacities=[380] * 4))
    with pytest.raises(InputError, match="hope"):
        plan(technique="hope").resolved  # noqa: B018  a property that raises
    with pytest.raises(InputError, match="--reconcile backbone"):
        plan(parts=1).resolved  # noqa: B018


@pytest.mark.parametrize("technique", [TECHNIQUE, parge.Node2Vec(dim=16, walks=4, walk_length=20, p=0.5, q=2.0)])
@pytest.mark.slow
def test_same_bits_on_every_way(technique: parge.DeepWalk, tmp_path: Path) -> None:
    expected = parge.embed(GRAPH, plan(technique=technique))
    assert np.isfinite(expected.vectors).all()
    again = parge.embed(GRAPH, plan(technique=technique, engine="processes", workers=2), run_dir=tmp_path / "run")
    np.testing.assert_array_equal(again.vectors, expected.vectors)
    for part, peak in zip(again.report.parts, again.report.worker_peaks, strict=True):
        assert peak <= part.projected_bytes
    # Lose a result and a subgraph: what is made again is the same.
    shutil.rmtree(tmp_path / "run" / "parts" / "001")
    resumed = parge.embed(GRAPH, plan(technique=technique), run_dir=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(resumed.vectors, expected.vectors)


def test_part_by_part_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from parge.io.graphs.write import write

    monkeypatch.chdir(tmp_path)
    write(GRAPH, Path("graph.txt"))
    options = ["--parts", "2", "--dim", "16", "--param", "walks=2", "--reconcile", "backbone", "--engine", "serial"]
    assert parge_command(["embed", "graph.txt", "-o", "whole.npy", *options]) == 0
    assert parge_command(["decompose", "graph.txt", "--run-dir", "run", *options[:-2]]) == 0
    for part in ("000", "001"):
        shutil.move(f"run/parts/{part}", f"elsewhere-{part}")
        assert parge_command(["embed-part", f"elsewhere-{part}"]) == 0
        shutil.move(f"elsewhere-{part}", f"run/parts/{part}")
    assert parge_command(["reconcile", "run", "-o", "parts.npy"]) == 0
    np.testing.assert_array_equal(np.load("parts.npy"), np.load("whole.npy"))
    held = decompose(GRAPH, decide(GRAPH, plan(parts=2))).decomposition.held
    assert [part.vertices for part in status(Path("run")).parts] == held.tolist()


def test_the_spaces_are_one_and_good(tmp_path: Path) -> None:
    made = tree(3000, extra_edges=0.3, noise=0.0, seed=2)
    from parge.io.labels import write_labels

    write_labels(tmp_path / "labels.txt", made.graph.outside_ids, made.labels)

    def score(embedding: parge.Embedding) -> float:
        return parge.evaluate.classify(embedding, tmp_path / "labels.txt", repeats=3).micro_f1.mean

    technique = parge.DeepWalk(dim=32)
    whole = score(parge.embed(made.graph, parge.Plan(technique=technique, engine="serial")))
    parts = score(parge.embed(made.graph, plan(technique=technique, refine="none")))
    apart = score(parge.embed(made.graph, plan(technique=technique, refine="none", reconcile="none")))
    assert parts > 0.95 * whole
    assert parts > apart


@given(graph=graphs())
@examples(10)
def test_any_graph_has_an_answer(graph: Graph) -> None:
    technique = parge.DeepWalk(dim=2, walks=1, walk_length=4)
    try:
        vectors = parge.embed(graph, plan(technique=technique, parts=2, refine="none")).vectors
    except InputError:
        return  # too small for a backbone, and said so
    assert np.isfinite(vectors).all()
    assert vectors.shape == (graph.n_vertices, 2)


def test_whole_subgraphs_carry_no_context() -> None:
    assert Subgraph.whole(GRAPH).context is None
    assert Subgraph.whole(GRAPH).n_embedded == GRAPH.n_vertices


def test_edges_that_never_oursees_are_counted() -> None:
    decision = decide(GRAPH, plan())
    decomposer, limits = decision.decomposer, decision.limits
    found = decomposer.decompose(GRAPH, limits)
    seen: set[tuple[int, int]] = set()
    whole = sp.triu(GRAPH.to_scipy()).tocoo()
    both = found.is_anchor[whole.row] & found.is_anchor[whole.col]
    among = set(zip(whole.row[both].tolist(), whole.col[both].tolist(), strict=True))
    for i in range(found.n_parts):
        subgraph = found.subgraph(i)
        matrix = sp.triu(subgraph.graph.to_scipy()).tocoo()
        ends = subgraph.vertices[matrix.row], subgraph.vertices[matrix.col]
        single = (ends[0] >= 0) & (ends[1] >= 0)
        seen |= among  # of those, a worker holds some: the backbone knows them all
        seen |= {(min(u, v), max(u, v)) for u, v in zip(ends[0][single], ends[1][single], strict=True)}
    # A halo shows edges among its own vertices, too: those of two other parts, which do not count as seen here.
    assert 0 < GRAPH.n_edges - len(seen) <= found.n_lost < int(np.triu(found.cut, 1).sum())


def test_nothing_is_said_of_rotations_where_nothing_is_rotated() -> None:
    found = parge.embed(GRAPH, plan(anchors=0))
    assert not [warning for warning in found.report.warnings if "rotation" in warning]


def test_auto_takes_the_backbone_where_there_is_room_and_rotations_elsewhere(tmp_path: Path) -> None:
    def decided(graph: parge.Graph = GRAPH, **fields: Any) -> str:
        found = decompose(graph, decide(graph, replace(plan(**fields), reconcile=None)))
        assert (found[1].contexts is not None) == (found[0].reconcile == "backbone")
        return str(found[0].reconcile)

    assert decided() == "backbone"
    assert decided(parts=None, capacities=[380] * 4) == "consensus"  # feasible for rotations alone
    assert decided(ring_of_cliques(4, 10)) == "consensus"  # too small for a backbone
    assert decided(parts=1) == "consensus"
    assert decided(technique="hope") == "consensus"
    assert decided(technique="sgc") == "none"
    with pytest.raises(InfeasibleError):
        decided(parts=None, capacities=[100] * 4)
    # A run that auto decided is resumed as it was decided.
    auto = replace(plan(), reconcile="auto")
    first = parge.embed(GRAPH, auto, run_dir=tmp_path / "run")
    again = parge.embed(GRAPH, auto, run_dir=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(first.vectors, again.vectors)


def test_more_anchors_than_a_backbone_can_hold_are_refused_or_reconciled_otherwise() -> None:
    with pytest.raises(InfeasibleError, match=r"anchors.*backbone"):
        decide(GRAPH, plan(anchors="99%"))
    decided, found, *_ = decompose(GRAPH, decide(GRAPH, plan(anchors="99%", reconcile="auto")))
    assert decided.reconcile == "consensus"
    assert found.anchors.size == round(0.99 * GRAPH.n_vertices)


def test_arrays_of_another_type_are_no_backbone() -> None:
    technique = parge.DeepWalk(dim=8)
    part = landmark_subgraphs(technique, GRAPH)[0]
    strange = replace(part, shared={**part.shared, "mass": part.shared["mass"].astype(np.float64)})
    with pytest.raises(TechniqueError, match=r"mass .*float64"):
        technique.embed(strange, np.random.default_rng(0))


def test_parts_of_large_graphs_are_extended_from_fewer_landmarks_at_a_time() -> None:
    rows = extension.CSR(np.zeros(11, np.int64), np.zeros(10, np.int32), np.ones(10, np.float32), np.ones(10))
    widths = {
        weight: extension._columns_at_once(rows, {"degree": np.full(4, weight / 4, np.float32)})
        for weight in (backbone.LARGE_WEIGHT - 4, backbone.LARGE_WEIGHT)
    }
    assert list(widths.values()) == [*backbone.EXTENSION_LANDMARKS[:0:-1]]
