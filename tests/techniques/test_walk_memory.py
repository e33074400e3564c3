"""A fresh process that embeds stays under the projection, and the projection is no wild guess."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json
import numpy as np
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.memory import peak_bytes
from parge.techniques.deepwalk import DeepWalk
from parge.techniques.line import LINE
from parge.techniques.node2vec import Node2Vec

n, source, target, weights, technique = CASE
graph = Graph.from_edges(source, target, weights, vertices=n)
built = peak_bytes()
technique.embed(Subgraph.whole(graph), np.random.default_rng(1))
print(json.dumps({
    "edges": graph.n_edges, "built": built, "peak": peak_bytes(),
    "projected": technique.projected_bytes(graph.n_vertices, graph.n_edges),
}))
"""

RANDOM = "np.random.default_rng(1).integers(0, {0}, {1}), np.random.default_rng(2).integers(0, {0}, {1})"
FEW = "walks=1, walk_length=5"
SHAPES = {
    "small": f"100, {RANDOM.format(100, 300)}, None, DeepWalk({FEW})",
    "star": f"150_000, np.zeros(149_999, int), np.arange(1, 150_000), None, DeepWalk({FEW})",
    "path": f"150_000, np.arange(149_999), np.arange(1, 150_000), None, DeepWalk({FEW}, dim=100)",
    "sparse": f"200_000, {RANDOM.format(200_000, 300_000)}, None, LINE(samples=1)",
    "odd width": f"150_000, {RANDOM.format(150_000, 300_000)}, None, LINE(samples=1, dim=36)",
    "one order": f"200_000, {RANDOM.format(200_000, 300_000)}, None, LINE(samples=1, order='first')",
    "isolated": f"300_000, {RANDOM.format(3000, 60_000)}, None, Node2Vec({FEW}, p=0.5)",
    "clique": f"500, *np.triu_indices(500, 1), None, Node2Vec({FEW}, q=0.5)",
    "weighted": f"100_000, {RANDOM.format(100_000, 400_000)}, np.arange(1.0, 400_001), Node2Vec({FEW}, p=4)",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_peak_stays_under_the_projection(shape: str) -> None:
    script = SCRIPT.replace("CASE", SHAPES[shape])
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = json.loads(out.stdout)
    assert max(found["peak"], found["built"]) <= found["projected"]
    if found["edges"] > 50_000:
        assert found["projected"] <= 2 * found["peak"]
