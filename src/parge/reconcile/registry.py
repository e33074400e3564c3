"""Reconcilers by name; each is imported when it is first asked for."""

from parge.reconcile.base import Reconciler
from parge.registry import Registry

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
