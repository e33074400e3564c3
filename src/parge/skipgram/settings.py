"""What a trainer of walks needs to know, and the memory it takes; apart from training, whose code is compiled."""

from typing import Literal, Protocol

from parge.memory import BASE_BYTES, GRAPH_BYTES_PER_EDGE, GRAPH_BYTES_PER_VERTEX, THREAD_BYTES, Footprint

Mode = Literal["deterministic", "hogwild"]

# Steps of walk trained by one call of the kernel: large enough that the calls cost nothing, small enough that
# the walks (256 kB) stay in the cache between walking and training, and that progress is smooth.
BATCH_STEPS = 65_536

# Mikolov et al. (2013): negatives are drawn in proportion to the 3/4th power of the frequency.
NOISE_POWER = 0.75

# Two alias entries, a place in the order of starts, and a float64 mass while the alias table is built.
_SAMPLING_BYTES_PER_VERTEX = 28
# Cumulated shares of the two directions of a weighted edge; and the weights themselves.
_WEIGHT_BYTES_PER_EDGE = 16


class WalkSettings(Protocol):
    """Settings that walks are drawn and trained by; `parge.techniques.deepwalk.SkipGramWalks` explains each."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def walks(self) -> int:
        """Walks from each vertex."""

    @property
    def walk_length(self) -> int:
        """Vertices of a walk."""

    @property
    def window(self) -> int:
        """Vertices on each side of a centre, at most."""

    @property
    def negatives(self) -> int:
        """Drawn vertices that a window is trained against."""

    @property
    def learning_rate(self) -> float:
        """Step size at the start."""

    @property
    def threads(self) -> int:
        """Threads of the worker that embeds."""

    @property
    def mode(self) -> Mode:
        """What several threads do."""


def walk_footprint(columns: int, walk_length: int, threads: int) -> Footprint:
    """Return the bound for a technique that holds that many float32 columns per vertex."""
    batch = 4 * max(BATCH_STEPS, 32 * walk_length) * 2
    return Footprint(
        BASE_BYTES + batch * threads + THREAD_BYTES * (threads - 1),
        GRAPH_BYTES_PER_VERTEX + _SAMPLING_BYTES_PER_VERTEX + 4 * columns,
        GRAPH_BYTES_PER_EDGE + _WEIGHT_BYTES_PER_EDGE,
    )
