"""``parge plan``: what each worker would hold, what is lost, and whether it fits; nothing is embedded."""

from typing import Any

import click

from parge.cli import show
from parge.cli.ending import capped_coordinator, memory_option
from parge.cli.options import graph_options, json_option, make_plan, plan_options, read_graph
from parge.plan import decompose
from parge.report.hints import hints


@click.command("plan")
@graph_options
@plan_options
@memory_option
@json_option
def command(as_json: bool, **options: Any) -> None:
    """Show what each worker would hold, what is lost and whether it fits. Runs nothing else.

    \b
    Examples:
      parge plan edges.txt.gz --parts 8
      parge plan edges.txt.gz --capacities 4000,4000,6000 --dim 64
      parge plan edges.parquet --memory 2GB,2GB,8GB --technique hope
    """
    plan = make_plan(options)
    with capped_coordinator(plan.coordinator_memory), show.steps("plan") as tell:
        tell("reading the graph")
        graph = read_graph(options, plan)
        plan, decomposition, _ = decompose(graph, plan, tell=tell)
        from parge.report.summary import summarise  # compiled code: not needed to refuse a plan

        summary = summarise(decomposition, plan.resolved.technique)
    show.say(summary.notices, style="dim", label="notice")
    if as_json:
        show.print_json(summary.to_json())
    else:
        show.show_summary(summary)
    show.say(summary.warnings, style="yellow", label="warning")
    show.say(hints(plan.resolved.technique), style="dim", label="hint")
