"""Reconciler: the interface, its laws, the maps into the common space, and reconcilers by name."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from parge.errors import InputError
from parge.registry import Registry
from parge.seeds import keyed_rng
from parge.storage import all_finite, row_blocks, rows_at_once
from parge.typing import FloatArray, IntArray, Matrix


class Map(Protocol):
    """Maps the vectors of one subgraph into the common space."""

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Return the vectors in the common space; rows are independent of each other."""


@dataclass(frozen=True)
class Reconciler(ABC):
    """Base class of reconcilers: find maps into one space, from the vectors of shared anchors.

    A reconciler receives anchor rows only, (n_anchors, dim) per subgraph. The other vectors of a subgraph are mapped
    later, block by block.

    Laws (held by `parge.testing.ReconcilerContract`):

    * planted rotations of one space are undone (by all but the `none` control);
    * the order of the subgraphs is irrelevant, up to one common rotation;
    * one subgraph alone is returned unchanged.
    """

    name: ClassVar[str] = ""
    is_identity: ClassVar[bool] = False
    """True where spaces stay unchanged: there are no maps to check or to warn about."""
    falls_back: ClassVar[bool] = False
    """True where the maps are skipped if they do not help on held-out anchors."""
    needs_landmarks: ClassVar[bool] = False
    """True where the workers train around one backbone: the technique is a `parge.landmarks.base.LandmarkTechnique`."""

    @abstractmethod
    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return one map per subgraph, from H_1..H_n, each (n_anchors, dim) in the same order of anchors."""


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
    """Return the rows with numbers beyond a precision replaced by its largest number."""
    most = float(np.finfo(dtype).max)
    return np.clip(rows, -most, most)


def check_anchors(anchors: Sequence[FloatArray]) -> None:
    """Raise `InputError` unless every subgraph gives one finite matrix of anchor rows, all of one shape."""
    shapes = {rows.shape for rows in anchors}
    if len(shapes) > 1:
        raise InputError(
            "every subgraph must give the same number of anchor vectors, of the same length; got shapes "
            f"{sorted(shapes)}"
        )
    if any(len(shape) != 2 for shape in shapes):
        raise InputError(f"anchor rows must be matrices (anchors, dim); got shape {shapes.pop()}")
    for i, rows in enumerate(anchors):
        if not all_finite(rows):
            raise InputError(f"subgraph {i} gives an anchor a vector with NaN or infinity. Check its technique.")


def nothing_to_map(anchors: Sequence[FloatArray]) -> bool:
    """Return whether no maps are needed: at most one subgraph, or no shared anchors."""
    return len(anchors) <= 1 or anchors[0].size == 0


def folds(n_anchors: int, n_folds: int = 5) -> IntArray:
    """Return the fold of every anchor, the same on every call.

    Drawn rather than counted off, because anchors come in the order of their numbers, which may have a period.
    """
    order = keyed_rng(0, "anchor folds", n_anchors).permutation(n_anchors)
    return order % n_folds


@dataclass(frozen=True)
class Identity(Reconciler):
    """No reconciling: every space stays unchanged (the paper's NoRecon).

    Use it as ``reconcile="none"`` (``--reconcile none``) as a control, or where spaces agree by themselves.
    """

    name: ClassVar[str] = "none"
    is_identity: ClassVar[bool] = True

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return identity maps."""
        check_anchors(anchors)
        return (IdentityMap(),) * len(anchors)


@dataclass(frozen=True)
class Backbone(Identity):
    """No maps: the workers already trained in one space, around landmarks (see `parge.landmarks.backbone`).

    Use it as ``reconcile="backbone"`` (``--reconcile backbone``): the default for techniques that can embed landmarks.
    """

    name: ClassVar[str] = "backbone"
    needs_landmarks: ClassVar[bool] = True


def few_anchors(n_anchors: int, dim: int, what: str = "anchors") -> str | None:
    """Return a warning where the anchors cannot, or can hardly, determine rotations of `dim` dimensions.

    >>> few_anchors(40, 32)
    '40 anchors are few for 32 dimensions: the rotation between two spaces is not stable. Use 64 or more if \
there are that many, else a lower dim (--dim).'
    """
    if n_anchors >= 2 * dim:
        return None
    advice = f"Use {2 * dim:,} or more if there are that many, else a lower dim (--dim)."
    if n_anchors < dim:
        return (
            f"{n_anchors:,} {what} are fewer than the {dim} dimensions, so the rotation between two spaces is not "
            f"determined. {advice}"
        )
    return f"{n_anchors:,} {what} are few for {dim} dimensions: the rotation between two spaces is not stable. {advice}"


reconcilers: Registry[type[Reconciler]] = Registry("reconciler", also=("auto",))
reconcilers.register_at("consensus", "parge.reconcile.rotations:Consensus")
reconcilers.register_at("orthogonal", "parge.reconcile.rotations:Orthogonal")
reconcilers.register_at("linear", "parge.reconcile.linear:Linear")
reconcilers.register_at("mlp", "parge.reconcile.mlp:MLP")
# Workers trained around one backbone are in one space already.
reconcilers.register_at("backbone", "parge.reconcile.base:Backbone")
reconcilers.register_at("none", "parge.reconcile.base:Identity")


def kind_of(name: str) -> type[Reconciler]:
    """Return the class of this name, as in a report or a folder; `Reconciler` itself where the name is unknown.

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
