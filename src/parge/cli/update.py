"""``parge update``: a new version of a space, in which edges were added and removed."""

from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.memory import capped_coordinator, memory_option
from parge.cli.options import (
    LOCAL,
    Number,
    PathName,
    all_of,
    columns_of,
    graph_inputs,
    header_option,
    json_option,
    overwrite_option,
    read_graph,
    reading_options,
    say_idle,
)
from parge.errors import InputError
from parge.graph.graph import Graph
from parge.io.embeddings.files import check_ids, embedding_outputs, is_embedding_name
from parge.io.outputs import check_outputs
from parge.io.places import given_name
from parge.run.spaces import described, open_space, replaced, space_folder
from parge.run.updates import check_update_output, kept_steps, request_digest
from parge.show.text import count, pasteable
from parge.space.aging import LOOK_AFTER, advised, unseen_changes
from parge.space.frozen import Space
from parge.space.update import THRESHOLD, Updated, grown_ids, unknown_edges, update
from parge.storage import MEMORY, Files


@click.command("update")
@click.argument("space", type=LOCAL, metavar="SPACE")
@click.argument("graph", type=PathName(), metavar="[EDGES]", required=False)
@all_of([*reading_options(features=False), header_option])
@click.option("--removed", type=LOCAL, metavar="FILE", help="Edges to remove, before others are added.")
@click.option(
    "-o",
    "--out",
    required=True,
    type=LOCAL,
    metavar="OUT",
    help="Folder of the new space; or a file for all vectors (.npz, ...), then the space goes to --space.",
)
@click.option(
    "--space",
    "new_space",
    type=LOCAL,
    metavar="DIR",
    help="Folder of the new space, where OUT is a file.  [default: OUT.space]",
)
@click.option(
    "--threshold",
    type=Number(min=0),
    default=THRESHOLD,
    show_default=True,
    help="Share of its edges that may change before a vertex moves.",
)
@overwrite_option
@memory_option
@json_option
def command(
    space: Path,
    removed: Path | None,
    out: Path,
    new_space: Path | None,
    threshold: float,
    overwrite: bool,
    coordinator_memory: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Write a new version of SPACE with EDGES added: new vertices are placed, and vertices whose edges changed move.

    All other vectors keep their bits. SPACE itself stays as it is, and updates can follow on each other. Repeat a
    command that was stopped: it goes on with what it had done, which is in OUT.unfinished until the space is whole.

    \b
    Examples:
      parge update space tuesday.txt -o space-2
      parge update space-2 wednesday.txt --removed gone.txt -o space-3
    """
    folder = space_folder(space)
    if options["graph"] is None and removed is None:
        raise InputError("there is nothing to change: give EDGES to add, or --removed with edges to remove.")
    if options["graph"] is None:
        say_idle(("vertices", "unweighted", "weight"), "without EDGES")
    is_file = is_embedding_name(out)
    if new_space is not None and not is_file:
        raise InputError(f"both -o {out} and --space {new_space} name a folder for the space. Give only one.")
    place = out if not is_file else new_space or out.with_name(f"{out.name}.space")
    inputs = [*graph_inputs(options), *([] if removed is None else [removed])]
    outputs = embedding_outputs(out) if is_file else []
    check_outputs(outputs, inputs, run=folder, overwrite=overwrite)
    check_update_output(place, [*inputs, folder], [output.path for output in outputs])
    gone = replaced(place)
    with capped_coordinator(coordinator_memory) as limit, show.steps("updating") as step:
        step("reading the space")
        frozen = open_space(folder)
        step("reading the edges")
        more, less = read_changes(options, removed, limit, place.parent)
        refuse_header(frozen, more)
        if is_file:
            check_ids(out, frozen.ids if more is None else grown_ids(frozen, more)[0], overwrite=overwrite)
        storage = MEMORY if limit is None else Files(place.parent)
        with kept_steps(place, request_digest(folder, more, less, threshold)) as steps:
            step("moving vertices")
            found = update(frozen, more, less, threshold=threshold, storage=storage, steps=steps)
            step("writing the space")
            size = steps.finish(found.space, place)
            if is_file:
                found.space.embedding().save(out)
    resumed = ["resumed an interrupted update"] if steps.resumed else []
    show.notices(
        [
            *resumed,
            *(() if more is None else more.notices),
            *_notices(found, frozen, less),
            *_earlier_look(found, place),
            *gone,
            described(place, size),
        ]
    )
    if as_json:
        show.print_json({**found.to_json(), "space": str(place), "bytes": size})
    else:
        show.out.print(_summary(found))
        near = pasteable("parge", "neighbors", given_name(out), "VERTEX")
        show.out.print(f"Next: {near}", soft_wrap=True)
        show.out.print(f"  or: {pasteable('parge', 'drift', given_name(place))}", soft_wrap=True)


def read_changes(
    options: dict[str, Any], removed: Path | None, limit: int | None, scratch: Path | None
) -> tuple[Graph | None, Graph | None]:
    """Return the edges to add and to remove, each None where no file is given."""
    less, given = None, options["graph"]
    if removed is not None:
        if given is not None and Path(given).is_file() and Path(given).stat().st_size == 0:
            raise InputError(f"{given} is empty. To remove edges alone, omit EDGES.")
        less = read_listed(removed, "--removed", dict(options), coordinator_memory=limit, scratch=scratch)
    return (None if given is None else read_graph(options, memory=limit, scratch=scratch)), less


def read_listed(path: Path | str, option: str, columns: dict[str, Any], **how: Any) -> Graph:
    """Read edges that only matter one by one, so that weights are ignored; a file without any is refused."""
    from parge.io.graphs.read import read

    given = {**columns_of(columns), "weighted": False, "weight": None}
    edges = read(path, **given, vertices=(), **how)
    if not edges.n_edges:
        raise InputError(f"{path} has no edge between two vertices. Omit {option}, or give another file.")
    return edges


def refuse_header(space: Space, edges: Graph | None) -> None:
    """Refuse a first line of words that looks like column names, where the ids of the space are integers.

    Read as an edge it would leave two vertices at the origin of the space, for good.
    """
    from parge.io.graphs.text import doubtful_header

    if edges is not None and space.ids.dtype.kind == "i" and doubtful_header(edges) is not None:
        raise InputError(
            f"{doubtful_header(edges)} The ids of the space are integers. If the line is an edge, give --no-header."
        )


def _notices(found: Updated, space: Space, removed: Graph | None) -> list[str]:
    if found.missing and removed is not None:
        missing = [f"{count(found.missing, 'edge')} of --removed not found: {unknown_edges(space, removed)}"]
    else:
        missing = []
    return [*found.notices, *missing, *show.unreachable(found.unreachable)]


def _earlier_look(found: Updated, place: Path) -> list[str]:
    """Say that the drift is one of before, and how to look now; nothing where this update looked."""
    age = found.age
    if age.looked_at == age.version:
        return []
    return [
        f"the drift is that of version {age.looked_at}; {unseen_changes(found.space):.1%} of the edges changed since. "
        f"An update looks from {LOOK_AFTER:.0%} on. To look now: {pasteable('parge', 'drift', given_name(place))}"
    ]


def _summary(found: Updated) -> str:
    numbers, age = found.to_json(), found.age
    advice = f": {advised(age.drift)}" if age.looked_at == age.version else f" in version {age.looked_at}"
    return (
        f"{count(numbers['placed'], 'vertex')} placed, {numbers['moved']:,} moved, {numbers['kept']:,} unchanged; "
        f"{count(numbers['added'], 'edge')} added, {numbers['removed']:,} removed; "
        f"version {numbers['version']}, in {found.seconds:.2f} s\n"
        f"drift {age.drift:.3f} ± {age.error:.3f}{advice}"
    )
