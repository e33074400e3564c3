"""Procrustes to one pivot: the paper's reconciler, corrected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from parge.errors import InputError
from parge.linalg.procrustes import choose_pivot, rotation
from parge.reconcile.anchors import check_anchors, nothing_to_map
from parge.reconcile.base import Map, Reconciler
from parge.reconcile.maps import IdentityMap, LinearMap
from parge.reconcile.products import products
from parge.typing import FloatArray


@dataclass(frozen=True)
class Orthogonal(Reconciler):
    """Rotates every space onto that of one pivot.

    Parameters
    ----------
    pivot : int, optional
        The subgraph whose space becomes the common one; by default the one with the smallest total residual.
    """

    pivot: int | None = None

    name: ClassVar[str] = "orthogonal"

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return the identity for the pivot and a rotation for every other subgraph."""
        check_anchors(anchors)
        if self.pivot is not None and not 0 <= self.pivot < max(1, len(anchors)):
            raise InputError(f"the pivot was to be subgraph {self.pivot}; there are 0..{len(anchors) - 1}")
        if nothing_to_map(anchors):
            return (IdentityMap(),) * len(anchors)
        known = products(anchors)
        pivot = choose_pivot(known) if self.pivot is None else self.pivot
        return tuple(
            IdentityMap() if i == pivot else LinearMap(rotation(known.pair(i, pivot))) for i in range(len(anchors))
        )
