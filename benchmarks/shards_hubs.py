"""Claim: a hub does not add to what its shard holds besides: shards hold about as many arcs, or one row.

``python -m benchmarks.shards_hubs`` reads graphs with a hub in 8 and 24 shards and prints the arcs of the fullest
shard, how many times the mean of all shards that is, and the bytes that it needs at the peak of reading and splitting,
as a run projects them: with vertices shared out evenly by number, and by arcs, as a run does. In one process.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parge.cluster.ingest import ingest
from parge.cluster.mesh import run_local
from parge.cluster.rows import Owners
from parge.cluster.source import Source, edge_files
from parge.estimate.shards import split_bytes
from parge.graph.generate import planted
from parge.memory import BASE_BYTES
from parge.typing import IntArray

EDGES = 1_000_000
VERTICES = EDGES * 116 // 1000


def graphs() -> dict[str, IntArray]:
    """Return edges by name; vertex 0 is the hub."""
    table = planted(VERTICES, EDGES).graph.to_frame()
    usual = np.column_stack([table.column(i).to_numpy() for i in range(2)])
    star = np.column_stack([np.zeros(VERTICES - 1, np.int64), np.arange(1, VERTICES)])
    return {
        "planted, no hub": usual,
        "planted, a hub of half the vertices": np.concatenate([usual, star[::2]]),
        "planted, a hub of all vertices": np.concatenate([usual, star]),
        "a star": star,
    }


def held(source: Source, size: int, owners: Owners | None) -> list[tuple[int, int]]:
    """Return how many arcs and vertices each shard has after reading."""
    found = run_local(size, lambda mesh: ingest(mesh, source, owners))
    return [(int(shard.neighbours.size), int(shard.names.size)) for shard, _ in found]


def row(name: str, source: Source, size: int) -> str:
    """Return a row of the table."""
    cells = [name, str(size)]
    for owners in (Owners.even(VERTICES, size), None):
        shards = held(source, size, owners)
        fullest = max(arcs for arcs, _ in shards)
        needs = max(split_bytes(arcs, own, size) for arcs, own in shards) - BASE_BYTES
        cells += [f"{fullest:,}", f"{fullest * size / sum(arcs for arcs, _ in shards):.2f}", f"{needs / 1e6:.1f} MB"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    print(f"{VERTICES:,} vertices; bytes beyond the {BASE_BYTES / 1e6:.0f} MB of an empty shard")
    print("| graph | shards | by number: arcs of the fullest | of the mean | needs | by arcs | of the mean | needs |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        for i, (name, edges) in enumerate(graphs().items()):
            folder = Path(place, str(i))
            folder.mkdir()
            columns = {"source": edges[:, 0], "target": edges[:, 1]}
            pq.write_table(pa.table(columns), folder / "edges.parquet", row_group_size=50_000)
            for size in (8, 24):
                print(row(name, Source(edge_files(folder)), size), flush=True)


if __name__ == "__main__":
    main()
