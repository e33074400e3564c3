"""Claim: the memory of a worker shrinks with its part.

From the project's root; 0.1 to 34.5 M edges take an hour of one core, and 7 GB of memory::

    make bench-memory
    python benchmarks/memory_of_parts.py --edges 0.1 0.35 1

Planted graphs of mean degree 17, `parge decompose --parts 8` and `--parts 1`, and then `parge embed-part` in a process
that has imported everything and loaded the compiled code: the peak of its resident memory above what it had then.
The largest worker is that of the two parts that hold most. One walk per vertex instead of ten: walks take time, and
what is held of them is the same. *Ideal* is an eighth of the whole graph's.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import FULL, markdown_table, measure_call, measure_command, parge_command, planted_file

EDGES = (0.1, 0.35, 1.0, 3.5, 10.0, 34.5)
PARTS = 8


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
    options = ("--parts", str(n_parts), "--seed", "1", "--param", "walks=1")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", nargs="*", type=float, default=EDGES, help="millions")
    parser.add_argument("--workdir", type=Path, default=Path(tempfile.gettempdir()) / "parge-benchmarks")
    asked = parser.parse_args()
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
