"""Claim: shards share a graph that none holds: what they hold, how long stages take, and what an exchange costs.

``make bench-shards`` embeds a planted graph of each size in 8 parts, from Parquet files to files of vectors, and prints
for each stage seconds, core seconds, bytes sent, and the largest private memory of a shard and of the process that
leads, beside the bytes of the whole rows and of all vectors; and the time of an exchange of messages between 8
processes by the sockets of parge, by Arrow Flight, and by plain pipes. ``make bench-shards EDGES="3.5e6 34.5e6"
PARTS=24`` takes other sizes. Further, as words of this module or as ``MORE=``: ``--only memory --edges 3.5e6 7e6 14e6
--parts 4 8 16`` graph and shards grown together; ``--usual`` beside one process that coordinates; ``--ray`` on Ray,
``--cores 2`` with that many cores; ``--limit 450MB`` for each shard; ``--until-prepared`` up to the parts' subgraphs,
which takes less time. Other words, such as ``--dim 32``, go to ``parge embed``.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from benchmarks.estimate_constants import keep, of_shards
from benchmarks.flight_exchange import FlightExchange
from benchmarks.stage_watch import Watched, ratio_table, stage_table, watched

import parge
from parge.cluster.mesh import Mesh
from parge.cluster.plan_checks import checked_plan
from parge.cluster.rendezvous import Rendezvous
from parge.cluster.run import ShardedRun
from parge.cluster.sockets import take_part
from parge.cluster.source import Source, edge_files
from parge.events import ignore
from parge.graph.generate import planted
from parge.run.pipeline import prepared_engine

EXCHANGES = 40

# Files of a graph.
FILES = 24


def exchanged(mesh: Mesh | FlightExchange, n_numbers: int) -> dict[str, float]:
    """Return the milliseconds of an exchange in which everybody tells everybody as many numbers."""
    data = np.zeros(n_numbers)
    for _ in range(5):
        mesh.share(data)
    started = time.perf_counter()
    for _ in range(EXCHANGES):
        mesh.share(data)
    return {"ms": (time.perf_counter() - started) / EXCHANGES * 1e3}


def by_parge(rank: int, place: str, size: int, n_numbers: int, answers: Any) -> None:
    """Take part in exchanges as the shards of a run do."""
    answers.put(take_part(rank, Rendezvous(Path(place), size, "bench"), lambda mesh: exchanged(mesh, n_numbers))["ms"])


def by_flight(rank: int, place: str, size: int, n_numbers: int, answers: Any) -> None:
    """Take part in exchanges by Flight."""
    exchange = FlightExchange(rank, Path(place), size, "bench")
    answers.put(exchanged(exchange, n_numbers)["ms"])
    exchange.share(np.zeros(1))
    exchange.close()


def by_pipes(rank: int, place: str, size: int, n_numbers: int, answers: Any) -> None:
    """Take part in exchanges over one socket a pair, each message sent in turn: no check but the key at the start."""
    listener = Listener(f"{place}/{rank}", "AF_UNIX", authkey=b"bench")
    Path(f"{place}/{rank}.there").touch()
    peers: dict[int, Any] = {}
    for other in range(rank):
        while not Path(f"{place}/{other}.there").exists():
            time.sleep(0.01)
        peers[other] = Client(f"{place}/{other}", "AF_UNIX", authkey=b"bench")
        peers[other].send(rank)
    for _ in range(rank + 1, size):
        connection = listener.accept()
        peers[connection.recv()] = connection
    data, started = np.zeros(n_numbers).tobytes(), 0.0
    for turn in range(EXCHANGES + 5):
        started = time.perf_counter() if turn == 5 else started
        for connection in peers.values():
            connection.send_bytes(data)
        for connection in peers.values():
            connection.recv_bytes()
    answers.put((time.perf_counter() - started) / EXCHANGES * 1e3)


def exchange_table(size: int) -> None:
    """Print what an exchange costs."""
    context = multiprocessing.get_context("spawn")
    print(f"one exchange between {size} processes, ms: 8 B / 50 kB a message")
    for name, function in (("parge", by_parge), ("Flight", by_flight), ("pipes", by_pipes)):
        found = []
        for n_numbers in (1, 6250):
            with tempfile.TemporaryDirectory() as place:
                answers = context.Queue()
                started = [
                    context.Process(target=function, args=(rank, place, size, n_numbers, answers))
                    for rank in range(size)
                ]
                for process in started:
                    process.start()
                found.append(max(answers.get(timeout=300) for _ in started))
                for process in started:
                    process.join()
        print(f"  {name:8} {found[0]:6.1f} / {found[1]:.1f}", flush=True)


@contextlib.contextmanager
def cluster(n_cores: int) -> Iterator[list[str]]:
    """Start a Ray cluster of this machine that takes this many tasks at a time; yield the words that name it."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32), RAY_USAGE_STATS_ENABLED="0")
    os.environ.update(RAY_worker_niceness="0")  # its own 15 would starve workers beside other programs
    from ray.cluster_utils import Cluster

    node = {"num_cpus": n_cores, "memory": 64_000_000_000, "object_store_memory": 100_000_000}
    started = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        yield ["--engine", "ray", "--address", started.address]
    finally:
        started.shutdown()


