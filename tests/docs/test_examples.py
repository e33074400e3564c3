"""The scripts in docs/examples run, assert what they show, and are mentioned in the docs."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))


def test_the_gallery_has_at_least_six_examples_and_all_of_them() -> None:
    names = runpy.run_path(str(DOCS / "site" / "gallery.py"))["scripts"]()
    assert len(names) >= 6
    assert sorted(names) == EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_is_in_the_docs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example))
    assert capsys.readouterr().out.strip()
    assert any(example.name in page.read_text() for page in DOCS.rglob("*.md"))
