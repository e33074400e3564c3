"""A technique of parge in a process of its own, as `peers` runs other packages.

``python technique_alone.py TASK.npz ANSWER.npz``, as `competitors` runs it. The answer holds vectors, the seconds of
the call, by the clock and on a core, and the largest memory of the process.
"""

import json
import sys
import time

import numpy as np

from parge.graph.generate import planted
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.techniques.resolve import resolve
from peers import peak

# A graph that is not decomposed densely, so that all kernels are compiled, or read, before the time is taken.
VERTICES, EDGES = 1_000, 4_000


def main(task: str, answer: str) -> None:
    """Embed the graph of a task."""
    with np.load(task) as arrays:
        settings, source, target = json.loads(str(arrays["settings"])), arrays["source"], arrays["target"]
    whole = Subgraph.whole(Graph.from_edges(source, target, vertices=settings["vertices"]))
    del source, target
    technique = resolve(settings["technique"], {"dim": str(settings["dim"])})
    technique.embed(Subgraph.whole(planted(VERTICES, EDGES).graph), np.random.default_rng(0))
    rng = np.random.default_rng(settings["seed"])
    start, cpu_start = time.perf_counter(), time.process_time()
    vectors = technique.embed(whole, rng)
    cost = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
    np.savez(answer, vectors=vectors, metadata=json.dumps({**cost, "peak_bytes": peak()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
