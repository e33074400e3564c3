"""Every number of a page is what slow, obvious code counts in the arrays of the run's folder."""

from pathlib import Path

from tests.report.conftest import named_graph, plan

import parge
from parge.report.page import write_report
from parge.runs import open_planned


def test_nothing_is_predicted(tmp_path: Path) -> None:
    """A score that nobody measured on this graph is told nowhere, whatever other graphs lost."""
    found = parge.embed(named_graph(), plan(), run_dir=tmp_path / "run")
    assert "expected" not in found.report
    page = write_report(tmp_path / "run", tmp_path / "x.html", embedding=found).read_text()
    assert "expected loss" not in page
    assert "centralised score" not in page
    with open_planned(tmp_path / "run") as run:
        assert run.plan.refine != "none"  # the pass was part of what was predicted
