"""What a refine pass gets where every process holds one part of the graph: `ShardWorkspace`.

`parge.cluster.stages.Finish` calls `Refiner.refine_shard` with it, in every shard at the same time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parge.linalg.adjacency import Adjacency
from parge.linalg.subspace import Step
from parge.linalg.whitening import Turn
from parge.storage import row_blocks
from parge.typing import FloatArray

# Rows that are looked at together.
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class PassState:
    """State of a pass in rounds: how many are done, unit rows, what whitens them, changes, and the length to give."""

    done: int
    rows: FloatArray
    turn: Turn
    changes: tuple[float, ...]
    length: float
    is_over: bool = False


class Checkpoint(ABC):
    """Where a pass saves its rounds, or steps of eigenvectors, so that a lost shard costs a few of them only."""

    @abstractmethod
    def save(self, state: PassState) -> None:
        """Write a state; call it after every round."""

    @abstractmethod
    def load(self) -> PassState | None:
        """Return the last state that all shards have saved; None at the start."""

    @abstractmethod
    def save_step(self, step: Step) -> None:
        """Write a step; call it after every one."""

    @abstractmethod
    def load_step(self, width: int) -> Step | None:
        """Return the last step of this many columns that all shards have saved; None at the start."""


class NoCheckpoint(Checkpoint):
    """Saves nothing."""

    def save(self, state: PassState) -> None:
        """Do nothing."""

    def load(self) -> PassState | None:
        """Return None."""
        return None

    def save_step(self, step: Step) -> None:
        """Do nothing."""

    def load_step(self, width: int) -> Step | None:
        """Return None."""
        return None


@dataclass(frozen=True)
class ShardWorkspace:
    """One part of the graph, and how to reach the other parts.

    All shards make the same calls in the same order: each call of `adjacency.near`, `total`, `decided`, and of
    `gathered`, exchanges messages with all other shards.

    Parameters
    ----------
    adjacency : Adjacency
        The rows of this part: of its own vertices and of the anchors that belong to it. `near(X)` returns the rows
        of X, then those of neighbours in other parts; `total(sums)` adds over all parts; `decided(f)` returns to all
        what f returns on the first shard.
    gathered : callable
        Takes an array; returns the arrays of all shards in their order.
    columns : callable
        Takes a number of columns; returns them in groups that can be exchanged at a time.
    checkpoint : Checkpoint
        Where a pass saves how far it is.
    """

    adjacency: Adjacency
    gathered: Callable[[NDArray[Any]], list[NDArray[Any]]]
    columns: Callable[[int], list[slice]]
    checkpoint: Checkpoint = field(default_factory=NoCheckpoint)

    def mean_length(self, vectors: FloatArray) -> float:
        """Return the mean length of all vectors of the graph that are not 0; 1 if there are none."""
        lengths = np.empty(len(vectors))
        for rows in row_blocks(len(vectors), _ROWS):  # all at once, float64 took four times the vectors
            lengths[rows] = np.linalg.norm(vectors[rows].astype(np.float64), axis=1)
        mine = np.array([lengths.sum(), float((lengths > 0).sum())])
        total = sum(self.gathered(mine), np.zeros(2))
        return float(total[0] / total[1]) if total[1] else 1.0
