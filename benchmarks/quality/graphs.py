"""The graphs: shared ones with labels or for links, and generated ones on which no setting was chosen."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import parge
from parge.evaluate.labels import Labels
from parge.graph.generate import Planted, planted, tree


@dataclass(frozen=True, eq=False)
class Data:
    """A graph and what its vectors are scored by: labels, or edges held out."""

    name: str
    graph: parge.Graph
    labels: Any = None

    @property
    def metadata(self) -> dict[str, Any]:
        """Name, size and task."""
        return {
            "name": self.name,
            "vertices": self.graph.n_vertices,
            "edges": self.graph.n_edges,
            "task": "links" if self.labels is None else "labels",
        }


# Other seeds and sizes than the graphs on which settings were chosen (`benchmarks/refine_helps.py`).
GENERATED = {
    "planted": lambda: planted(5_000, 40_000, communities=20, mixing=0.5, labels_per_vertex=1.3, seed=42),
    "tree": lambda: tree(6_000, seed=42),
}
SHARED = ("cora", "cora-features", "blogcatalog", "youtube-groups", "ca-AstroPh", "ego-Twitter")
NAMES = (*GENERATED, *SHARED)


def load(name: str, folder: Path) -> Data | None:
    """Return a graph by name, or None where its files are not there."""
    if name in GENERATED:
        made: Planted = GENERATED[name]()
        vertices = np.repeat(np.arange(made.graph.n_vertices), np.diff(made.labels.indptr))
        return Data(name, made.graph, Labels.from_pairs(vertices, made.labels.labels.astype(np.int64)))
    stem = name.removesuffix("-features")
    path = folder / f"{stem}.edges.gz"
    if not path.exists():
        return None
    n_vertices = json.loads((folder / "datasets.json").read_text())[stem]["vertices"]
    graph = parge.read(path, vertices=n_vertices)
    if stem != name:
        import scipy.sparse as sp

        graph = graph.with_features(sp.load_npz(folder / f"{stem}.features.npz"))
    labels = folder / f"{stem}.labels.gz"
    return Data(name, graph, labels if labels.exists() else None)
