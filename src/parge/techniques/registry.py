"""Techniques by name; each module is imported only when its technique is asked for."""

from collections.abc import Callable
from importlib import import_module

from parge.registry import Registry
from parge.techniques.base import Technique

Loader = Callable[[], type[Technique]]

techniques: Registry[Loader] = Registry("technique")


def _register(name: str, module: str, attribute: str) -> None:
    def load() -> type[Technique]:
        found: type[Technique] = getattr(import_module(f"parge.techniques.{module}"), attribute)
        return found

    techniques.register(name, load)


_register("deepwalk", "deepwalk", "DeepWalk")
_register("node2vec", "node2vec", "Node2Vec")
_register("line", "line", "LINE")
_register("hope", "hope", "HOPE")
_register("netmf", "netmf", "NetMF")
_register("prone", "prone", "ProNE")
_register("sgc", "sgc", "SGC")
_register("graphsage", "graphsage", "GraphSAGE")
