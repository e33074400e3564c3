"""The folder in which commands write."""

import shutil
from pathlib import Path

import pytest
from tests.cli.outputs import prepare


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a graph in several formats, its labels, a kept run, and embeddings of every format."""
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def world(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the current folder."""
    place = Path(shutil.copytree(prepared, tmp_path / "world"))
    monkeypatch.chdir(place)
    return place
