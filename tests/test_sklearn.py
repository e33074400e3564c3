"""The estimator is one of scikit-learn's kind."""

from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import parge
from parge.graph.generate import planted
from parge.sklearn import ParallelEmbedding

MADE = planted(200, 1200, communities=3, mixing=0.1, seed=1)


def test_it_rides_in_a_pipeline_and_clones() -> None:
    estimator = ParallelEmbedding(parge.HOPE(dim=8), parts=2, engine="serial")
    assert clone(estimator).get_params()["parts"] == 2
    y = np.array([MADE.labels.of(v)[0] for v in range(200)])
    model = make_pipeline(estimator, LogisticRegression(max_iter=1000))
    model.fit(MADE.graph.to_scipy(), y)
    assert model.score(MADE.graph.to_scipy(), y) > 0.8


def test_its_parameters_are_the_fields_of_a_plan() -> None:
    plan = {field.name: field.default for field in fields(parge.Plan)}
    assert ParallelEmbedding().get_params() == {**plan, "workers": None}
    assert ParallelEmbedding("hope", seed=4).get_params() == {**plan, "technique": "hope", "seed": 4, "workers": None}
    with pytest.raises(TypeError, match="pats"):
        ParallelEmbedding(pats=2)


def test_it_gives_parge_s_own_vectors() -> None:
    plan = parge.Plan(technique=parge.HOPE(dim=8), parts=2, engine="serial", seed=3)
    estimator = ParallelEmbedding(parge.HOPE(dim=8), parts=2, engine="serial", seed=3)
    assert np.array_equal(estimator.fit_transform(MADE.graph.to_scipy()), parge.embed(MADE.graph, plan).vectors)
    with pytest.raises(ValueError, match="fitted on 200 vertices"):
        estimator.transform(np.zeros((3, 3)))


def test_it_takes_a_graph_as_it_takes_its_matrix() -> None:
    estimator = ParallelEmbedding(parge.HOPE(dim=8), parts=2, engine="serial", seed=3)
    of_matrix = estimator.fit_transform(MADE.graph.to_scipy())
    assert np.array_equal(estimator.fit_transform(MADE.graph), of_matrix)
    assert np.array_equal(estimator.transform(MADE.graph), of_matrix)
