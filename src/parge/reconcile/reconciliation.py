"""Reconciling in one call: maps, how well the spaces meet under them, and what to warn of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parge.reconcile.base import Identity, Map, Reconciler, resolve
from parge.reconcile.residuals import Residual, few_anchors, hardly_met, residuals
from parge.typing import FloatArray

# Held-out anchors must be nearer by this factor for the maps to stand: unrelated spaces gain as much by chance.
_NEARER = 0.9


@dataclass(frozen=True)
class Reconciliation:
    """The maps into the common space and what is known of them.

    Parameters
    ----------
    name : str
        The reconciler.
    maps : tuple of Map
        One a subgraph.
    residuals : tuple of Residual
        One a subgraph.
    warnings : tuple of str
        What a user should know before trusting the result.
    gave_way : bool
        Whether the spaces were left as they are, because anchors that were held out lie nearer so.
    """

    name: str
    maps: tuple[Map, ...]
    residuals: tuple[Residual, ...]
    warnings: tuple[str, ...] = ()
    fell_back: bool = False

    @property
    def helped(self) -> dict[str, float] | None:
        """How far anchors are off on average: as computed, as mapped, and as mapped without having been seen."""
        seen = [r for r in self.residuals if r.held_out is not None]
        if not seen:
            return None
        return {name: float(np.mean([getattr(r, name) for r in seen])) for name in ("before", "after", "held_out")}

    def to_json(self) -> dict[str, Any]:
        """Return the name, the residuals and what the maps were good for, as plain values."""
        return {
            "reconciler": self.name,
            "residuals": [residual.to_json() for residual in self.residuals],
            "helped": self.helped,
            "gave_way": self.fell_back,
        }


def reconcile(reconciler: str | Reconciler, anchors: Sequence[FloatArray]) -> Reconciliation:
    """Map the spaces of all subgraphs into one, given each one's anchor rows in the same order of anchors.

    Held-out anchors decide between the maps and none: where they lie farther off as mapped than as computed, the spaces
    are left as they are, so that reconciling is no worse than not reconciling.
    """
    chosen = resolve(reconciler)
    maps = chosen.maps(anchors)
    found = residuals(maps, anchors, reconciler=chosen)
    if len(anchors) < 2 or chosen.is_identity:
        return Reconciliation(chosen.name, maps, found)
    few = few_anchors(*anchors[0].shape)
    if chosen.falls_back and (off := _harm(found)) is not None:
        plain, apart = Identity(), hardly_met(found)
        found = residuals(plain.maps(anchors), anchors, reconciler=plain)
        left = (
            f"{chosen.name} would take anchors that it has not seen from {off[0]:.0%} off to {off[1]:.0%}: the spaces "
            "were left as they are"
        )
        return Reconciliation(chosen.name, plain.maps(anchors), found, _given(few, left, apart), fell_back=True)
    return Reconciliation(chosen.name, maps, found, _given(few, hardly_met(found)))


def _harm(found: Sequence[Residual]) -> tuple[float, float] | None:
    """Return how far anchors are off as computed and as mapped unseen, where the maps are no gain."""
    pairs = [(r.before, r.held_out) for r in found if r.held_out is not None]
    if not pairs:
        return None
    before, unseen = (float(np.mean(side)) for side in zip(*pairs, strict=True))
    return (before, unseen) if unseen > _NEARER * before else None


def _given(*warnings: str | None) -> tuple[str, ...]:
    return tuple(warning for warning in warnings if warning is not None)
