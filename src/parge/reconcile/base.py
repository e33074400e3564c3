"""Reconciler: the interface, its laws, and the map that carries one space into the common one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from parge.typing import FloatArray


class Map(Protocol):
    """What carries the vectors of one subgraph into the common space."""

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the vectors in the common space; rows are independent of each other."""


@dataclass(frozen=True)
class Reconciler(ABC):
    """A way to make one space of many, from the vectors that each gives to the same anchors.

    A reconciler sees anchor rows only, (n_anchors, dim) a subgraph, so that nobody has to hold more:
    each subgraph's other vectors are mapped where they lie.

    Laws (held by `parge.testing.ReconcilerContract`):

    * planted rotations of one space are undone (by all but the `none` control);
    * the order of the subgraphs is irrelevant, up to one common rotation;
    * one subgraph alone is returned unchanged.
    """

    name: ClassVar[str] = ""

    @abstractmethod
    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return one map a subgraph, from H_1..H_n, each (n_anchors, dim) in the same order of anchors."""
