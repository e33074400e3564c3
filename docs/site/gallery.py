"""The gallery: scripts of docs/examples with what they print, executed while the site is built."""

import ast
import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
HEAD = """# Gallery

Scripts of `docs/examples`, executed while this page was made, with what they printed. The tests run them, too.
A notebook is in the same folder: `docs/examples/two_clubs.ipynb`.
"""

# Those that newcomers can use come first; those that show a theorem come last.
FIRST = ("friends", "parts_against_whole", "new_vertices", "your_own_function")


def gallery_page() -> str:
    """Return the page; a script that fails ends the build."""
    return HEAD + "".join(_entry(script) for script in scripts())


def scripts() -> list[Path]:
    """Return all scripts, in the order of the page."""
    found = {script.stem: script for script in sorted(EXAMPLES.glob("*.py"))}
    return [found.pop(name) for name in FIRST] + list(found.values())


def _entry(script: Path) -> str:
    text = script.read_text()
    tree = ast.parse(text)
    said = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    code = text.split('"""', 2)[2].strip()
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parents[1] / "src")},
    )
    title = script.stem.replace("_", " ").capitalize()
    return f"\n## {title}\n\n{said}\n\n```python\n{code}\n```\n\n```text\n{done.stdout.rstrip()}\n```\n"
