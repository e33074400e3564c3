"""What each technique costs per vertex, or per edge where its work grows with those: constants of `parge plan`.

python benchmarks/technique_costs.py                       1 M edges, mean degree 17, 128 dimensions, default settings

Seconds of a core of the whole call, in a process of its own with the kernels compiled; the graph is in memory already.
Also what a worker around a backbone takes per vertex that it holds, what it takes to start one, and the loops by which
machines are compared (`parge.estimate.speed`).
"""

import argparse
import sys
import tempfile
from pathlib import Path

from harness import FULL, Result, markdown_table, measure_call, planted_file
from parge.estimate.speed import probes

# What the work of each grows with: walks start at vertices; sampled or multiplied matrices hold edges.
PER = {
    "deepwalk": "vertex",
    "node2vec": "vertex",
    "closedform": "vertex",
    "prone": "edge",
    "hope": "edge",
    "sgc": "edge",
    "line": "edge",
    "whitened": "edge",
    "spectral": "edge",
    "blend": "edge",
}


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
    started = process_time()
    how.embed(Subgraph.whole(graph), np.random.default_rng(0))
    return process_time() - started


def around(path: str, n_vertices: int) -> dict[str, float]:
    """Embed one of eight subgraphs around a backbone; return the vertices that it holds, and the seconds of a core."""
    from dataclasses import replace
    from time import process_time

    import numpy as np

    from parge.io.graphs.read import read
    from parge.planning.decision import decide, decompose
    from parge.planning.plan import Plan
    from parge.techniques.base import prepare_checked

    graph = read(path, vertices=n_vertices)
    plan, decomposition, _ = decompose(graph, decide(graph, Plan(parts=8, reconcile="backbone")))
    shared, seconds = prepare_checked(plan.technique, decomposition), []
    for i in (1, 0):  # the first one loads the kernels
        subgraph = replace(decomposition.subgraph(i), shared=shared)
        started = process_time()
        plan.technique.embed(subgraph, np.random.default_rng(0))
        seconds.append(process_time() - started)
    return {"vertices": subgraph.n_vertices, "seconds": seconds[-1]}


def start() -> dict[str, float]:
    """Return the seconds of a core to start a process that workers are forked from, and to fork one of them."""
    from resource import RUSAGE_CHILDREN, getrusage

    from parge.graph.generate import planted
    from parge.planning.plan import Plan
    from parge.run.pipeline import embed as embed_all

    def used() -> float:
        found = getrusage(RUSAGE_CHILDREN)
        return found.ru_utime + found.ru_stime

    graph, took = planted(1_000, 2_000).graph, {}
    embed_all(graph, Plan(parts=2, engine="serial"))  # compiles the kernels
    for parts in (2, 16):
        before = used()
        embed_all(graph, Plan(parts=parts))
        took[parts] = used() - before
    fork = (took[16] - took[2]) / 14
    return {"start": took[2] - 2 * fork, "fork": fork}


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
    rows = [[run["what"], f"{run['seconds']:.1f}", f"{run['each']:.3g} per {run['per']}"] for run in runs]
    held = measure_call("technique_costs:around", path=str(path), n_vertices=n_vertices).value
    each = held["seconds"] / held["vertices"]
    rows.append(["around a backbone", f"{held['seconds']:.1f}", f"{each:.3g} per vertex, of {held['vertices']:,}"])
    runs.append({"what": "around a backbone", **held, "per": "vertex", "each": each})
    for what, seconds in {**measure_call("technique_costs:start").value, **probes()}.items():
        rows.append([what, f"{seconds:.3g}", ""])
        runs.append({"what": what, "seconds": seconds})
    print(markdown_table(["technique", "s of a core", "seconds"], rows))
    Result("technique_costs", {"vertices": n_vertices, "edges": arguments.edges}, [], runs).finish()


if __name__ == "__main__":
    main()
