"""Components of another package are first class: found by entry point, held by the contracts, run on every path."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.testing import stranger

import parge
from parge.decompose.anchors import AnchorDecomposer
from parge.decompose.registry import partitioners
from parge.graph.generate import planted
from parge.techniques.base import Technique
from parge.testing import DecomposerContract, EngineContract, ReconcilerContract, RefinerContract, TechniqueContract

ENTRY_POINTS = """
[parge.techniques]
averages = stranger:Averages
[parge.refiners]
centred = stranger:Centred
[parge.reconcilers]
to-longest = stranger:ToLongest
[parge.engines]
twice = stranger:Twice
[parge.partitioners]
by-number = stranger:by_number
"""


@pytest.mark.slow
class TestAverages(TechniqueContract):
    def technique(self) -> Technique:
        return stranger.Averages(dim=16)


class TestCentred(RefinerContract):
    def refiner(self) -> stranger.Centred:
        return stranger.Centred()


class TestToLongest(ReconcilerContract):
    reconciler = stranger.ToLongest()


@pytest.mark.slow
class TestTwice(EngineContract):
    def engine(self) -> stranger.Twice:
        return stranger.Twice()


class TestByNumber(DecomposerContract):
    @staticmethod
    def decomposer(n_anchors: int) -> AnchorDecomposer:
        partitioners._known["by-number"] = stranger.by_number
        return AnchorDecomposer(n_anchors, partitioner="by-number")


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that finds the package of the stranger."""
    site = tmp_path / "site"
    (site / "stranger-1.0.dist-info").mkdir(parents=True)
    (site / "stranger.py").write_text(Path(stranger.__file__).read_text())
    (site / "stranger-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (site / "stranger-1.0.dist-info" / "entry_points.txt").write_text(ENTRY_POINTS)
    parge.write(planted(300, 1800, seed=3).graph, tmp_path / "g.txt")
    return {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def embedded(tmp_path: Path, env: dict[str, str], out: str, *plan: str) -> tuple[dict[str, Any], parge.Embedding]:
    line = [sys.executable, "-m", "parge", "embed", "g.txt", "-o", out, "--dim", "8", "--json", *plan]
    ended = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout), parge.Embedding.load(tmp_path / out)


PLANS = {
    "all": [
        *("--technique", "averages", "--param", "rounds=2", "--parts", "3", "--anchors", "30", "--refine", "centred"),
        *("--reconcile", "to-longest", "--partitioner", "by-number", "--engine", "twice"),
    ],
    "by processes": ["--technique", "averages", "--parts", "3", "--anchors", "30", "--engine", "processes"],
    "in shards": [
        *("--technique", "deepwalk", "--param", "walks=1", "--parts", "3", "--anchors", "30", "--sharded"),
        *("--refine", "centred", "--reconcile", "to-longest", "--engine", "twice"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_a_plan_of_its_components_runs(tmp_path: Path, installed: dict[str, str], name: str) -> None:
    report, found = embedded(tmp_path, installed, "out" if name == "in shards" else "v.npy", *PLANS[name])
    assert found.vectors.shape == (300, 8)
    assert np.isfinite(found.vectors).all()
    if "centred" in PLANS[name]:
        assert report["refine"] == {"name": "centred", "moved": 300}
    if name == "in shards":
        assert len(report["shards"]) == 3
        again = [*PLANS[name][:-1], "serial"]
        assert np.array_equal(embedded(tmp_path, installed, "again", *again)[1].vectors, found.vectors)


@pytest.mark.slow
def test_what_shards_cannot_do_is_refused_before_any_work(tmp_path: Path, installed: dict[str, str]) -> None:
    for plan in (["--technique", "averages"], ["--technique", "hope", "--refine", "propagate"]):
        line = [sys.executable, "-m", "parge", "embed", "g.txt", "-o", "out", "--dim", "8", "--parts", "3", "--sharded"]
        ended = subprocess.run([*line, *plan], cwd=tmp_path, env=installed, capture_output=True, text=True, check=False)
        assert ended.returncode == 2, ended.stderr
        assert plan[-1] in ended.stderr
