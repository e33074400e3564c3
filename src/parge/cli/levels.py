"""How much a command says on stderr: errors always; warnings, progress and notices, or every event, as asked."""

from typing import Literal, get_args

import click

Level = Literal["error", "warning", "info", "debug"]
LEVELS: tuple[str, ...] = get_args(Level)
_DEFAULT = "info"

_chosen = [_DEFAULT]


def reset() -> None:
    """Reset what an earlier command of this process asked for."""
    _chosen[0] = _DEFAULT


def says(level: Level) -> bool:
    """Return whether messages of that level are shown.

    >>> reset()
    >>> says("warning"), says("debug")
    (True, False)
    """
    return LEVELS.index(level) <= LEVELS.index(_chosen[0])


def options() -> list[click.Option]:
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
