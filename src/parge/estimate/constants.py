"""The measured numbers that estimates multiply; the benchmarks write them (benchmarks/estimate_constants.py)."""

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Constant:
    """A measured number and the benchmark that prints it."""

    value: float  # the number, in its unit
    unit: str  # begins with ``seconds per vertex`` or ``seconds per edge`` where it is multiplied by these
    source: str  # the benchmark
    # Where the number itself grows, because tables outgrow caches: it was measured at `at`, and at n it is
    # ``(n / at) ** growth`` times the value.
    at: float = 1.0
    growth: float = 0.0

    @property
    def per_edge(self) -> bool:
        """Whether edges are counted, not vertices."""
        return self.unit.startswith("seconds per edge")

    def of(self, count: float) -> float:
        """Return what that many take.

        >>> Constant(2.0, "seconds per vertex", "", at=100.0, growth=0.5).of(400)
        1600.0
        """
        return self.value * count * (count / self.at) ** self.growth if count else 0.0


def constants() -> dict[str, Constant]:
    """Return the measured constants by name; they are kept in one file of the package, ``constants.json``."""
    found = json.loads(files("parge").joinpath("constants.json").read_text())
    return {name: Constant(**entry) for name, entry in found.items()}
