"""What is shipped: the package is complete, its recipe agrees with it, other systems are served or told."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import parge
from parge.planning import summary
from parge.planning.plan import Plan

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]


def test_the_recipe_for_conda_has_the_version_and_the_requirements() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    assert f"version: {parge.__version__}\n" in recipe
    missing = [need for need in PROJECT["dependencies"] if f"- {need.replace('>=', ' >=')}\n" not in recipe]
    assert [re.split(r"\W", need)[0] for need in missing] == ["kaminpar"]  # it has no conda package
    assert f"python {PROJECT['requires-python']}" in recipe


def test_the_recipe_for_conda_can_be_rendered() -> None:
    rattler = pytest.importorskip("rattler_build", reason="the recipe is rendered by py-rattler-build")
    recipe = rattler.Stage0Recipe.from_file(str(ROOT / "packaging" / "conda" / "recipe.yaml"))
    (made,) = recipe.render(rattler.VariantConfig(), rattler.RenderConfig())
    found = made.recipe() if callable(made.recipe) else made.recipe
    assert (str(found.package.name), str(found.package.version)) == ("parge", parge.__version__)
    assert f"python {PROJECT['requires-python']}" in [str(need) for need in found.requirements.run]


@pytest.mark.slow
def test_types_are_checked_without_any_extra() -> None:
    """`make test` runs mypy where no extra is installed: it has to skip what only an extra brings, and all else that
    has no types of its own.
    """
    skipped = {name.removesuffix(".*") for part in PYPROJECT["tool"]["mypy"]["overrides"] for name in part["module"]}
    typed = {"click", "hypothesis", "numpy", "pytest", "rich"}  # of the default install and of the extra test
    needs = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    assert typed <= {re.split(r"\W", need)[0] for need in needs}
    known = typed | skipped | set(sys.stdlib_module_names) | {"parge"}
    assert sorted(_imported() - known) == []


def _imported() -> set[str]:
    """Return the first names of all modules that the package imports, late imports included."""
    trees = [ast.parse(path.read_text()) for path in (ROOT / "src").rglob("*.py")]
    found = [node for tree in trees for node in ast.walk(tree)]
    plain = [name.name for node in found if isinstance(node, ast.Import) for name in node.names]
    parts = [node.module for node in found if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return {name.split(".")[0] for name in [*plain, *parts]}


def test_classifiers_and_the_workflow_name_the_same_systems() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    versions = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert f"python: {versions}".replace("'", '"') in workflow
    assert "Operating System :: MacOS" in PROJECT["classifiers"]
    assert all(word in workflow for word in ("ubuntu", "macos", "attest-build-provenance", "gh-action-pypi-publish"))
    assert not any("Windows" in classifier for classifier in PROJECT["classifiers"])


def test_the_image_runs_the_demo() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert 'ENTRYPOINT ["parge"]' in lines
    assert any(line.startswith('CMD ["demo"') for line in lines)
    copied = [
        name for line in lines if line.startswith("COPY ") and "--from" not in line for name in line.split()[1:-1]
    ]
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_windows_is_refused_in_one_line() -> None:
    code = "import sys; sys.platform = 'win32'; import parge"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.fullmatch(r"ImportError: .*Windows.*WSL.*", done.stderr.strip().splitlines()[-1])


def test_limits_that_are_only_measured_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(technique="sgc", memory=["4GB", "4GB"])
    assert summary.idle(plan) == ()
    monkeypatch.setattr("parge.memory.LIMITS_HOLD", False)
    assert any("does not enforce" in said for said in summary.idle(plan))
    assert summary.idle(Plan(technique="sgc", parts=2)) == ()


# Loaded before the disguise, as they choose their own code by the system; then what macOS does not have is taken away.
DISGUISE = """
import os, sys
import numpy, psutil, scipy.sparse, scipy.linalg, numba, pyarrow, pyarrow.csv, pyarrow.parquet, click, rich.console
import sklearn.linear_model
import multiprocessing, asyncio, subprocess, ctypes.util, tempfile, socket, platform
for name in ("sched_getaffinity", "posix_fallocate", "waitid", "pidfd_open", "memfd_create", "copy_file_range"):
    if hasattr(os, name):
        delattr(os, name)
sys.platform = "darwin"
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all other tests show it")
def test_parts_are_embedded_without_what_only_linux_has(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(DISGUISE)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(parge.__file__).parents[1]}"}

    def call(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    call("-m", "parge", "generate", "--vertices", "300", "--edges", "1500", "-o", "g.txt")
    small = ["--technique", "sgc", "--dim", "4", "--memory", "500MB,500MB", "--anchors", "10", "--seed", "3"]
    said = call("-m", "parge", "embed", "g.txt", "-o", "v.npz", *small)
    assert "memory limits" in " ".join(said.split())
    plan = Plan(technique=parge.SGC(dim=4), memory=["500MB", "500MB"], anchors=10, seed=3, engine="serial")
    expected = parge.embed(parge.read(tmp_path / "g.txt"), plan)
    assert (parge.Embedding.load(tmp_path / "v.npz").vectors == expected.vectors).all()
    # One part in this process, a space, and shards. (The disguise loads libraries early, which takes much of a limit.)
    call("-m", "parge", "embed", "g.txt", "-o", "w.npz", "--technique", "sgc", "--dim", "4", "--engine", "serial",
         "--coordinator-memory", "4GB", "--space", "space")  # fmt: skip
    (tmp_path / "new.txt").write_text("900 1\n900 2\n")
    call("-m", "parge", "place", "space", "new.txt", "-o", "new.npz")
    (tmp_path / "edges").mkdir()
    (tmp_path / "g.txt").rename(tmp_path / "edges" / "g.txt")
    shards = ["--technique", "sgc", "--dim", "4", "--parts", "2", "--sharded"]
    call("-m", "parge", "embed", "edges", "-o", "vectors", *shards)
    assert len(parge.Embedding.load(tmp_path / "vectors")) == len(expected)


@pytest.mark.slow
def test_wheel_and_sdist_are_built_and_checked(tmp_path: Path) -> None:
    for name in ("build", "twine"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(tmp_path / "dist"), str(ROOT)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "No matching distribution" in done.stderr or "Could not find a version" in done.stderr + done.stdout:
        pytest.skip("the build tools cannot be had here")
    assert done.returncode == 0, done.stdout + done.stderr
    wheel, sdist = next((tmp_path / "dist").glob("*.whl")), next((tmp_path / "dist").glob("*.tar.gz"))
    checked = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)], capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    names = zipfile.ZipFile(wheel).namelist()
    assert {"parge/py.typed", "parge/cli/export.py"} <= set(names)
    assert not [name for name in names if name.startswith("tests/")]
    with tarfile.open(sdist) as archive:
        assert f"parge-{parge.__version__}/src/parge/__init__.py" in archive.getnames()
