"""The table of a plan: a row per worker, one for all, one for the whole graph; as text, and for notebooks."""

import io
import re
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from parge.memory import format_bytes
from parge.show.display import said
from parge.show.markup import Markup, rows_of, tag
from parge.show.terminal import WIDTH_OF_FILES, console
from parge.show.text import count, duration
from parge.stage_reports import Summary

_ENDLESS = 10_000

# Numbers that stand alone: not the 2 of node2vec.
_NUMBERS = re.compile(r"(?<![\w.])(\d[\d,.]*\d%?|\d%?)(?!\w)")


class Column(NamedTuple):
    """A column of the table of a plan: one cell per worker, and those of the rows below; `spare` ones may be left out.

    Where the terminal is too narrow, the column with the largest `spare` is left out first.
    """

    heading: str
    cells: list[str]
    all: str = ""
    whole: str = ""
    spare: int = 0


def columns_of(summary: Summary) -> list[Column]:
    """Return the columns of the table of a plan, all of them."""
    parts, whole = summary.parts, getattr(summary, "whole", None)
    held, edges = (f"{sum(getattr(part, name) for part in parts):,}" for name in ("vertices", "edges"))
    largest = format_bytes(max(part.projected_bytes for part in parts))

    def column(heading: str, name: str, total: str = "", whole: str = "", spare: int = 0) -> Column:
        return Column(heading, [f"{getattr(part, name):,}" for part in parts], total, whole, spare)

    def time(seconds: float | None) -> str:
        return "–" if seconds is None else duration(seconds)

    sizes = ["" if part.budget_bytes is None else f" ({format_bytes(part.budget_bytes)})" for part in parts]
    found = [
        Column("worker", [f"{i}{size}" for i, size in enumerate(sizes)], "all", "whole graph"),
        column("vertices", "vertices", held, f"{summary.vertices:,}"),
    ]
    if not any(sizes):  # limits in bytes have no capacity in vertices
        full = [f"{part.vertices / max(1, part.capacity):.0%}" for part in parts]
        found += [column("capacity", "capacity", spare=4), Column("full", full, spare=5)]
    found.append(column("own", "own", f"{summary.vertices - summary.anchors:,}", spare=2))
    if any(part.halo or part.supervertices for part in parts):
        found += [column("halo", "halo", spare=3), column("super-\nvertices", "supervertices", spare=3)]
    found += [
        column("edges", "edges", edges, f"{summary.edges:,}"),
        Column("kept", [f"{part.kept_edges:.1%}" for part in parts], whole="100.0%", spare=1),
        Column(
            "memory\nat most",
            [format_bytes(part.projected_bytes) for part in parts],
            largest,
            "" if whole is None else format_bytes(whole.projected_bytes),
        ),
    ]
    if whole is not None:
        times = [time(part.projected_seconds) for part in parts]
        total = time(getattr(summary, "projected_seconds", None))
        found.append(Column("time\n(about)", times, total, time(whole.projected_seconds)))
    return found


def _table(summary: Summary, columns: list[Column]) -> Table:
    """Return the table of a plan: a row per worker, one for all, and one for the whole graph if it is known."""
    table = Table(header_style="bold")
    for column in columns:
        table.add_column(column.heading, justify="right", vertical="bottom", no_wrap=True)
    for i in range(len(summary.parts)):
        table.add_row(*(column.cells[i] for column in columns), end_section=i == len(summary.parts) - 1)
    if len(summary.parts) > 1:
        table.add_row(*(column.all for column in columns))
    if hasattr(summary, "whole"):
        table.add_row(*(column.whole for column in columns))
    return table


def _fitting(summary: Summary, console: Console) -> tuple[Table, list[str]]:
    """Return the table of a plan, and the headings that are left out because the terminal is too narrow."""
    columns, left_out = columns_of(summary), list[str]()
    anywhere = console.options.update_width(_ENDLESS)  # a measurement is no wider than where it is made for
    while True:
        table, spare = _table(summary, columns), max(columns, key=lambda column: column.spare)
        if not spare.spare or Measurement.get(console, anywhere, table).maximum <= console.width:
            return table, left_out
        columns.remove(spare)
        left_out.append(spare.heading.replace("\n", ""))


def lead(summary: Summary) -> str:
    """Return the first line: what is embedded, in how many subgraphs, with what."""
    n_parts = len(summary.parts)
    return (
        f"{count(summary.vertices, 'vertex')}, {count(summary.edges, 'edge')} in {count(n_parts, 'subgraph')}, for "
        f"{summary.technique} in {count(summary.dim, 'dimension')}"
    )


def notes(summary: Summary) -> list[str]:
    """Return the lines below the table, but for the verdict."""
    found = []
    if len(summary.parts) > 1:
        found.append("kept: the share of the edges at its own vertices that a subgraph holds")
    if getattr(summary, "projected_seconds", None) is not None:
        found.append("time: estimates for this machine; all and whole graph: a complete run")
    if len(summary.parts) > 1:
        found.append(f"lost edges (between two parts, held by neither): {summary.lost_edges:.2%} of all")
        found.append(f"anchors (vertices that every subgraph holds): {summary.anchors:,}")
    choice = getattr(summary, "choice", None)
    return found if choice is None else [*found, str(choice)]


def print_summary(summary: Summary, console: Console) -> None:
    """Print a decomposition for people; of a plan also the times, the whole graph, and whether parts are worth it."""
    console.print(_NUMBERS.sub(r"[bold]\1[/bold]", escape(lead(summary))), markup=True)
    table, left_out = _fitting(summary, console)
    console.print(table)
    if left_out:
        console.print(f"left out in this narrow terminal: {', '.join(left_out)}")
    for note in notes(summary):
        console.print(_NUMBERS.sub(r"[bold]\1[/bold]", escape(note)), markup=True)
    if hasattr(summary, "verdict"):
        console.print(summary.verdict, style="bold")


def as_text(summary: Summary) -> str:
    """Return the table as plain text, as `parge plan` prints it into a file."""
    written = io.StringIO()
    print_summary(summary, console(file=written, width=WIDTH_OF_FILES, color_system=None))
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def as_html(summary: Summary) -> Markup:
    """Return the table for a notebook, with the notes, notices and warnings below it."""
    columns = columns_of(summary)
    rows = [[column.cells[i] for column in columns] for i in range(len(summary.parts))]
    rows += [[column.all for column in columns]] if len(rows) > 1 else []
    rows += [[column.whole for column in columns]] if hasattr(summary, "whole") else []
    verdict = getattr(summary, "verdict", None)
    below = [
        *notes(summary),
        *([] if verdict is None else [tag("b", verdict)]),
        *said(summary.notices, summary.warnings),
    ]
    table = rows_of((column.heading.replace("-\n", "").replace("\n", " ") for column in columns), rows)
    return tag("div", tag("div", lead(summary)), table, *(tag("div", line) for line in below))
