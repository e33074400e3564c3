"""Claim: a plan takes at most twice KaMinPar's own partitioning time, and under 4 GB, on 34.5 M edges.

    python benchmarks/plans_at_scale.py                                   4.0 M vertices, 34.5 M edges
    python benchmarks/plans_at_scale.py --vertices 406000 --edges 3500000  quickly

Eight uneven workers, 1:1:2:2:3:4:5:8, and 10 % of the vertices as anchors. The plan is the whole command, from
the text file to the printed JSON. KaMinPar's time is its partitioning alone, on one thread, of the graph in its
own format and in memory, without anchors, into parts of the same proportions. Both in seconds of a core, so that a busy
machine does not matter; a first, unmeasured plan of a small graph compiles what there is to compile.
"""

from pathlib import Path
from statistics import median
from typing import Any

from harness import (
    Claim,
    Result,
    gigabytes,
    into_page_cache,
    markdown_table,
    measure_call,
    measure_command,
    parge_command,
    planted_file,
    scale_arguments,
)

PROPORTIONS = (1, 1, 2, 2, 3, 4, 5, 8)
ANCHOR_SHARE = 0.1

# Room over its share that every part has, in both.
SLACK = 0.03

LARGEST_RATIO = 2.0

# A graph that is planned before anything is measured: just large enough for all kernels.
FIRST = 120_000, 1_000_000
MOST_BYTES = 4e9


def own_limits(n_vertices: int) -> list[int]:
    """Return vertices per part, in the proportions above, that hold this many with some slack."""
    return [int(n_vertices * (1 + SLACK) * share / sum(PROPORTIONS)) + 1 for share in PROPORTIONS]


def capacities(n_vertices: int) -> list[int]:
    """Return k_i: the anchors, which every subgraph holds, and room for its own vertices."""
    n_anchors = round(ANCHOR_SHARE * n_vertices)
    return [n_anchors + own for own in own_limits(n_vertices - n_anchors)]


def partition_alone(path: str, n_vertices: int, seed: int) -> dict[str, float]:
    """Partition with KaMinPar as its own manual would have it, and time its steps."""
    import tempfile
    from time import perf_counter, process_time

    import kaminpar
    import numpy as np

    from parge.decompose.partitioners import write_parhip
    from parge.io.graphs.read import read

    graph = read(path, vertices=n_vertices)
    limits = own_limits(n_vertices)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.parhip"
        times = [perf_counter()]
        with file.open("wb") as out:
            write_parhip(out, graph.indptr, graph.indices, np.ones(n_vertices, np.int64))
        times.append(perf_counter())
        loaded = kaminpar.load_graph(str(file), kaminpar.GraphFileFormat.PARHIP)
        times.append(perf_counter())
    kaminpar.reseed(seed)
    start, cpu_start = perf_counter(), process_time()
    found = kaminpar.KaMinPar(1, kaminpar.default_context()).compute_partition(loaded, max_block_weights=limits)
    seconds = perf_counter() - start
    cpu_seconds = process_time() - cpu_start
    part = np.array(found, np.int32)
    n_cut = np.count_nonzero(np.repeat(part, graph.degrees) != part[graph.indices]) // 2
    return {
        "write_seconds": times[1] - times[0],
        "load_seconds": times[2] - times[1],
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "lost_edges": n_cut / graph.n_edges,
        "largest_share_of_limit": float((np.bincount(part, minlength=len(limits)) / limits).max()),
    }


def plan_of(path: Path, n_vertices: int) -> list[str]:
    """Return the command that plans a graph."""
    limits = ",".join(map(str, capacities(n_vertices)))
    plan = parge_command("plan", str(path), "--vertices", str(n_vertices), "--capacities", limits)
    return [*plan, "--anchors", f"{ANCHOR_SHARE:.0%}", "--json"]


def main() -> None:
    arguments = scale_arguments(__doc__.splitlines()[0], repeats=1)
    measure_command(plan_of(planted_file(arguments.workdir, *FIRST), FIRST[0]))
    path = planted_file(arguments.workdir, arguments.vertices, arguments.edges)
    plan = plan_of(path, arguments.vertices)
    into_page_cache(path)

    runs: list[dict[str, Any]] = []
    for turn in range(arguments.repeats):
        alone = measure_call("plans_at_scale:partition_alone", path=str(path), n_vertices=arguments.vertices, seed=turn)
        whole = measure_command([*plan, "--seed", str(turn)])
        for part in whole.value["parts"]:
            if part["vertices"] > part["capacity"]:
                raise SystemExit(f"a subgraph of {part['vertices']:,} vertices is over its limit {part['capacity']:,}")
        runs.append({"what": "KaMinPar alone", "turn": turn, **alone.cost, **alone.value})
        reported = {key: whole.value[key] for key in ("lost_edges", "anchors")}
        runs.append({"what": "parge plan", "turn": turn, **whole.cost, **reported})

    def middle(what: str, key: str) -> float:
        return median(run[key] for run in runs if run["what"] == what)

    print(f"\n{arguments.vertices:,} vertices, {arguments.edges:,} edges, 8 parts {':'.join(map(str, PROPORTIONS))}\n")
    rows = [
        [
            what,
            f"{middle(what, 'seconds'):.1f}",
            f"{middle(what, 'cpu_seconds'):.1f}",
            gigabytes(max(run["peak_bytes"] for run in runs if run["what"] == what)),
            f"{middle(what, 'lost_edges'):.3f}",
        ]
        for what in ("KaMinPar alone", "parge plan")
    ]
    print(markdown_table(["", "s", "s of a core", "peak memory", "lost edges"], rows))

    ratio = middle("parge plan", "cpu_seconds") / middle("KaMinPar alone", "cpu_seconds")
    most = max(run["peak_bytes"] for run in runs if run["what"] == "parge plan")
    claims = [
        Claim("time against KaMinPar's partitioning", ratio, LARGEST_RATIO),
        Claim("peak memory of the plan in GB", most / 1e9, MOST_BYTES / 1e9),
    ]
    graph = {"vertices": arguments.vertices, "edges": arguments.edges, "capacities": capacities(arguments.vertices)}
    Result("plans_at_scale", graph, claims, runs).finish()


if __name__ == "__main__":
    main()
