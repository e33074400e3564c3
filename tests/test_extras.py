"""What needs a package that is not installed is refused with the line that installs it, before any work."""

import sys
from pathlib import Path

import pytest

import parge
from parge.cli.main import run
from parge.errors import MissingExtraError
from parge.io.exports.files import KINDS
from parge.techniques.registry import techniques

EXPORTERS = {kind.needs.module: kind.needs.name for kind in KINDS.values() if kind.needs is not None}


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every optional package be missing: what is None here cannot be imported."""
    for name in ("torch", "ray", "umap", "matplotlib", *EXPORTERS):
        monkeypatch.setitem(sys.modules, name, None)


CASES = [
    (["plan", "GRAPH", "--technique", "graphsage"], "torch"),
    (["embed", "GRAPH", "-o", "out.npy", "--technique", "graphsage", "--parts", "2"], "torch"),
    (["decompose", "GRAPH", "--run-dir", "run", "--technique", "graphsage"], "torch"),
    (["evaluate", "links", "GRAPH", "--technique", "graphsage"], "torch"),
    (["plan", "GRAPH", "--engine", "ray"], "ray"),
    (["embed", "GRAPH", "-o", "out.npy", "--engine", "ray", "--parts", "2"], "ray"),
    (["embed", "GRAPH", "-o", "out.npy", "--engine", "ray", "--memory", "auto"], "ray"),
    (["report", ".", "-o", "page.html", "--projection", "umap"], "umap"),
    *((["export", "GRAPH", "-o", f"new{suffix}"], kind.needs.name) for suffix, kind in KINDS.items() if kind.needs),
]


@pytest.mark.usefixtures("without")
@pytest.mark.parametrize(("words", "extra"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_a_command_without_its_package_is_refused_at_once(
    words: list[str], extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The graph is not read: it is not even there."""
    monkeypatch.chdir(tmp_path)
    assert run(["no-such-file.txt" if word == "GRAPH" else word for word in words]) == 2
    said = capsys.readouterr()
    assert f"pip install 'parge[{extra}]'" in said.err
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("without")
def test_python_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    graph = parge.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    for plan in (parge.Plan(technique="graphsage", parts=2), parge.Plan(engine="ray", parts=2)):
        with pytest.raises(MissingExtraError):
            parge.embed(graph, plan, run_dir=tmp_path / "run")
        assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("without")
def test_all_techniques_that_need_nothing_can_be_planned() -> None:
    """A technique that imports an optional package says so: the others resolve without any."""
    for name in techniques.names():
        if techniques.get(name).needs_extra is None:
            assert parge.Plan(technique=name, parts=2).resolved.technique.name == name
