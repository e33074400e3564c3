"""``parge embed``: from a graph file to vectors in one space."""

from itertools import permutations
from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.interrupts import resumable
from parge.cli.memory import capped_coordinator, memory_option
from parge.cli.options import (
    LOCAL,
    OUT,
    graph_inputs,
    graph_name,
    graph_options,
    json_option,
    make_plan,
    overwrite_option,
    plan_options,
    read_graph,
)
from parge.cli.shards import given_args, sharded_source
from parge.cli.show import run_progress
from parge.errors import InputError
from parge.events import Step
from parge.graph.graph import Graph
from parge.io.embeddings.files import check_ids, embedding_outputs, is_embedding_name
from parge.io.outputs import Output, check_outputs, is_inside, run_folder_of
from parge.io.places import delivery, given_name, is_url
from parge.run.folder import RunFolder
from parge.run.open_run import failed_before_reading
from parge.run.pipeline import embed_to_file
from parge.run.schema import SPACE
from parge.run.spaces import check_space_output, described, replaced, space_bytes
from parge.show.text import on_one_line


@click.command("embed")
@graph_options
@click.option("-o", "--out", required=True, type=OUT, metavar="OUT", help="Output file; a folder with --sharded.")
@plan_options
@click.option("--run-dir", type=LOCAL, metavar="DIR", help="Folder that keeps the run.  [default: OUT.run]")
@click.option("--resume", is_flag=True, help="Resume the run in the run folder where it stopped.")
@click.option("--space", type=LOCAL, metavar="DIR", help="Also write the frozen space, for parge place.")
@click.option(
    "--sharded",
    is_flag=True,
    help="No process holds the graph: each part has a shard. GRAPH is a folder of Parquet files or text edge lists, "
    "OUT a folder of Parquet files.",
)
@click.option("--report", "page", type=OUT, metavar="FILE.html", help="Also write a report page.")
@overwrite_option
@memory_option
@json_option
def command(
    out: Path,
    run_dir: Path | None,
    resume: bool,
    space: Path | None,
    sharded: bool,
    page: Path | None,
    overwrite: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Embed a graph in parts, each within the limits of its worker, and write all vectors in one space.

    The suffix of OUT sets the format: .npy, .npz, .parquet, or .vec/.emb/.txt (word2vec text).
    The run folder is removed at the end unless --run-dir names it.

    \b
    Examples:
      parge embed edges.txt.gz -o vectors.parquet --parts 8
      parge embed edges.csv -o vectors.npy --memory 2GB,4GB --technique hope
      parge embed edges.txt -o vectors.vec --parts 4 --technique mymodule:function
      parge embed edges.txt -o vectors.npz --space space    # for parge place
      parge embed edges_folder -o vectors_folder --parts 8 --sharded
    """
    if sharded:
        refused = {"--report": page, "--space": space}
        _embed_sharded(out, run_dir, resume, refused, overwrite, as_json, options)
        return
    inputs, outputs = graph_inputs(options), embedding_outputs(out)
    folder = run_dir or run_folder_of(out)
    if page is not None:
        from parge.report.page import check_page, is_page, write_report  # most runs write no page

        outputs.append(Output(check_page(page), is_page))
    fresh = run_dir is None and failed_before_reading(folder)
    if not fresh:
        RunFolder(folder).check_open(resume=resume)
    check_outputs(outputs, inputs, run=folder, overwrite=overwrite)
    spaces = [] if run_dir is None else [run_dir / SPACE]
    if space is not None:
        check_space_output(space, inputs, [folder, *(output.path for output in outputs)])
        spaces.append(space)
    gone = [] if space is None else replaced(space)
    plan = make_plan(options, resume=resume)
    name = Path(graph_name(options)).name
    with resumable(folder), capped_coordinator(plan.coordinator_memory), run_progress() as listener:

        def graph() -> Graph:
            listener(Step("read", graph_name(options)))
            found = read_graph(options, plan, folder.parent)
            check_ids(out, found.outside_ids, overwrite=overwrite)
            if fresh and failed_before_reading(folder):  # still: reading may take long
                RunFolder(folder).discard()
            return found

        report = embed_to_file(graph, plan, out, run_dir=folder, resume=resume, spaces=spaces, listener=listener)
        if page is not None:
            listener(Step("report", given_name(page)))
            write_report(folder, page, title=name, report=report)
    kept = None if run_dir is not None else RunFolder(folder).discard()
    said = [] if space is None else [*gone, described(space, space_bytes(space))]
    show.notices([*([] if kept is None else [kept]), *report.notices, *said])
    show.show_report(report, out, as_json=as_json, space=space)


def _embed_sharded(
    out: Path,
    run_dir: Path | None,
    resume: bool,
    refused: dict[str, Any],
    overwrite: bool,
    as_json: bool,
    options: dict[str, Any],
) -> None:
    """Embed a folder of edges into a folder of vectors; see `parge.cluster.run.embed_sharded`."""
    from parge.cluster.run import embed_sharded
    from parge.cluster.run_folder import check_run_folder, discard, failed_before_reading  # most runs hold the graph
    from parge.io.embeddings.folder import check_folder_output

    given = next((name for name, value in refused.items() if value is not None), None)
    if given is not None:
        raise InputError(f"{given} needs the whole graph in one process. Omit it, or omit --sharded.")
    if delivery(out) is not None:
        raise InputError("With --sharded, OUT is a folder that all machines see, not a URL. Copy it afterwards.")
    folder = run_dir or run_folder_of(out)
    check_folder_output(out, overwrite=overwrite)
    places = [out, folder] if is_url(options["graph"]) else [out, folder, Path(options["graph"])]
    if any(is_inside(*pair) for pair in permutations(places, 2) if pair != (folder, out)):
        raise InputError(f"Cannot write {out}: GRAPH, OUT and the run folder must not be inside each other.")
    fresh = run_dir is None and failed_before_reading(folder)
    if not fresh:
        check_run_folder(folder, resume=resume)
    source = sharded_source(options)
    plan = make_plan(options, resume=resume)
    with resumable(folder), capped_coordinator(plan.coordinator_memory), run_progress() as listener:
        if fresh and failed_before_reading(folder):
            discard(folder)
        report = embed_sharded(
            source, plan, out, run_dir=folder, resume=resume, listener=listener, command=given_args()
        )
    kept = None if run_dir is not None else discard(folder)
    show.notices([*_folder_notice(out), *([] if kept is None else [kept]), *report.notices])
    show.show_report(report, out, as_json=as_json)


def _folder_notice(out: Path) -> list[str]:
    """Say that an output of a run in shards is a folder where its name looks like that of a file."""
    if not is_embedding_name(out):
        return []
    return [f"{on_one_line(out)} is a folder of Parquet files, one for each part; parge reads it as one embedding"]
