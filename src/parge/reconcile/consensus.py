"""Generalised Procrustes: all spaces meet in their mean, and none of them is special."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from parge.linalg.procrustes import choose_pivot, rotation
from parge.reconcile.anchors import check_anchors, nothing_to_map
from parge.reconcile.base import Map, Reconciler
from parge.reconcile.maps import IdentityMap, LinearMap
from parge.reconcile.products import Products, products
from parge.typing import FloatArray, Matrix

# Relative gain of a round under which the rounds stop. On vectors of ProNE in 8 parts (a tree, a planted graph) 1e-7
# took 60 rounds and this 10 and 6, with residuals of .8414 and .8418, .4460 and .4465.
_TOLERANCE = 1e-4
_MOST_ROUNDS = 60


@dataclass(frozen=True)
class Consensus(Reconciler):
    """Rotates every space onto the mean of all, the mean being found together with the rotations.

    Minimises ``sum_i |H_i W_i - C|^2`` over orthogonal W_i and C. Uncentred: a translation would change inner
    products (and multiplied the PIP of HOPE by 7 when it was tried). Rounds start from the best pivot and
    update all rotations at once, so the order of the subgraphs plays no part.
    """

    name: ClassVar[str] = "consensus"

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return one rotation a subgraph."""
        check_anchors(anchors)
        if nothing_to_map(anchors):
            return (IdentityMap(),) * len(anchors)
        return tuple(LinearMap(W) for W in rotations(products(anchors)))


def rotations(anchors: Products) -> list[Matrix]:
    """Return the rotations W_i that bring all ``H_i W_i`` nearest to their mean."""
    pivot, before = choose_pivot(anchors), 0.0
    W = [rotation(anchors.pair(i, pivot)) for i in range(anchors.n)]
    for _ in range(_MOST_ROUNDS):
        onto = anchors.with_total(W)
        # |sum_i H_i W_i|^2 rises in every round exactly as much as the objective falls.
        agreement = sum(float(np.vdot(turn, product)) for turn, product in zip(W, onto, strict=True))
        if agreement <= before * (1 + _TOLERANCE):
            break
        before = agreement
        W = [rotation(product) for product in onto]
    return _upright(W)


def _upright(W: Sequence[Matrix]) -> list[Matrix]:
    """Turn the common space, which is free to be turned, to where the maps are nearest to the identity.

    So the pivot of the start leaves no trace, and spaces that agree already are left as they are.
    """
    common = rotation(np.asarray(sum(W)).T)
    return [map_ @ common for map_ in W]
