"""Words that stand in files of a run: shown to people, never trusted with their terminal."""

from typing import Any


def printable(value: Any, most: int = 2000) -> str:
    r"""Return text without control characters, so that what a file says cannot steer a terminal.

    >>> printable("a\x1b[31mb\nc")
    'a\\x1b[31mb\nc'
    """
    text = str(value)
    text = text if len(text) <= most else f"{text[:most]} ..."
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
