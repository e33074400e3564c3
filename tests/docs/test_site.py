"""Links of all pages lead somewhere, every page is in the navigation, and the site is built without a warning."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
MADE = {"reference/commands.md", "start/gallery.md"}  # while the site is built


def _text(page: Path) -> str:
    """Return a page without its code blocks and code, in which brackets are no links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL))


def _anchors(page: Path) -> set[str]:
    """Return what headings are called in links: lower case, words joined by hyphens, other signs left out."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", head).strip().lower()) for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in re.findall(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)", _text(page)):
        if "://" in path or path.startswith("mailto:"):
            continue
        target = page if not path else Path(os.path.normpath(page.parent / path))
        if target.is_relative_to(DOCS) and str(target.relative_to(DOCS)) in MADE:
            continue
        assert target.exists(), f"{page.name}: {path}"
        assert not anchor or anchor in _anchors(target), f"{page.name}: {path}#{anchor}"


def test_every_page_is_in_the_navigation() -> None:
    settings = (ROOT / "mkdocs.yml").read_text()
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"README.md"}
    assert sorted(page for page in pages if page not in settings) == []


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs mkdocs: pip install 'parge[docs]'")
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    commands = (tmp_path / "site" / "reference" / "commands" / "index.html").read_text()
    assert "parge evaluate links" in commands
    assert "--anchor-strategy" in commands


def test_badges_say_what_the_package_says() -> None:
    spec = importlib.util.spec_from_file_location("badges", DOCS / "site" / "badges.py")
    assert spec is not None
    assert spec.loader is not None
    badges = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(badges)
    drawn = {name: (DOCS / "figures" / f"badge-{name}.svg").read_text() for name in badges.metadata()}
    assert drawn == {name: badges.badge(*words) for name, words in badges.metadata().items()}
    text = (ROOT / "README.md").read_text()
    assert sorted(re.findall(r"badge-(\w+)\.svg", text)) == sorted(drawn)
