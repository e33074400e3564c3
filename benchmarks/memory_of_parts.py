"""Claim: the memory of a worker shrinks with its part.

From the project's root; 0.1 to 34.5 M edges take an hour of one core, and 7 GB of memory::

    make bench-memory
    python benchmarks/memory_of_parts.py --edges 0.1 0.35 1
    python benchmarks/memory_of_parts.py --kinds [NAME ...] [--parts 2 3 4 8 16] [--graph FILE ...]
    python benchmarks/memory_of_parts.py --start

Planted graphs of mean degree 17, `parge decompose --parts 8` and `--parts 1`, and then `parge embed-part` in a process
that has imported everything and loaded the compiled code: the peak of its resident memory above what it had then.
The largest worker is that of the two parts that hold most. The whole graph is walked once per vertex instead of ten
times: walks take time, and what is held of them is the same. *Ideal* is an eighth of the whole graph's.

With ``--kinds``, the same for generated graphs of several kinds and numbers of parts, and for files: what the largest
worker takes, as a multiple of the whole graph's memory and of its share, and in brackets what is projected (as a
multiple of the whole graph's, the libraries left aside). With ``--start``, what a forked worker holds before its task.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import FULL, markdown_table, measure_call, measure_command, parge_command, planted_file

EDGES = (0.1, 0.35, 1.0, 3.5, 10.0, 34.5)
PARTS = 8
SEVERAL = (2, 3, 4, 8, 16)
SEED = 5


def above(folder: str) -> dict[str, Any]:
    """Embed a part folder here; return the peak of memory above that of this process before, and what it holds."""
    from parge.memory import peak_bytes, reset_peak
    from parge.process_tree import status_bytes
    from parge.run import parts
    from parge.run.worker import PartJob, embed_part, prepare_worker

    prepare_worker(parts.subgraph_metadata(Path(folder)).technique)
    reset_peak()
    before = status_bytes("self", b"VmRSS:")
    metadata = embed_part(PartJob(Path(folder)))
    return {**metadata.to_json(), "above": peak_bytes() - before}


def folders(graph: Path, place: Path, n_parts: int) -> list[Path]:
    """Decompose a graph; return the part folders, those that hold most first."""
    run = place / f"{graph.stem}-{n_parts}"
    options = ("--parts", str(n_parts), "--seed", "1", *(("--param", "walks=1") if n_parts == 1 else ()))
    measure_command(parge_command("decompose", str(graph), "--run-dir", str(run), *options, "--json"))
    found = sorted((run / "parts").iterdir())
    return sorted(found, key=lambda part: -_size(part))


def _size(part: Path) -> int:
    body = json.loads((part / "subgraph" / "manifest.json").read_text())["body"]
    return int(body["arrays"]["vertices"]["bytes"])


def row(graph: Path, place: Path, n_edges: int) -> list[str]:
    """Return what the largest worker and the whole graph take."""
    whole = measure_call("memory_of_parts:above", folder=str(folders(graph, place, 1)[0])).value
    largest = folders(graph, place, PARTS)[:2]
    workers = [measure_call("memory_of_parts:above", folder=str(part)).value for part in largest]
    worker = max(workers, key=lambda one: int(one["above"]))
    all_of, one = whole["above"], worker["above"]
    held = f"{worker['own']:,} + {worker['anchors'] + worker['lumps']:,} + {worker['halo']:,}"
    return [
        f"{n_edges / 1e6:g} M",
        f"{whole['vertices']:,}",
        held,
        f"{one / 1e6:.1f} MB",
        f"{all_of / 1e6:.1f} MB",
        f"{one / all_of:.3f}",
        f"{1 / PARTS:.3f}",
        f"{PARTS * one / all_of:.2f}",
    ]


RANDOM = {
    "random, small": (1_000, 5_000),
    "random, dense": (4_000, 400_000),
    "random, mean degree 40": (60_000, 1_200_000),
    "random, mean degree 120": (20_000, 1_200_000),
    "random, large": (20_000, 2_000_000),
}
"""Vertices, and edges as drawn."""


def random_graph(n: int, n_edges: int) -> Any:
    """Return a graph whose edges are drawn at random: nothing in it can be cut apart."""
    import numpy as np

    from parge.graph.graph import Graph

    source, target = np.random.default_rng(SEED).integers(n, size=(2, n_edges))
    return Graph.from_edges(source[source != target], target[source != target])


def made(name: str) -> Any:
    """Return the graph of a kind, or of a file."""
    import kinds
    import parge
    from parge.graph.generate import planted

    if name in RANDOM:
        return random_graph(*RANDOM[name])
    if name == "communities, large":
        return planted(125_000, 1_100_000, seed=SEED).graph
    if name == "co-purchases, large":
        return kinds.copurchase(150_000, 8, SEED)
    found = kinds.KINDS[name](SEED) if name in kinds.KINDS else parge.read(name)
    return getattr(found, "graph", found)


KINDS = (
    "random, small",
    "random, dense",
    "like words",
    "overlapping communities",
    "hubs and triangles",
    "like co-purchases",
    "tree with few cycles",
    "random, mean degree 40",
    "random, mean degree 120",
    "random, large",
    "communities, large",
    "co-purchases, large",
)


def prepare_kind(name: str, place: str, parts: list[int]) -> dict[str, Any]:
    """Decompose a graph into part folders for each number of parts, and whole; return sizes and projections."""
    import parge
    from parge.memory import BASE_BYTES
    from parge.planning.summary import footprint_of

    graph, projected = made(name), {}
    for n in (1, *parts):
        technique = parge.DeepWalk(walks=1) if n == 1 else parge.DeepWalk()
        place_of_n = Path(place) / str(n)
        found = parge.decompose(graph, parts=n, seed=1, technique=technique, run_dir=place_of_n, progress=False)
        projected[n] = int(found.projected(footprint_of(technique, found)).max()) - BASE_BYTES
    projected = {n: size / projected[1] for n, size in projected.items()}
    return {"vertices": graph.n_vertices, "edges": graph.n_edges, "projected": projected}


def _bytes_about(part: Path) -> int:
    """Return about what a worker holds of a part: two vectors per vertex, and its rows."""
    arrays = json.loads((part / "subgraph" / "manifest.json").read_text())["body"]["arrays"]
    return 128 * int(arrays["vertices"]["bytes"]) + int(arrays["indices"]["bytes"])


def kind_row(name: str, workdir: Path, parts: list[int]) -> list[str]:
    """Return what the largest worker takes of a graph, for several numbers of parts."""
    with tempfile.TemporaryDirectory(dir=workdir) as place:
        sizes = measure_call("memory_of_parts:prepare_kind", name=name, place=place, parts=parts).value
        largest = [str(max((Path(place) / str(n) / "parts").iterdir(), key=_bytes_about)) for n in (1, *parts)]
        taken = [measure_call("memory_of_parts:above", folder=folder).value["above"] for folder in largest]
    whole, *workers = taken
    cells = [
        f"{worker / whole:.2f}, {n * worker / whole:.2f} ({sizes['projected'][str(n)]:.2f})"
        for n, worker in zip(parts, workers, strict=True)
    ]
    return [Path(name).name, f"{sizes['vertices']:,}", f"{sizes['edges']:,}", f"{whole / 1e6:.1f} MB", *cells]


def held_at_start() -> dict[str, int]:
    """Return what this process holds: resident, of that its own, and the private memory that a limit counts."""
    from parge.memory import private_bytes
    from parge.process_tree import status_bytes

    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    own = sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return {"resident": status_bytes("self", b"VmRSS:"), "own": own, "limited": private_bytes()}


def starts() -> dict[str, dict[str, int]]:
    """Return what a worker holds before its task: forked from a prepared process, and as a process of its own."""
    from parge.run.worker import prepare_worker
    from parge.techniques.resolve import Described

    prepare_worker(Described("deepwalk"))
    alone = held_at_start()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, json.dumps(held_at_start()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        forked = json.loads(told.read())
    os.wait()
    return {"a process of its own": alone, "forked": forked}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", nargs="*", type=float, default=EDGES, help="millions")
    parser.add_argument("--kinds", nargs="*", metavar="NAME", help="kinds of graphs instead of sizes; none: all")
    parser.add_argument("--parts", nargs="+", type=int, default=SEVERAL, help="numbers of parts for --kinds")
    parser.add_argument("--graph", nargs="*", default=[], metavar="FILE", help="files of edges beside --kinds")
    parser.add_argument("--start", action="store_true", help="what a worker holds before its task")
    parser.add_argument("--workdir", type=Path, default=Path(tempfile.gettempdir()) / "parge-benchmarks")
    asked = parser.parse_args()
    asked.workdir.mkdir(parents=True, exist_ok=True)
    if asked.start:
        found = measure_call("memory_of_parts:starts").value
        heads = ["a worker before its task", "resident", "of that its own", "private, as a limit counts it"]
        print(
            markdown_table(heads, [[who, *(f"{n / 1e6:.0f} MB" for n in held.values())] for who, held in found.items()])
        )
        return
    if asked.kinds is not None or asked.graph:
        names = [*(asked.kinds or ([] if asked.kinds is None else KINDS)), *asked.graph]
        heads = ["", "vertices", "edges", "whole graph", *(f"{n} parts" for n in asked.parts)]
        rows = []
        for name in names:
            rows.append(kind_row(name, asked.workdir, list(asked.parts)))
            print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        print(markdown_table(heads, rows))
        return
    heads = ["edges", "vertices", "own + landmarks + halo", "largest worker", "whole graph", "ratio", "ideal"]
    heads.append("times its share")
    rows = []
    for millions in asked.edges:
        n_edges = round(millions * 1e6)
        graph = planted_file(asked.workdir, round(n_edges * FULL[0] / FULL[1]), n_edges)
        with tempfile.TemporaryDirectory(dir=asked.workdir) as place:
            rows.append(row(graph, Path(place), n_edges))
        print(f"{millions:g} M: {', '.join(rows[-1][2:])}", file=sys.stderr, flush=True)
    print(markdown_table(heads, rows))


if __name__ == "__main__":
    main()
