"""Progress for people: bars in a terminal, lines in a log, a small display in a notebook. Data is text there."""

import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.text import Text

from parge.events import Event, Listener, Part, Step, compilers, ignore
from parge.show.markup import Markup, tag
from parge.show.text import escaped, on_one_line

_DIGITS = re.compile(r"[\d,]+")

_STAGES = {
    "read": "reading",
    "choose": "choosing",
    "decompose": "decomposing",
    "resume": "resuming",
    "embed": "embedding",
    "retry": "retrying",
    "reconcile": "aligning",
    "refine": "refining",
    "write": "writing",
    "compile": "compiling",
    "prepare": "preparing the landmark embedding",
    "evaluate": "scoring",
    "place": "placing",
    "report": "drawing the report",
}


def progress_for(progress: bool | None) -> AbstractContextManager[Listener]:
    """Return what shows the progress of a call from Python.

    None: in a terminal and in a notebook. True: elsewhere, too, as one line per stage on stderr. False: nowhere.
    """
    if progress is False:
        return nullcontext(ignore)
    if in_notebook():
        return _reporting_compilers(_displayed())
    stderr = console(stderr=True, soft_wrap=True)
    return shown_on(stderr) if progress or stderr.is_terminal else nullcontext(ignore)


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, whoever draws it (Jupyter, VS Code, Colab)."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def shown_on(console: Console, *, all_events: bool = False) -> AbstractContextManager[Listener]:
    """Return what shows the stages of a run and how far each subgraph is, as fits the console; or every event."""
    return _reporting_compilers(nullcontext(_Lines(console, silence=0.0)) if all_events else _shown_on(console))


@contextmanager
def _reporting_compilers(shown: AbstractContextManager[Listener]) -> Iterator[Listener]:
    """Yield the listener; it is also called, once, when code is compiled: the first run of a machine waits for that."""
    with shown as listener:
        over = threading.Event()
        thread = threading.Thread(target=_watch_compilers, args=(listener, over), daemon=True)
        usual = threading.stack_size(_STACK_BYTES)  # what is reserved counts where memory is limited
        thread.start()
        threading.stack_size(usual)
        try:
            yield listener
        finally:
            over.set()
            thread.join()


def _watch_compilers(listener: Listener, over: threading.Event) -> None:
    """Report code that is compiled, if that takes more than a moment."""
    seen = 0
    while not over.wait(_COMPILER_SECONDS):
        seen = seen + 1 if any(at_work() for at_work in compilers) else 0
        if seen == 2:
            listener(Step("compile", "code for this machine; only the first run of each kind has to wait for it"))
            return


@contextmanager
def _shown_on(console: Console) -> Iterator[Listener]:
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:
        yield _Bars(progress)


# How often it is asked whether code is being compiled; reported if it still is the next time.
_COMPILER_SECONDS = 0.4
_STACK_BYTES = 1 << 18

# Without a terminal, a stage that says nothing for so long says how far it is.
_SILENCE_SECONDS = 20.0


class _Lines:
    """One line per stage and per finished subgraph, with the time since the start; and the progress of long ones."""

    def __init__(self, console: Console, silence: float = _SILENCE_SECONDS) -> None:
        self.console, self.silence = console, silence
        self.started = self.last = time.monotonic()
        self.done: set[int] = set()
        self.shares: dict[int, float] = {}
        self.stage, self.seen_kinds = "", set[str]()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            if event.stage == "embed":  # one command may embed several times
                self.done.clear()
                self.shares.clear()
            text = worded(event)
            if self._is_known(event):
                return
        elif event.share >= 1 and event.index not in self.done:
            self.done.add(event.index)
            text = f"embedded subgraph {event.index} ({len(self.done)} of {event.n_parts})"
        else:
            self.shares[event.index] = event.share
            if time.monotonic() - self.last < self.silence:
                return
            at_work = (f"subgraph {i} {share:.0%}" for i, share in sorted(self.shares.items()) if i not in self.done)
            text = f"embedding: {', '.join(at_work)}"
        self.last = time.monotonic()
        self.console.print(f"{self.last - self.started:7.1f} s  {on_one_line(text)}", style="dim")

    def _is_known(self, step: Step) -> bool:
        """Return whether a step of this stage was shown before, but for its numbers: rounds are not listed."""
        if step.stage != self.stage:
            self.stage = step.stage
            self.seen_kinds.clear()
        kind = _DIGITS.sub("", step.text)
        known = step.stage == "decompose" and kind in self.seen_kinds
        self.seen_kinds.add(kind)
        return known


def worded(step: Step) -> str:
    """Return a stage in words."""
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
            text = worded(event)
            if event.stage in ("retry", "compile"):  # to be read, not to be replaced by the next stage
                self.progress.console.print(text)
                return
            if event.stage == "embed":  # a listener may hear several runs
                self.shares.clear()
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


# A notebook is sent a new state at most so often.
_DISPLAY_SECONDS = 0.25


class _State:
    """What the display of a notebook shows: HTML there, and one line where it is saved as text."""

    def __init__(self, text: str, share: float | None, seconds: float) -> None:
        self.text, self.share, self.seconds = text, share, seconds

    def __repr__(self) -> str:
        done = "" if self.share is None else f" {self.share:.0%}"
        return on_one_line(f"parge: {self.text}{done} ({self.seconds:.0f} s)")

    def _repr_html_(self) -> Markup:
        given = {} if self.share is None else {"value": f"{self.share:.3f}", "max": 1}
        bar = None if self.share == 1.0 else tag("progress", **given)
        return tag("div", bar, " ", tag("span", on_one_line(self.text)), f" ({self.seconds:.0f} s)")


class _Display:
    """A display of a notebook that is redrawn: the stage, and how much of all subgraphs is embedded."""

    def __init__(self, handle: Any) -> None:
        self.handle, self.started, self.last = handle, time.monotonic(), 0.0
        self.text, self.shares, self.n_parts = "starting", dict[int, float](), 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Step):
            if event.stage == "embed":
                self.shares.clear()
            self.text, self.n_parts = worded(event), 0
        elif isinstance(event, Part):
            self.shares[event.index], self.n_parts = event.share, event.n_parts
        now = time.monotonic()
        if isinstance(event, Step) or now - self.last >= _DISPLAY_SECONDS:
            self.last = now
            self.draw()

    def draw(self) -> None:
        """Send the state."""
        share = min(0.99, sum(self.shares.values()) / self.n_parts) if self.n_parts else None
        self.handle.update(_State(self.text, share, time.monotonic() - self.started))

    def finish(self) -> None:
        """Replace the bar by one line that stays."""
        self.handle.update(_State("done", 1.0, time.monotonic() - self.started))


@contextmanager
def _displayed() -> Iterator[Listener]:
    """Yield a listener that draws in the notebook's output, which needs no widgets."""
    from IPython.display import display

    shown = _Display(display(_State("starting", None, 0.0), display_id=True))
    yield shown
    shown.finish()


WIDTH_OF_FILES = 120
"""Where there is no terminal to ask."""


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
    """Return a console that writes to its stream, in a notebook, too: there rich would display all by itself."""
    return _Console(highlight=False, markup=False, emoji=False, force_jupyter=False, **options)
