"""``parge plan``: what each worker would hold, which edges are lost, and whether it fits; nothing is embedded."""

from dataclasses import replace
from typing import Any

import click

from parge.cli import show
from parge.cli.estimate import show_estimate, stage_table
from parge.cli.memory import capped_coordinator, memory_option
from parge.cli.options import (
    PathName,
    all_of,
    header_option,
    json_option,
    make_plan,
    plan_options,
    read_graph,
    reading_options,
)
from parge.cli.shards import here, sharded_source
from parge.engine.base import joins_cluster
from parge.memory import format_bytes
from parge.planning.decision import decide, decompose
from parge.planning.summary import hints, idle
from parge.show.text import count, pasteable
from parge.storage import usable_cores


@click.command("plan")
@click.argument("graph", nargs=-1, metavar="GRAPH")
@all_of([*reading_options(), header_option])
@plan_options
@memory_option
@click.option(
    "--estimate",
    "as_estimate",
    is_flag=True,
    help="Same as `parge estimate`: give the size of the graph as KEY=VALUE instead of a graph.",
)
@click.option(
    "--sharded",
    is_flag=True,
    help="Plan `parge embed --sharded`: GRAPH is a folder of edges that is counted, not held.",
)
@json_option
def command(as_estimate: bool, as_json: bool, **options: Any) -> None:
    """Show what each worker would hold, which edges are lost, and whether parts are worth it. Embeds nothing.

    \b
    Examples:
      parge plan edges.txt.gz --parts 8
      parge plan edges.txt.gz --capacities 4000,4000,6000 --dim 64
      parge plan edges.parquet --memory 2GB,2GB,8GB --technique hope
      parge plan edges_folder --parts 8 --sharded
    """
    if as_estimate:
        show_estimate(options, as_json=as_json)
        return
    options["graph"] = _only_graph(options["graph"])
    if options.pop("sharded"):
        _plan_sharded(options, as_json=as_json)
        return
    plan = make_plan(options)
    with capped_coordinator(plan.coordinator_memory), show.steps("plan") as on_step:
        on_step("reading the graph")
        graph = read_graph(options, plan)
        decomposed = decompose(graph, decide(graph, plan, on_step=on_step), on_step=on_step)
        from parge.planning.verdict import planned  # compiled code: not needed to refuse a plan

        summary = planned(decomposed)
    show.say(summary.notices, style="dim", label="notice")
    if as_json:
        show.print_json(summary.to_json())
    else:
        show.show_summary(summary)
        show.out.print(f"Next: {_embed_command()}", soft_wrap=True)
    show.warnings(summary.warnings)
    show.say(hints(decomposed.plan.technique, graph), style="dim", label="hint")


def _plan_sharded(options: dict[str, Any], *, as_json: bool) -> None:
    """Show what a run in shards would take, from one pass over the files; see `parge.cluster.forecast`."""
    from parge.cluster.forecast import forecast  # most plans hold the graph
    from parge.cluster.plan_checks import checked_plan

    source = sharded_source(options)
    plan = make_plan(options)
    checked_plan(replace(plan, coordinator_memory=None))  # before any file is fetched or read
    with show.steps("plan") as on_step, here(source) as files:
        on_step("counting vertices and edges")
        found = forecast(files, plan)
    show.say(idle(plan), style="dim", label="notice")
    if as_json:
        show.print_json(found.to_json())
        return
    off = f" (± {found.error:.1%})" if found.error else ""
    show.out.print(
        f"[bold]{found.vertices:,}[/bold] vertices, [bold]{found.edges:,}[/bold] edges{off} in "
        f"[bold]{found.shards}[/bold] {'shard' if found.shards == 1 else 'shards'}; {count(found.anchors, 'anchor')}",
        markup=True,
    )
    show.out.print(stage_table(found.stages, found.start, found.seconds))
    cores = usable_cores()
    if cores < found.shards and not joins_cluster(plan.engine):
        show.out.print(f"time: with a core for each shard; {count(cores, 'core')} of this machine will take longer")
    low, high = found.lost_edges
    between = f"between {low:.0%} and {high:.0%} (what parts drawn at random lose)"
    show.out.print(f"lost edges: {between if high else 'none, because there is one part'}")
    if found.memory is not None:
        show.out.print(f"fits: the smallest worker has {format_bytes(found.memory)}")
    show.out.print(f"Next: {_embed_command('vectors_folder')}", soft_wrap=True)


def _embed_command(out: str = "vectors.parquet") -> str:
    """Return the command that embeds what was planned: the same arguments, and an output."""
    args = click.get_current_context().find_root().obj
    given = args[args.index("plan") + 1 :] if isinstance(args, list) and "plan" in args else ["GRAPH"]
    end = given.index("--") if "--" in given else len(given)  # what comes after it is no option
    return pasteable("parge", "embed", *given[:end], "-o", out, *given[end:])


def _only_graph(given: tuple[str, ...]) -> str:
    """Return the one GRAPH of a command that takes several arguments for something else."""
    if not given:
        raise click.UsageError("Missing argument 'GRAPH'.")
    if len(given) > 1:
        raise click.UsageError(f"Got unexpected extra argument ({given[1]})")
    return str(PathName()(given[0]))
