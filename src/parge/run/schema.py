"""What the folders of a run hold, name by name: nothing else is ever read from one."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from parge.blocks import all_finite

PLAN, GRAPH, SHARED, SUBGRAPH, RESULT = "plan", "graph", "shared", "subgraph", "result"
PARTS, MANIFEST = "parts", "manifest.json"


@dataclass(frozen=True)
class Kind:
    """What an array of some name must be; `finite` ones hold neither NaN nor infinity, which none of ours does."""

    dtypes: tuple[str, ...]
    ndim: int | None = 1
    needed: bool = False
    finite: bool = False

    def fault(self, array: np.ndarray[Any, Any]) -> str | None:
        """Return what is wrong with an array, or None."""
        if array.dtype not in [np.dtype(name) for name in self.dtypes]:
            return f"{' or '.join(self.dtypes)} was expected; it holds {array.dtype}"
        if self.ndim is not None and array.ndim != self.ndim:
            return f"{self.ndim} dimensions were expected; it has {array.ndim}"
        if not array.flags.c_contiguous:
            return "its rows are not stored one after another"
        return "it holds NaN or infinity" if self.finite and not all_finite(array) else None


_INTEGERS = ("int32", "int64")
_ROWS = {
    "indptr": Kind(("int64",), needed=True),
    "indices": Kind(_INTEGERS, needed=True),
    "weights": Kind(("float32",)),
    "features_indptr": Kind(_INTEGERS),
    "features_indices": Kind(_INTEGERS),
    "features_data": Kind(("float32",)),
    "features_shape": Kind(("int64",)),
}

# What a backbone is, as every worker receives it: vectors, matrices and one number per landmark.
_SHARED = {
    **{
        f"shared_{name}": Kind(("float32",), ndim=2, finite=True)
        for name in ("in", "out", "to_in", "to_out", "reach", "beyond")
    },
    **{f"shared_{name}": Kind(("float32",), finite=True) for name in ("mass", "degree")},
}

LAYOUT: dict[str, dict[str, Kind]] = {
    PLAN: {
        "part": Kind(("int32",), needed=True),
        "anchors": Kind(("int64",), needed=True),
        "capacities": Kind(("int64",), needed=True),
        "budgets": Kind(("int64",)),
        "lump": Kind(("int64",)),
        "halos": Kind(("int64",)),
        "lumped_edges": Kind(("int64",)),
        "ids": Kind(("int64",)),
        "id_bytes": Kind(("uint8",)),
        "id_ends": Kind(("int64",)),
    },
    GRAPH: _ROWS,
    SUBGRAPH: {
        **_ROWS,
        "vertices": Kind(("int64",), needed=True),
        "lump": Kind(("int64",)),
        "loops": Kind(("float32",)),
        **_SHARED,
    },
    SHARED: _SHARED,
    RESULT: {"vectors": Kind(("float32",), ndim=2, needed=True, finite=True)},
}
"""Kind of folder -> name of array -> what it must be."""

# What other techniques prepare for every worker (`Technique.prepare`): the technique declares and checks the shapes.
_PREPARED_NAME = re.compile(r"shared_[a-z][a-z0-9_]{0,39}")
_PREPARED = Kind(("float32", "float64", *_INTEGERS, "uint8", "bool"), ndim=None, finite=True)


def kind_of(folder: str, name: str) -> Kind | None:
    """Return what an array of that name must be in a folder of that kind; None where none of ours has the name."""
    known = LAYOUT[folder].get(name)
    if known is None and folder in (SHARED, SUBGRAPH) and _PREPARED_NAME.fullmatch(name):
        return _PREPARED
    return known


def is_array_file(name: str) -> bool:
    """Return whether a file of that name may stand in a folder of arrays."""
    stem, dot, suffix = name.rpartition(".")
    return name == MANIFEST or (dot + suffix == ".npy" and any(kind_of(folder, stem) for folder in LAYOUT))
