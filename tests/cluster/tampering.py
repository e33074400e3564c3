"""Files of a run in shards, changed by somebody who writes right checksums."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from parge.graph.generate import planted
from parge.run import arrays

N, PARTS = 240, 2
FAR = 2**40


def write_edges(path: Path) -> Path:
    graph, rng = planted(N, 1000, communities=4, seed=3).graph, np.random.default_rng(0)
    table = graph.to_frame()
    ends = [table.column(i).to_pylist() for i in range(2)]
    weights = rng.integers(1, 9, len(table))
    path.write_text("".join(f"{u} {v} {w}\n" for u, v, w in zip(*ends, weights, strict=True)))
    return path


Change = Callable[[dict[str, Any]], Any]


def tamper(place: Path, kind: str, change: Change) -> None:
    """Change arrays of a folder, with checksums that are right."""
    content, about = arrays.load(place, kind)
    content = {name: np.array(array) for name, array in content.items()}
    change(content)
    arrays.save(place, kind, content, about)


def at(name: str, place: int, value: float) -> Change:
    return lambda content: content[name].__setitem__(place, value)


def cut_short(name: str) -> Change:
    return lambda content: content.__setitem__(name, content[name][:-1])


def without(name: str) -> Change:
    return lambda content: content.pop(name)