def written(n_edges: int, folder: Path) -> Path:
    """Return a folder of Parquet files of a planted graph; it is made where it is not there yet."""
    edges = folder / f"edges-{n_edges}"
    if not edges.exists():
        edges.mkdir(parents=True)
        frame = planted(n_edges * 116 // 1000, n_edges).graph.to_frame()
        step = -(-len(frame) // FILES)
        for i in range(FILES):
            pq.write_table(frame.slice(i * step, step), edges / f"{i:02d}.parquet")
    return edges


def prepare(edges: str, parts: str, place: str, limit: str) -> None:
    """Run the stages of a run in shards up to the subgraphs of the parts; print what shards returned, as JSON."""
    sizes: dict[str, Any] = {"memory": ",".join([limit] * int(parts))} if limit else {"parts": int(parts)}
    plan = parge.Plan(technique=parge.DeepWalk(), engine="processes", **sizes)
    Path(place, "run").mkdir()
    with prepared_engine(plan) as engine:
        run = ShardedRun.opened(Path(place, "run"), Source(edge_files(Path(edges))), checked_plan(plan), engine, ignore)
        lost = run.prepared()[2][0].counts
    stages = {
        rank: {name: took.to_json() for name, took in shard.items()} for rank, shard in sorted(run.shards.items())
    }
    print(
        json.dumps({"lost_edges": lost[-1] / max(1, sum(lost)), "shards": [{"stages": one} for one in stages.values()]})
    )


def prepared_row(n_edges: int, parts: int, folder: Path, limit: str) -> dict[str, Any]:
    """Print what shards hold until the parts of a graph are ready to be embedded, and return it."""
    edges, started = written(n_edges, folder), time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        words = ["--stages", str(edges), str(parts), place, limit]
        seen = watched(words, "benchmarks.shards")
    found, shard, lead = seen.answer, seen.worker_bytes, seen.lead_bytes
    n_vertices = n_edges * 116 // 1000
    rows, vectors = 8 * n_edges + 8 * n_vertices, 512 * n_vertices
    print(
        f"{n_edges / 1e6:.2f} M edges, {parts} processes{f' of {limit}' if limit else ''}, until parts are ready: "
        f"shard {shard / 1e6:.0f} MB, leading "
        f"{lead / 1e6:.0f} MB; whole rows {rows / 1e6:.0f} MB, all vectors {vectors / 1e6:.0f} MB; lost edges "
        f"{found['lost_edges']:.4f}; {time.perf_counter() - started:.0f} s in all",
        flush=True,
    )
    stage_lines(found, n_edges)
    return {**found, "n_edges": n_edges, "largest": shard, "lead": lead}


def stage_lines(found: dict[str, Any], n_edges: int) -> None:
    """Print what each stage took."""
    for stage in found["shards"][0]["stages"]:
        each = [shard["stages"][stage] for shard in found["shards"]]
        seconds, peak = sum(one["seconds"] for one in each), max(one["peak_bytes"] for one in each)
        us, sent = seconds / n_edges * 1e6, sum(one["sent_bytes"] for one in each) / n_edges
        print(f"  {stage:10} {seconds:6.1f} s of cores; per edge {us:.2f} us, {sent:.0f} B sent; {peak / 1e6:.0f} MB")
    rest = sum(shard["stages"]["decompose"]["rows_bytes"] for shard in found["shards"])
    print(f"  rows of all shards at rest: {rest / 2 / n_edges:.1f} bytes per arc", flush=True)


def _sent(found: Watched) -> dict[str, float]:
    """Return the bytes that all shards sent in each stage, by its name."""
    shards = found.answer["shards"]
    return {stage: sum(shard["stages"][stage]["sent_bytes"] for shard in shards) for stage in shards[0]["stages"]}


def memory_row(n_edges: int, parts: int, folder: Path, options: argparse.Namespace, more: list[str]) -> dict[str, Any]:
    """Print what shards of one graph take in each stage, from files to vectors, and return it."""
    n_vertices, edges, started = n_edges * 116 // 1000, written(n_edges, folder), time.perf_counter()
    sizes = ["--memory", ",".join([options.limit] * parts)] if options.limit else ["--parts", str(parts)]
    with (
        tempfile.TemporaryDirectory(dir=options.folder) as place,
        cluster(options.cores or parts) if options.ray else contextlib.nullcontext([]) as where,
    ):
        words = ["embed", str(edges), "-o", f"{place}/out", *sizes, "--sharded", "--json", *more]
        seen = watched([*words, *where])
    found, took = seen.answer, time.perf_counter() - started
    rows, vectors = 8 * n_edges + 8 * n_vertices, 4 * found["dim"] * n_vertices
    kind = f"tasks of Ray on {options.cores or parts} cores" if options.ray else "processes"
    print(
        f"{n_edges / 1e6:.2f} M edges, {parts} {kind}{f' of {options.limit}' if options.limit else ''}: shard "
        f"{seen.worker_bytes / 1e6:.0f} MB, leading {seen.lead_bytes / 1e6:.0f} MB; "
        f"whole rows {rows / 1e6:.0f} MB, all vectors {vectors / 1e6:.0f} MB; lost edges {found['lost_edges']:.4f}; "
        f"rounds of the pass {found['refine'].get('rounds')}; {seen.core_seconds:.0f} s of cores, {took:.0f} s in all",
        flush=True,
    )
    stage_table(seen, _sent(seen), n_edges)
    stage_lines(found, n_edges)
    if options.usual:
        usual_rows(seen, edges, sizes, options.folder, more)
    return {**found, "n_edges": n_edges, "largest": seen.worker_bytes, "lead": seen.lead_bytes}


def usual_rows(seen: Watched, edges: Path, sizes: list[str], folder: Path | None, more: list[str]) -> None:
    """Print what the same graph takes where one process coordinates and holds it, and the ratios of core seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        usual = watched(["embed", str(edges), "-o", f"{place}/usual.parquet", *sizes, "--json", *more])
    print(
        f"without --sharded: worker {usual.worker_bytes / 1e6:.0f} MB, coordinator {usual.lead_bytes / 1e6:.0f} MB, "
        f"{usual.core_seconds:.0f} s of cores; lost edges {usual.answer['lost_edges']:.4f}"
    )
    ratio_table(seen, usual)


def growth(small: dict[str, Any], large: dict[str, Any], parts: int) -> dict[str, float]:
    """Print and return what an arc more takes in its shard, at the peak of each stage."""
    arcs, found = 2 * (large["n_edges"] - small["n_edges"]) / parts, {}
    print(f"leading process: {(large['lead'] - small['lead']) / 1e6:+.0f} MB from the smaller to the larger graph")
    print("bytes per arc at the peak of each stage, by the difference of both graphs (a vertex has 17 arcs):")
    for stage in large["shards"][0]["stages"]:
        peaks = [max(shard["stages"][stage]["peak_bytes"] for shard in one["shards"]) for one in (small, large)]
        found[stage] = (peaks[1] - peaks[0]) / arcs
        print(f"  {stage:10} {found[stage]:6.1f}")
    return found


def kept(large: dict[str, Any], arc_bytes: dict[str, float]) -> str:
    """Write the constants of `parge estimate --sharded`; return what has changed."""
    stages = {
        stage: {
            name: sum(shard["stages"][stage][name] for shard in large["shards"]) for name in ("seconds", "sent_bytes")
        }
        for stage in large["shards"][0]["stages"]
    }
    arc = max(arc_bytes["read"], arc_bytes["decompose"])
    return keep(of_shards(stages, large["n_edges"], large["refine"]["rounds"], arc))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=float, nargs="+", default=[3.5e5, 3.5e6])
    parser.add_argument("--parts", type=int, nargs="+", default=[8], help="one number, or one for each graph")
    parser.add_argument("--only", choices=["exchange", "memory"])
    parser.add_argument("--ray", action="store_true", help="actors of a Ray cluster of this machine")
    parser.add_argument("--usual", action="store_true", help="the same graphs without --sharded, too")
    parser.add_argument("--until-prepared", action="store_true", help="leave out embedding and what follows")
    parser.add_argument("--limit", default="", help="the memory of each shard, such as 450MB")
    parser.add_argument("--cores", type=int, help="with --ray: cores of the cluster; by default one a shard")
    parser.add_argument("--stages", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help="keeps the generated graphs")
    parser.add_argument("--constants", action="store_true", help="write those of `parge estimate --sharded`")
    options, more = parser.parse_known_args()
    if options.stages:
        prepare(*options.stages)
        return
    parts = options.parts * (len(options.edges) if len(options.parts) == 1 else 1)
    if options.only != "memory":
        exchange_table(parts[0])
    if options.only == "exchange":
        return
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for n_edges, n_parts in zip(map(int, options.edges), parts, strict=True):
            if options.until_prepared:
                found.append(prepared_row(n_edges, n_parts, folder, options.limit))
                continue
            found.append(memory_row(n_edges, n_parts, folder, options, more))
    if len(found) > 1 and len(set(parts)) == 1:
        arc_bytes = growth(found[0], found[-1], parts[0])
        if options.constants:
            print(kept(found[-1], arc_bytes))
    elif len(found) > 1:  # graph and shards grow together
        grown = [f"{one['largest'] / found[0]['largest']:.2f}" for one in found]
        print(f"largest shard against that of the first graph: {', '.join(grown)}")


if __name__ == "__main__":
    main()
