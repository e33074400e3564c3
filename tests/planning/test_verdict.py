"""A plan has the whole graph beside the parts, and one sentence that says whether parts are worth it."""

import re
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import parge
from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.memory import format_bytes
from parge.planning.decision import decide, decompose
from parge.planning.plan import Plan
from parge.planning.verdict import Planned, no_savings, planned
from parge.stage_reports import Summary
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.hope import HOPE

QUICK: dict[str, Any] = {"partitioner": "random", "anchor_strategy": "degree"}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted(1200, 6000).graph


def plan(graph: Graph, technique: Any = None, **settings: Any) -> Planned:
    request = Plan(HOPE(dim=16) if technique is None else technique, **settings)
    return planned(decompose(graph, decide(graph, request)))


def largest(found: Planned) -> int:
    return max(part.projected_bytes for part in found.parts)


def test_the_whole_graph_is_what_a_plan_of_one_part_needs(graph: Graph) -> None:
    alone, parts = plan(graph), plan(graph, parts=4)
    assert alone.whole == parts.whole
    assert parts.whole.projected_bytes == alone.parts[0].projected_bytes
    assert alone.whole.projected_seconds == pytest.approx(alone.projected_seconds)
    assert "One worker embeds the whole graph" in alone.verdict


def test_the_first_worker_that_could_hold_all_is_named(graph: Graph) -> None:
    need = plan(graph).whole.projected_bytes
    found = plan(graph, memory=[need - 1, 8 * 10**9, 9 * 10**9])
    assert "fits worker 1 alone" in found.verdict
    assert "of 8.00 GB" in found.verdict
    assert "worker 2 alone (1,200 of 1,200 vertices)" in plan(graph, capacities=[600, 900, 1200]).verdict


def test_budgets_under_the_whole_graph_need_parts() -> None:
    graph = planted(20_000, 40_000).graph
    need = plan(graph, HOPE()).whole.projected_bytes
    found = plan(graph, HOPE(), memory=[need - 10**6] * 3)
    assert largest(found) < need
    assert "needs parts" in found.verdict


def test_parts_that_save_memory_say_how_much() -> None:
    found = plan(planted(20_000, 40_000).graph, HOPE(), parts=4)
    assert largest(found) < found.whole.projected_bytes
    assert re.match(r"Parts save memory: \d+ MB per worker instead of \d+ MB", found.verdict)


def test_parts_that_save_no_memory_say_from_which_size_on_they_do() -> None:
    settings: dict[str, Any] = {"technique": DeepWalk(dim=128), "parts": 8, **QUICK}
    small = plan(planted(500, 1000).graph, **settings)
    assert largest(small) >= small.whole.projected_bytes
    [reported] = re.findall(r"save no memory .* from about ([0-9,]+) edges on", small.verdict)
    edges = int(reported.replace(",", ""))
    assert edges > 1000
    for times, saves in ((0.5, False), (4.0, True)):
        n_edges = int(times * edges)
        found = plan(planted(n_edges // 2, n_edges).graph, **settings)
        assert (largest(found) < found.whole.projected_bytes) == saves
        assert ("save no memory" in found.verdict) != saves


def test_parts_that_hold_everything_never_save_memory() -> None:
    clique = Graph.from_edges(np.array([(u, v) for u in range(60) for v in range(u)]))
    found = plan(clique, parts=2, anchors=60)
    assert "at any size" in found.verdict


def test_times_are_of_every_worker_of_all_and_of_the_whole_graph(graph: Graph) -> None:
    found = plan(graph, parts=4, engine="serial")
    workers = [part.projected_seconds for part in found.parts]
    assert None not in workers
    assert found.projected_seconds is not None
    assert found.projected_seconds > sum(took for took in workers if took is not None)
    side_by_side = plan(graph, parts=4, jobs=4).projected_seconds
    assert side_by_side is not None
    one_by_one = plan(graph, parts=4, jobs=1).projected_seconds
    assert one_by_one is not None
    assert one_by_one > side_by_side


def test_a_technique_that_was_never_measured_has_no_time(graph: Graph) -> None:
    found = plan(graph, "netmf", parts=2)
    assert (found.projected_seconds, found.whole.projected_seconds) == (None, None)
    assert [part.projected_seconds for part in found.parts] == [None, None]
    assert "projected_seconds" not in found.to_json()["parts"][0]


@pytest.mark.parametrize("edges", [[], [(0, 1)]])
def test_graphs_of_hardly_anything_are_planned(edges: list[tuple[int, int]]) -> None:
    tiny = Graph.from_edges(np.array(edges, np.int64).reshape(-1, 2), vertices=3)
    for settings in ({}, {"parts": 2, "anchors": 0}, {"capacities": [2, 2, 2, 2], "anchors": 0}):
        assert plan(tiny, **settings).verdict


def test_the_json_only_adds_keys(graph: Graph) -> None:
    reported = plan(graph, parts=2).to_json()
    names = [item.name for item in fields(Summary)]
    assert list(reported)[: len(names)] == names
    assert set(reported) - set(names) == {"whole", "projected_seconds", "verdict"}
    assert set(reported["whole"]) == {"projected_bytes", "projected_seconds"}


def test_what_is_saved_can_be_seen() -> None:
    found = plan(planted(2000, 4000).graph, DeepWalk(), parts=8, **QUICK)
    assert largest(found) < found.whole.projected_bytes
    assert format_bytes(largest(found)) == format_bytes(found.whole.projected_bytes)
    assert "Parts save no memory here" in found.verdict


def notice_of(graph: Graph, technique: Any, **settings: Any) -> tuple[tuple[str, ...], Planned]:
    decomposed = decompose(graph, decide(graph, Plan(technique, **settings)))
    found = planned(decomposed)
    return no_savings(decomposed.plan, decomposed.decomposition, found.parts), found


def test_embedding_gives_the_verdict_of_the_plan_where_parts_save_no_memory(graph: Graph) -> None:
    [said], found = notice_of(graph, DeepWalk(), parts=2)
    assert largest(found) >= found.whole.projected_bytes
    assert said.startswith(found.verdict)
    assert said != found.verdict  # the remedy follows


def test_embedding_says_nothing_of_parts_that_save_memory_or_are_needed(graph: Graph) -> None:
    assert not notice_of(planted(20_000, 40_000).graph, HOPE(), parts=4)[0]
    assert not notice_of(graph, DeepWalk())[0]  # one part
    settings: dict[str, Any] = {"capacities": [1000, 1000], "reconcile": "backbone"}
    said, found = notice_of(graph, DeepWalk(), **settings)
    assert largest(found) >= found.whole.projected_bytes
    assert not said  # no worker may hold 1,200 vertices
    assert notice_of(graph, DeepWalk(), **{**settings, "capacities": [1200, 1200]})[0]


@pytest.mark.parametrize("parts", [1, 2])
def test_python_is_given_the_notice_too(graph: Graph, parts: int) -> None:
    found = parge.embed(graph, Plan(DeepWalk(dim=8, walks=1), parts=parts, engine="serial"))
    assert ("save no memory" in " ".join(found.report.notices)) == (parts == 2)
