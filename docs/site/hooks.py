"""Pages that are made while the site is built, and links that leave the folder of the docs.

Called by mkdocs (`hooks` of mkdocs.yml). The pages of `project/` are the files at the root of the repository; the
reference of commands is written from the program, so that it cannot be older than it.
"""

import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from commands import commands_page
from gallery import gallery_page

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

_LINK = re.compile(r"(\]\()([^)\s]+?)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that nobody writes by hand."""
    for name in PROJECT:
        text = (ROOT / name).read_text()
        files.append(File.generated(config, f"project/{name}", content=moved(text, PurePosixPath(".."))))
    files.append(File.generated(config, "reference/commands.md", content=commands_page()))
    files.append(File.generated(config, "start/gallery.md", content=gallery_page()))
    return files


def moved(text: str, step: PurePosixPath) -> str:
    """Return the text of a file at the root with links as its page in `project/` needs them."""
    return _LINK.sub(lambda found: f"{found[1]}{_from_root(found[2], step)}{found[3] or ''})", text)


def _from_root(target: str, step: PurePosixPath) -> str:
    if target.startswith("docs/"):
        return str(step / target.removeprefix("docs/"))
    return target if target in PROJECT or "://" in target else f"{step}/../{target}"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links that leave the docs at the page made of that file, or keep their text alone."""
    del config, files
    here = PurePosixPath(page.file.src_uri).parent
    return re.sub(r"\[([^\]]*)\]\(((?:\.\./)+[^)\s#]*)(#[^)\s]*)?\)", lambda found: _inside(found, here), markdown)


def _inside(found: re.Match[str], here: PurePosixPath) -> str:
    target = os.path.normpath(here / found[2])
    if not target.startswith(".."):
        return found[0]
    name = target.removeprefix("../")
    if not (ROOT / name).exists():
        raise FileNotFoundError(f"{here}: a link to {name}, which is not there")
    if name not in PROJECT:
        return found[1]
    return f"[{found[1]}]({os.path.relpath(f'project/{name}', here)}{found[3] or ''})"
