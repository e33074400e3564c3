"""The skip-gram kernel runs at half of what one core can do at most, or more.

From the project's root::

    python benchmarks/kernel_near_peak.py ../shared/data/blogcatalog --json result.json

A pair of vertices with K negatives costs (K + 1) * dim * 6 operations. The peak is that of independent
multiply-adds in registers, measured between the kernel's rounds; times are seconds on a core, best of the rounds.
"""

import argparse
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from parge.graph.graph import Graph
from parge.kernels import skipgram, skipgram_ir, splitmix, walks
from parge.kernels.skipgram import Tables
from parge.kernels.vector_ir import FLOATS, INT, Emitter
from parge.kernels.window_ir import tile_for
from parge.skipgram.settings import NOISE_POWER
from parge.skipgram.train import (
    connected_vertices,
    falling_rates,
    first_table,
    vertex_table,
    walk_rows,
)

NEGATIVES = 5
CHAINS = 12
ROUNDS = 5
STEPS = 10_000_000


@intrinsic
def multiply_adds(_: Any, n: Any, numbers: Any) -> Any:
    """Run n rounds of independent multiply-adds on a dozen registers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = tile_for(context.codegen().magic_tuple()[2], 6).lanes
        function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [INT, FLOATS]), "multiply_adds")
        function.linkage = "internal"
        e = Emitter(function, lanes)
        chains = [e.everywhere(e.item(function.args[1], INT(i)), lanes) for i in range(CHAINS + 2)]
        *start, x, y = chains
        last = e.repeat(function.args[0], 1, start, lambda _, v: [e.multiply_add(a, x, y) for a in v])
        for i, value in enumerate(last):
            e.store(value, function.args[1], INT(i * lanes))
        e.builder.ret_void()
        array = context.make_array(signature.args[1])(context, builder, arguments[1])
        builder.call(function, [arguments[0], array.data])
        return context.get_dummy_value()

    return types.void(types.int64, numbers), generate


@numba.njit
def run_multiply_adds(n: int, numbers: Any) -> None:
    multiply_adds(n, numbers)


def peak_gflops(numbers: Any, lanes: int) -> float:
    """Return the billions of operations a second of multiply-adds alone."""
    numbers[:] = 0.5
    start = time.thread_time()
    run_multiply_adds(STEPS, numbers)
    return STEPS * CHAINS * lanes * 2 / (time.thread_time() - start) / 1e9


def pairs_per_walk(length: int, window: int) -> float:
    """Return the expected pairs of a walk whose windows reach 1..window."""
    reaches = range(1, window + 1)
    return sum((min(length - 1, i + r) - max(0, i - r)) / window for i in range(length) for r in reaches)


def measure(graph: Graph, *, dim: int, window: int, walk_length: int, n_walks: int) -> dict[str, Any]:
    """Return the speed of both kernels and of multiply-adds alone, in GFLOP/s, best of the rounds."""
    seed = np.uint64(1)
    starts = np.random.default_rng(1).permutation(connected_vertices(graph))[:n_walks]
    keys = splitmix.item_keys(seed, 0, starts)
    steps = np.empty((starts.size, walk_length), starts.dtype)
    walks.fill_walks(walk_rows(graph), starts, keys, steps)
    noise, rates = vertex_table(graph, NOISE_POWER), falling_rates(0.05, 0, starts.size, starts.size)
    tables = Tables(first_table(graph.n_vertices, dim, seed), skipgram.new_table(graph.n_vertices, dim), False)
    operations = starts.size * pairs_per_walk(walk_length, window) * (NEGATIVES + 1) * dim * 6 / 1e9
    lanes = tile_for(numba.core.registry.cpu_target.target_context.codegen().magic_tuple()[2], 6).lanes
    numbers = skipgram.new_table(1, CHAINS * 16)[0]
    best = {"peak": 0.0, "fast": 0.0, "plain": 0.0}
    for turn in range(ROUNDS + 1):
        found = {"peak": peak_gflops(numbers, lanes)}
        for name, train in (("fast", skipgram_ir.train), ("plain", skipgram.train_walks)):
            start = time.thread_time()
            train(tables, noise, steps, keys, rates, window, NEGATIVES)
            found[name] = operations / (time.thread_time() - start)
        if turn:  # the first turn compiles
            best = {name: max(best[name], value) for name, value in found.items()}
    return {"gflops": best, "share": best["fast"] / best["peak"], "lanes": lanes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path, help="path without .edges.gz")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--walk-length", type=int, default=80)
    parser.add_argument("--walks", type=int, default=5000, help="walks per round, from as many vertices")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()

    graph = Graph.from_edges(np.loadtxt(f"{options.graph}.edges.gz", dtype=np.int64))
    found = measure(
        graph, dim=options.dim, window=options.window, walk_length=options.walk_length, n_walks=options.walks
    )
    print(f"{options.graph.name}, {NEGATIVES} negatives, dim {options.dim}, window {options.window}:")
    for name, value in found["gflops"].items():
        print(f"  {name:5} {value:6.1f} GFLOP/s, {value / found['gflops']['peak']:.0%} of the peak")
    if options.json:
        about = {
            "graph": options.graph.name,
            "vertices": graph.n_vertices,
            "dim": options.dim,
            "window": options.window,
            "walk_length": options.walk_length,
            "versions": {name: version(name) for name in ("parge", "numba", "llvmlite", "numpy")},
            "machine": platform.machine(),
        }
        options.json.write_text(json.dumps({**about, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
