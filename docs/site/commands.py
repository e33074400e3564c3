"""The reference of every command and option, written from the program itself."""

import inspect
import re

import click

from parge.cli.main import cli

HEAD = """# Commands

This page is written from the program: `parge COMMAND --help` shows the same. Every command also takes `--help`,
`--debug`, which prints the traceback of an error, and `--log-level error|warning|info|debug`. Its short forms are
`--quiet` (errors alone) and `--verbose` (every event). `--json` prints one JSON object on standard output; messages and
progress go to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | a failure while running; the run can be resumed |
| 2 | bad input, or a plan that does not fit |
| 130 | interrupted |
"""


# Options of every command, which the head of the page has.
EVERYWHERE = {"debug", "log_level", "quiet", "verbose"}


def commands_page() -> str:
    """Return the page, commands in the order of `parge --help`."""
    context = click.Context(cli, info_name="parge")
    found = [(name, cli.get_command(context, name)) for name in cli.list_commands(context)]
    return HEAD + "".join(_section(f"parge {name}", command, context) for name, command in found if command is not None)


def _section(name: str, command: click.Command, parent: click.Context) -> str:
    if isinstance(command, click.Group):
        inner = "".join(_section(f"{name} {verb}", each, parent) for verb, each in command.commands.items())
        return f"\n## {name}\n\n{_help(command)}\n{inner}"
    context = click.Context(command, info_name=name)
    usage = command.get_usage(context).removeprefix("Usage: ").replace("\n", " ")
    usage = re.sub(r"\s+", " ", usage)
    level = "##" if name.count(" ") == 1 else "###"
    return f"\n{level} {name}\n\n```text\n{usage}\n```\n\n{_help(command)}\n{_options(command, context)}"


def _help(command: click.Command) -> str:
    text = inspect.cleandoc(command.help or "")
    blocks = [_block(block) for block in text.split("\n\n")]
    return "\n\n".join(blocks) + "\n"


def _block(block: str) -> str:
    """Return a paragraph, or as it stands what click was asked not to wrap."""
    if block.startswith("\b"):
        return f"```text\n{block.removeprefix(chr(8)).strip(chr(10))}\n```"
    return _escaped(block)


def _options(command: click.Command, context: click.Context) -> str:
    records = [
        record
        for option in command.params
        if isinstance(option, click.Option) and option.name not in EVERYWHERE
        if (record := option.get_help_record(context)) is not None
    ]
    if not records:
        return ""
    rows = "".join(f"| `{_cell(left)}` | {_escaped(_cell(right))} |\n" for left, right in records)
    return f"\n| option | meaning |\n|---|---|\n{rows}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Return text in which angle brackets and stars are not markup."""
    return re.sub(r"([*_\[])", r"\\\1", text.replace("<", "&lt;"))
