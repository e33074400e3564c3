"""Settings of the walk techniques, their checks and their memory; apart from training, whose code is compiled."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from parge.errors import InputError
from parge.graph.subgraph import Subgraph
from parge.kernels.padding import padded
from parge.memory import Footprint
from parge.techniques.base import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, Progress, Technique
from parge.typing import FloatArray

# Steps of walk trained by one call of the kernel: large enough that the calls cost nothing, small enough that
# the walks (256 kB) stay in the cache between walking and training, and that progress is smooth.
BATCH_STEPS = 65_536

# Two alias entries, a place in the order of starts, and a float64 mass while the alias table is built.
SAMPLING_BYTES_PER_VERTEX = 28
# Cumulated shares of the two directions of a weighted edge; and the weights themselves.
WEIGHT_BYTES_PER_EDGE = 16


@dataclass(frozen=True)
class SkipGramWalks(Technique):
    """Settings of a technique that trains skip-gram with negative sampling on random walks.

    Parameters
    ----------
    dim : int
        Length of a vector.
    walks : int
        Walks from each vertex.
    walk_length : int
        Vertices of a walk.
    window : int
        Vertices on each side of a centre, at most: the reach of each window is uniform in 1..window.
    negatives : int
        Drawn vertices that a window is trained against.
    learning_rate : float
        Step size at the start; it falls linearly with the walks done, to 1 %.
    """

    walks: int = 10
    walk_length: int = 40
    window: int = 5
    negatives: int = 5
    learning_rate: float = 0.05

    def __post_init__(self) -> None:
        for field, least in (("dim", 1), ("walks", 1), ("walk_length", 2), ("window", 1), ("negatives", 1)):
            check_count(self, field, least)
        check_positive(self, "learning_rate")

    def footprint(self) -> Footprint:
        """Return the bound: both tables, the graph with its sampling tables, one batch of walks."""
        return walk_footprint(2 * padded(self.dim), self.walk_length)

    def _train(
        self, subgraph: Subgraph, rng: np.random.Generator, progress: Progress, p: float = 1.0, q: float = 1.0
    ) -> FloatArray:
        """Return the In table after all walks."""
        from parge.techniques.skipgram import train  # compiled code: not needed to plan

        return train(self, subgraph, rng, progress, p, q)


def walk_footprint(columns: int, walk_length: int) -> Footprint:
    """Return the bound for a technique that holds that many float32 columns a vertex."""
    batch = 4 * max(BATCH_STEPS, 32 * walk_length) * 2
    return Footprint(
        BASE_BYTES + batch,
        GRAPH_BYTES_PER_VERTEX + SAMPLING_BYTES_PER_VERTEX + 4 * columns,
        GRAPH_BYTES_PER_EDGE + WEIGHT_BYTES_PER_EDGE,
    )


def check_count(technique: Technique, field: str, least: int) -> None:
    """Raise unless the setting is an integer of at least `least`."""
    value = getattr(technique, field)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{field} of {technique.name} must be an integer of at least {least}; got {value!r}")


def check_positive(technique: Technique, field: str, least: float = 0.0, most: float = float("inf")) -> None:
    """Raise unless the setting is a positive, finite number within the limits."""
    value = getattr(technique, field)
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not value > 0 or not least <= value <= most:
        limits = "" if most == float("inf") else f" between {least:g} and {most:g}"
        raise InputError(f"{field} of {technique.name} must be a positive number{limits}; got {value!r}")
