"""Claim: a coordinator with a quarter of the graph's bytes sorts and splits it, within all limits.

    python benchmarks/out_of_core.py                                      4.0 M vertices, 34.5 M edges
    python benchmarks/out_of_core.py --vertices 100000 --edges 800000     quickly

Prints what reading into files costs, next to reading into memory and to sorting the edges by polars' streaming engine
(which has to be installed); how many edges each way to split loses, without anchors, into eight parts
3:3:4:4:5:5:6:6; and the whole way under the limit. Times are seconds of a core. With --constants the last of them
become those of `parge plan --estimate`.
"""

import os
import sys
from pathlib import Path
from typing import Any

import estimate_constants
from harness import (
    Claim,
    Measured,
    Result,
    gigabytes,
    into_page_cache,
    markdown_table,
    measure_call,
    planted_file,
    scale_arguments,
)

PROPORTIONS = (3, 3, 4, 4, 5, 5, 6, 6)
PASSES = (1, 2, 3, 5, 10)

# Text that is parsed, and blocks of rows; a quarter of a small graph is less.
LEAST = 16_000_000


def read_file(path: str, n_vertices: int, in_files: bool) -> None:
    """Read a graph, into memory or into files."""
    from parge.io.graphs.read import read

    read(path, vertices=n_vertices, coordinator_memory=1 if in_files else None, scratch=Path(path).parent)


def sort_by_polars(path: str) -> None:
    """Sort both directions of all edges into a Parquet file, without repeats, by polars' streaming engine."""
    import polars

    edges = polars.scan_csv(path, separator=" ", has_header=False, new_columns=["u", "v"])
    both = polars.concat([edges, edges.select(polars.col("v").alias("u"), polars.col("u").alias("v"))])
    both.unique().sort("u", "v").sink_parquet(Path(path).with_suffix(".sorted.parquet"))
    Path(path).with_suffix(".sorted.parquet").unlink()


def split(path: str, n_vertices: int, way: str, passes: int) -> dict[str, float]:
    """Split without anchors; return the seconds and the share of edges that are cut."""
    from time import process_time

    import numpy as np

    from parge.decompose.fennel import Fennel
    from parge.decompose.limits import Limits
    from parge.decompose.partitioners import Problem, partition
    from parge.io.graphs.read import read
    from parge.kernels.cut import count_edges
    from parge.memory import peak_bytes, reset_peak

    graph = read(path, vertices=n_vertices, coordinator_memory=1, scratch=Path(path).parent)
    limits = Limits.of_vertices([int(n_vertices * share / sum(PROPORTIONS) * 1.1) + 1 for share in PROPORTIONS])
    nobody, ones = np.zeros(n_vertices, np.bool_), np.ones(n_vertices, np.int64)
    reset_peak()
    before, started = peak_bytes(), process_time()
    if way == "streaming":
        part = np.full(n_vertices, -1, np.int32)
        Fennel(graph.indptr, graph.indices, nobody, limits.capacities).split(part, passes)
    else:
        part = partition(Problem(graph.indptr, graph.indices, ones, limits.capacities, ones, 1), way)
    seconds, peak = process_time() - started, peak_bytes() - before
    if (np.bincount(part, minlength=limits.n_parts) > limits.capacities).any():
        raise SystemExit(f"{way} broke a limit")
    counts, _, _ = count_edges(graph.indptr, graph.indices, part, nobody, limits.n_parts)
    return {"seconds": seconds, "bytes": peak, "cut": float(np.triu(counts, 1).sum() / graph.n_edges)}


