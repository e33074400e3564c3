"""``parge drift``: how much a space has lost compared with a fresh embedding."""

from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.memory import capped_coordinator, memory_option
from parge.cli.options import LOCAL, PathName, all_of, header_option, json_option, reading_options, say_idle
from parge.cli.update import read_changes, refuse_header
from parge.run.spaces import open_space, space_folder
from parge.space.drift import drift


@click.command("drift")
@click.argument("space", type=LOCAL, metavar="SPACE")
@click.argument("graph", type=PathName(), metavar="[EDGES]", required=False)
@all_of([*reading_options(features=False), header_option])
@click.option("--removed", type=LOCAL, metavar="FILE", help="Edges that were removed; columns as in EDGES.")
@memory_option
@json_option
def command(space: Path, removed: Path | None, coordinator_memory: str | None, as_json: bool, **options: Any) -> None:
    """Estimate how much SPACE has lost compared with a fresh embedding: 0 nothing, 1 no better than unrelated vectors.

    Nothing is embedded. With EDGES, the drift that SPACE would have after parge update with them.

    \b
    Example:
      parge drift space tuesday.txt
    """
    folder = space_folder(space)
    if options["graph"] is None and removed is None:
        say_idle(("vertices", "unweighted", "weight", "source", "target", "delimiter", "header"), "without EDGES")
    with capped_coordinator(coordinator_memory) as limit, show.steps("drift") as step:
        step("reading the space")
        frozen = open_space(folder)
        more, less = read_changes(options, removed, limit, None)
        refuse_header(frozen, more)
        step("looking at vertices")
        found = drift(frozen, more, less)
    show.notices(() if more is None else more.notices)
    show.show_score(found, as_json=as_json)
