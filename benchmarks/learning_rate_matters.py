"""DeepWalk's default learning rate trains dense and sparse graphs; half of it can leave a dense one untrained.

From the project's root, on generated graphs only::

    python benchmarks/learning_rate_matters.py --json result.json

Known-count micro-F1 of planted communities, half of the vertices for training; one seed, five shuffles.
"""

import argparse
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

from deepwalk_equals_gensim import micro_f1
from parge.graph.generate import planted
from parge.graph.subgraph import Subgraph
from parge.techniques.deepwalk import DeepWalk

RATES = (0.0125, 0.025, 0.05, 0.1, 0.2)
# Vertices, edges, share of edges that leave their community, communities of a vertex.
GRAPHS = ((5_000, 150_000, 0.75, 1.4), (8_000, 60_000, 0.6, 1.3), (10_000, 20_000, 0.3, 1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--walks", type=int, default=10)
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--graphs", type=int, default=len(GRAPHS), help="how many of them, from the first")
    options = parser.parse_args()
    rows = []
    for n_vertices, n_edges, mixing, per_vertex in GRAPHS[: options.graphs]:
        made = planted(n_vertices, n_edges, mixing=mixing, labels_per_vertex=per_vertex, seed=1)
        labels = made.labels.to_scipy().astype(bool).tocsr()
        scores = {}
        for rate in options.rates:
            technique = DeepWalk(walks=options.walks, window=options.window, learning_rate=rate)
            scores[rate] = micro_f1(technique.embed(Subgraph.whole(made.graph), np.random.default_rng(1)), labels)
        rows.append({"vertices": n_vertices, "edges": n_edges, "mixing": mixing, "micro_f1": scores})
        shown = ", ".join(f"{rate:g}: {score:.3f}" for rate, score in scores.items())
        print(f"{n_vertices:,} vertices, {n_edges:,} edges, mixing {mixing}: {shown}", flush=True)
    if options.json:
        about = {"versions": {name: version(name) for name in ("parge", "numba", "numpy")}}
        options.json.write_text(json.dumps({**about, "graphs": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
