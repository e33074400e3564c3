"""Results of the benchmarks of a space, kept in results/space: what is there is not computed twice.

They are kept under a digest of the sources, the library's and these benchmarks': after a change all are measured again.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.harness import RESULTS

import parge


@cache
def sources() -> str:
    """Return a digest of the library's sources and of these benchmarks."""
    found = hashlib.sha256()
    library = Path(parge.__file__).parent
    for path in sorted([*library.rglob("*.py"), *Path(__file__).parent.glob("space_*.py")]):
        found.update(path.name.encode())
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def kept(name: str, make: Callable[[], Any]) -> Any:
    """Return plain values by name: those on disk, or new ones, which are then on disk."""
    path = RESULTS / "space" / sources() / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    found = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(found))
    unfinished.replace(path)
    return json.loads(path.read_text())


def by_seed(name: str, seeds: int, make: Callable[[int], Any]) -> Iterator[Any]:
    """Yield what each seed gives, kept."""
    for seed in range(seeds):
        yield kept(f"{name}.{seed}", lambda seed=seed: make(seed))
