"""Where only a number of parts is asked for, no worker needs more memory than one for the whole graph."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from benchmarks import kinds

import parge
from parge.graph.generate import planted, tree
from parge.graph.graph import Graph
from parge.memory import BASE_BYTES
from parge.planning.decision import decide, decompose
from parge.planning.plan import Plan
from parge.planning.verdict import planned
from parge.process_tree import LINUX


def random_graph(n_vertices: int, n_edges: int) -> Graph:
    source, target = np.random.default_rng(1).integers(n_vertices, size=(2, n_edges))
    return Graph.from_edges(source[source != target], target[source != target])


KINDS: dict[str, Callable[[], Graph]] = {
    "random": lambda: random_graph(4_000, 100_000),
    "communities": lambda: planted(9_000, 70_000, mixing=0.5, seed=1).graph,
    "words": lambda: kinds.words(6_000, 100_000, 1),
    "co-purchases": lambda: kinds.copurchase(8_000, 6, 1),
    "hubs": lambda: kinds.hubs(8_000, 6, 1),
    "tree": lambda: tree(9_000, seed=1).graph,
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n_parts", [2, 3, 16])
def test_no_worker_is_projected_to_need_more_than_the_whole_graph(name: str, n_parts: int) -> None:
    graph = KINDS[name]()
    found = planned(decompose(graph, decide(graph, Plan("deepwalk", parts=n_parts))))
    assert max(part.projected_bytes for part in found.parts) <= found.whole.projected_bytes


_ABOVE = """
import sys
from pathlib import Path
from parge.memory import peak_bytes, reset_peak
from parge.process_tree import status_bytes
from parge.run import parts
from parge.run.worker import PartJob, embed_part, prepare_worker

folder = Path(sys.argv[1])
prepare_worker(parts.subgraph_metadata(folder).technique)
reset_peak()
before = status_bytes("self", b"VmRSS:")
embed_part(PartJob(folder))
print(peak_bytes() - before)
"""


def measured(folder: Path) -> int:
    """Return the peak of a worker above a process that has imported and loaded everything."""
    return int(subprocess.run([sys.executable, "-c", _ABOVE, folder], capture_output=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="peaks are reset on Linux alone")
@pytest.mark.parametrize(
    ("n_vertices", "n_edges", "n_parts", "most"),
    [(10_000, 1_000_000, 2, 1.0), (20_000, 1_200_000, 8, 1.3 / 8)],
)
def test_a_worker_of_a_random_graph_takes_its_part_of_the_memory(
    n_vertices: int, n_edges: int, n_parts: int, most: float, tmp_path: Path
) -> None:
    graph, taken = random_graph(n_vertices, n_edges), {}
    for n, technique in ((1, parge.DeepWalk(walks=1)), (n_parts, parge.DeepWalk())):
        found = parge.decompose(graph, parts=n, seed=1, technique=technique, run_dir=tmp_path / str(n), progress=False)
        taken[n] = max(measured(folder) for folder in (tmp_path / str(n) / "parts").iterdir())
    assert taken[n_parts] <= most * taken[1]
    around = found.contexts
    assert around is not None
    projected = int(found.projected(parge.DeepWalk().worker_footprint(around.n_landmarks)).max())
    assert taken[n_parts] <= projected - BASE_BYTES
