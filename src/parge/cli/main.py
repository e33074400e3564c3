"""The group of commands, and what every command does with an error."""

import contextlib
import importlib
import io
import os
import re
import sys
import traceback
from pathlib import Path

import click

import parge
from parge.cli.interrupts import interrupted_by_signals
from parge.cli.memory import spare_memory
from parge.cli.streams import drop_output, finish_output, level_options, prepare_streams, reset_level
from parge.errors import InputError, PargeError
from parge.io.outputs import claiming
from parge.io.places import delivering
from parge.show.text import escaped, on_one_line
from parge.spelling import our_word
from parge.storage import current_folder

# Verb -> what it does; each lives in a module of its name. A command is imported only when it is used, so that
# --help and refusals are fast.
_COMMANDS = {
    "demo": "See it work in a minute: a graph too large for one worker, in eight parts.",
    "plan": "Show what each worker would hold, which edges are lost, and whether it fits.",
    "estimate": "Estimate time, memory, disk, network and price of a run of any size, without a graph.",
    "embed": "Embed a graph in parts and write all vectors in one space.",
    "decompose": "Write one folder per subgraph; embed them on any machine.",
    "embed-part": "Embed one of these folders, on any machine.",
    "reconcile": "Bring the embedded parts into one space and write the vectors.",
    "status": "Show the progress of a run.",
    "evaluate": "Score an embedding: PIP distance, classification, link prediction.",
    "report": "Write an HTML page about a run: the decomposition, the workers, a map before and after.",
    "place": "Place new vertices in the space of an earlier embedding; nothing else moves.",
    "update": "Take new and removed edges into a space; only what changed moves.",
    "drift": "Estimate how far a space is from a fresh embedding.",
    "align": "Rotate one embedding into the space of another.",
    "neighbors": "List the nearest vertices of a vertex.",
    "export": "Write vectors for other tools: float16, safetensors, FAISS, usearch, Lance, Hugging Face.",
    "generate": "Write a test graph with known communities.",
}


_DEBUG = "--debug"
_QUESTIONS = {"-h", "--help", "--version"}

# Longer words of a message, such as a number of 5,000 digits, are cut.
_LONGEST_WORD, _LONGEST_LINE = 1000, 400


class _Verbs(click.Group):
    """Loads each command from its own module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"parge.cli.{cmd_name.replace('-', '_')}")
        return _debuggable(module.command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _debuggable(command: click.Command) -> click.Command:
    """Let a command, and the commands of a group, take --debug and --log-level at any place."""
    if not any(option.name == "debug" for option in command.params):
        command.params += [_debug_option(), *level_options()]
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _debuggable(inner)
    return command


def _debug_option() -> click.Option:
    """Return the option, which is read from the arguments themselves: also where others are wrong."""
    return click.Option([_DEBUG], is_flag=True, expose_value=False, help="Print the traceback of an error.")


@click.command(
    cls=_Verbs,
    params=[_debug_option(), *level_options()],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(parge.__version__, message="parge %(version)s")
def cli() -> None:
    """Embed the vertices of a graph on several machines; no machine has to hold the whole graph.

    \b
    First steps:
      parge demo                                           # see it work
      parge plan edges.csv --parts 8                       # does it fit?
      parge embed edges.csv -o vectors.parquet --parts 8   # the vectors
      parge neighbors vectors.parquet VERTEX               # use them
      parge evaluate classify vectors.parquet labels.csv   # score them
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit 0 done, 2 bad input, 1 a failure while running, 130 interrupted."""
    prepare_streams()
    code = run(arguments)
    if code == 130:
        # Python ends by SIGINT, not with our code, where the interrupt once passed through code that a C library ran.
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = _run(given)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        drop_output()
        return 1
    except BaseException as error:  # noqa: BLE001  whatever it is becomes one line and an exit code
        drop_output()
        if _DEBUG in given:
            _say("".join(traceback.format_exception(error)).rstrip())
        code = _fail(error)
    return code


def _run(given: list[str]) -> int:
    if current_folder() is None and not _QUESTIONS.intersection(given):
        # Libraries ask where they are, too, and only some of them take no for an answer.
        raise InputError("the current folder no longer exists. Change to another one (cd), then run the command again.")
    spare_memory(given)
    reset_level()
    try:
        with interrupted_by_signals(), claiming(_tell_replaced), delivering():
            cli.main(args=given, prog_name="parge", standalone_mode=False, obj=list(given))
    except click.exceptions.Exit as stop:
        code = stop.exit_code
    except SystemExit as stop:  # of rich, where the reader of our output went away
        code = stop.code if isinstance(stop.code, int) else 1
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            _name_the_cure(error)
        error.message = _cut(error.message)  # type: ignore[misc]  # it is what `show` prints
        shown = io.StringIO()
        error.show(shown)
        _say(shown.getvalue().rstrip("\n"))
        code = error.exit_code
    else:
        code = 0
    finish_output()
    return code


def _tell_replaced(paths: list[Path]) -> None:
    """Name earlier outputs before they are replaced, while the command can still be stopped."""
    from parge.cli import show  # loaded by every command that writes, not for --help

    names = " and ".join(on_one_line(path) for path in paths)
    are = "is an earlier output" if len(paths) == 1 else "are earlier outputs"
    show.notices([f"{names} {are} of parge and will be replaced"])


def _name_the_cure(error: click.NoSuchOption) -> None:
    """Say which option other tools call so: --dimensions is --dim, and --walks is a setting of the technique."""
    known = [] if error.ctx is None else [name for option in error.ctx.command.params for name in option.opts]
    ours = our_word(error.option_name)
    if ours is None:
        return
    option = f"--{ours.replace('_', '-')}"
    if option in known:
        error.possibilities = [option]  # type: ignore[misc]  # as below, what `show` prints
    elif "--param" in known:
        error.possibilities = []  # type: ignore[misc]
        error.message += f" Settings of the technique are given as --param {ours}=VALUE."  # type: ignore[misc]


def _fail(error: BaseException) -> int:
    """Say in one message what went wrong, and return the exit code for it."""
    if isinstance(error, click.Abort | KeyboardInterrupt):
        message, code = "interrupted", 130
    else:
        message, code = f"Error: {_cut(_message(error))}", error.exit_code if isinstance(error, PargeError) else 1
    # Bad input quotes what was given, and its message has one line, whatever that holds.
    _say(on_one_line(message, len(message)) if code == InputError.exit_code else message)
    # click raises Abort in the place of the KeyboardInterrupt that has the notes
    for note in getattr(error.__cause__ if isinstance(error, click.Abort) else error, "__notes__", []):
        _say(note)
    return code


def _message(error: BaseException) -> str:
    """Return what went wrong: our own words, those of the system, or that nobody foresaw it."""
    if isinstance(error, PargeError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory. Use more parts, or a machine with more memory."
    if isinstance(error, OSError):
        return str(error)
    line = " ".join(f"{type(error).__name__}: {error}".split())
    line = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."
    if isinstance(error, ImportError):
        return f"cannot load a library ({line}). Install parge again, or use {_DEBUG} to see where it fails."
    return f"{line}. This is a bug in parge: run the command again with {_DEBUG} and report the output."


def _cut(message: str) -> str:
    """Shorten words that nobody would read."""
    return re.sub(rf"\S{{{_LONGEST_WORD},}}", lambda word: f"{word[0][:60]}...{word[0][-20:]}", message)


def _say(message: str) -> None:
    """Print on stderr what files and people said; it is text, and steers no terminal."""
    click.echo(escaped(message), err=True)
