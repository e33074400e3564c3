"""What users see: tables on stdout; progress and notices on stderr (one bar per subgraph, or one line per step)."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.table import Table

from parge.cli.streams import Level, says
from parge.events import Listener, OnStep, ignore, ignore_step
from parge.memory import format_bytes
from parge.show.terminal import WIDTH_OF_FILES, console, shown_on
from parge.show.text import count, pasteable

if TYPE_CHECKING:
    from parge.result import Report
    from parge.stage_reports import Summary
    from parge.typing import IdArray

out = console(width=None if sys.stdout is not None and sys.stdout.isatty() else WIDTH_OF_FILES)
err = console(stderr=True, soft_wrap=True)


# Shares below are 0.0 % when rounded.
_SMALL_SHARE = 0.0005

_NO_PASS = "none"


@contextmanager
def steps(title: str) -> Iterator[OnStep]:
    """Show the current step: a spinner in a terminal, elsewhere one line per step."""
    if not says("info"):
        yield ignore_step
    elif err.is_terminal:
        with err.status(escape(title)) as status:
            yield lambda step: status.update(escape(f"{title}: {step}"))
    else:
        yield lambda step: err.print(f"{title}: {step}", style="dim")


def say(messages: Iterable[str], *, style: str, label: str, level: Level = "info") -> None:
    """Print messages of one kind on stderr, if that level is asked for."""
    if not says(level):
        return
    for message in messages:  # in a terminal, lines end between words; a log has one line per message
        err.print(f"[{style}]{label}:[/{style}] {escape(message)}", markup=True, soft_wrap=not err.is_terminal)


def done(text: str) -> None:
    """Print what was done on stderr, unless silence was asked for."""
    if says("info"):
        err.print(text)


def unreachable(ids: "IdArray") -> list[str]:
    """Return a notice that names vertices that could not be placed in a space, if there are any."""
    from parge.ids import show_ids

    if not ids.size:
        return []
    return [f"{count(ids.size, 'vertex')} at the origin, without a path to a known vertex: {show_ids(ids)}"]


def notices(messages: Iterable[str]) -> None:
    """Print notices on stderr."""
    say(messages, style="dim", label="notice")


def warnings(messages: Iterable[str]) -> None:
    """Print warnings on stderr."""
    say(messages, style="yellow", label="warning", level="warning")


def show_summary(summary: "Summary") -> None:
    """Print a decomposition for people; of a plan also the times, the whole graph, and whether parts are worth it."""
    from parge.show.plan_table import print_summary  # loaded with a plan only, not for --help

    print_summary(summary, out)


def print_above(thing: Any) -> None:
    """Print on stdout while progress is shown on stderr; in one terminal, above the bars instead of into them."""
    both = out.is_terminal and err.is_terminal and says("info")
    (err if both else out).print(thing, soft_wrap=isinstance(thing, str))


def run_progress() -> AbstractContextManager[Listener]:
    """Return what shows the stages of a run and how far each subgraph is, as much of it as is asked for."""
    if not says("info"):
        return nullcontext(ignore)
    return shown_on(err, all_events=says("debug"))


def show_report(report: "Report", path: Path, *, as_json: bool, space: Path | None = None) -> None:
    """Print a finished run, as one JSON object or for people; then its warnings. `space` is what was also written."""
    if as_json:
        print_json(report.to_json())
    else:
        _print_report(report, path, space)
    warnings(report.warnings)


def _print_report(report: "Report", path: Path, space: Path | None) -> None:
    """Print size, time and memory of each subgraph, then the time of each stage."""
    from parge.engine.base import runs_here  # loaded after an embedding only, not for --help
    from parge.io.places import given_name
    from parge.reconcile.base import kind_of

    table, peaks = Table(header_style="bold"), report.worker_peaks
    engine = report.plan.engine  # None where the run was completed from its folder
    shared = engine is not None and runs_here(str(engine))
    memory = "process memory" if shared else "memory"
    residuals, reconciler = report.reconcile.residuals, kind_of(str(report.reconcile.reconciler))
    # Around a backbone the anchors' vectors are given to all workers: there is nothing that could be off.
    meet = bool(report.anchors and len(report.parts) > 1 and residuals and not reconciler.needs_landmarks)
    headings = ["subgraph", "vertices", "edges", "seconds", memory, "at most", *(["anchors off by"] if meet else [])]
    for heading in headings:
        table.add_column(heading, justify="right")
    for i, (part, peak) in enumerate(zip(report.parts, peaks, strict=True)):
        off = residuals[i].after if meet and i < len(residuals) else None
        table.add_row(
            str(i),
            f"{part.vertices:,}",
            f"{part.edges:,}",
            f"{part.seconds:.2f}",
            format_bytes(peak),
            format_bytes(part.projected_bytes),
            *(["–" if off is None else f"{off:.1%}"] if meet else []),
        )
    out.print(table)
    if shared:
        out.print(
            f'With --engine {engine}, "process memory" is the whole process; "at most" is the bound for a separate '
            "worker."
        )
    elif engine is None and any(peak > part.projected_bytes for part, peak in zip(report.parts, peaks, strict=True)):
        out.print('If the parts were embedded with --engine serial, "memory" is the whole process.')
    stages = ", ".join(f"{stage} {took:.1f} s" for stage, took in report.seconds.stages())
    out.print(
        f"{report.seconds.total:.1f} s in total, without reading and writing files:\n  {stages}\n"
        f"[bold]{report.vertices:,}[/bold] vectors of {report.dim} numbers: [bold]{escape(given_name(path))}[/bold]",
        markup=True,
    )
    out.print(_meaning(report))
    if report.choice is not None:
        out.print(str(report.choice))
    helped = report.reconcile.helped
    if helped is not None and not reconciler.is_identity:
        out.print(
            f"{report.reconcile.reconciler}: anchors off by {helped.before:.0%} before alignment, "
            f"{helped.after:.0%} after it, {helped.held_out:.0%} on held-out anchors{_then(report)}"
        )
    for i, args in enumerate(_next_steps(report, given_name(path), space)):
        out.print(f"{'  or' if i else 'Next'}: {pasteable('parge', *args)}", soft_wrap=True)


def _then(report: "Report") -> str:
    """Return what follows the alignment, if something does: these numbers are then not those of the vectors."""
    refine = str(report.plan.refine or _NO_PASS)
    return "" if refine == _NO_PASS else f". The final pass ({refine}) followed; these numbers are from before it"


def _next_steps(report: "Report", name: str, space: Path | None) -> list[list[str]]:
    """Return the commands that fit what was asked for: its purpose, and a space."""
    purpose = str(report.plan.purpose or "labels")
    for_links = purpose != "labels"
    # What has the degree head.
    ranked = for_links and not report.shards and Path(name).suffix.lower() in (".npz", ".parquet")
    return [
        *([] if space is None else [["place", str(space), "EDGES", "-o", "NEW.parquet"]]),
        ["neighbors", name, "VERTEX", *(["--for", "links"] if ranked else [])],
        *([["evaluate", "links", "GRAPH", "--for", purpose]] if for_links else []),
        *([] if purpose == "links" else [["evaluate", "classify", name, "LABELS"]]),
    ]


def _meaning(report: "Report") -> str:
    """Return what the numbers of a run mean, in one sentence or two."""
    if len(report.parts) == 1:
        return "One worker held the whole graph; no edge was lost."
    held = f"No worker held more than {count(max(part.vertices for part in report.parts), 'vertex')}."
    if not report.lost_edges:
        return f"{held} No edge was lost."
    share = "Under 0.1%" if report.lost_edges < _SMALL_SHARE else f"{report.lost_edges:.1%}"
    return f"{held} {share} of the edges were lost: they join two parts, and neither held them."


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    click.echo(json.dumps(value).replace("\x7f", "\\u007f"))  # the one sign of ASCII that JSON leaves as it is


def show_score(score: Any, *, as_json: bool) -> None:
    """Print a score: as one JSON object, or its words."""
    if as_json:
        print_json(score.to_json())
    else:
        out.print(str(score))
