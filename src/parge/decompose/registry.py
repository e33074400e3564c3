"""Partitioners, and rules that choose anchors, by name; each is imported when its name is asked for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from parge.registry import Registry
from parge.typing import PartArray

if TYPE_CHECKING:
    from parge.decompose.anchors import Strategy
    from parge.decompose.partitioners import Partitioner, Problem

STREAMING, COMPRESSED = "streaming", "kaminpar-compressed"

partitioners: "Registry[Partitioner | Callable[[Problem], PartArray]]" = Registry("partitioner")
partitioners.register_at("kaminpar", "parge.decompose.partitioners:KAMINPAR")
partitioners.register_at(COMPRESSED, "parge.decompose.partitioners:KAMINPAR_COMPRESSED")
partitioners.register_at("metis", "parge.decompose.partitioners:metis")
partitioners.register_at("random", "parge.decompose.partitioners:random")
partitioners.register_at(STREAMING, "parge.decompose.partitioners:STREAM")

strategies: "Registry[Strategy]" = Registry("anchor strategy", group="parge.anchor_strategies")
strategies.register_at("alternating", "parge.decompose.anchors:alternating")
strategies.register_at("top-cut", "parge.decompose.anchors:top_cut")
strategies.register_at("random", "parge.decompose.anchors:random")
strategies.register_at("degree", "parge.decompose.anchors:degree")
