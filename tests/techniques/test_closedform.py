"""The closed form: near what DeepWalk learns, alone and in parts, in one space where landmarks are shared."""

import numpy as np
import pytest

import parge
from parge.graph.generate import planted
from parge.graph.subgraph import Subgraph
from parge.landmarks import extension

GRAPH = planted(1200, 9000, communities=6, mixing=0.2, seed=3).graph


def test_with_every_vertex_a_landmark_it_is_the_factorised_matrix() -> None:
    technique = parge.ClosedForm(dim=16, window=3)
    exact = technique.embed_landmarks(GRAPH, np.arange(GRAPH.n_vertices), GRAPH.n_vertices)["in"]
    found = technique.embed(Subgraph.whole(GRAPH), np.random.default_rng(0))
    # Regression on 300 landmarks finds nearly the space that all vertices would.
    basis = np.linalg.qr(exact.astype(np.float64))[0]
    inside = np.linalg.norm(basis.T @ found, axis=0) / np.linalg.norm(found, axis=0)
    assert np.mean(inside[:6]) > 0.9


@pytest.mark.parametrize("reconcile", ["consensus", "backbone"])
def test_parts_answer_as_the_whole(reconcile: str) -> None:
    made = planted(1200, 9000, communities=6, mixing=0.2, seed=3)
    first = made.labels.labels[made.labels.indptr[:-1]]
    plan = parge.Plan(technique=parge.ClosedForm(dim=16), parts=3, reconcile=reconcile, refine="none", engine="serial")
    vectors = parge.embed(made.graph, plan).vectors
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2.0)
    assert (first[cosine.argmax(axis=1)] == first).mean() > 0.8


def test_it_is_where_training_starts() -> None:
    decomposed = parge.Plan(technique=parge.ClosedForm(dim=16), parts=3, reconcile="backbone", engine="serial")
    assert np.isfinite(parge.embed(GRAPH, decomposed).vectors).all()
    with pytest.raises(parge.errors.TechniqueError, match="no backbone"):
        extension.place(parge.DeepWalk(dim=16), Subgraph.whole(GRAPH), np.random.default_rng(0))
