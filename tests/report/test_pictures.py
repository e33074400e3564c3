"""The pictures without a script: bars as long as their numbers, marks where limits are, cells as dark as counts."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.conftest import keep_run

from parge.graph.graph import Graph
from parge.report import pictures, tables
from parge.report.bars import Mark, Stretch, bar
from parge.report.collect import Findings, collect
from parge.report.sections import sections
from parge.run.open_run import open_planned
from parge.space.frozen import Age


@pytest.fixture(scope="module")
def findings(kept: Path) -> Findings:
    with open_planned(kept) as run:
        return collect(run)


def with_parts(findings: Findings, **changes: Any) -> Findings:
    parts = tuple(replace(part, **changes) for part in findings.parts)
    return replace(findings, report=replace(findings.report, parts=parts))


def widths(markup: str, kind: str) -> list[float]:
    return [float(width) for width in re.findall(rf'<rect class="{kind}" x="[\d.]+%" width="([\d.]+)%"', markup)]


def test_a_bar_is_as_long_as_its_numbers() -> None:
    drawn = bar(
        200, [Stretch(50, "own", "a"), Stretch(100, "anchor", "b")], [Mark(150, "limit", "c"), Mark(900, "soft", "d")]
    )
    assert 'x="0.00%" width="25.00%"' in drawn
    assert 'x="25.00%" width="50.00%"' in drawn
    assert 'x1="75.00%"' in drawn
    assert 'x1="100.00%"' in drawn
    assert 'aria-label="a; b; c; d"' in drawn
    assert bar(0, [Stretch(0, "own", "nothing")])


def test_sizes_add_up_and_capacities_are_marked(findings: Findings) -> None:
    drawn = pictures.sizes(findings)
    limit = max(part.capacity for part in findings.parts)
    both = np.add(widths(drawn, "own"), widths(drawn, "anchor"))
    np.testing.assert_allclose(both, [100 * part.vertices / limit for part in findings.parts], atol=0.02)
    assert drawn.count("mark limit") == len(findings.parts) + 1  # and once in the key


def test_capacities_far_beyond_the_sizes_do_not_shrink_the_bars(findings: Findings) -> None:
    drawn = pictures.sizes(with_parts(findings, capacity=10**9))
    assert max(widths(drawn, "own")) > 20
    assert drawn.count("mark limit") == 1


def test_the_error_of_a_drift_is_seen_on_both_sides_of_its_bar(findings: Findings) -> None:
    ages = tuple(Age(version=v, placed=0.1, edges=0.1, drift=0.08 * v, error=0.02, is_loss=True) for v in (1, 2))
    drawn = pictures.ages(replace(findings, ages=ages))
    ends = [float(at) for at in re.findall(r'<circle class="dot before" cx="([\d.]+)%"', drawn)]
    np.testing.assert_allclose(np.divide(ends, ends[0]), np.array([0.06, 0.1, 0.14, 0.18]) / 0.06, rtol=0.01)
    (section,) = [each for each in sections(replace(findings, ages=ages)) if each.id == "drift"]
    assert "version 2: embed again" in str(section)


def test_edges_are_all_accounted_for(findings: Findings) -> None:
    assert sum(findings.edges.to_json().values()) == findings.report.edges
    drawn = pictures.edges(findings)
    assert sum(sum(widths(drawn, kind)) for kind in ("own", "anchor", "lost")) == pytest.approx(100, abs=0.02)
    assert f"held by neither: {findings.edges.lost:,}" in drawn


def test_cells_of_the_cut_say_their_numbers(findings: Findings) -> None:
    drawn = pictures.cut_matrix(findings)
    for i in range(3):
        assert f'title="{findings.cut[i, i]:,} edges inside part {i}"' in drawn
    assert f"{findings.lost[0, 2]:,} edges lost between parts 0 and 2" in drawn
    assert "between shade9" in drawn
    assert "inside shade9" in drawn


@pytest.mark.parametrize(("n_parts", "expected"), [(20, "heat small"), (70, "of 70 parts")])
def test_many_parts_fit(findings: Findings, n_parts: int, expected: str) -> None:
    cut = np.random.default_rng(0).integers(100, size=(n_parts, n_parts))
    cut = cut + cut.T
    many = with_parts(findings)
    lost = cut - np.diag(np.diagonal(cut))
    many = replace(many, cut=cut, lost=lost, report=replace(many.report, parts=many.parts[:1] * n_parts))
    drawn = pictures.cut_matrix(many)
    assert expected in drawn
    if n_parts == 70:
        assert f'<td class="number">{np.triu(cut, 1).max():,}</td>' in drawn


def test_workers_are_held_against_bound_and_budget(findings: Findings) -> None:
    within = pictures.workers(with_parts(findings, peak_bytes=50, projected_bytes=100, budget_bytes=200))
    assert widths(within, "memory") == [25.0] * 3
    assert within.count('class="mark limit" x1="50.00%"') == 3
    assert within.count('class="mark budget" x1="100.00%"') == 3
    over = pictures.workers(with_parts(findings, peak_bytes=150, projected_bytes=100, budget_bytes=200))
    assert widths(over, "lost") == [75.0] * 3
    assert "budget" not in pictures.workers(with_parts(findings, peak_bytes=50))


def test_residuals_fall_and_are_drawn(findings: Findings) -> None:
    assert all(residual.after < residual.before for residual in findings.residuals)
    drawn = pictures.residuals(findings)
    assert drawn.count('class="dot after" cx=') == 3 + 1
    assert f"held out {findings.residuals[0].held_out:.1%}" in drawn


def test_budgets_of_a_run_reach_the_picture(graph: Graph, tmp_path: Path) -> None:
    with open_planned(keep_run(graph, tmp_path / "run", parts=None, memory=["400MB", "500MB"])) as run:
        drawn = pictures.workers(collect(run))
    assert "budget 400 MB" in drawn
    assert "budget 500 MB" in drawn


def test_scores_of_any_shape_become_a_table(findings: Findings) -> None:
    class Score:
        def to_json(self) -> dict[str, Any]:
            return {"cosine": {"roc_auc": 0.9, "average_precision": 0.8}, "pip": None}

    found = tables.scores(replace(findings, scores={"a": Score(), "<b>": {"pip": 12345.678}, "c": 3}))
    assert "cosine ROC-AUC" in found
    assert "0.9000" in found
    assert "1.235e+04" in found
    assert "&lt;b&gt;" in found
    assert "<b>" not in found


def test_shares_among_scores_have_bars(findings: Findings) -> None:
    both = tables.scores(
        replace(findings, scores={"a": {"micro_f1": {"mean": 0.5, "sd": 0.1}}, "b": {"micro_f1": 0.25}})
    )
    assert widths(both, "own") == [50.0, 25.0]
    assert not widths(tables.scores(replace(findings, scores={"a": {"pip": 7.0}, "b": {"pip": 9.0}})), "own")


def test_the_plan_is_told_in_full(findings: Findings) -> None:
    reported = tables.plan(findings)
    for word in ("deepwalk", "walk_length", "consensus", "alternating", "kaminpar", "seed"):
        assert word in reported
    assert "parge" in tables.versions(findings)
