"""Cells of tables: each is written as soon as it is known, and not computed again."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import harness

Cell = dict[str, Any]


@dataclass(eq=False)
class Cells:
    """The cells of one experiment on one data set, in a JSON file that grows with each of them.

    Parameters
    ----------
    path : Path
        results/paper/EXPERIMENT-DATASET.json.
    metadata : dict
        The data set and the settings that all cells share; a file with other ones is refused.
    """

    path: Path
    metadata: dict[str, Any]
    cells: dict[str, Cell] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            found = json.loads(self.path.read_text())
            for name, value in self.metadata.items():
                if found.get(name) != value:
                    raise SystemExit(
                        f"{self.path} holds results for {name} {found.get(name)}, these would be for {value}; "
                        "move that file away, or use another --out"
                    )
            self.cells = found["cells"]

    def cell(self, key: str, compute: Callable[[], Cell], on_step: Callable[[str], None]) -> Cell:
        """Return a cell: from the file, or computed and written to it."""
        if key not in self.cells:
            on_step(f"{self.path.stem}: {key}")
            self.cells[key] = {**compute(), "load": harness.machine()["load"][0]}
            self._write()
        return self.cells[key]

    def _write(self) -> None:
        """Replace the file by one rename, so that an interruption leaves the old one or the new one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {**self.metadata, "versions": harness.versions(), "machine": harness.machine(), "cells": self.cells}
        unfinished = self.path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(content, indent=1) + "\n")
        unfinished.replace(self.path)


def key(technique: str, method: str, n_parts: int, seed: int) -> str:
    """Return the name of a cell.

    >>> key("hope", "Recon-S", 8, 0)
    'hope | Recon-S | n=8 | seed 0'
    """
    return f"{technique} | {method} | n={n_parts} | seed {seed}"


@dataclass(frozen=True)
class Results:
    """The cells of one file, to be looked at."""

    experiment: str
    dataset: dict[str, Any]
    settings: dict[str, Any]
    cells: dict[str, Cell]

    def over_seeds(self, technique: str, method: str, n_parts: int) -> list[Cell]:
        """Return the cells of all seeds that there are."""
        start = key(technique, method, n_parts, 0).removesuffix("0")
        return [cell for name, cell in self.cells.items() if name.startswith(start)]


def read_results(folder: Path, experiment: str) -> Iterator[Results]:
    """Yield the results of an experiment, one a data set, those on the paper's own data first."""
    found = []
    for path in sorted(folder.glob(f"{experiment}-*.json")):
        content = json.loads(path.read_text())
        found.append(Results(experiment, content["dataset"], content["settings"], content["cells"]))
    yield from sorted(found, key=lambda results: bool(results.dataset["note"]))
