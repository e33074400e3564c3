"""Text for people: counts in words, and text of files, which is never trusted with their terminal or their shell."""

import os
import shlex
from pathlib import Path
from typing import Any


def printable(value: Any, most: int = 2000) -> str:
    r"""Return text without control characters, so that what a file says cannot steer a terminal.

    Escapes, carriage returns, bidirectional overrides, line separators: all but printable characters, line breaks
    and tabs is written as Python writes it.

    >>> printable("a\x1b[31mb\nc\u202e")
    'a\\x1b[31mb\nc\\u202e'
    """
    text = str(value)
    return escaped(text if len(text) <= most else f"{text[:most]} ...")


def count(number: int, one: str) -> str:
    """Return a number with its noun, which is in the plural unless the number is 1.

    >>> count(1, "repeated edge"), count(2000, "vertex"), count(0, "class")
    ('1 repeated edge', '2,000 vertices', '0 classes')
    """
    if number == 1:
        return f"1 {one}"
    return f"{number:,} {one[:-2]}ices" if one.endswith("ex") else f"{number:,} {one}{'es' if one[-1] == 's' else 's'}"


def escaped(text: str) -> str:
    """Return text of any length as `printable` does: the last step before a terminal."""
    return text if text.isprintable() else "".join(c if c in "\n\t" else _shown(c) for c in text)


def on_one_line(value: Any, most: int = 2000) -> str:
    r"""Return printable text in which line breaks and tabs are escaped, too: a name, which has one line.

    >>> on_one_line("a\nError: b")
    'a\\nError: b'
    """
    return "".join(map(_shown, printable(value, most)))


def _shown(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def pasteable(*words: str | os.PathLike[str]) -> str:
    r"""Return a command line that a shell reads as these very words, and a terminal as text.

    A path that begins with a dash would be an option, so it begins with ``./``. What a terminal would obey is written
    as ``$'\x1b'``, which bash, zsh and ksh read.

    >>> pasteable("parge", "status", Path("my run"))
    "parge status 'my run'"
    """
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str | os.PathLike[str]) -> str:
    text = os.fspath(word)
    if isinstance(word, Path) and text.startswith("-"):
        text = f"./{text}"
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_in_ansi_c(c) for c in text) + "'"


def _in_ansi_c(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    # Octal: it ends after three digits, whatever follows.
    return character if character.isprintable() else "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def duration(seconds: float) -> str:
    """Show a time.

    >>> duration(0.5), duration(12.3), duration(90), duration(7200), duration(864000)
    ('0.5 s', '12 s', '1.5 min', '2.0 h', '10 days')
    """
    for unit, scale in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= scale * (2 if unit == "days" else 1):
            value = seconds / scale
            return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
