"""``parge embed``: from a graph file to vectors in one space."""

from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.ending import capped_coordinator, memory_option, resumable
from parge.cli.options import (
    PathName,
    graph_inputs,
    graph_options,
    json_option,
    make_plan,
    overwrite_option,
    plan_options,
    read_graph,
)
from parge.cli.show import run_progress
from parge.events import Step
from parge.io.embeddings.files import check_ids, embedding_outputs
from parge.io.outputs import Output, check_outputs
from parge.run.folder import RunFolder
from parge.run.pipeline import embed_to_file


@click.command("embed")
@graph_options
@click.option("-o", "--out", required=True, type=PathName(path_type=Path), metavar="OUT", help="Output file.")
@plan_options
@click.option(
    "--run-dir", type=PathName(path_type=Path), metavar="DIR", help="Folder that keeps the run.  [default: OUT.run]"
)
@click.option("--resume", is_flag=True, help="Resume the run in the run folder where it stopped.")
@click.option("--report", "page", type=PathName(path_type=Path), metavar="FILE.html", help="Also write a report page.")
@overwrite_option
@memory_option
@json_option
def command(
    out: Path,
    run_dir: Path | None,
    resume: bool,
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
      parge embed edges.csv -o vectors.npy --capacities 4000,4000,6000 --technique hope --dim 64
      parge embed edges.txt -o vectors.vec --parts 4 --technique mymodule:function
    """
    outputs = embedding_outputs(out)
    folder = run_dir or out.with_name(out.name + ".run")
    if page is not None:
        from parge.report.page import check_page, is_page, write_report  # most runs write no page

        outputs.append(Output(check_page(page), is_page))
    RunFolder(folder).check_open(resume=resume)
    check_outputs(outputs, graph_inputs(options), run=folder, overwrite=overwrite)
    plan = make_plan(options, resume=resume)
    name = Path(options["graph"]).name
    with resumable(folder), capped_coordinator(plan.coordinator_memory), run_progress() as listener:
        listener(Step("read", str(options["graph"])))
        graph = read_graph(options, plan, folder.parent)
        check_ids(out, graph.outside_ids, overwrite=overwrite)
        report = embed_to_file(graph, plan, out, run_dir=folder, resume=resume, listener=listener)
        if page is not None:
            listener(Step("report", str(page)))
            write_report(folder, page, title=name, report=report)
    kept = None if run_dir is not None else RunFolder(folder).discard()
    show.notices([*([] if kept is None else [kept]), *report.notices])
    show.show_report(report, out, as_json=as_json)
