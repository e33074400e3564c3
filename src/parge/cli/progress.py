"""Progress of a run in a terminal: one bar per subgraph; elsewhere, one line per step."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from parge.cli.show import err
from parge.events import Event, Listener, Step
from parge.text import on_one_line

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
            text = f"{_STAGES.get(event.stage, event.stage)}{': ' if event.text else ''}{event.text}"
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


class _Bars:
    """A bar for the whole run, and one for every subgraph that is being embedded."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.stage = progress.add_task("starting", total=None)
        self.parts: dict[int, TaskID] = {}
        self.shares: dict[int, float] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            text = f"{_STAGES.get(event.stage, event.stage)}{': ' if event.text else ''}{event.text}"
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
