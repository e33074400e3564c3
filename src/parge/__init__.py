"""Embed the vertices of a graph on several machines, none of which has to hold it.

Values flow one way, and each stage is a folder::

    Graph --decompose--> Decomposition --techniques--> local vectors --reconcile--> Embedding --evaluate--> Scores

Everything starts with ``parge.embed("edges.txt", parts=8, dim=64)``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # as type checkers know it; `typing` itself takes as long to import as Python to start
if TYPE_CHECKING:
    from typing import Any

if sys.platform == "win32":
    raise ImportError("parge runs on Linux and macOS, not on Windows. Use it in WSL 2: wsl --install, then pip there.")

__version__ = "0.4.0"

# Public name -> where it lives. Loaded on first use, so that `import parge` and `parge --help` cost nothing.
_PUBLIC = {
    "Blend": "parge.techniques.blend",
    "ClosedForm": "parge.techniques.closedform",
    "Whitened": "parge.techniques.whitened",
    "DeepWalk": "parge.techniques.deepwalk",
    "Embedding": "parge.embedding",
    "GraphSAGE": "parge.techniques.graphsage",
    "Graph": "parge.graph.graph",
    "HOPE": "parge.techniques.hope",
    "LINE": "parge.techniques.line",
    "NetMF": "parge.techniques.netmf",
    "Node2Vec": "parge.techniques.node2vec",
    "Plan": "parge.planning.plan",
    "ProNE": "parge.techniques.prone",
    "Report": "parge.result",
    "SGC": "parge.techniques.sgc",
    "Spectral": "parge.techniques.spectral",
    "Technique": "parge.techniques.base",
    "adapt": "parge.techniques.adapt",
    "InputError": "parge.errors",
    "PargeError": "parge.errors",
    "PargeNotice": "parge.errors",
    "PargeWarning": "parge.errors",
    "align": "parge.space.align",
    "as_graph": "parge.io.graphs.anything",
    "drift": "parge.front.spaces",
    "embed": "parge.front.calls",
    "neighbors": "parge.space.neighbors",
    "open_space": "parge.run.spaces",
    "place": "parge.front.spaces",
    "plan": "parge.front.calls",
    "read": "parge.io.graphs.read",
    "save_space": "parge.run.spaces",
    "Space": "parge.space.frozen",
    "update": "parge.front.spaces",
    "write": "parge.io.graphs.write",
}

# Verbs that are also the name of a folder: `parge.report(...)` is a call, `parge.report.page` a module.
_VERBS = {"decompose": "parge.front.calls", "report": "parge.front.calls"}

__all__ = [
    "HOPE",
    "LINE",
    "SGC",
    "Blend",
    "ClosedForm",
    "DeepWalk",
    "Embedding",
    "Graph",
    "GraphSAGE",
    "InputError",
    "NetMF",
    "Node2Vec",
    "PargeError",
    "PargeNotice",
    "PargeWarning",
    "Plan",
    "ProNE",
    "Report",
    "Space",
    "Spectral",
    "Technique",
    "Whitened",
    "__version__",
    "adapt",
    "align",
    "as_graph",
    "decompose",
    "drift",
    "embed",
    "evaluate",
    "neighbors",
    "open_space",
    "place",
    "plan",
    "read",
    "report",
    "save_space",
    "update",
    "write",
]


class _Verb(ModuleType):
    """A folder that can be called, for the verb of its name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _verb(self.__name__)(*args, **kwargs)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        return signature(_verb(self.__name__))


def _verb(module: str) -> Any:
    name = module.removeprefix("parge.")
    return getattr(import_module(_VERBS[name]), name)


class _Package(ModuleType):
    """The package: Python sets a folder as its attribute when that is imported, and verbs become callable then."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _VERBS and isinstance(value, ModuleType):
            value.__class__ = _Verb
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name == "evaluate" or name in _VERBS:
        return import_module(f"parge.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'parge' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_PUBLIC[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from parge import evaluate as evaluate
    from parge.embedding import Embedding as Embedding
    from parge.errors import InputError as InputError
    from parge.errors import PargeError as PargeError
    from parge.errors import PargeNotice as PargeNotice
    from parge.errors import PargeWarning as PargeWarning
    from parge.front.calls import decompose as decompose
    from parge.front.calls import embed as embed
    from parge.front.calls import plan as plan
    from parge.front.calls import report as report
    from parge.front.spaces import drift as drift
    from parge.front.spaces import place as place
    from parge.front.spaces import update as update
    from parge.graph.graph import Graph as Graph
    from parge.io.graphs.anything import as_graph as as_graph
    from parge.io.graphs.read import read as read
    from parge.io.graphs.write import write as write
    from parge.planning.plan import Plan as Plan
    from parge.result import Report as Report
    from parge.run.spaces import open_space as open_space
    from parge.run.spaces import save_space as save_space
    from parge.space.align import align as align
    from parge.space.frozen import Space as Space
    from parge.space.neighbors import neighbors as neighbors
    from parge.techniques.adapt import adapt as adapt
    from parge.techniques.base import Technique as Technique
    from parge.techniques.blend import Blend as Blend
    from parge.techniques.closedform import ClosedForm as ClosedForm
    from parge.techniques.deepwalk import DeepWalk as DeepWalk
    from parge.techniques.graphsage import GraphSAGE as GraphSAGE
    from parge.techniques.hope import HOPE as HOPE
    from parge.techniques.line import LINE as LINE
    from parge.techniques.netmf import NetMF as NetMF
    from parge.techniques.node2vec import Node2Vec as Node2Vec
    from parge.techniques.prone import ProNE as ProNE
    from parge.techniques.sgc import SGC as SGC
    from parge.techniques.spectral import Spectral as Spectral
    from parge.techniques.whitened import Whitened as Whitened
