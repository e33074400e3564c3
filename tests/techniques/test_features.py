"""Features that travel with a subgraph count in what its worker is projected to need."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from parge.errors import InfeasibleError
from parge.graph.features import with_features
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.memory import Footprint
from parge.planning.decision import decide
from parge.planning.plan import Plan
from parge.run.pipeline import embed_to_file
from parge.techniques.base import Technique
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.sgc import SGC

PLAIN = planted(1500, 6000, communities=4, seed=1).graph


@pytest.fixture(scope="module")
def dense() -> Graph:
    return PLAIN.with_features(np.random.default_rng(1).random((1500, 8000), np.float32))


@examples(60)
@given(st.integers(1, 300), st.integers(0, 2**32 - 1), st.sampled_from([0.2, 2.0, 20.0]))
def test_the_bound_holds_for_any_vertices(n_vertices: int, seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.lognormal(1.0, spread, n_vertices), 400).astype(np.int64)
    columns = np.concatenate([np.arange(length) for length in lengths])
    features = sp.csr_matrix((np.ones(columns.size), columns, np.cumsum([0, *lengths])), shape=(n_vertices, 400))
    graph = Graph.from_edges([], [], vertices=n_vertices).with_features(features)
    bound = with_features(Footprint(0, 0.0, 0.0), graph)
    longest = np.sort(lengths)[::-1]
    for count in {1, n_vertices // 2, n_vertices}:
        assert bound.bytes(count, 0) >= 8 * longest[:count].sum()


def test_without_features_nothing_comes_on_top(dense: Graph) -> None:
    for technique in (SGC(dim=16), DeepWalk(dim=16)):
        assert technique.footprint_for(PLAIN) == technique.footprint()
        more = technique.footprint_for(dense).bytes(700, 3000) - technique.footprint().bytes(700, 3000)
        assert more >= 8 * 700 * 8000


@pytest.mark.parametrize("technique", [SGC(dim=16), SGC(dim=8192), DeepWalk(dim=16, walks=1, walk_length=5)])
@pytest.mark.slow
def test_workers_stay_under_the_projection(dense: Graph, technique: Technique, tmp_path: Path) -> None:
    report = embed_to_file(dense, Plan(technique, parts=2, anchors=100), tmp_path / "v.npy", run_dir=tmp_path / "run")
    for part, peak in zip(report.parts, report.worker_peaks, strict=True):
        assert peak <= part.projected_bytes


def test_budgets_that_features_exceed_are_refused_before_any_work(dense: Graph) -> None:
    plan = Plan(SGC(dim=16), memory=["90MB", "90MB"], anchors=0)
    decide(PLAIN, plan)
    with pytest.raises(InfeasibleError):
        decide(dense, plan)
