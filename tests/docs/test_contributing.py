"""CONTRIBUTING.md, CITATION.cff and CHANGELOG.md name files, commands and a version that exist."""

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
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == parge.__version__
    assert versions == sorted(versions, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
