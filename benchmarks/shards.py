"""Claim: shards share a graph that none holds: what they hold, how long stages take, and what an exchange costs.

``make bench-shards`` prints, for a planted graph of each size in 8 parts, the largest private memory of a shard and of
the process that leads, beside the bytes of the whole rows and of all vectors; and the
time of an exchange of messages between 8 processes by the sockets of parge, by Arrow Flight, and by plain pipes.
"""

import argparse
import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
from benchmarks.estimate_constants import keep, of_shards
from benchmarks.flight_exchange import FlightExchange

from parge.cluster.mesh import Mesh
from parge.cluster.rendezvous import Rendezvous
from parge.cluster.sockets import take_part
from parge.graph.generate import planted

EXCHANGES = 40


def exchanged(mesh: Mesh | FlightExchange, n_numbers: int) -> dict[str, float]:
    """Return the milliseconds of an exchange in which everybody tells everybody as many numbers."""
    data = np.zeros(n_numbers)
    for _ in range(5):
        mesh.share(data)
    begun = time.perf_counter()
    for _ in range(EXCHANGES):
        mesh.share(data)
    return {"ms": (time.perf_counter() - begun) / EXCHANGES * 1e3}


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
    data, begun = np.zeros(n_numbers).tobytes(), 0.0
    for turn in range(EXCHANGES + 5):
        begun = time.perf_counter() if turn == 5 else begun
        for connection in peers.values():
            connection.send_bytes(data)
        for connection in peers.values():
            connection.recv_bytes()
    answers.put((time.perf_counter() - begun) / EXCHANGES * 1e3)


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


def private(process: psutil.Process) -> int:
    """Return the anonymous resident memory of a process."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("RssAnon")), 0)


def watched(words: list[str]) -> tuple[dict[str, Any], int, int]:
    """Run a command; return its JSON, and the most private memory of its workers and of itself."""
    command = subprocess.Popen(
        [sys.executable, "-m", "parge", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    leading, shard = psutil.Process(command.pid), 0
    lead = 0
    while command.poll() is None:
        try:
            lead = max(lead, private(leading))
            for child in leading.children(recursive=True):
                if child.name() == "parge-worker":
                    shard = max(shard, private(child))
        except (psutil.Error, OSError):
            pass
        time.sleep(0.05)
    assert command.stdout is not None
    return json.loads(command.stdout.read()), shard, lead


def memory_row(n_edges: int, parts: int, folder: Path) -> dict[str, Any]:
    """Print what shards of one graph hold, and return it."""
    n_vertices = n_edges * 116 // 1000
    frame = planted(n_vertices, n_edges).graph.to_frame()
    edges = folder / "edges"
    edges.mkdir()
    step = -(-len(frame) // parts)
    for i in range(parts):
        pq.write_table(frame.slice(i * step, step), edges / f"{i}.parquet")
    del frame
    words = ["embed", str(edges), "-o", str(folder / "out"), "--parts", str(parts), "--sharded", "--json"]
    found, shard, lead = watched(words)
    rows, vectors = 8 * n_edges + 8 * n_vertices, 512 * n_vertices
    print(
        f"{n_edges / 1e6:.2f} M edges, {parts} parts: shard {shard / 1e6:.0f} MB, leading process {lead / 1e6:.0f} MB; "
        f"whole rows {rows / 1e6:.0f} MB, all vectors {vectors / 1e6:.0f} MB; lost edges {found['lost_edges']:.4f}; "
        f"rounds of the pass {found['refine'].get('rounds')}; embed {found['seconds']['embed']:.1f} s",
        flush=True,
    )
    for stage in found["shards"][0]["stages"]:
        took = [shard["stages"][stage] for shard in found["shards"]]
        seconds, peak = sum(one["seconds"] for one in took), max(one["peak_bytes"] for one in took)
        each, sent = seconds / n_edges * 1e6, sum(one["sent_bytes"] for one in took) / n_edges
        print(f"  {stage:10} {seconds:6.1f} s of cores; per edge {each:.2f} us, {sent:.0f} B sent; {peak / 1e6:.0f} MB")
    rest = sum(shard["stages"]["decompose"]["rows_bytes"] for shard in found["shards"])
    print(f"  rows of all shards at rest: {rest / 2 / n_edges:.1f} bytes per arc", flush=True)
    return {**found, "n_edges": n_edges}


def growth(small: dict[str, Any], large: dict[str, Any], parts: int) -> dict[str, float]:
    """Print and return what an arc more takes in its shard, at the peak of each stage."""
    arcs, found = 2 * (large["n_edges"] - small["n_edges"]) / parts, {}
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
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--only", choices=["exchange", "memory"])
    parser.add_argument("--constants", action="store_true", help="write those of `parge estimate --sharded`")
    options = parser.parse_args()
    if options.only != "memory":
        exchange_table(options.parts)
    if options.only != "exchange":
        found = []
        for n_edges in options.edges:
            with tempfile.TemporaryDirectory() as folder:
                found.append(memory_row(int(n_edges), options.parts, Path(folder)))
        if len(found) > 1:
            arc_bytes = growth(found[0], found[-1], options.parts)
            if options.constants:
                print(kept(found[-1], arc_bytes))


if __name__ == "__main__":
    main()
