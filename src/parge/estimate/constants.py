"""The measured numbers that estimates multiply; the benchmarks write them (benchmarks/estimate_constants.py)."""

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Constant:
    """A measured number and the benchmark that prints it."""

    value: float
    unit: str
    source: str


def constants() -> dict[str, Constant]:
    """Return the measured constants by name; they are kept in one file of the package, ``constants.json``."""
    found = json.loads(files("parge").joinpath("constants.json").read_text())
    return {name: Constant(**entry) for name, entry in found.items()}
