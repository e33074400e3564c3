"""``parge plan --estimate``: what a run would cost, by multiplication."""

from typing import Any

from rich.markup import escape
from rich.table import Table

from parge.cli import show
from parge.cli.options import make_plan
from parge.errors import InputError
from parge.estimate import Estimate, Question, duration, estimate
from parge.memory import format_bytes

# Keys that say which technique; the others are of the question itself.
_OF_TECHNIQUE = ("dim", "technique")


def show_estimate(options: dict[str, Any], *, as_json: bool) -> None:
    """Take the question out of ``key=value`` words, and print the answer."""
    pairs: dict[str, str] = {}
    for word in options.pop("graph"):
        key, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"--estimate takes no graph but its size, such as vertices=2e9 edges=1e12; got {word!r}")
        pairs[key.strip().replace("-", "_")] = value
    for name in _OF_TECHNIQUE:
        if name in pairs:
            options[name] = pairs.pop(name)
    if isinstance(options["dim"], str):
        if not options["dim"].isdigit() or int(options["dim"]) < 1:
            raise InputError(f"dim must be a whole number of at least 1; got {options['dim']!r}")
        options["dim"] = int(options["dim"])
    answer = estimate(Question.of(pairs), make_plan(options).resolved.technique)
    if as_json:
        show.print_json(answer.to_json())
    else:
        _show(answer)


def _show(answer: Estimate) -> None:
    question = answer.question
    show.out.print(
        f"[bold]{question.vertices:,.4g}[/bold] vertices, [bold]{question.edges:,.4g}[/bold] edges on "
        f"[bold]{answer.workers:,}[/bold] workers of {format_bytes(question.memory)}, one core each; "
        f"{answer.anchors:,.0f} anchors"
    )
    priced = answer.price is not None
    table = Table(header_style="bold", show_footer=True)
    total = (duration(answer.seconds), f"{answer.core_hours:,.0f}", "", format_bytes(answer.network))
    for heading, footer in zip(("time", "core hours", "memory of each", "network"), total, strict=True):
        if heading == "time":
            table.add_column("stage", "all, one after the other")
            table.add_column("machines", justify="right")
        table.add_column(heading, footer, justify="right")
    if priced:
        table.add_column("price", f"{answer.price:,.2f}", justify="right")
    for stage in answer.stages:
        row = [
            f"{stage.name} ({stage.how})" if stage.how else stage.name,
            f"{stage.machines:,}",
            duration(stage.seconds),
            f"{stage.machines * stage.seconds / 3600:,.1f}",
            format_bytes(stage.memory) if stage.memory else "–",
            format_bytes(stage.network) if stage.network else "–",
        ]
        table.add_row(*row, *([f"{stage.price(question):,.2f}"] if priced else []))
    show.out.print(table)
    show.out.print("as the graph grows at this mean degree, what breaks first, and what takes its place:")
    for item in answer.breaks:
        broken = "broken here" if item.share > 1 else "holds here"
        show.out.print(
            f"  from {item.edges:.2g} edges on ({broken}: needs {item.needs}, has {item.limit}): "
            f"[bold]{escape(item.what)}[/bold]\n      {escape(item.instead)}"
        )
    show.out.print("constants are measured on one core of a small machine; docs/estimate.md has the arithmetic")
