"""The group of commands, and what every command does with an error."""

import importlib
import os
import sys

import click

import parge
from parge.cli.ending import interrupted_by_signals, spare_memory
from parge.errors import PargeError

# Verb -> what it does; each lives in a module of its name. A command is imported only when it is used, so that
# --help and refusals are fast.
_COMMANDS = {
    "demo": "Generate a graph, embed it in parts, score it: the whole story in a minute.",
    "plan": "Show what each worker would hold, what is lost and whether it fits.",
    "embed": "Embed a graph in parts and write all vectors in one space.",
    "decompose": "Write one folder a subgraph, to be embedded anywhere.",
    "embed-part": "Embed one such folder, on any machine.",
    "reconcile": "Make one space of the embedded folders and write the vectors.",
    "status": "Show how far a run is.",
    "evaluate": "Score an embedding: PIP distance, classification, link prediction.",
    "report": "Write one HTML page about a run: the decomposition, the workers, a map before and after.",
    "align": "Rotate one embedding into the space of another.",
    "neighbors": "List the vertices nearest to one.",
    "generate": "Write a graph whose communities are known.",
}


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
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(parge.__version__, message="parge %(version)s")
def cli() -> None:
    """Embed the vertices of a graph on several machines, none of which has to hold it.

    Start with `parge demo`, then `parge plan GRAPH --parts 8` on a graph of your own.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit 0 done, 2 bad input, 1 a failure while running, 130 interrupted."""
    code = run(arguments)
    if code == 130:
        # Python ends by SIGINT, not with our code, where the interrupt once passed through code that a C library ran.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    spare_memory(given)
    try:
        with interrupted_by_signals():
            cli.main(args=given, prog_name="parge", standalone_mode=False, obj=list(given))
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (click.Abort, KeyboardInterrupt, PargeError, OSError, MemoryError) as error:
        return _fail(error)
    return 0


def _fail(error: BaseException) -> int:
    """Say in one message what went wrong, and return the exit code for it."""
    if isinstance(error, click.Abort | KeyboardInterrupt):
        message, code = "interrupted", 130
    elif isinstance(error, MemoryError):
        message, code = "Error: out of memory; use more parts, or a machine with more memory", 1
    else:
        message, code = f"Error: {error}", error.exit_code if isinstance(error, PargeError) else 1
    click.echo(message, err=True)
    # click raises Abort in the place of the KeyboardInterrupt that has the notes
    for note in getattr(error.__cause__ if isinstance(error, click.Abort) else error, "__notes__", []):
        click.echo(note, err=True)
    return code
