"""The badges of the README, drawn from what the package says of itself, so that none of them can be false.

`python docs/site/badges.py` draws them anew; a test compares them with the files.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "figures"

# Width of a character of 11 px, about; labels are padded on both sides.
_CHARACTER, _PAD = 6.6, 8


def metadata() -> dict[str, tuple[str, str]]:
    """Return the name of each badge and its two words: from pyproject.toml and the version in the source."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = " ".join(project["classifiers"])
    pythons = re.findall(r"Python :: (3\.\d+)", said)
    systems = [
        name for key, name in (("POSIX :: Linux", "Linux"), ("MacOS", "macOS"), ("Windows", "Windows")) if key in said
    ]
    version = re.search(r'^__version__ = "(.+)"', (ROOT / "src" / "parge" / "__init__.py").read_text(), re.MULTILINE)
    assert version is not None
    return {
        "version": ("version", version[1]),
        "python": ("Python", f"{pythons[0]} to {pythons[-1]}"),
        "platforms": ("runs on", ", ".join(systems)),
        "licence": ("licence", project["license"]),
    }


def badge(label: str, value: str) -> str:
    """Return a badge: a grey label and a green value."""
    left, right = (round(len(word) * _CHARACTER + 2 * _PAD) for word in (label, value))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {value}">\n'
        f'<rect width="{left + right}" height="20" rx="3" fill="#1a7f6d"/>\n'
        f'<path d="M3 0H{left}V20H3Q0 20 0 17V3Q0 0 3 0Z" fill="#505862"/>\n'
        '<g fill="#ffffff" font-family="system-ui, sans-serif" font-size="11" text-anchor="middle">\n'
        f'<text x="{left / 2:g}" y="14">{label}</text><text x="{left + right / 2:g}" y="14">{value}</text>\n'
        "</g>\n</svg>\n"
    )


def main() -> None:
    """Draw all badges."""
    for name, words in metadata().items():
        (FIGURES / f"badge-{name}.svg").write_text(badge(*words))


if __name__ == "__main__":
    main()
