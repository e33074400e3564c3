"""The benchmark of updates: ten of them in a row, of which two look at the drift."""

import numpy as np
import pytest
from benchmarks.space_times import TURNS, chain, changes

from parge.graph.generate import planted


def test_each_change_is_one_percent_of_the_edges() -> None:
    graph = planted(300, 3_000, communities=3, seed=1).graph
    found = list(changes(graph, 0))
    assert len(found) == TURNS
    gone = np.concatenate([removed for _, removed in found])
    assert len(gone) == TURNS * (graph.n_edges // 200)
    assert len(np.unique(np.sort(gone, axis=1), axis=0)) == len(gone)
    assert graph.has_edges(gone).all()


@pytest.mark.slow
def test_a_chain_of_ten_looks_twice() -> None:
    found = chain(planted(300, 3_000, communities=3, seed=1).graph, 0)
    assert found["looks"] == 2
    assert all(found[name] > 0 for name in ("whole", "frozen", "first", "second", "mean", "without", "with"))
    assert 0 <= found["drift"] <= 1
    assert -1e-3 < found["behind"] < 1  # noted drifts are rounded
