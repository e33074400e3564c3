"""The examples of docs/how-to/data.md run, and docs/reference/expectations.md names tests that exist."""

import re
from pathlib import Path

import pytest
from tests.io.test_places import store  # noqa: F401  a fixture: moto's server

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "data.md").read_text()
EXAMPLES = dict(re.findall(r"## ([^\n]+)\n(?:(?!\n## ).)*?```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if "duckdb" in EXAMPLES[name]:
        pytest.importorskip("duckdb")
    if "s3://" in EXAMPLES[name]:
        request.getfixturevalue("store")
    monkeypatch.chdir(tmp_path)
    exec(EXAMPLES[name], {})


def test_all_examples_are_found() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == 4


def test_the_tests_that_hold_expectations_exist() -> None:
    text = (ROOT / "docs" / "reference" / "expectations.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) >= 15
    for file, name in named:
        assert (ROOT / file).is_file(), file
        if name:
            assert re.search(rf"^(def|class) {name}\b", (ROOT / file).read_text(), re.MULTILINE), f"{file}::{name}"
