"""What the pages say of defaults is what the code does."""

from dataclasses import fields
from pathlib import Path

import pytest

import parge
from parge.landmarks.base import LandmarkTechnique
from parge.planning.plan import PRESETS
from parge.reconcile.base import reconcilers
from parge.refine.base import refiners
from parge.stage_reports import EdgeCounts
from parge.techniques.base import Technique
from parge.techniques.registry import techniques

DOCS = Path(__file__).parents[2] / "docs"

# How pages call the techniques whose name is not written as code.
NAMES = {
    "deepwalk": "DeepWalk",
    "node2vec": "node2vec",
    "line": "LINE",
    "hope": "HOPE",
    "netmf": "NetMF",
    "prone": "ProNE",
    "sgc": "SGC",
    "graphsage": "GraphSAGE",
}


def rows(page: str) -> dict[str, str]:
    """Return the rows of a page's tables by what stands in their first cell, first come, first served."""
    found: dict[str, str] = {}
    for line in (DOCS / page).read_text().splitlines():
        if line.startswith("| `"):
            found.setdefault(line.split("`")[1], line)
    return found


REFINED = [name for name in techniques.names() if techniques.get(name).refine != Technique.refine]


@pytest.mark.parametrize("name", REFINED)
def test_the_pass_of_each_technique_is_the_one_on_the_page(name: str) -> None:
    table = rows("explain/refine.md")
    called = NAMES.get(name, f"`{name}`")
    assert called in table[techniques.get(name).refine]


def test_pages_name_every_component() -> None:
    assert set(refiners.names()) <= set(rows("explain/refine.md"))
    text = (DOCS / "explain" / "reconcile.md").read_text()
    assert all(f"`{name}`" in text or f"--reconcile {name}" in text for name in reconcilers.names())
    decomposing = (DOCS / "explain" / "decompose.md").read_text()
    for word in (
        "kaminpar",
        "kaminpar-compressed",
        "metis",
        "streaming",
        "random",
        "top-cut",
        "degree",
        "halo",
        "super-vertices",
    ):
        assert word in decomposing
    assert {field.name for field in fields(EdgeCounts)} <= set(rows("explain/decompose.md"))


def test_defaults_on_the_pages_are_those_of_the_preset() -> None:
    best, decomposing = PRESETS["best"], (DOCS / "explain" / "decompose.md").read_text()
    assert f"`{best['anchor_strategy']}` (default)" in decomposing
    assert f"`{best['partitioner']}` (default)" in decomposing
    several = [name for name in techniques.names() if issubclass(techniques.get(name), LandmarkTechnique)]
    assert set(several) == {"deepwalk", "node2vec", "closedform"}  # as decompose.md and reconcile.md say
    walks, factors = parge.Plan(parts=2).resolved, parge.Plan("hope", parts=2).resolved
    assert (walks.reconcile, walks.fallbacks) == ("backbone", ("consensus",))
    assert (factors.reconcile, factors.fallbacks) == ("consensus", ())
