"""Text for a terminal: what data says is text, whoever wrote it."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from parge.show.text import escaped

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
