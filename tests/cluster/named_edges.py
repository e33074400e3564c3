"""Edges between names, in several files."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parge.graph.generate import planted


def named_edges(place: Path) -> Path:
    """Return a folder of edges with names, weights and a vertex that has no edge but to itself."""
    folder = place / "in"
    folder.mkdir()
    table = planted(400, 2400, seed=2).graph.to_frame()
    names = [np.array([f"v{v}" for v in table.column(i).to_pylist()]) for i in range(2)]
    weights = np.random.default_rng(0).integers(1, 4, len(table)).astype(np.float64)
    for i in range(4):
        some = {"source": names[0][i::4], "target": names[1][i::4], "weight": weights[i::4]}
        pq.write_table(pa.table(some), folder / f"e{i}.parquet")
    pq.write_table(pa.table({"source": ["alone"], "target": ["alone"], "weight": [1.0]}), folder / "f.parquet")
    return folder
