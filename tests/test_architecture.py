"""Imports point one way: the table of ARCHITECTURE.md, asserted."""

import ast
from pathlib import Path

import pytest

import parge

ROOT = Path(parge.__file__).parent
BASE = {"kernels", "memory", "budget", "tree", "storage", "seeds", "errors", "typing", "registry"}
BASE |= {"events", "ids", "numbers", "blocks"}

# Who may import whom, by the first name under parge; who is not listed may import everything.
MAY: dict[str, set[str]] = {
    **dict.fromkeys(BASE, BASE),
    "kernels": {"kernels", "typing"},
    "graph": {*BASE, "graph", "io"},
    "io": {*BASE, "graph", "embedding", "io"},
    "linalg": {*BASE, "graph", "techniques", "reconcile", "linalg"},
    "decompose": {*BASE, "graph", "decompose"},
    "skipgram": {*BASE, "graph", "skipgram", "landmarks", "techniques"},
    "landmarks": {*BASE, "graph", "linalg", "skipgram", "techniques", "landmarks"},
    "techniques": {*BASE, "graph", "linalg", "skipgram", "landmarks", "techniques"},
    "embedding": {*BASE, "io"},
    "refine": {*BASE, "graph", "linalg", "techniques", "refine"},
    "reconcile": {*BASE, "graph", "linalg", "decompose", "reconcile", "embedding"},
    "estimate": {*BASE, "skipgram", "techniques", "refine", "estimate"},
    "evaluate": {*BASE, "graph", "io", "linalg", "embedding", "evaluate", "decompose", "techniques"},
    "engine": {*BASE, "engine", ""},
    "planning": {
        *BASE,
        "graph",
        "io",
        "decompose",
        "techniques",
        "landmarks",
        "reconcile",
        "refine",
        "engine",
        "planning",
    },
}


def _imports(path: Path) -> set[str]:
    """Return the first names under parge that a module imports; '' is the package itself."""
    found = set()
    for item in ast.walk(ast.parse(path.read_text())):
        if isinstance(item, ast.Import):
            names = [alias.name for alias in item.names]
        elif isinstance(item, ast.ImportFrom) and item.level == 0:
            names = [item.module or ""]
        else:
            continue
        found |= {[*name.split("."), ""][1] for name in names if name.split(".")[0] == "parge"}
    return found


MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_point_one_way(module: Path) -> None:
    owner = module.parts[0].removesuffix(".py")
    if owner in MAY:
        wrong = _imports(ROOT / module) - MAY[owner]
        assert not wrong, f"{module} must not import {sorted(wrong)}"


def test_heavy_and_optional_packages_are_not_imported_with_parge() -> None:
    import subprocess
    import sys

    script = "import sys, parge; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "networkx", "pandas", "polars", "igraph", "matplotlib", "sklearn", "ray"} & set(loaded)
