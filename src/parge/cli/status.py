"""``parge status``: the progress of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from parge.cli import show
from parge.cli.interrupts import resume_line
from parge.cli.options import FOLDER, json_option
from parge.memory import format_bytes
from parge.run.folder import RunFolder
from parge.run.status import PartStatus, status
from parge.show.text import pasteable
from parge.storage import current_folder
from parge.techniques.registry import techniques

if TYPE_CHECKING:
    from parge.cluster.progress import ShardedStatus


@click.command("status")
@click.argument("folder", type=FOLDER, metavar="DIR")
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
    if found.damaged is not None:
        show.out.print(f"The run cannot be resumed: {found.damaged}", soft_wrap=True, markup=False)
        if "Start the run again" not in found.damaged:
            show.out.print("Start the run again in another folder, or copy this one again.")
    elif found.complete:
        show.out.print("The run is complete. To write its vectors again:")
        _show_resume(found, folder)
    elif not found.at_work:
        show.out.print("Nothing is running. Next:")
        _show_resume(found, folder)


def _show_resume(found: "ShardedStatus", folder: Path) -> None:
    """Print the command that resumes a run in shards, as it was started."""
    if not _may_be_shown(found.command):
        show.out.print("the command that started the run, with the same settings:")
        line = f"parge embed GRAPH --sharded -o OUT ... {pasteable('--run-dir', folder, '--resume')}"
    elif Path(found.folder) == current_folder():
        line = resume_line(found.command)
    else:
        line = f"{pasteable('cd', found.folder)} && {resume_line(found.command)}"
    show.out.print(f"  {line}", soft_wrap=True, markup=False)


def _may_be_shown(command: Sequence[str]) -> bool:
    """Return whether a command of a folder, which may be a stranger's, only embeds, and with a technique of parge."""
    if not command or command[0] != "embed" or "--sharded" not in command:
        return False
    args = [part for arg in command for part in (arg.split("=", 1) if arg.startswith("--technique=") else [arg])]
    named = [args[i + 1] for i, arg in enumerate(args[:-1]) if arg == "--technique"]
    return all(name in techniques.shipped() for name in named)


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
