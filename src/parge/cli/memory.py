"""The memory that a command may take: its limit, and a rehearsal of what the libraries keep."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parge.errors import InputError, PargeError
from parge.memory import format_bytes, limit_memory, parse_bytes, private_bytes, return_freed_memory

if TYPE_CHECKING:
    from parge.graph.graph import Graph

# Blocks in flight while vectors are merged and written; without it nothing could be done.
_HEADROOM = 64_000_000

# What to try where nothing is known yet, in MB: the libraries keep about 300 MB.
_USUAL = 500


def spare_memory(arguments: list[str]) -> None:
    """Have the libraries, which are not loaded yet, take little where the coordinator's memory is to be limited.

    The limit counts stacks and buffers of threads, of which BLAS makes one per core, and addresses that arrow's own
    allocator takes by the gigabyte. The coordinator uses one thread of BLAS anyway.
    """
    if any(arg.startswith("--coordinator-memory") for arg in arguments):
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


@contextmanager
def capped_coordinator(size: str | int | None) -> Iterator[int | None]:
    """Have the system refuse this process more private memory than `size` while inside; workers have their own.

    Yields the size in bytes.
    """
    if size is None:
        yield None
        return
    limit = parse_bytes(size) if isinstance(size, str) else size
    taken = private_bytes()
    if limit < taken + _HEADROOM:  # the rehearsal, which is exact, takes seconds and can only ask for more
        raise InputError(
            f"--coordinator-memory {size} is too little: parge uses {-(-taken // 10**6)} MB before all its libraries "
            f"are loaded. Small graphs need {_USUAL}MB or more."
        )
    return_freed_memory()
    rehearse()
    least = private_bytes() + _HEADROOM
    if limit < least:
        raise InputError(
            f"--coordinator-memory {size} is less than parge and its libraries use before they read a graph. "
            f"Give {-(-least // 10**6)}MB or more."
        )
    limit_memory(limit)
    try:
        yield limit
    except MemoryError as error:
        limit_memory(None)
        raise PargeError(
            f"the coordinator needed more than the {format_bytes(limit)} of --coordinator-memory"
            f"{f' ({error})' if str(error) else ''}. Give it more."
        ) from error
    finally:
        limit_memory(None)


def _named_edges(folder: Path) -> Path:
    """Write a few weighted edges between names as Parquet; return the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    places = [u for u in range(40) for _ in range(3)]
    ends = [[f"vertex {u}" for u in places], [f"vertex {(7 * u + i + 1) % 40}" for i, u in enumerate(places)]]
    path = folder / "named.parquet"
    pq.write_table(pa.table([*ends, pa.array([2.5] * len(places), pa.float32())], ["source", "target", "weight"]), path)
    return path


def rehearse() -> None:
    """Run every stage on a graph of a few vertices, so that every library is loaded and has what it keeps.

    Where a limit stops arrow from taking its first buffers it ends the process, and OpenBLAS tries for ever;
    neither raises MemoryError. (They and all else keep about 300 MB.)
    """
    import numpy as np
    import scipy.linalg

    from parge.io.graphs.read import read
    from parge.planning.decision import decide
    from parge.planning.plan import Plan
    from parge.run.pipeline import embed_to_file
    from parge.techniques.sgc import SGC

    with tempfile.TemporaryDirectory(prefix="parge-") as folder:
        edges = Path(folder) / "edges.txt"
        edges.write_text("".join(f"{u} {(u * step + 1) % 40}\n" for u in range(40) for step in (1, 3, 7)))
        plan = Plan(technique=SGC(dim=4), parts=2, anchors=8, reconcile="consensus", engine="serial")
        for suffix in ("npy", "parquet"):
            embed_to_file(read(edges), plan, Path(folder) / f"out.{suffix}", run_dir=Path(folder) / suffix)
        for graph in (edges, _named_edges(Path(folder))):
            in_files = read(graph, coordinator_memory=1, scratch=Path(folder))
            decision = decide(in_files, replace(plan, partitioner="streaming"))
            found = decision.decomposer.decompose(in_files, decision.limits)
            found.subgraph(0)
            _ = found.n_lost
        _rehearse_backbone(read(edges))
    # numpy and scipy have a BLAS each, which takes its buffer at the first product that is not small.
    square = np.eye(400)
    np.linalg.qr(square @ square)
    scipy.linalg.svd(square)
    scipy.linalg.eigh(square)


def _rehearse_backbone(graph: "Graph") -> None:
    """Decompose a graph around landmarks and prepare its backbone."""
    from parge.planning.decision import decide, decompose
    from parge.planning.plan import Plan
    from parge.techniques.closedform import ClosedForm

    technique = ClosedForm(dim=4)
    decision = decide(graph, Plan(technique=technique, parts=2, reconcile="backbone"))
    found = decompose(graph, decision).decomposition
    if found.contexts is not None:
        technique.embed_landmarks(graph, found.contexts.landmark, found.contexts.n_landmarks)
    found.subgraph(0)


memory_option = click.option(
    "--coordinator-memory",
    metavar="SIZE",
    help="Memory limit of the coordinator (not of the workers); larger graphs are processed on disk.",
)
