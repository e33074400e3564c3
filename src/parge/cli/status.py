"""``parge status``: the progress of a run."""

from pathlib import Path

import click
from rich.table import Table

from parge.cli import show
from parge.cli.options import PathName, json_option
from parge.memory import format_bytes
from parge.run.folder import RunFolder
from parge.run.status import PartStatus, status
from parge.text import pasteable


@click.command("status")
@click.argument("folder", type=PathName(path_type=Path, exists=True, file_okay=False), metavar="DIR")
@json_option
def command(folder: Path, as_json: bool) -> None:
    """Show which parts of the run in DIR are done, running, failed or waiting, and an estimate of the time left.

    Of a run in shards (`parge embed --sharded`) it shows the stages that are done, and what is kept of the next.

    \b
    Example:
      parge status vectors.parquet.run
    """
    from parge.cluster.progress import is_sharded  # most runs hold the graph

    if is_sharded(folder):
        _show_sharded(folder, as_json=as_json)
        return
    found = status(folder)
    show.notices(found.notices)
    if as_json:
        show.print_json(found.to_json())
        return
    table = Table(header_style="bold")
    for heading in ("subgraph", "state", "vertices", "edges", "on disk", "seconds", "memory"):
        table.add_column(heading, justify="left" if heading == "state" else "right")
    for part in found.parts:
        table.add_row(*_row(part))
    show.out.print(table)
    for part in found.parts:
        if part.message:
            show.out.print(f"subgraph {part.index} {part.state}: {part.message}")
    show.out.print(found.sentence())
    if found.count("done") == len(found.parts):
        next_one = pasteable("parge", "reconcile", folder, "-o", "vectors.parquet")
        if found.complete:
            show.out.print(f"The run is complete. To write its vectors again: {next_one}", soft_wrap=True)
        else:
            show.out.print(f"All parts are done. Next: {next_one}", soft_wrap=True)
    elif not found.count("running"):
        waiting = next(part.index for part in found.parts if part.state != "done")
        show.out.print("Nothing is running. Next: the command that started the run, with --resume;")
        show.out.print(f"  or: {pasteable('parge', 'embed-part', RunFolder(folder).part(waiting))}", soft_wrap=True)


def _show_sharded(folder: Path, *, as_json: bool) -> None:
    """Show how far a run in shards is; see `parge.cluster.progress`."""
    from parge.cluster.progress import sharded_status

    found = sharded_status(folder)
    if as_json:
        show.print_json(found.to_json())
        return
    show.out.print(found.sentence())
    if found.complete:
        show.out.print("The run is complete. To write its vectors again: the command that started it, with --resume")
    elif not found.at_work:
        again = pasteable("--run-dir", folder, "--resume")
        show.out.print("Nothing is running. Next: the command that started the run, with --resume:")
        show.out.print(f"  parge embed GRAPH --sharded -o OUT ... {again}", soft_wrap=True)


def _row(part: PartStatus) -> list[str]:
    return [
        str(part.index),
        f"{part.state} {part.share:.0%}" if part.state == "running" else part.state,
        f"{part.vertices:,}",
        f"{part.edges:,}",
        format_bytes(part.disk_bytes),
        "" if part.seconds is None else f"{part.seconds:.1f}",
        "" if part.peak_bytes is None else format_bytes(part.peak_bytes),
    ]
