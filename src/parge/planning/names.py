"""Names that fields of a plan take, as types: editors complete them, type checkers know them.

Components and plug-ins add words to all but the presets, so the fields also take any other text; it is looked up when
the plan is resolved. A word that is missing here is only not completed.
"""

from typing import Literal

AnchorStrategy = Literal["alternating", "top-cut", "random", "degree"]
Partitioner = Literal["kaminpar", "kaminpar-compressed", "metis", "streaming", "random"]
ReconcilerName = Literal["auto", "backbone", "consensus", "orthogonal", "linear", "mlp", "none"]
RefinerName = Literal["auto", "whiten", "settle", "propagate", "subspace", "blend", "scale", "none"]
Preset = Literal["best", "paper"]
Purpose = Literal["labels", "links", "both"]
EngineName = Literal["processes", "serial", "ray"]

FAITHFUL: RefinerName = "scale"
"""The pass that --faithful means."""
