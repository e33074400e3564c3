"""The code blocks of pages that show a piece of a program run, each with what the page leaves out put there first."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parge
from parge.cli.main import run
from parge.graph.generate import planted
from parge.io.graphs.write import write
from parge.reconcile.base import reconcilers
from parge.refine.base import refiners
from parge.testing import ReconcilerContract, RefinerContract

DOCS = Path(__file__).resolve().parents[2] / "docs"
MADE = planted(300, 2400, communities=3, mixing=0.2, seed=1)


def blocks(name: str, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", (DOCS / name).read_text(), flags=re.MULTILINE | re.DOTALL)


def executed(name: str, **given: Any) -> dict[str, Any]:
    """Run the Python blocks of a page one after the other; return what they defined."""
    found: dict[str, Any] = {"__name__": "page", "parge": parge, **given}
    for text in blocks(name, "python"):
        exec(text, found)
    return found


def called(text: str) -> list[list[str]]:
    """Return the words of every call of parge in a block."""
    return [shlex.split(line, comments=True)[1:] for line in text.splitlines() if line.startswith("parge ")]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_reconciling(here: Path) -> None:
    rng = np.random.default_rng(1)
    anchors = rng.normal(size=(30, 4))
    turned = [anchors @ np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(3)]
    vectors = parge.Embedding(anchors, [f"v{i}" for i in range(30)])
    vectors.save("yesterday.parquet")
    parge.Embedding(turned[0], vectors.ids).save("today.vec")
    given = {f"H_{i + 1}": some for i, some in enumerate(turned)}
    mine = reconcilers.get("consensus")
    found = executed("explain/reconcile.md", **given, vectors_of_subgraph_0=turned[0], Mine=mine)
    assert found["found"].residuals[0].after < 1e-6
    assert np.allclose(found["aligned"].vectors, anchors, atol=1e-4)
    assert issubclass(found["TestMine"], ReconcilerContract)


def test_refining_and_theory_and_walks() -> None:
    found = executed("explain/refine.md", Mine=refiners.get("whiten"))
    assert issubclass(found["TestMine"], RefinerContract)
    embedding = parge.embed(MADE.graph, technique="hope", dim=4, engine="serial", progress=False)
    known = executed("explain/theory.md", graph=MADE.graph, F=embedding)["known"]
    assert 0 <= known.lower <= known.upper
    executed("explain/techniques/walks.md")


def test_held_out_links(here: Path) -> None:
    plan = parge.Plan(parge.HOPE(dim=8), engine="serial")
    found = executed("how-to/evaluate.md", graph=MADE.graph, plan=plan)
    assert found["result"].vectors.shape == (300, 8)


@pytest.mark.filterwarnings("ignore")
def test_files_of_held_out_links(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = planted(300, 400, communities=3, mixing=0.2, seed=1).graph
    found = executed("how-to/evaluate.md", graph=graph, plan=parge.Plan(parge.HOPE(dim=8), engine="serial"))
    assert [path.name for path in found["written"]] == ["train.csv", "train.vertices.txt"]
    embed, score = (words for text in blocks("how-to/evaluate.md", "sh") for words in called(text))
    assert run([*embed, "--technique", "hope", "--dim", "4", "--engine", "serial", "--refine", "none"]) == 0
    assert run(score) == 0
    capsys.readouterr()
    without = [word for word in score if word not in ("--vertices", "train.vertices.txt")]
    assert run(without) == 2
    assert "--vertices" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_python_in_full(here: Path) -> None:
    source, target = (MADE.graph.to_frame()[name].to_pylist() for name in ("source", "target"))
    names = ["ann", "bob", *(f"v{i}" for i in range(2, 300))]
    lines = [f"{names[a]},{names[b]}\n" for a, b in zip(source, target, strict=True)]
    Path("edges.csv").write_text("".join(["source,target\n", *lines]))
    Path("labels.csv").write_text("".join(f"{names[v]},{MADE.labels.of(v)[0]}\n" for v in range(300)))
    torch = importlib.util.find_spec("torch") and importlib.import_module("torch")
    given = {"numpy": np, "torch": torch or type("Torch", (), {"from_dlpack": staticmethod(np.from_dlpack)})}
    found = executed("start/python.md", **given)
    assert len(found["report"].parts) == 8
    assert Path("page.html").exists()
    assert Path("run/parts/007/subgraph").is_dir()


@pytest.mark.slow
def test_columns_and_stores(here: Path) -> None:
    rows = "".join(f"{i % 60};{(7 * i + 1) % 60};{1 + i % 5}\n" for i in range(600))
    Path("payments.csv").write_text("payer;payee;amount\n" + rows)
    Path("bucket/edges").mkdir(parents=True)
    pairs = "".join(f"{i % 60},{(7 * i + 1) % 60}\n" for i in range(600))
    Path("bucket/edges/part-0.csv").write_text("follower,followee\n" + pairs)
    columns, store = blocks("reference/formats.md", "sh")
    for words in called(columns) + called(store.replace("s3://bucket", here.as_uri() + "/bucket")):
        assert run([*words, "--quiet"]) == 0, words
    assert len(parge.Embedding.load("bucket/vectors.parquet")) == 60


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_space_that_stays(here: Path) -> None:
    write(MADE.graph, Path("monday.txt"))
    Path("tuesday.txt").write_text("900 1\n900 2\n901 900\n")
    first = next(line for line in Path("monday.txt").read_text().splitlines() if line[0].isdigit())
    Path("gone.txt").write_text(first + "\n")
    for text in blocks("how-to/space.md", "sh"):
        for words in called(text):
            assert run([*words, "--quiet"]) == 0, words
    assert sorted(parge.Embedding.load("new.npz").ids.tolist()) == [900, 901]
    Path("space").rename("space-of-the-commands")
    assert len(executed("how-to/space.md")["grown"]) == 501


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_graph_in_shards(here: Path) -> None:
    Path("edges").mkdir()
    write(MADE.graph, Path("edges/part-0.parquet"))
    for text in blocks("how-to/sharded.md", "sh"):
        for words in called(text):
            if "ray" not in words and not any("s3://" in word for word in words):  # a cluster, a store
                assert run([*words, "--quiet"]) == 0, words
    assert len(executed("how-to/sharded.md")["embedding"]) == 300
