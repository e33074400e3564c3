"""Techniques by name; each is imported when its name is asked for, and what it needs with it."""

from parge.registry import Registry
from parge.techniques.base import Technique

techniques: Registry[type[Technique]] = Registry("technique")
for _name, _home in {
    "deepwalk": "deepwalk:DeepWalk",
    "node2vec": "node2vec:Node2Vec",
    "line": "line:LINE",
    "hope": "hope:HOPE",
    "spectral": "spectral:Spectral",
    "netmf": "netmf:NetMF",
    "prone": "prone:ProNE",
    "sgc": "sgc:SGC",
    "closedform": "closedform:ClosedForm",
    "whitened": "whitened:Whitened",
    "blend": "blend:Blend",
    "auto": "auto:Auto",
    "graphsage": "graphsage:GraphSAGE",
}.items():
    techniques.register_at(_name, f"parge.techniques.{_home}")
