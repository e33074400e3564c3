"""The pass `scale` finds the factor between vectors in parts and those of the technique, and changes nothing else."""

from pathlib import Path

import numpy as np
import pytest

import parge
from parge.cli.main import run
from parge.evaluate.pip import different_passes
from parge.graph.generate import planted
from parge.graph.subgraph import Subgraph
from parge.refine import scale
from parge.refine.base import Workspace
from parge.refine.scale import Scale

GRAPH = planted(600, 6_000, communities=6, mixing=0.3, seed=3).graph


@pytest.mark.parametrize("length", [0.25, 1.0, 3.0])
def test_a_known_factor_is_found(length: float) -> None:
    technique = parge.HOPE(dim=16)
    own = technique.embed(Subgraph.whole(GRAPH), np.random.default_rng(0))
    vectors = (own / length).astype(np.float32)
    done = Scale().refine(GRAPH, vectors, technique, Workspace(threads=1))  # the sample is the whole graph
    assert done.factor == pytest.approx(length, rel=1e-2)
    assert np.allclose(vectors, own, atol=0.02 * np.abs(own).max())


def test_directions_stay_and_inner_products_come_nearer_to_the_whole_graph() -> None:
    plan = parge.Plan(parge.DeepWalk(dim=16), parts=3, engine="serial", refine="none")
    whole = parge.embed(GRAPH, plan, parts=1, progress=False)
    plain, scaled = (parge.embed(GRAPH, plan, refine=name, progress=False) for name in ("none", "scale"))
    factor = scaled.report.refine.factor
    assert factor is not None
    assert np.allclose(scaled.vectors, factor * plain.vectors, rtol=1e-5)
    best = parge.evaluate.pip(plain, whole).factor
    assert factor == pytest.approx(best, rel=0.1)
    assert parge.evaluate.pip(scaled, whole).per_vertex <= parge.evaluate.pip(plain, whole).per_vertex * 1.02
    assert different_passes(scaled, whole) == ""


@pytest.mark.parametrize(("length", "changes"), [(1.03, False), (0.97, False), (2.0, True)])
def test_a_sample_that_cannot_tell_the_factor_from_1_changes_nothing(
    length: float, changes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "_factor", lambda *_: length)
    before = np.random.default_rng(0).standard_normal((GRAPH.n_vertices, 16)).astype(np.float32)
    vectors = before.copy()
    done = Scale(sample=200).refine(GRAPH, vectors, parge.HOPE(dim=16), Workspace(threads=1))
    assert done.factor == (length if changes else 1.0)
    assert np.allclose(vectors, done.factor * before)
    assert np.array_equal(vectors, before) is not changes


def test_one_part_has_the_scale_already() -> None:
    plan = parge.Plan(parge.DeepWalk(dim=8, walks=2, walk_length=10), engine="serial")
    with pytest.warns(parge.PargeNotice, match="--refine"):
        scaled = parge.embed(GRAPH, plan, refine="scale", progress=False)
    plain = parge.embed(GRAPH, plan, refine="none", progress=False)
    assert np.array_equal(scaled.vectors, plain.vectors)
    assert scaled.report.plan.refine == "none"


def test_faithful_means_this_pass(tmp_path: Path) -> None:
    edges = tmp_path / "g.txt"
    edges.write_text("".join(f"{u} {(u + step) % 60}\n" for u in range(60) for step in (1, 2, 7)))
    found = []
    for name, option in {"a": ["--faithful"], "b": ["--refine", "scale"]}.items():
        out = tmp_path / f"{name}.npz"
        given = ["--parts", "2", "--dim", "8", "--engine", "serial", "--param", "walks=2", *option]
        assert run(["embed", str(edges), "-o", str(out), *given]) == 0
        found.append(parge.Embedding.load(out))
    assert np.array_equal(found[0].vectors, found[1].vectors)
    assert found[0].report.plan.refine == "scale"
