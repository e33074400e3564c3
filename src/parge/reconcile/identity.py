"""No reconciliation: the control, and the right choice for spaces that agree by construction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from parge.reconcile.anchors import check_anchors
from parge.reconcile.base import Map, Reconciler
from parge.reconcile.maps import IdentityMap
from parge.typing import FloatArray


@dataclass(frozen=True)
class Identity(Reconciler):
    """Leaves every space as it is (the paper's NoRecon)."""

    name: ClassVar[str] = "none"

    def maps(self, anchors: Sequence[FloatArray]) -> tuple[Map, ...]:
        """Return identity maps."""
        check_anchors(anchors)
        return (IdentityMap(),) * len(anchors)


@dataclass(frozen=True)
class Backbone(Identity):
    """Leaves every space as it is, because the workers trained in one (see `parge.landmarks.backbone`)."""

    name: ClassVar[str] = "backbone"
