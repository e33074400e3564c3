"""``parge decompose``: one self-contained folder per subgraph, to embed on any machine."""

from pathlib import Path
from typing import Any

import click

from parge.cli import show
from parge.cli.interrupts import resumable
from parge.cli.memory import capped_coordinator, memory_option
from parge.cli.options import (
    LOCAL,
    graph_inputs,
    graph_name,
    graph_options,
    json_option,
    make_plan,
    plan_options,
    read_graph,
)
from parge.cli.show import run_progress
from parge.events import Step
from parge.io.outputs import check_outputs
from parge.planning.summary import summarise
from parge.run.folder import RunFolder
from parge.run.open_run import open_run
from parge.run.pipeline import write_subgraphs
from parge.run.run import embed_part_command
from parge.show.text import pasteable


@click.command("decompose")
@graph_options
@click.option("--run-dir", required=True, type=LOCAL, metavar="DIR", help="Folder for the run.")
@plan_options
@click.option("--resume", is_flag=True, help="Continue an existing run: write only what is missing or damaged.")
@memory_option
@json_option
def command(run_dir: Path, resume: bool, as_json: bool, **options: Any) -> None:
    """Decompose a graph into one folder per subgraph; embed them on any machine.

    \b
    Example, with one part folder copied to another machine, and its result back:
      parge decompose edges.txt --run-dir run --parts 3
      scp -r run/parts/002 elsewhere:              # there: parge embed-part 002
      scp -r elsewhere:002/result run/parts/002/   # and the result back
      parge reconcile run -o vectors.parquet
    """
    RunFolder(run_dir).check_open(resume=resume)
    check_outputs([], graph_inputs(options), run=run_dir)
    plan = make_plan(options)
    with resumable(run_dir), capped_coordinator(plan.coordinator_memory), run_progress() as listener:
        listener(Step("read", graph_name(options)))
        graph = read_graph(options, plan, run_dir.parent)
        with open_run(graph, plan, run_dir=run_dir, resume=resume, listener=listener) as run:
            write_subgraphs(run)
            summary = summarise(run.decomposition, run.technique, run.notices)
    show.notices(summary.notices)
    if as_json:
        show.print_json({**summary.to_json(), "run": str(run_dir)})
    else:
        show.show_summary(summary)
        show.out.print(
            f"Next: {embed_part_command(run.folder.part(0), run.technique)}\n"
            "      and the other parts, here or on other machines (copy a folder to each, and its result back); then\n"
            f"      {pasteable('parge', 'reconcile', run_dir, '-o', 'vectors.parquet')}",
            soft_wrap=True,
        )
    show.warnings(summary.warnings)
