"""Reconciling in one call: maps, how well the spaces meet under them, and what to warn of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parge.reconcile.base import Map, Reconciler
from parge.reconcile.registry import resolve
from parge.reconcile.residuals import Residual, few_anchors, hardly_met, residuals
from parge.typing import FloatArray


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
    """

    name: str
    maps: tuple[Map, ...]
    residuals: tuple[Residual, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the name and the residuals as plain values."""
        return {"reconciler": self.name, "residuals": [residual.to_json() for residual in self.residuals]}


def reconcile(reconciler: str | Reconciler, anchors: Sequence[FloatArray]) -> Reconciliation:
    """Map the spaces of all subgraphs into one, given each one's anchor rows in the same order of anchors."""
    chosen = resolve(reconciler)
    maps = chosen.maps(anchors)
    found = residuals(maps, anchors, reconciler=chosen)
    warnings: tuple[str | None, ...] = ()
    if len(anchors) > 1 and chosen.name not in {"none", "backbone"}:
        warnings = (few_anchors(*anchors[0].shape), hardly_met(found))
    return Reconciliation(chosen.name, maps, found, tuple(warning for warning in warnings if warning is not None))
