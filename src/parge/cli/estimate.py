"""``parge estimate``, and its alias ``parge plan --estimate``: what a run would cost, calculated without a graph."""

from collections.abc import Sequence
from typing import Any

import click
from click.core import ParameterSource
from rich.markup import escape
from rich.table import Table

from parge.cli import show
from parge.cli.options import all_of, json_option, make_technique, technique_options
from parge.cli.streams import says
from parge.errors import InputError
from parge.estimate import Estimate, Question, estimate
from parge.estimate.breaks import Break
from parge.estimate.stages import Stage
from parge.memory import format_bytes
from parge.numbers import MOST_DIM, read_whole, shown
from parge.show.text import count, duration

# Keys that say which technique; the others are of the question itself.
_OF_TECHNIQUE = ("dim", "technique")

# Options of `parge plan` that are read with --estimate, and the keys that say what others do.
_READ = {"graph", "as_estimate", "as_json", "technique", "dim", "params", "sharded"}
_KEYS = {
    "vertices": "vertices=",
    "parts": "workers=",
    "jobs": "workers=",
    "capacities": "workers= and memory=",
    "memory": "memory=",
    "coordinator_memory": "coordinator=",
}


@click.command("estimate")
@click.argument("items", nargs=-1, required=True, metavar="vertices=N edges=M [KEY=VALUE]...")
@all_of(technique_options())
@click.option("--sharded", is_flag=True, help="Estimate `parge embed --sharded`: no machine holds the graph.")
@json_option
def command(items: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Estimate the time, memory, disk, network and price of every stage of a run. Reads no graph.

    KEY is vertices, edges, workers, memory, coordinator, disk, disk_speed, network_speed, dim, technique,
    price_core_hour or price_gb.

    \b
    Examples:
      parge estimate vertices=4e6 edges=34.5e6 workers=8 memory=2GB dim=64
      parge estimate vertices=2e9 edges=1e12 memory=64GB price_core_hour=0.04
      parge estimate vertices=2e9 edges=1e12 memory=64GB --sharded
    """
    _show_answer(items, options, as_json=as_json)


def show_estimate(options: dict[str, Any], *, as_json: bool) -> None:
    """Answer ``parge plan --estimate``, which reads no other option of a plan than those of the technique."""
    _refuse_other_options()
    _show_answer(options.pop("graph"), options, as_json=as_json)


# The first row of a table: it takes the same for a graph of any size.
_START = "start processes"


def _show_answer(items: tuple[str, ...], options: dict[str, Any], *, as_json: bool) -> None:
    """Take the question out of ``key=value`` arguments, and print the answer."""
    pairs = _pairs(items)
    for name in _OF_TECHNIQUE:
        if name in pairs:
            options[name] = _only(name, options[name], pairs.pop(name))
    question, sharded = Question.of(pairs), options.pop("sharded")
    technique = make_technique(options)
    answer = estimate(question, technique, sharded=sharded)
    if as_json:
        show.print_json(answer.to_json())
    else:
        _show(answer, estimate(question, technique, sharded=not sharded))
    show.warnings(answer.warnings)


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def _refuse_other_options() -> None:
    for option in click.get_current_context().command.params:
        name = str(option.name)
        if name not in _READ and _is_given(name):
            instead = f"Use {_KEYS[name]} instead." if name in _KEYS else "Omit it."
            raise InputError(f"--estimate does not read {option.opts[0]}. {instead}")


def _pairs(items: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals:
            raise InputError(
                f"an estimate needs the size of the graph, such as vertices=2e9 edges=1e12; got {shown(item)}"
            )
        name = key.strip().replace("-", "_")
        if name in pairs:
            raise InputError(f"{name}= was given twice, {shown(pairs[name])} and {shown(value)}. Give it once.")
        pairs[name] = value
    return pairs


def _only(name: str, option: Any, text: str) -> Any:
    """Return what a key of the technique says, unless an option says otherwise."""
    value: Any = text
    if name == "dim":
        value = read_whole("dim=", text, 1, MOST_DIM)
    if _is_given(name) and option != value:
        raise InputError(f"--{name} {option} and {name}={text} contradict each other. Give only one of them.")
    return value


def _show(answer: Estimate, other: Estimate) -> None:
    """Print the answer in a few lines, then what it is made of; `other` is the same with shards, or without."""
    question = answer.question
    for line in _lead(answer, other):
        show.out.print(line, markup=True)
    show.out.print(_table(answer))
    _show_breaks(answer.breaks)
    show.out.print(
        f"Assumed: one core per worker, {count(round(answer.anchors), 'anchor')}, disks of "
        f"{format_bytes(question.disk_speed)}/s, network of {format_bytes(question.network_speed)}/s. Constants were "
        "measured on one core of a small machine; see docs/reference/estimate.md"
    )


def _lead(answer: Estimate, other: Estimate) -> list[str]:
    """Return how long it takes, whether it fits, and how long the other way takes."""
    question = answer.question
    price = "" if answer.price is None else f", for a price of {answer.price:,.2f}"
    lines = [
        f"About [bold]{duration(answer.seconds)}[/bold]{price}: {size(question.vertices)} vertices, "
        f"{size(question.edges)} edges on {count(answer.workers, 'worker')} of {format_bytes(question.memory)}.",
    ]
    if answer.warnings:
        lines.append("It [bold]does not fit[/bold]: the warnings at the end say what to give.")
    else:
        alone = answer.coordinator_memory
        others = "" if alone is None else f", the coordinator {_of(alone, question.coordinator)}"
        lines.append(f"It [bold]fits[/bold]: a worker needs {_of(answer.worker_memory, question.memory)}{others}.")
    if answer.sharded:
        lines.append(f"Without --sharded, one machine reads, splits and refines: {duration(other.seconds)}.")
    elif answer.workers > 1:
        lines.append(f"With --sharded, no machine holds the graph: {duration(other.seconds)}.")
    return lines


def _of(needs: float, there: float) -> str:
    return f"{format_bytes(needs)} of {format_bytes(there)}"


def size(number: float) -> str:
    """Show a large number.

    >>> size(34_500_000), size(2e9), size(1.5e12)
    ('34,500,000', '2e9', '1.5e12')
    """
    return f"{number:,.0f}" if number < _LONG else f"{number:.4g}".replace("e+0", "e").replace("e+", "e")


# Numbers from here on have too many digits to read.
_LONG = 1e9


def _show_breaks(breaks: Sequence[Break]) -> None:
    """Say what does not fit here and what would break next; everything else only with ``--verbose``."""
    n_shown = len(breaks) if says("debug") else 1 + sum(item.share > 1 for item in breaks)
    show.out.print("as the graph grows at this mean degree, what breaks first, and what takes its place:")
    for item in breaks[:n_shown]:
        broken = "broken here" if item.share > 1 else "holds here"
        show.out.print(
            f"  from {size(float(f'{item.edges:.2g}'))} edges on ({broken}: needs {item.needs}, has {item.limit}): "
            f"[bold]{escape(item.what)}[/bold]\n      {escape(item.instead)}",
            markup=True,
        )
    if n_shown < len(breaks):
        n_more = len(breaks) - n_shown
        show.out.print(f"  {n_more} more that hold{'s' if n_more == 1 else ''} longer: add --verbose")


def stage_table(stages: Sequence[Stage], start: float, seconds: float) -> Table:
    """Return a table of what each stage takes."""
    table = Table(header_style="bold", show_footer=True)
    table.add_column("stage", "all, one after the other")
    for heading in ("time", "memory of each", "disk of each", "network"):
        table.add_column(heading, duration(seconds) if heading == "time" else "", justify="right")
    table.add_row(_START, duration(start), "–", "–", "–")
    for stage in stages:
        sizes = (format_bytes(size) if size else "–" for size in (stage.memory, stage.disk, stage.network))
        table.add_row(stage.name, duration(stage.seconds), *sizes)
    return table


def _table(answer: Estimate) -> Table:
    question, priced = answer.question, answer.price is not None
    table = Table(header_style="bold", show_footer=True)
    table.add_column("stage", "all, one after the other")
    table.add_column("machines", justify="right")
    totals = {
        "time": duration(answer.seconds),
        "core hours": f"{answer.core_hours:,.0f}",
        "memory of each": "",
        "disk of each": "",
        "network": format_bytes(answer.network),
    }
    for heading, footer in totals.items():
        table.add_column(heading, footer, justify="right")
    if priced:
        table.add_column("price", f"{answer.price:,.2f}", justify="right")
    table.add_row(_START, "", duration(answer.start), *["–"] * (5 if priced else 4))
    for stage in answer.stages:
        row = [
            f"{stage.name} ({stage.how})" if stage.how else stage.name,
            f"{stage.machines:,}",
            duration(stage.seconds),
            f"{stage.machines * stage.seconds / 3600:,.1f}",
            *(format_bytes(size) if size else "–" for size in (stage.memory, stage.disk, stage.network)),
        ]
        table.add_row(*row, *([f"{stage.price(question):,.2f}"] if priced else []))
    return table
