"""``parge place``: vectors of vertices that a frozen space does not know."""

from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.memory import capped_coordinator, memory_option
from parge.cli.options import (
    LOCAL,
    OUT,
    PathName,
    all_of,
    graph_inputs,
    header_option,
    json_option,
    overwrite_option,
    read_graph,
    reading_options,
)
from parge.cli.update import refuse_header
from parge.io.embeddings.files import check_ids, embedding_outputs
from parge.io.outputs import Output, check_outputs, replacing
from parge.io.places import given_name
from parge.run.spaces import open_space, space_folder
from parge.show.text import count, on_one_line, pasteable
from parge.space.place import Placed, place
from parge.storage import MEMORY, Files

_HEAD = b"vertex\tconfidence\tedges\tagreement\n"


@click.command("place")
@click.argument("space", type=LOCAL, metavar="SPACE")
@click.argument("graph", type=PathName(), metavar="EDGES")
@all_of([*reading_options(features=False), header_option])
@click.option("-o", "--out", required=True, type=OUT, metavar="OUT", help="Output file.")
@click.option(
    "--confidence",
    type=LOCAL,
    metavar="FILE.tsv",
    help="Also write, for each new vertex, how much there was to place it by.",
)
@overwrite_option
@memory_option
@json_option
def command(
    space: Path,
    out: Path,
    confidence: Path | None,
    overwrite: bool,
    coordinator_memory: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Place the vertices of EDGES that SPACE does not know, in the same space. No other vector changes.

    SPACE is the folder of parge embed --space, or a kept run folder. EDGES has edges of new vertices to known ones and
    to each other. Vertices that no path leads to are named and get the origin. OUT holds only the new vertices.

    \b
    Examples:
      parge embed monday.txt -o vectors.npz --space space
      parge place space tuesday.txt -o new.npz
    """
    folder = space_folder(space)
    outputs = [*embedding_outputs(out), *([] if confidence is None else [Output(confidence, _is_ours)])]
    check_outputs(outputs, graph_inputs(options), run=folder, overwrite=overwrite)
    with capped_coordinator(coordinator_memory) as limit, show.steps("placing") as step:
        step("reading the space")
        frozen = open_space(folder)
        step("reading the edges")
        edges = read_graph(options, memory=limit, scratch=out.parent)
        refuse_header(frozen, edges)
        check_ids(out, edges.outside_ids, overwrite=overwrite)
        step("placing")
        placed = place(frozen, edges, storage=MEMORY if limit is None else Files(out.parent))
        placed.embedding.save(out)
        if confidence is not None:
            _write_confidence(placed, confidence)
    show.notices([*edges.notices, *_notices(placed)])
    if as_json:
        show.print_json(placed.to_json())
    else:
        numbers = placed.to_json()
        show.out.print(
            f"{count(numbers['placed'], 'vertex')} placed from {count(numbers['edges'], 'edge')} in "
            f"{placed.seconds:.2f} s; mean confidence {numbers['confidence']:.2f}; written to {on_one_line(out)}"
        )
        near = pasteable("parge", "neighbors", "VECTORS", "VERTEX", "--placed", given_name(out))
        show.out.print(f"Next: {near}", soft_wrap=True)


def _notices(placed: Placed) -> list[str]:
    unused = f"{count(placed.unused, 'edge')} between known vertices not used; parge update uses them"
    return [*placed.notices, *([unused] if placed.unused else []), *show.unreachable(placed.unreachable)]


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_HEAD)) == _HEAD


def _write_confidence(placed: Placed, path: Path) -> None:
    """Write one line per new vertex; tabs and line ends in ids are escaped."""
    with replacing(path) as file:
        file.write(_HEAD)
        for row in placed.rows():
            name = on_one_line(str(row["vertex"]), 10_000)
            file.write(f"{name}\t{row['confidence']}\t{row['edges']}\t{row['agreement']}\n".encode(errors="replace"))
