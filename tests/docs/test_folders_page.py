"""The arrays that docs/reference/folders.md names are those that a run folder and a space may hold, and do hold."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import parge
from parge.graph.generate import planted
from parge.run.arrays import FORMAT
from parge.run.schema import GRAPH, LAYOUT, PLAN, RESULT, SHARED, SPACE, SUBGRAPH

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "folders.md").read_text()
KINDS = (PLAN, GRAPH, SHARED, SUBGRAPH, RESULT, SPACE)
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def reported(kind: str) -> dict[str, tuple[str, int, bool]]:
    """Return the arrays of the table of a kind: type, axes, and whether they are always there."""
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \| (\d) \| (yes)? *\|", SECTIONS[kind], re.MULTILINE)
    return {name: (types, int(axes), always == "yes") for name, types, axes, always in rows}


def test_the_table_of_shared_arrays_is_that_of_a_backbone() -> None:
    shapes = parge.DeepWalk().landmark_shapes
    assert reported(SHARED) == {f"shared_{name}": ("float32", len(axes), False) for name, axes in shapes.items()}
    assert LAYOUT[SHARED] == {}, "every technique names its own"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != SHARED])
def test_the_table_of_a_kind_has_its_arrays(kind: str) -> None:
    layout = {name: (" or ".join(what.dtypes), what.ndim, what.needed) for name, what in LAYOUT[kind].items()}
    others = {SUBGRAPH: reported(GRAPH), SPACE: {**reported(PLAN), **reported(GRAPH)}}.get(kind, {})
    inherited = {name: what for name, what in others.items() if name in layout}
    assert {**inherited, **reported(kind)} == layout


def test_a_run_is_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    graph = planted(120, 900, communities=3, seed=1).graph
    parge.embed(graph, technique="hope", dim=4, parts=2, anchors=20, engine="serial", run_dir="run", progress=False)
    places = re.findall(r"^\| `DIR/([\w/]+)` \| `(\w+)`", PAGE, re.MULTILINE)
    assert {kind for _, kind in places} == set(KINDS)
    for place, kind in places:
        if kind == SHARED:  # without a backbone nothing is prepared
            continue
        manifest = json.loads((tmp_path / "run" / place / "manifest.json").read_text())
        assert (manifest["body"]["format"], manifest["body"]["kind"]) == (FORMAT, kind)
        assert set(manifest["body"]["arrays"]) <= set(LAYOUT[kind])
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    found: dict[str, object] = {}
    exec(code, found)
    facts = json.loads((tmp_path / "run/parts/000/subgraph/manifest.json").read_text())["body"]["facts"]
    vectors, vertices = found["vectors"], found["vertices"]
    assert isinstance(vectors, np.ndarray)
    assert isinstance(vertices, np.ndarray)
    anchors = np.load("run/plan/anchors.npy")
    assert vectors.shape == (facts["n_own"] + anchors.size, 4)
    assert (vertices[facts["n_own"] :][: anchors.size] == anchors).all()
    assert f'"format": {FORMAT}' in PAGE
