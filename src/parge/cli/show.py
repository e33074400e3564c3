"""What users see: tables on stdout; progress and notices on stderr (one bar per subgraph, or one line per step)."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from parge.events import Event, Listener, OnStep, Step
from parge.memory import format_bytes
from parge.text import escaped, on_one_line

if TYPE_CHECKING:
    from parge.planning.summary import Summary
    from parge.result import Report

_WIDTH_OF_FILES = 120  # where there is no terminal to ask
_ENDLESS = 10_000


class _Console(Console):
    """A console that sends text as text, whoever wrote it, so that no call has to remember to escape.

    What a file or a folder says may hold escape sequences, links or reversed text; square brackets and ``:heart:`` in
    it are no markup. Calls that mean markup say ``markup=True``, and put data into it by `rich.markup.escape`.
    It draws with the characters that its stream has.
    """

    @property
    def encoding(self) -> str:
        """The encoding of the stream that is written to now, where rich looks at one given to it only."""
        return (getattr(self.file, "encoding", None) or "utf-8").lower()

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape what is no text before it is laid out, so that columns are as wide as what they show."""
        return super().render_str(escaped(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escape what is no text in whatever is laid out; control codes of rich itself pass."""
        for segment in super().render(renderable, options):
            kept = segment.control or segment.text == "\n"
            yield segment if kept else Segment(escaped(segment.text), segment.style)


def console(**options: Any) -> Console:
    """Return a console as `out` and `err` are."""
    return _Console(highlight=False, markup=False, emoji=False, **options)


out = console(width=None if sys.stdout is not None and sys.stdout.isatty() else _WIDTH_OF_FILES)
err = console(stderr=True, soft_wrap=True)


@contextmanager
def steps(title: str) -> Iterator[OnStep]:
    """Show the current step: a spinner in a terminal, elsewhere one line per step."""
    if err.is_terminal:
        with err.status(escape(title)) as status:
            yield lambda step: status.update(escape(f"{title}: {step}"))
    else:
        yield lambda step: err.print(f"{title}: {step}", style="dim")


def say(messages: Iterable[str], *, style: str, label: str) -> None:
    """Print messages of one kind on stderr."""
    for message in messages:
        err.print(f"[{style}]{label}:[/{style}] {escape(message)}", markup=True)


def notices(messages: Iterable[str]) -> None:
    """Print notices on stderr."""
    say(messages, style="dim", label="notice")


def warnings(messages: Iterable[str]) -> None:
    """Print warnings on stderr."""
    say(messages, style="yellow", label="warning")


class _Column(NamedTuple):
    """A column of the table of a plan: one cell per worker, and those of the rows below; `spare` ones may be left out.

    Where the terminal is too narrow, the column with the largest `spare` is left out first.
    """

    heading: str
    cells: list[str]
    all: str = ""
    whole: str = ""
    spare: int = 0


def summary_columns(summary: "Summary") -> list[_Column]:
    """Return the columns of the table of a plan, all of them."""
    from parge.estimate.breaks import duration  # loaded with a plan only, not for --help

    parts, whole = summary.parts, getattr(summary, "whole", None)
    held, edges = (f"{sum(getattr(part, name) for part in parts):,}" for name in ("vertices", "edges"))
    largest = format_bytes(max(part.projected_bytes for part in parts))

    def column(heading: str, name: str, total: str = "", whole: str = "", spare: int = 0) -> _Column:
        return _Column(heading, [f"{getattr(part, name):,}" for part in parts], total, whole, spare)

    def time(seconds: float | None) -> str:
        return "–" if seconds is None else duration(seconds)

    sizes = ["" if part.budget_bytes is None else f" ({format_bytes(part.budget_bytes)})" for part in parts]
    found = [
        _Column("worker", [f"{i}{size}" for i, size in enumerate(sizes)], "all", "whole graph"),
        column("vertices", "vertices", held, f"{summary.vertices:,}"),
    ]
    if not any(sizes):  # limits in bytes have no capacity in vertices
        full = [f"{part.vertices / max(1, part.capacity):.0%}" for part in parts]
        found += [column("capacity", "capacity", spare=4), _Column("full", full, spare=5)]
    found.append(column("own", "own", f"{summary.vertices - summary.anchors:,}", spare=2))
    if any(part.halo or part.supervertices for part in parts):
        found += [column("halo", "halo", spare=3), column("super-\nvertices", "supervertices", spare=3)]
    found += [
        column("edges", "edges", edges, f"{summary.edges:,}"),
        _Column("kept", [f"{part.kept_edges:.1%}" for part in parts], whole="100.0%", spare=1),
        _Column(
            "memory\nat most",
            [format_bytes(part.projected_bytes) for part in parts],
            largest,
            "" if whole is None else format_bytes(whole.projected_bytes),
        ),
    ]
    if whole is not None:
        times = [time(part.projected_seconds) for part in parts]
        total = time(getattr(summary, "projected_seconds", None))
        found.append(_Column("time\n(about)", times, total, time(whole.projected_seconds)))
    return found


def summary_table(summary: "Summary", columns: list[_Column]) -> Table:
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


def _fitting(summary: "Summary") -> tuple[Table, list[str]]:
    """Return the table of a plan, and the headings that are left out because the terminal is too narrow."""
    columns, left_out = summary_columns(summary), list[str]()
    anywhere = out.options.update_width(_ENDLESS)  # a measurement is no wider than where it is made for
    while True:
        table, spare = summary_table(summary, columns), max(columns, key=lambda column: column.spare)
        if not spare.spare or Measurement.get(out, anywhere, table).maximum <= out.width:
            return table, left_out
        columns.remove(spare)
        left_out.append(spare.heading.replace("\n", ""))


def show_summary(summary: "Summary") -> None:
    """Print a decomposition for people; of a plan also the times, the whole graph, and whether parts are worth it."""
    n_parts = len(summary.parts)
    out.print(
        f"[bold]{summary.vertices:,}[/bold] vertices, [bold]{summary.edges:,}[/bold] edges in "
        f"[bold]{n_parts}[/bold] {'subgraph' if n_parts == 1 else 'subgraphs'}, for {escape(summary.technique)} "
        f"in {summary.dim} dimensions",
        markup=True,
    )
    table, left_out = _fitting(summary)
    out.print(table)
    if left_out:
        out.print(f"left out in this narrow terminal: {', '.join(left_out)}")
    if n_parts > 1:
        out.print("kept: the share of the edges at its own vertices that a subgraph holds")
    if getattr(summary, "projected_seconds", None) is not None:
        out.print("time: estimates for this machine; all and whole graph: a complete run")
    if n_parts > 1:
        out.print(
            f"lost edges (between two parts, held by neither): [bold]{summary.lost_edges:.2%}[/bold] of all   "
            f"anchors: [bold]{summary.anchors:,}[/bold] for {summary.dim} dimensions",
            markup=True,
        )
    if hasattr(summary, "verdict"):
        out.print(summary.verdict, style="bold")


def show_report(report: "Report", path: Path, *, as_json: bool) -> None:
    """Print a finished run, as one JSON object or for people; then its warnings."""
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(report, path)
    warnings(report.warnings)


def _print_report(report: "Report", path: Path) -> None:
    """Print size, time and memory of each subgraph, then the time of each stage."""
    from parge.engine.registry import runs_here  # loaded after an embedding only, not for --help
    from parge.reconcile.base import kind_of

    table = Table(header_style="bold")
    engine = str(report.plan.engine)
    shared = runs_here(engine)
    memory = "process memory" if shared else "memory"
    for heading in ("subgraph", "vertices", "edges", "seconds", memory, "at most", "anchors off by"):
        table.add_column(heading, justify="right")
    residuals, reconciler = report.reconcile.residuals, kind_of(str(report.reconcile.reconciler))
    # Around a backbone the anchors' vectors are given to all workers: there is nothing that could be off.
    meet = report.anchors and len(report.parts) > 1 and not reconciler.needs_landmarks
    for i, (part, peak) in enumerate(zip(report.parts, report.worker_peaks, strict=True)):
        off = residuals[i].after if meet and i < len(residuals) else None
        table.add_row(
            str(i),
            f"{part.vertices:,}",
            f"{part.edges:,}",
            f"{part.seconds:.2f}",
            format_bytes(peak),
            format_bytes(part.projected_bytes),
            "–" if off is None else f"{off:.1%}",
        )
    out.print(table)
    if shared:
        out.print(
            f'With --engine {engine}, "process memory" is the whole process; "at most" is the bound for a separate '
            "worker."
        )
    stages = ", ".join(f"{stage} {took:.1f} s" for stage, took in report.seconds.stages())
    out.print(
        f"[bold]{report.vertices:,}[/bold] vectors of {report.dim} numbers: [bold]{escape(str(path))}[/bold]\n"
        f"lost edges {report.lost_edges:.2%}, anchors {report.anchors:,}\n"
        f"{report.seconds.total:.1f} s in total, without reading and writing files: {stages}",
        markup=True,
    )
    helped = report.reconcile.helped
    if helped is not None and not reconciler.is_identity:
        out.print(
            f"{report.reconcile.reconciler}: anchors off by {helped.before:.0%} before alignment, "
            f"{helped.after:.0%} after it, {helped.held_out:.0%} on held-out anchors"
        )


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    click.echo(json.dumps(value).replace("\x7f", "\\u007f"))  # the one sign of ASCII that JSON leaves as it is


def show_score(score: Any, *, as_json: bool) -> None:
    """Print a score: as one JSON object, or its words."""
    if as_json:
        print_json(score.to_json())
    else:
        out.print(str(score))


_STAGES = {
    "read": "reading",
    "decompose": "decomposing",
    "resume": "resuming",
    "embed": "embedding",
    "retry": "retrying",
    "reconcile": "aligning",
    "refine": "refining",
    "write": "writing",
}


@contextmanager
def run_progress() -> Iterator[Listener]:
    """Yield a listener that shows the stages of a run and how far each subgraph is."""
    if not err.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=err, transient=True) as progress:
        yield _Bars(progress)


# Without a terminal, a stage that says nothing for so long says how far it is.
_QUIET_SECONDS = 20.0


class _Lines:
    """One line per stage and per finished subgraph, with the time since the start; and the progress of long ones."""

    def __init__(self) -> None:
        self.begun = self.last = time.monotonic()
        self.done: set[int] = set()
        self.shares: dict[int, float] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            if event.stage == "embed":  # one command may embed several times
                self.done.clear()
                self.shares.clear()
            text = _worded(event)
        elif event.share >= 1 and event.index not in self.done:
            self.done.add(event.index)
            text = f"embedded subgraph {event.index} ({len(self.done)} of {event.n_parts})"
        else:
            self.shares[event.index] = event.share
            if time.monotonic() - self.last < _QUIET_SECONDS:
                return
            at_work = (f"subgraph {i} {share:.0%}" for i, share in sorted(self.shares.items()) if i not in self.done)
            text = f"embedding: {', '.join(at_work)}"
        self.last = time.monotonic()
        err.print(f"{self.last - self.begun:7.1f} s  {on_one_line(text)}", style="dim")


def _worded(step: Step) -> str:
    return f"{_STAGES.get(step.stage, step.stage)}{': ' if step.text else ''}{step.text}"


class _Bars:
    """A bar for the whole run, and one for every subgraph that is being embedded."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.stage = progress.add_task("starting", total=None)
        self.parts: dict[int, TaskID] = {}
        self.shares: dict[int, float] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            text = _worded(event)
            if event.stage == "retry":  # to be read, not to be replaced by the next stage
                self.progress.console.print(text)
                return
            self.progress.update(self.stage, description=escape(text), total=None)
            return
        self.shares[event.index] = event.share
        self.progress.update(self.stage, total=event.n_parts, completed=sum(self.shares.values()))
        if event.share >= 1:
            if event.index in self.parts:
                self.progress.remove_task(self.parts.pop(event.index))
            return
        if event.index not in self.parts:
            self.parts[event.index] = self.progress.add_task(f"  subgraph {event.index}", total=1.0)
        self.progress.update(self.parts[event.index], completed=event.share)
