"""Hints follow the graph at hand: features, few edges, neither."""

import numpy as np

import parge
from parge.graph.generate import planted, tree
from parge.planning.summary import hints, recomputed


def test_hints_follow_the_graph() -> None:
    dense, sparse = planted(1000, 20_000, seed=1).graph, tree(1000, seed=1).graph
    walks = parge.DeepWalk()
    assert not any("closedform" in hint for hint in hints(walks, dense))
    assert any("--technique spectral" in hint for hint in hints(walks, dense))
    assert any("--technique closedform" in hint for hint in hints(walks, sparse))
    assert not any("spectral" in hint for hint in hints(walks, sparse))
    assert hints(walks, tree(900, seed=1).graph) == ()
    featured = dense.with_features(np.ones((1000, 4)))
    assert "--technique sgc --refine none" in hints(walks, featured)[0]
    assert hints(parge.SGC(), featured) == ()


def test_a_plan_in_parts_says_what_a_factorisation_is_worth_without_its_pass() -> None:
    for technique in ("hope", "spectral", "prone", "netmf", "line", "whitened", "blend"):
        resolved = parge.Plan(technique=technique, parts=8).resolved
        (said,) = recomputed(resolved)
        assert f"The pass {resolved.refine} " in said
        assert "--refine none" in said
        assert "31 to 99 %" in said
        assert recomputed(parge.Plan(technique=technique, parts=8, refine="none").resolved) == ()
        assert recomputed(parge.Plan(technique=technique, parts=1).resolved) == ()
    (walks,) = recomputed(parge.Plan(technique="deepwalk", parts=8, refine="settle").resolved)
    assert "may score lower" in walks
