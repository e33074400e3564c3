"""Two libraries against code of our own: `lazy_loader` for names of the package, `msgspec` for checked metadata.

Needs both packages (``pip install lazy_loader msgspec``), which parge itself does not.
Run it with ``python -m benchmarks.libraries_tried``.

Prints the processor time of ``import parge`` with either kind of ``__init__``, and of Python alone. Of the metadata of
a part's result it prints the time to read it, and what is said of values that are wrong.
"""

import importlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import parge
from parge.errors import InputError
from parge.run.metadata import ResultMetadata

ROOT = Path(parge.__file__).parent
_STARTS, _READS = 21, 2000

_LAZY = '''"""Names on first use, by lazy_loader."""

import lazy_loader

__version__ = "0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
'''

_RESULT: dict[str, Any] = {
    **dict.fromkeys(("index", "vertices", "own", "anchors", "halo", "lumps", "edges", "dim", "peak_bytes"), 7),
    **dict.fromkeys(("seconds", "total_seconds"), 0.5),
    "run": "0123456789abcdef",
    "versions": {"parge": "0.2.0", "python": "3.12", "numpy": "2.0"},
}

_SLIPS: dict[str, dict[str, Any]] = {
    "text for a count": {"vertices": "seven"},
    "a fraction for a count": {"vertices": 7.5},
    "true for a count": {"vertices": True},
    "negative": {"peak_bytes": -1},
    "not finite": {"seconds": float("nan")},
    "a list for names": {"versions": [1]},
}


def _lazy_package(folder: Path) -> None:
    """Make a package that is parge but for its ``__init__``."""
    package = folder / "parge"
    package.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in ("__init__.py", "__pycache__"):
            (package / entry.name).symlink_to(entry)
    (package / "__init__.py").write_text(_LAZY)
    lines = [
        f"from {home.removeprefix('parge')} import {name} as {name}"
        for name, home in parge._PUBLIC.items()  # type: ignore[attr-defined]
    ]
    (package / "__init__.pyi").write_text("\n".join(lines))


def _start_seconds(code: str, path: Path) -> float:
    """Return the processor time of a fresh process that runs some code."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *sys.path[1:]])}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts() -> str:
    """Compare both kinds of ``__init__``."""
    with tempfile.TemporaryDirectory() as name:
        _lazy_package(Path(name))
        ways = {
            "python alone": ("", ROOT.parent),
            "own __getattr__": ("import parge", ROOT.parent),
            "lazy_loader": ("import parge", Path(name)),
        }
        took = {title: [_start_seconds(*way) for _ in range(_STARTS)] for title, way in ways.items()}
    rows = []
    for title, seconds in took.items():
        low, middle, high = (1e3 * sorted(seconds)[at] for at in (_STARTS // 4, _STARTS // 2, 3 * _STARTS // 4))
        rows.append(f"{title:16} {middle:.1f} ms (quartiles {low:.1f} to {high:.1f}, {_STARTS} starts)")
    return "\n".join(rows)


def _struct() -> Any:
    msgspec = importlib.import_module("msgspec")
    kinds = {name: dict[str, str] if name == "versions" else type(value) for name, value in _RESULT.items()}
    return msgspec, msgspec.defstruct("Result", list(kinds.items()), frozen=True)


def _said(read: Callable[[Any], Any], data: Any, error: type[Exception]) -> str:
    try:
        read(data)
    except error as problem:
        return str(problem)
    return "(nothing)"


def reading() -> str:
    """Compare both ways to read the metadata of a result: time, and messages."""
    msgspec, struct = _struct()
    ways: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
        "own Value": (ResultMetadata.from_json, InputError),
        "msgspec": (lambda data: msgspec.convert(data, struct), msgspec.ValidationError),
    }
    rows = []
    for title, (read, error) in ways.items():
        read(_RESULT)
        started = time.process_time()
        for _ in range(_READS):
            read(_RESULT)
        took = (time.process_time() - started) / _READS
        rows.append(f"{title:16} {1e6 * took:6.1f} microseconds per result")
        rows += [f"  {what:24} {_said(read, {**_RESULT, **slip}, error)}" for what, slip in _SLIPS.items()]
        rows.append(
            f"  {'missing':24} {_said(read, {k: v for k, v in _RESULT.items() if k not in ('dim', 'run')}, error)}"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(starts())
    print(reading())
