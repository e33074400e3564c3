"""Embed the vertices of a graph on several machines, none of which has to hold it.

Values flow one way, and each stage is a folder::

    Graph --decompose--> Decomposition --techniques--> local vectors --reconcile--> Embedding --evaluate--> Scores

Everything starts with ``parge.embed(parge.read("edges.txt"), parge.Plan(parts=8))``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> where it lives. Loaded on first use, so that `import parge` and `parge --help` cost nothing.
_PUBLIC = {
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
    "align": "parge.space.align",
    "embed": "parge.run.pipeline",
    "neighbors": "parge.space.neighbors",
    "read": "parge.io.graphs.read",
    "write": "parge.io.graphs.write",
}

__all__ = [
    "HOPE",
    "LINE",
    "SGC",
    "ClosedForm",
    "DeepWalk",
    "Embedding",
    "Graph",
    "GraphSAGE",
    "NetMF",
    "Node2Vec",
    "Plan",
    "ProNE",
    "Report",
    "Spectral",
    "Technique",
    "Whitened",
    "__version__",
    "adapt",
    "align",
    "embed",
    "evaluate",
    "neighbors",
    "read",
    "write",
]


def __getattr__(name: str) -> Any:
    if name == "evaluate":
        return import_module("parge.evaluate")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'parge' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_PUBLIC[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from parge import evaluate as evaluate
    from parge.embedding import Embedding as Embedding
    from parge.graph.graph import Graph as Graph
    from parge.io.graphs.read import read as read
    from parge.io.graphs.write import write as write
    from parge.planning.plan import Plan as Plan
    from parge.result import Report as Report
    from parge.run.pipeline import embed as embed
    from parge.space.align import align as align
    from parge.space.neighbors import neighbors as neighbors
    from parge.techniques.adapt import adapt as adapt
    from parge.techniques.base import Technique as Technique
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
