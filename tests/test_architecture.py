"""Imports point one way: the table of ARCHITECTURE.md, asserted."""

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import parge
from parge.decompose.registry import partitioners, strategies
from parge.engine.base import engines
from parge.reconcile.base import reconcilers
from parge.refine.base import refiners
from parge.techniques.registry import techniques

ROOT = Path(parge.__file__).parent
PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"


def _rows() -> list[tuple[list[str], str, set[str]]]:
    """Return the table of the page: the names of a row, what they hold, and what they import."""
    found = []
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            names, holds, imports = (cell.strip() for cell in line.strip("|").split(" | "))
            found.append((_names(names), holds, set(_names(imports))))
    return found


def _names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)(?:/|\.py)?`", cell)


BASE = {name for names, holds, _imports in _rows() if holds.startswith("*base modules*") for name in names}

# Who may import whom, by the first name under parge. Only a row that names base modules is denied the others.
MAY: dict[str, set[str]] = {
    name: BASE if name in BASE else imports if imports & BASE else imports | BASE
    for names, _holds, imports in _rows()
    for name in names
}


def _folder(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def _imports(path: Path) -> set[str]:
    """Return the first names under parge that a module imports, late and for type checkers, too.

    The package itself, which every folder may ask for its version, is none of them.
    """
    found = set()
    for item in ast.walk(ast.parse(path.read_text())):
        if isinstance(item, ast.Import):
            names = [alias.name for alias in item.names]
        elif isinstance(item, ast.ImportFrom) and item.level == 0:
            names = [f"parge.{alias.name}" for alias in item.names] if item.module == "parge" else [item.module or ""]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("parge.")}
    return found


MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def test_the_table_knows_every_folder() -> None:
    assert set(MAY) == {_folder(module) for module in MODULES}


def test_every_arrow_of_the_table_is_used() -> None:
    for names, _holds, imports in _rows():
        used = [_imports(ROOT / module) for module in MODULES if _folder(module) in names]
        assert imports <= set[str]().union(*used), f"{names} import nothing of {imports - set[str]().union(*used)}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_point_one_way(module: Path) -> None:
    wrong = _imports(ROOT / module) - MAY[_folder(module)] - {_folder(module)}
    assert not wrong, f"{module} must not import {sorted(wrong)}"


@pytest.mark.parametrize("module", [module for module in MODULES if _folder(module) != "__main__"], ids=str)
def test_the_package_itself_is_asked_for_its_version_only(module: Path) -> None:
    """Names of `parge` itself stand for all folders: one that used one would import what imports it."""
    for item in ast.walk(ast.parse((ROOT / module).read_text())):
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == "parge":
            assert item.attr in {"__version__", "__file__"}, f"{module} uses parge.{item.attr}"


def _reached(folder: str, arrows: dict[str, set[str]]) -> set[str]:
    """Return every folder that one imports, and that those import, and so on."""
    found: set[str] = set()
    waiting = [folder]
    while waiting:
        for other in arrows[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found


def test_no_folder_imports_in_a_circle() -> None:
    arrows: dict[str, set[str]] = {folder: set() for folder in MAY}
    for module in MODULES:
        arrows[_folder(module)] |= _imports(ROOT / module) - {_folder(module)}
    reached = {folder: _reached(folder, arrows) for folder in arrows}
    circles = {frozenset(other for other in found if folder in reached[other]) for folder, found in reached.items()}
    assert not [sorted(circle) for circle in circles if len(circle) > 1]


def test_heavy_and_optional_packages_are_not_imported_with_parge() -> None:
    import subprocess
    import sys

    script = "import sys, parge; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "networkx", "pandas", "polars", "igraph", "matplotlib", "sklearn", "ray"} & set(loaded)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_gives_a_name_once(module: Path) -> None:
    """The second of two constants of one name would change the functions that mean the first."""
    names: Counter[str] = Counter()
    for item in ast.parse((ROOT / module).read_text()).body:
        if isinstance(item, ast.FunctionDef | ast.ClassDef):
            names[item.name] += 1
        elif isinstance(item, ast.Assign | ast.AnnAssign):
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            names.update(each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    assert not [name for name, count in names.items() if count > 1 and name != "_"]


def test_behaviour_hangs_on_attributes_of_components_and_not_on_their_names() -> None:
    registries = (techniques, refiners, reconcilers, engines, partitioners, strategies)
    # These are also words for something else; and the signals of `parge.evaluate.bounds` are called as techniques are.
    names = {name for registry in registries for name in registry.shipped()} - {"none", "auto", "random", "degree"}
    signals = {Path("evaluate/signals.py"), Path("evaluate/bound.py")}
    wrong = [
        f"{module}, line {item.lineno}"
        for module in MODULES
        for item in ast.walk(ast.parse((ROOT / module).read_text()))
        if isinstance(item, ast.Compare) and module not in signals
        if any(isinstance(found, ast.Constant) and found.value in names for found in ast.walk(item))
    ]
    assert wrong == []


def test_only_help_asks_which_components_are_parges_own() -> None:
    """Behaviour that hung on it would be closed to plug-ins."""
    wrong = [
        f"{module}, line {item.lineno}"
        for module in MODULES
        for item in ast.walk(ast.parse((ROOT / module).read_text()))
        if isinstance(item, ast.Attribute) and item.attr == "shipped" and _folder(module) not in {"cli", "registry"}
    ]
    assert wrong == []


def _named(tree: ast.AST) -> set[str]:
    """Return all names that code uses: of variables, attributes and imports, and words of short texts."""
    found: set[str] = set()
    for item in ast.walk(tree):
        if isinstance(item, ast.Name):
            found.add(item.id)
        elif isinstance(item, ast.Attribute):
            found.add(item.attr)
        elif isinstance(item, ast.alias):
            found.add(item.name.split(".")[-1])
        elif isinstance(item, ast.Constant) and isinstance(item.value, str):  # a registry, or an attribute by name
            found.update(item.value.replace(":", ".").split("."))
    return found


# What other libraries call: numba's cache, click's help, notebooks.
HOOKS = {"_load_data", "list_commands", "get_command", "format_commands", "_repr_html_"}


def test_nothing_stands_unused() -> None:
    """A function that neither the package nor a test or a benchmark names is removed; decorators name theirs."""
    trees = {module: ast.parse((ROOT / module).read_text()) for module in MODULES}
    known = HOOKS.union(*(_named(tree) for tree in trees.values()))
    alone = {
        item.name: module
        for module, tree in trees.items()
        if module.parts[0] != "testing"
        for item in ast.walk(tree)
        if isinstance(item, ast.FunctionDef | ast.ClassDef) and not item.decorator_list
        if not item.name.startswith("__") and item.name not in known
    }
    here = Path(__file__).parent
    others = " ".join(
        path.read_text() for folder in (here, here.parent / "benchmarks") for path in folder.rglob("*.py")
    )
    assert not {name: module for name, module in alone.items() if re.search(rf"\b{name}\b", others) is None}


# Classes that say what a component can do; any package may subclass them.
INTERFACES = {
    "Technique",
    "LandmarkTechnique",
    "BackboneTechnique",
    "Factorisation",
    "Chooser",
    "Reconciler",
    "Refiner",
    "Engine",
    "Partitioner",
}


def _component_classes() -> dict[str, Path]:
    """Return the classes of parge's own components, and of what they inherit from: name and module."""
    found: dict[str, Path] = {}
    for registry in (techniques, refiners, reconcilers, engines, partitioners, strategies):
        for name in registry.shipped():
            component = registry.get(name)
            for cls in inspect.getmro(component) if inspect.isclass(component) else ():
                if cls.__module__.startswith("parge.") and cls.__name__ not in INTERFACES:
                    found[cls.__name__] = Path(*cls.__module__.split(".")[1:]).with_suffix(".py")
    return found


def _tested_classes(path: Path) -> list[tuple[int, str]]:
    """Return the names that a module tests types against: in isinstance and issubclass, and after `is`."""
    found = []
    for item in ast.walk(ast.parse(path.read_text())):
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name):
            tested = item.args[1:2] if item.func.id in {"isinstance", "issubclass"} else []
        elif isinstance(item, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in item.ops):
            tested = [item.left, *item.comparators]
        else:
            continue
        found += [(n.lineno, n.id) for each in tested for n in ast.walk(each) if isinstance(n, ast.Name)]
    return found


def test_behaviour_hangs_on_attributes_of_components_and_not_on_their_classes() -> None:
    """Outside of a component's own folder, and of the pass that shares its name, its class is nobody's business."""
    homes = _component_classes()
    assert {"DeepWalk", "SkipGramWalks", "Whiten", "Serial", "Ray"} <= homes.keys()
    wrong = [
        f"{module}, line {line}: {name}"
        for module in MODULES
        for line, name in _tested_classes(ROOT / module)
        if name in homes and _folder(module) != _folder(homes[name]) and module.stem != homes[name].stem
    ]
    assert wrong == []


# What the system says itself, and what a user is to type.
_NOT_OURS = ("No space left", "File too large", "pip install")


def test_errors_are_matched_by_numbers_and_names_and_not_by_sentences() -> None:
    """Words of messages may change without a change here; a class, a number, a file or an option may not."""
    tests = Path(__file__).parent
    found = [
        (path, item.value.lineno, ast.unparse(item.value))
        for path in sorted(tests.rglob("*.py"))
        for item in ast.walk(ast.parse(path.read_text()))
        if isinstance(item, ast.keyword) and item.arg == "match"
    ]
    ours = [each for each in found if not any(words in each[2] for words in _NOT_OURS)]
    wrong = [f"{path}, line {line}: {match}" for path, line, match in ours if re.search("[a-z]+ [a-z]+ [a-z]+", match)]
    assert len(found) > 100
    assert wrong == []
