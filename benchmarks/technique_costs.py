"""What each technique costs a vertex, or an edge where its work grows with those: constants of `parge plan --estimate`.

python benchmarks/technique_costs.py                       1 M edges, mean degree 17, 128 dimensions, default settings

Seconds of a core of the whole call, in a process of its own with the kernels compiled; the graph is in memory already.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from harness import FULL, Result, markdown_table, measure_call, planted_file

# What the work of each grows with: walks start at vertices; sampled or multiplied matrices hold edges.
PER = {"node2vec": "vertex", "prone": "edge", "hope": "edge", "sgc": "edge", "line": "edge"}


def embed(path: str, n_vertices: int, technique: str) -> float:
    """Embed the whole graph and return the seconds of a core, after a small graph for the kernels."""
    from time import process_time

    import numpy as np

    from parge.graph.generate import planted
    from parge.graph.subgraph import Subgraph
    from parge.io.graphs.read import read
    from parge.techniques.resolve import resolve

    graph, how = read(path, vertices=n_vertices), resolve(technique, {"dim": "128"})
    how.embed(Subgraph.whole(planted(1_000, 5_000).graph), np.random.default_rng(0))
    begun = process_time()
    how.embed(Subgraph.whole(graph), np.random.default_rng(0))
    return process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--workdir", type=Path, default=Path(tempfile.gettempdir()) / "parge-benchmarks")
    parser.add_argument("--only", default=",".join(PER), help="techniques, with commas between")
    arguments = parser.parse_args()
    n_vertices = round(arguments.edges * FULL[0] / FULL[1])
    path, runs = planted_file(arguments.workdir, n_vertices, arguments.edges), []
    for technique in arguments.only.split(","):
        per = PER[technique]
        seconds = measure_call(
            "technique_costs:embed", path=str(path), n_vertices=n_vertices, technique=technique
        ).value
        each = seconds / (n_vertices if per == "vertex" else arguments.edges)
        runs.append({"what": technique, "seconds": seconds, "per": per, "each": each})
        print(f"  {technique}: {seconds:.1f} s", file=sys.stderr, flush=True)
    rows = [[run["what"], f"{run['seconds']:.1f}", f"{run['each']:.3g} a {run['per']}"] for run in runs]
    print(markdown_table(["technique", "s of a core", "seconds"], rows))
    Result("technique_costs", {"vertices": n_vertices, "edges": arguments.edges}, [], runs).finish()


if __name__ == "__main__":
    main()
