"""Standard streams as a command needs them: open, fit for any character, and loud or silent where they fail.

Results go to stdout: where they cannot, the command has failed. Progress and messages go to stderr: where they
cannot, work goes on without them. How much goes there is asked for: errors always; warnings, progress and notices, or
every event.
"""

import codecs
import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any, Literal, TextIO, get_args

import click

from parge.errors import PargeError

# What takes the place of our own characters where the terminal's encoding has none of them; others are escaped.
_PLAIN = str.maketrans({"±": "+-", "–": "-", "…": "...", "×": "x", "→": "->", "≤": "<=", "≥": ">=", "·": "-"})
_HANDLER = "parge.plain"

Level = Literal["error", "warning", "info", "debug"]
LEVELS: tuple[str, ...] = get_args(Level)
_DEFAULT = "info"

_chosen = [_DEFAULT]


class OutputError(PargeError):
    """A result that could not be written to standard output."""


def prepare_streams() -> None:
    """Make the standard streams of this process usable; the first thing that a command does.

    A descriptor that is closed is opened on the null device: otherwise the next file that is opened would become
    standard output, and receive what a library prints.
    """
    closed = [number for number in range(3) if _fill(number)]
    codecs.register_error(_HANDLER, _plain)
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115  it stays open as long as the process
    sys.stdout = _stream(sys.stdout, _Output(1, 1 in closed), 1)
    sys.stderr = _stream(sys.stderr, _Messages(2, "w", closefd=False), 2)


def finish_output() -> None:
    """Write what stdout still holds back, or raise."""
    if sys.stdout is not None:
        sys.stdout.flush()


def drop_output() -> None:
    """Send what stdout still holds, and all that follows, nowhere: it cannot be written, and Python would try again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
        raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
        if isinstance(raw, _Output):
            raw.is_closed = False
        sys.stdout.flush()


class _Output(io.FileIO):
    """Standard output; says so where it cannot be written."""

    def __init__(self, number: int, is_closed: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self.is_closed = is_closed

    def write(self, data: Any, /) -> int:
        """Write some of the bytes."""
        if self.is_closed:
            raise OutputError("standard output is closed. Send it to a file, or to /dev/null.")
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(
                f"Cannot write to standard output: {error.strerror}. Send it to another place."
            ) from error


class _Messages(io.FileIO):
    """Standard error; what cannot be written is dropped."""

    def write(self, data: Any, /) -> int:
        """Write some of the bytes, or let them go."""
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def _fill(number: int) -> bool:
    """Open a closed descriptor on the null device; return whether it was closed."""
    try:
        os.fstat(number)
    except OSError:
        with contextlib.suppress(OSError):
            found = os.open(os.devnull, os.O_RDWR)
            if found != number:
                os.dup2(found, number)
                os.close(found)
            os.set_inheritable(number, True)
        return True
    return False


def _stream(present: TextIO | None, raw: io.FileIO, number: int) -> TextIO:
    """Return the text stream over a raw one, in the encoding of the present one; a stand-in of a test stays."""
    if present is not None and not (isinstance(present, io.TextIOWrapper) and _number(present) == number):
        return present
    encoding = getattr(present, "encoding", None) or "utf-8"
    with contextlib.suppress(OSError, ValueError, AttributeError):
        present.flush()  # type: ignore[union-attr]  # None has no flush, which is one of the errors let pass
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors=_HANDLER, line_buffering=number == 2 or raw.isatty()
    )


def _number(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace characters that an encoding has not: ours by ASCII that means the same, others by their escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end].translate(_PLAIN)
    return wrong.encode("ascii", "backslashreplace").decode("ascii"), error.end


def reset_level() -> None:
    """Reset what an earlier command of this process asked for."""
    _chosen[0] = _DEFAULT


def says(level: Level) -> bool:
    """Return whether messages of that level are shown.

    >>> reset_level()
    >>> says("warning"), says("debug")
    (True, False)
    """
    return LEVELS.index(level) <= LEVELS.index(_chosen[0])


def level_options() -> list[click.Option]:
    """Return the options of every command: --log-level, and its short forms --quiet and --verbose."""
    return [
        click.Option(
            ["--log-level", "log_level"],
            type=click.Choice(LEVELS),
            expose_value=False,
            callback=_choose,
            help="What is printed on stderr: errors; also warnings; also progress and notices; every event.  "
            f"[default: {_DEFAULT}]",
        ),
        _short("--quiet", "-q", "error", "Same as --log-level error."),
        _short("--verbose", "-v", "debug", "Same as --log-level debug."),
    ]


def _short(name: str, letter: str, level: Level, words: str) -> click.Option:
    def choose(context: click.Context, option: click.Parameter, is_given: bool) -> None:
        _choose(context, option, level if is_given else None)

    return click.Option([name, letter], is_flag=True, expose_value=False, callback=choose, help=words)


def _choose(_context: click.Context, _option: click.Parameter, level: str | None) -> None:
    if level is not None:
        _chosen[0] = level