def capped(path: str, n_vertices: int, room: int) -> dict[str, Any]:
    """Read, decompose and cut out every subgraph in a process that is refused more than `room` beyond its libraries."""
    from time import process_time

    from parge.cli.memory import rehearse
    from parge.io.graphs.read import read
    from parge.memory import limit_memory, private_bytes, return_freed_memory
    from parge.planning.decision import decide
    from parge.planning.plan import Plan

    return_freed_memory()
    rehearse()
    limit = private_bytes() + room
    limit_memory(limit)
    started = process_time()
    graph = read(path, vertices=n_vertices, coordinator_memory=limit, scratch=Path(path).parent)
    times = [process_time()]
    n_anchors = n_vertices // 10
    own = [int((n_vertices - n_anchors) * share / sum(PROPORTIONS) * 1.05) + 1 for share in PROPORTIONS]
    capacities = [n_anchors + size for size in own]
    plan = Plan(capacities=capacities, anchors=n_anchors, reconcile="consensus", coordinator_memory=limit)
    decision = decide(graph, plan)
    decomposer, limits = decision.decomposer, decision.limits
    found = decomposer.decompose(graph, limits)
    times.append(process_time())
    for i in range(limits.n_parts):
        found.subgraph(i)
    times.append(process_time())
    return {
        "sort": times[0] - started,
        "decompose": times[1] - times[0],
        "cut out": times[2] - times[1],
        "lost_edges": found.lost_edges,
        "chosen": str(decomposer.choice),
        "libraries": limit - room,
        # Edges among anchors, as a share of all edges, over (anchors / vertices)^(2/3).
        "anchor_edges": (int(found.edges.sum()) - (graph.n_edges - found.n_lost))
        / (limits.n_parts - 1)
        / graph.n_edges
        / (found.anchors.size / n_vertices) ** (2 / 3),
        "fullest": float((found.sizes / limits.capacities).max()),
    }


def main() -> None:
    # As the command line has it where the coordinator's memory is limited: a limit counts what is reserved, too.
    os.environ |= {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    arguments = scale_arguments(__doc__.splitlines()[0], repeats=1, constants=True)
    path = planted_file(arguments.workdir, arguments.vertices, arguments.edges)
    into_page_cache(path)
    n, m, runs = arguments.vertices, arguments.edges, []

    def measured(what: str, function: str, imports: tuple[str, ...] = (), **options: Any) -> Measured:
        found = measure_call(f"out_of_core:{function}", imports=imports, path=str(path), **options)
        runs.append({"what": what, **found.cost, "value": found.value})
        print(f"  {what}: {found.cpu_seconds:.1f} s of a core", file=sys.stderr, flush=True)
        return found

    size = 8 * n + 8 * m
    print(f"\n{n:,} vertices, {m:,} edges: {gigabytes(size)} of rows\n")
    kernels = ("parge.graph.build", "pyarrow.csv")
    rows = [
        ["into memory", measured("into memory", "read_file", kernels, n_vertices=n, in_files=False)],
        ["into files", measured("into files", "read_file", kernels, n_vertices=n, in_files=True)],
        ["polars, sorted into Parquet", measured("polars", "sort_by_polars", ("polars",))],
    ]
    print(
        markdown_table(
            ["reading", "s of a core", "peak memory, mapped pages counted"],
            [[what, f"{found.cpu_seconds:.1f}", gigabytes(found.peak_bytes)] for what, found in rows],
        )
    )
    ways = [("kaminpar", 0), ("kaminpar-compressed", 0), *(("streaming", passes) for passes in PASSES)]
    lines = []
    for way, passes in ways:
        name = way if way != "streaming" else f"{way}, {passes} pass{'es' if passes > 1 else ''}"
        found = measured(name, "split", n_vertices=n, way=way, passes=passes).value
        lines.append([name, f"{found['seconds']:.1f}", f"{found['bytes'] / 1e6:.0f} MB", f"{found['cut']:.3f}"])
    print("\n" + markdown_table(["splitting", "s of a core", "besides the rows", "cut"], lines))

    room = max(size // 4, LEAST)
    found = measured("the whole way", "capped", n_vertices=n, room=room).value
    print(
        f"\nwithin {room / 1e6:.0f} MB beyond the {found['libraries'] / 1e6:.0f} MB of the libraries (RLIMIT_DATA): "
        f"{found['chosen']}\nsort {found['sort']:.0f} s, decompose {found['decompose']:.0f} s, cut out subgraphs "
        f"{found['cut out']:.0f} s of a core; lost edges {found['lost_edges']:.1%}; edges "
        f"among anchors {found['anchor_edges']:.2f} (anchors / vertices)^(2/3) of all"
    )
    claims = [Claim("largest subgraph against its capacity", found["fullest"], 1.0)]
    Result("out_of_core", {"vertices": n, "edges": m}, claims, runs).finish()
    if arguments.constants:
        print(estimate_constants.keep(estimate_constants.of_out_of_core(found, m)))


if __name__ == "__main__":
    main()
