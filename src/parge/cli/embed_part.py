"""``parge embed-part``: embed one subgraph, on any machine that has its folder."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from parge.cli import show
from parge.cli.interrupts import recorded
from parge.cli.options import FOLDER, json_option
from parge.cli.show import run_progress
from parge.engine.base import Progress, Task
from parge.events import Part, Step
from parge.memory import format_bytes, parse_bytes
from parge.show.text import count, on_one_line, pasteable

if TYPE_CHECKING:
    from parge.run.metadata import ResultMetadata
    from parge.run.worker import PartJob


@click.command("embed-part")
@click.argument("folder", type=FOLDER)
@click.option("--memory", metavar="2GB", help="Memory limit of the worker.")
@click.option(
    "--technique",
    "allow",
    default="",
    metavar="MODULE:NAME",
    help="Allow this part to run the named installed technique. Built-in techniques and plug-ins are always allowed.",
)
@click.option("--missing", is_flag=True, help="Skip a part that already has a valid result from this run.")
@json_option
def command(folder: Path, memory: str | None, allow: str, missing: bool, as_json: bool) -> None:
    """Embed the subgraph in FOLDER and write the result into the same folder. No other file is needed.

    \b
    Example:
      parge embed-part run/parts/003
    """
    from parge.run.parts import whole_result

    known = whole_result(folder) if missing else None
    metadata = known or _embedded(folder, memory, allow)
    if as_json:
        show.print_json(metadata.to_json())
    else:
        what = f"subgraph {metadata.index}{' already has a result' if known else ''}"
        show.out.print(
            f"{what}: {count(metadata.vertices, 'vertex')} ({_held(metadata)}), {count(metadata.edges, 'edge')}; "
            f"{metadata.seconds:.1f} s, peak memory {format_bytes(metadata.peak_bytes)}"
        )
        show.out.print(f"Next: {_next_step(folder)}", soft_wrap=True)


def _next_step(folder: Path) -> str:
    """Say how to go on: in the run folder that the part stands in, or where it came from."""
    from parge.run.schema import PARTS, PLAN, RESULT

    run = folder.absolute().parent.parent
    if folder.absolute().parent.name == PARTS and (run / PLAN).is_dir():
        return pasteable("parge", "status", os.path.relpath(run))
    name = on_one_line(folder.name)
    return f"copy the folder {name}/{RESULT} back into {PARTS}/{name} of the run folder, then parge status there"


def _held(metadata: "ResultMetadata") -> str:
    """Say what the vertices of a subgraph are, as `parge plan` counts them."""
    others = {"anchors": metadata.anchors, "halo": metadata.halo, "super-vertices": metadata.supervertices}
    return ", ".join([f"{metadata.own:,} own", *(f"{count:,} {kind}" for kind, count in others.items() if count)])


def _embedded(folder: Path, memory: str | None, allow: str) -> "ResultMetadata":
    from parge.linalg.threads import one_blas_thread
    from parge.run.parts import subgraph_index
    from parge.run.worker import PartJob, embed_part

    limit = None if memory is None else parse_bytes(memory)
    index, job = subgraph_index(folder), PartJob(folder, allow=allow)
    with run_progress() as listener, one_blas_thread(), recorded(folder):
        listener(Step("embed", str(folder)))

        def on_progress(share: float) -> None:
            listener(Part(index, min(share, 0.999), 1))  # the result alone makes it done

        metadata = embed_part(job, on_progress) if limit is None else _within(limit, index, job, on_progress)
        listener(Part(index, 1.0, 1))
    return metadata


def _within(limit: int, index: int, job: "PartJob", on_progress: Progress) -> "ResultMetadata":
    """Embed in a separate process: if that exceeds its limit, this process can still report it."""
    from parge.engine.processes import Processes
    from parge.run.worker import embed_part

    task = Task(index, embed_part, job, limit_bytes=limit, label=f"subgraph {index}")
    ((_, metadata),) = Processes(jobs=1).run([task], lambda _task, share: on_progress(share))
    found: ResultMetadata = metadata
    return found
