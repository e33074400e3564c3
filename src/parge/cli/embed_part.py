"""``parge embed-part``: one subgraph, on whichever machine its folder was copied to."""

from pathlib import Path

import click

from parge.cli import show
from parge.cli.ending import recorded
from parge.cli.options import json_option
from parge.cli.progress import run_progress
from parge.events import Part, Step
from parge.memory import format_bytes, limit_memory, parse_bytes


@click.command("embed-part")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--memory", metavar="2GB", help="Have the system refuse more memory than this.")
@click.option(
    "--technique",
    "allow",
    default="",
    metavar="MODULE:NAME",
    help="Trust the folder to have this installed code run. (Techniques of parge, and modules of the folder you "
    "stand in, need no such word.)",
)
@json_option
def command(folder: Path, memory: str | None, allow: str, as_json: bool) -> None:
    """Embed the subgraph in FOLDER, and write the result beside it. Needs nothing but that folder.

    \b
    Example:
      parge embed-part run/parts/003
    """
    from threadpoolctl import threadpool_limits

    from parge.run.embed_part import PartJob, embed_part

    limit_memory(None if memory is None else parse_bytes(memory))
    with run_progress() as listener, threadpool_limits(1), recorded(folder):
        listener(Step("embed", str(folder)))
        facts = embed_part(PartJob(folder, allow=allow), lambda share: listener(Part(0, share, 1)))
    if as_json:
        show.print_json(facts)
    else:
        show.out.print(
            f"subgraph {facts['index']}: {facts['vertices']:,} vertices in {facts['seconds']:.1f} s, "
            f"at most {format_bytes(facts['peak_bytes'])}"
        )
