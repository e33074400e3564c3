"""What notebooks show of graphs, plans, embeddings and reports: all of it, and names as text."""

from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

import parge
from parge.graph.generate import planted

HOSTILE = "<img src=x onerror=alert(1)>"
GRAPH = parge.Graph.from_edges([HOSTILE, "a", "b"], ["a", "b", "c"], [1.0, 2.0, 3.0])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def shown(value: Any) -> _Reader:
    reader = _Reader()
    reader.feed(value._repr_html_())
    return reader


EMBEDDED = parge.embed(planted(60, 200, seed=1).graph, technique="hope", dim=3, parts=2, engine="serial")
VALUES = {
    "graph": replace(GRAPH, notices=(HOSTILE,)),
    "plan": parge.Plan(technique=HOSTILE, parts=3),
    "planned": parge.plan(GRAPH, technique="hope", dim=2, parts=2),
    "embedding": parge.Embedding([[1.0, 2.0]], [HOSTILE], replace(EMBEDDED.report, warnings=(HOSTILE,))),
    "report": replace(EMBEDDED.report, technique=HOSTILE, notices=(HOSTILE,)),
    "empty report": parge.Report(),
    "empty graph": parge.Graph.from_edges([], [], vertices=0),
}


@pytest.mark.parametrize("name", VALUES)
def test_names_stay_names(name: str) -> None:
    found = shown(VALUES[name])
    assert found.tags <= {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "table" in found.tags


def test_the_numbers_are_there() -> None:
    assert "4 " in shown(GRAPH).text
    assert "1 to 3" in shown(GRAPH).text
    assert HOSTILE in shown(VALUES["graph"]).text
    assert "parts 3" in " ".join(shown(VALUES["plan"]).text.split())
    assert f"{EMBEDDED.report.lost_edges:.2%}" in shown(EMBEDDED).text
    assert f"{EMBEDDED.report.anchors:,}" in shown(EMBEDDED.report).text
    planned = shown(VALUES["planned"]).text
    assert all(word in planned for word in ("worker", "whole graph", "lost edges"))
