"""The vectors judged: by labels, beside the whole graph, and in one sentence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.report.conftest import plan

import parge
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate.labels import Labels
from parge.graph.generate import planted
from parge.report.collect import Findings, collect
from parge.report.page import write_report
from parge.report.quality import Quality, judge
from parge.report.verdict import verdict
from parge.run.open_run import open_planned

MADE = planted(240, 1500, communities=3, mixing=0.1, seed=3)
LABELS = Labels.of({vertex: f"group {vertex % 3}" for vertex in MADE.graph.outside_ids.tolist()})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Embedding, Embedding]:
    """A run in parts with its vectors, and those of the whole graph."""
    folder = tmp_path_factory.mktemp("judged") / "run"
    technique = parge.HOPE(dim=8)
    parts = parge.embed(MADE.graph, plan(technique=technique, anchors=30), run_dir=folder)
    return folder, parts, parge.embed(MADE.graph, plan(technique=technique, parts=1, reconcile=None))


@pytest.fixture(scope="module")
def findings(run: tuple[Path, Embedding, Embedding]) -> Findings:
    with open_planned(run[0]) as opened:
        return collect(opened, projection="pca")


def test_labels_are_scored_one_by_one(run: tuple[Path, Embedding, Embedding]) -> None:
    score = judge(run[1], LABELS, None).score
    assert score is not None
    assert set(score.by_label) == set(LABELS.classes.tolist())
    assert np.mean(list(score.by_label.values())) == pytest.approx(score.macro_f1.mean)
    assert "by_label" not in score.to_json()


def test_an_embedding_has_its_own_neighbours(run: tuple[Path, Embedding, Embedding]) -> None:
    same = judge(run[1], None, run[1]).whole
    assert same is not None
    assert same.neighbours == 1
    assert same.pip == pytest.approx(0, abs=1e-6)
    noise = Embedding(np.random.default_rng(0).normal(size=run[1].vectors.shape), run[1].ids)
    unlike = judge(run[1], None, noise).whole
    assert unlike is not None
    assert unlike.neighbours < 0.2


def test_another_graph_is_refused(run: tuple[Path, Embedding, Embedding], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"240 vertices.* 2"):
        judge(run[1], None, Embedding(np.eye(2), [0, 1]))
    with pytest.raises(InputError, match="embedding"):
        write_report(run[0], tmp_path / "x.html", whole=run[2])


def test_the_page_has_the_whole_graph_beside_the_parts(run: tuple[Path, Embedding, Embedding], tmp_path: Path) -> None:
    folder, parts, whole = run
    page = write_report(folder, tmp_path / "x.html", LABELS, embedding=parts, whole=whole, projection="pca")
    text = page.read_text()
    assert "Parts against the whole graph" in text
    assert "of the whole graph&#x27;s score" in text
    assert "F1 of each label" in text


def test_the_sentence_says_what_is_known(findings: Findings, run: tuple[Path, Embedding, Embedding]) -> None:
    quality = judge(run[1], LABELS, run[2])
    whole, score = quality.whole, quality.score
    assert whole is not None
    assert score is not None
    said = [
        verdict(replace(findings, quality=found))
        for found in (Quality(), Quality(score), Quality(None, whole), quality)
    ]
    assert all(sentence.startswith("3 workers with at most ") and sentence.endswith(".") for sentence in said)
    assert all(sentence.count(". ") == 0 for sentence in said)
    assert f"{score.micro_f1.mean:.3f}" in said[1]
    assert "nearest neighbours" in said[2]
    assert f"{quality.kept:.0%}" in said[3]
    warned = replace(findings, report=replace(findings.report, warnings=("careful",)))
    assert "read the warnings" in verdict(warned)
    apart = tuple(replace(each, after=1.1, held_out=1.1) for each in findings.report.reconcile.residuals)
    far = replace(findings.report, reconcile=replace(findings.report.reconcile, residuals=apart))
    assert "hardly agree" in verdict(replace(findings, quality=Quality(), report=far))
    assert "hardly agree" not in said[0]
