"""Reconcilers by name."""

from parge.reconcile.base import Reconciler
from parge.reconcile.consensus import Consensus
from parge.reconcile.identity import Identity
from parge.reconcile.linear import Linear
from parge.reconcile.mlp import MLP
from parge.reconcile.orthogonal import Orthogonal
from parge.registry import Registry

reconcilers: Registry[type[Reconciler]] = Registry("reconciler")
for _component in (Consensus, Orthogonal, Linear, MLP, Identity):
    reconcilers.register(_component.name, _component)


def resolve(reconciler: str | Reconciler) -> Reconciler:
    """Return the reconciler itself, or the one of that name with its own settings.

    >>> resolve("orthogonal")
    Orthogonal(pivot=None)
    """
    return reconcilers.get(reconciler)() if isinstance(reconciler, str) else reconciler
