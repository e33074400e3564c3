"""A finished run that tests of hostile folders damage, each a copy of its own."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.run.resealed import GRAPH, PLAN, finish_run

import parge


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def reference() -> Any:
    return parge.embed(GRAPH, PLAN).vectors


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))
