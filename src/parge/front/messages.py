"""What a call says while it works: progress to people, events to listeners, notices and warnings through `warnings`."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from parge.errors import InputError, PargeNotice, PargeWarning
from parge.events import Event, Listener, ignore
from parge.numbers import shown
from parge.show.terminal import progress_for
from parge.show.text import printable


@contextmanager
def heard(progress: bool | None, listener: Listener) -> Iterator[Listener]:
    """Yield one listener for what is shown and for the caller's own."""
    if not callable(listener):
        raise InputError(f"a listener is a function that is called with every event; got {shown(listener)}")
    with progress_for(progress) as screen:
        if listener is ignore:
            yield screen
            return

        def both(event: Event) -> None:
            screen(event)
            listener(event)

        yield both


def warn(notices: Iterable[str], texts: Iterable[str], *, depth: int = 2) -> None:
    """Issue notices and warnings as Python warnings, at the line that called the function that is `depth` calls up."""
    for words, category in ((notices, PargeNotice), (texts, PargeWarning)):
        for text in words:
            warnings.warn(printable(text), category, stacklevel=depth + 1)
