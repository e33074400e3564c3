"""``parge reconcile``: bring all embedded parts of a run into one space."""

from pathlib import Path

import click

from parge.cli import show
from parge.cli.memory import capped_coordinator, memory_option
from parge.cli.options import FOLDER, OUT, json_option, overwrite_option
from parge.cli.show import run_progress
from parge.io.embeddings.files import check_ids, embedding_outputs
from parge.io.outputs import check_outputs
from parge.reconcile.base import reconcilers
from parge.run.folder import RunFolder
from parge.run.open_run import open_planned
from parge.run.pipeline import finish
from parge.run.schema import SPACE


@click.command("reconcile")
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("-o", "--out", required=True, type=OUT, metavar="OUT", help="Output file.")
@click.option(
    "--reconcile",
    "reconciler",
    metavar="NAME",
    help=f"Replace the planned method: {reconcilers.listed()}. backbone only if it was planned.",
)
@click.option(
    "--technique",
    "allow",
    default="",
    metavar="MODULE:NAME",
    help="Allow the final pass to run the named installed technique, if it is your own.",
)
@overwrite_option
@memory_option
@json_option
def command(
    folder: Path,
    out: Path,
    reconciler: str | None,
    allow: str,
    overwrite: bool,
    coordinator_memory: str | None,
    as_json: bool,
) -> None:
    """Bring the embedded parts of the run in DIR into one space and write all vectors.

    \b
    Example:
      parge reconcile run -o vectors.parquet
    """
    RunFolder(folder).check_planned()
    check_outputs(embedding_outputs(out), run=folder, overwrite=overwrite)
    if reconciler is not None:
        reconcilers.check(reconciler)
    with (
        capped_coordinator(coordinator_memory),
        run_progress() as listener,
        open_planned(folder, reconciler=reconciler, allow=allow) as run,
    ):
        check_ids(out, run.decomposition.graph.outside_ids, overwrite=overwrite)
        report = finish(run, out, listener, [folder / SPACE])
    show.notices(run.notices)
    show.show_report(report, out, as_json=as_json)
