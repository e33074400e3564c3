"""The recipes of docs/how-to/vectors.md find the neighbours that parge finds."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parge
from parge.cli.main import run
from parge.links import LinkHead

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "vectors.md").read_text()
RECIPES = dict(re.findall(r"^### ([\w]+)\n(?:(?!^##).)*?^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
NEEDS = {
    "DuckDB": ["duckdb"],
    "FAISS": ["faiss"],
    "Links": ["faiss"],
    "usearch": ["usearch"],
    "LanceDB": ["lancedb", "lance"],
    "Qdrant": ["qdrant_client"],
}


def test_every_recipe_is_known() -> None:
    assert set(RECIPES) == set(NEEDS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of other libraries are theirs
@pytest.mark.parametrize("name", NEEDS)
def test_a_recipe_finds_the_nearest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in NEEDS[name]:
        pytest.importorskip(module, reason=f"the recipe of {name} needs {module}")
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(1).standard_normal((60, 8)).astype(np.float32)
    degrees = np.arange(60) % 7 + 1
    embedding = parge.Embedding(rows, np.arange(60), degrees=degrees, head=LinkHead(3.0, 0.5, -1.0))
    embedding.save("vectors.parquet")
    exported = {
        "FAISS": ["vectors.faiss"],
        "Links": ["links.faiss", "--for", "links"],
        "usearch": ["vectors.usearch"],
        "LanceDB": ["vectors.lance"],
    }
    if name in exported:
        assert run(["export", "vectors.parquet", "-o", *exported[name]]) == 0
    found: dict[str, Any] = {}
    exec(RECIPES[name], found)
    expected = parge.neighbors(embedding, 7, k=5, task="links" if name == "Links" else "labels")[0].tolist()
    assert [near[0] if isinstance(near, tuple) else near for near in found["near"]] == expected
