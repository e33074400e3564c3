"""Whitened propagation of parge in a process of its own, as `peers` runs other packages.

``python whitened_alone.py TASK.npz ANSWER.npz``, as `competitors` runs it. The answer holds vectors, the seconds of the
call, by the clock and on cores, the largest memory of the process, and, where asked for, bytes moved per second.
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import parge
from parge.graph.graph import Graph
from parge.graph.subgraph import Subgraph
from parge.kernels.jit import kernel
from parge.kernels.products import sum_around
from peers import peak

COPIED = 40_000_000  # floats: more than any cache holds
SPEED_REPEATS = 7
SPINS = 20_000_000


@kernel
def copy(source: Any, target: Any) -> None:
    """Copy numbers, one after the other."""
    for i in range(source.size):
        target[i] = source[i]


def best_seconds(work: Callable[[], Any], repeats: int = SPEED_REPEATS) -> float:
    """Return the least seconds on a core."""
    found = []
    for _ in range(repeats):
        start = time.thread_time()
        work()
        found.append(time.thread_time() - start)
    return min(found)


def speeds(graph: Graph, dim: int) -> dict[str, float]:
    """Return the gigabytes per second of a copy, and of the sums over neighbours in a pass."""
    source, target = np.zeros((2, COPIED), np.float32)
    copy(source, target)
    copied = best_seconds(lambda: copy(source, target))
    X = np.random.default_rng(0).standard_normal((graph.n_vertices, dim), np.float32)
    out, none, mean = np.empty_like(X), np.empty(0, np.float32), np.zeros(dim, np.float32)
    summed = best_seconds(lambda: sum_around(graph.indptr, graph.indices, none, X, mean, 0, out))
    moved = 4 * dim * (graph.indices.size + 2 * graph.n_vertices)
    return {"copy_gb": 2 * source.nbytes / copied / 1e9, "sums_gb": moved / summed / 1e9}


@kernel
def spin(n: int) -> float:
    """Multiply in registers, without a look at memory."""
    found = 1.0
    for _ in range(n):
        found = found * 0.999999 + 1e-9
    return found


def free_cores(threads: int) -> float:
    """Return how many times as much that many threads do as one does, by the clock; fewer on a busy machine."""
    spin(1)
    found = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(SPEED_REPEATS):
            start = time.perf_counter()
            spin(SPINS)
            alone = time.perf_counter()
            list(pool.map(spin, [SPINS] * threads))
            found.append(threads * (alone - start) / (time.perf_counter() - alone))
    return max(found)


def copy_gain(threads: int) -> float:
    """Return how many times as much that many threads copy as one does, by the clock: what the memory allows."""
    halves = [np.zeros((2, COPIED // 2), np.float32) for _ in range(threads)]
    copy(*halves[0])
    found = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(SPEED_REPEATS):
            start = time.perf_counter()
            copy(*halves[0])
            alone = time.perf_counter()
            list(pool.map(lambda pair: copy(*pair), halves))
            found.append(threads * (alone - start) / (time.perf_counter() - alone))
    return float(np.median(found))


def main(task: str, answer: str) -> None:
    """Embed the graph of a task; answer with vectors, best times and peak memory, as `peers` does."""
    with np.load(task) as arrays:
        settings, source, target = json.loads(str(arrays["settings"])), arrays["source"], arrays["target"]
    whole = Subgraph.whole(Graph.from_edges(source, target, vertices=settings["vertices"]))
    del source, target
    technique = parge.Whitened(dim=settings["dim"], threads=settings["threads"])
    few = Subgraph.whole(Graph.from_edges(np.arange(300), np.arange(1, 301)))
    technique.embed(few, np.random.default_rng())  # compiles, or reads what was compiled
    rounds: list[float] = []
    start, cpu_start = time.perf_counter(), time.process_time()
    vectors = technique.embed(whole, np.random.default_rng(), progress=rounds.append)
    cost = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
    metadata = {**cost, "peak_bytes": peak(), "rounds": len(rounds) - 1}
    if settings["threads"] > 1:
        metadata["free_cores"] = free_cores(settings["threads"])
        metadata["copy_gain"] = copy_gain(settings["threads"])
    if settings["speeds"]:
        metadata |= speeds(whole.graph, settings["dim"])
    np.savez(answer, vectors=vectors, metadata=json.dumps(metadata))


if __name__ == "__main__":
    main(*sys.argv[1:])
