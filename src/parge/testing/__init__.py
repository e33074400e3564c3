"""Test helpers for parge and for techniques and stages of other packages.

Property tests draw graphs from `parge.testing.graphs`; contracts hold a component to the laws of its interface.
Names are imported when they are first used, so that nothing here needs pytest or hypothesis until it does.
"""

from importlib import import_module
from typing import Any

# Public name: the module that defines it.
_HOMES = {
    "DecomposerContract": "parge.testing.decomposer",
    "EngineContract": "parge.testing.engine",
    "ReconcilerContract": "parge.testing.reconciler",
    "RefinerContract": "parge.testing.refiner",
    "TechniqueContract": "parge.testing.technique",
    "assert_graph_laws": "parge.testing.graphs",
    "capacity_vectors": "parge.testing.graphs",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
