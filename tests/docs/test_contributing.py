"""CONTRIBUTING.md, CITATION.cff and CHANGELOG.md name files, commands and a version that exist."""

import inspect
import pkgutil
import re
from pathlib import Path

import parge

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def test_files_and_commands_of_the_page_exist() -> None:
    names = re.findall(r"`((?:src|tests|docs)/[\w./]*)`", TEXT)
    assert len(names) > 10
    assert [name for name in names if "NAME" not in name and not (ROOT / name).exists()] == []
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"`make ([\w-]+)`", TEXT))
    assert {"test", "test-slow", "test-all", "test-processors"} <= targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_the_cited_version_is_this_one() -> None:
    found = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert found is not None
    assert found[1] == parge.__version__


def test_the_changelog_begins_with_this_version() -> None:
    versions = re.findall(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == parge.__version__
    assert versions == sorted(versions, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def test_the_page_of_python_declares_what_is_public() -> None:
    page = (ROOT / "docs/reference/api.md").read_text()
    declared = re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    found = {name: pkgutil.resolve_name(name) for name in declared}
    whole = [value for value in found.values() if inspect.ismodule(value)]  # all of a module's own names are public
    for name in set(parge.__all__) - {"__version__"}:
        value = getattr(parge, name)
        is_named = any(value is other for other in found.values())
        assert is_named or any(hasattr(module, name) for module in whole), name
