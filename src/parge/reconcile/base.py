"""Reconciler: the interface, its laws, the maps into the common space, and reconcilers by name."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from parge.blocks import all_finite, row_blocks, rows_at_once
from parge.errors import InputError
from parge.registry import Registry
from parge.seeds import stream
from parge.typing import FloatArray, IntArray, Matrix


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
    is_identity: ClassVar[bool] = False
    """True where spaces are left as they are: there are no maps to judge or to warn of."""
    falls_back: ClassVar[bool] = False
    """True where the spaces are left as they are if held-out anchors lie farther off as mapped than as computed."""
    needs_landmarks: ClassVar[bool] = False
    """True where the workers train around one backbone: the technique is a `parge.landmarks.base.LandmarkTechnique`."""

    @abstractmethod
    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return one map a subgraph, from H_1..H_n, each (n_anchors, dim) in the same order of anchors."""


@dataclass(frozen=True)
class IdentityMap:
    """The map that leaves every vector as it is."""

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the same array."""
        return vectors


@dataclass(frozen=True, eq=False)
class LinearMap:
    """The map ``x -> x W``; it computes in float64 and answers in the precision of its input.

    Parameters
    ----------
    matrix : (dim, dim) float64
        W; orthogonal for rotations.
    """

    matrix: Matrix

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the rows times W, one block at a time so that float64 copies stay small."""
        out = np.empty((len(vectors), self.matrix.shape[1]), vectors.dtype)
        for rows in row_blocks(len(vectors), rows_at_once(self.matrix.shape[1])):
            out[rows] = within(double(vectors[rows]) @ self.matrix, out.dtype)
        return out


def double(vectors: NDArray[Any]) -> Matrix:
    """Return the rows in float64, copied only where they are not."""
    return np.asarray(vectors, np.float64)


def within(rows: Matrix, dtype: np.dtype[Any]) -> Matrix:
    """Return the rows with what would overflow a precision, and be infinite, as its largest number."""
    most = float(np.finfo(dtype).max)
    return np.clip(rows, -most, most)


def check_anchors(anchors: Sequence[FloatArray]) -> None:
    """Refuse anchor rows that are not one finite matrix of one shape a subgraph."""
    shapes = {rows.shape for rows in anchors}
    if len(shapes) > 1:
        raise InputError(f"every subgraph gives the same anchors vectors of one length; got shapes {sorted(shapes)}")
    if any(len(shape) != 2 for shape in shapes):
        raise InputError(f"anchor rows are matrices (anchors, dim); got shape {shapes.pop()}")
    for i, rows in enumerate(anchors):
        if not all_finite(rows):
            raise InputError(f"subgraph {i} gives an anchor a vector with NaN or infinity; check its technique")


def nothing_to_map(anchors: Sequence[FloatArray]) -> bool:
    """Return whether identity maps are the answer: at most one subgraph, or nothing that they share."""
    return len(anchors) <= 1 or anchors[0].size == 0


def folds(n_anchors: int, n_folds: int = 5) -> IntArray:
    """Return the fold of every anchor, the same on every call.

    Drawn rather than counted off, because anchors come in the order of their numbers, which may have a period.
    """
    order = stream(0, "anchor folds", n_anchors).permutation(n_anchors)
    return order % n_folds


@dataclass(frozen=True)
class Identity(Reconciler):
    """Leaves every space as it is (the paper's NoRecon)."""

    name: ClassVar[str] = "none"
    is_identity: ClassVar[bool] = True

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return identity maps."""
        check_anchors(anchors)
        return (IdentityMap(),) * len(anchors)


@dataclass(frozen=True)
class Backbone(Identity):
    """Leaves every space as it is, because the workers trained in one (see `parge.landmarks.backbone`)."""

    name: ClassVar[str] = "backbone"
    needs_landmarks: ClassVar[bool] = True


reconcilers: Registry[type[Reconciler]] = Registry("reconciler", also=("auto",))
reconcilers.register_at("consensus", "parge.reconcile.rotations:Consensus")
reconcilers.register_at("orthogonal", "parge.reconcile.rotations:Orthogonal")
reconcilers.register_at("linear", "parge.reconcile.linear:Linear")
reconcilers.register_at("mlp", "parge.reconcile.mlp:MLP")
# Workers trained around one backbone are in one space already.
reconcilers.register_at("backbone", "parge.reconcile.base:Backbone")
reconcilers.register_at("none", "parge.reconcile.base:Identity")


def kind_of(name: str) -> type[Reconciler]:
    """Return the class that a report or a folder names; the interface itself where nobody here has that name.

    >>> kind_of("backbone").needs_landmarks, kind_of("a plug-in that is not installed").is_identity
    (True, False)
    """
    return reconcilers.get(name) if name in reconcilers.names() else Reconciler


def resolve(reconciler: str | Reconciler) -> Reconciler:
    """Return the reconciler itself, or the one of that name with its own settings.

    >>> resolve("orthogonal")
    Orthogonal(pivot=None)
    """
    return reconcilers.get(reconciler)() if isinstance(reconciler, str) else reconciler
