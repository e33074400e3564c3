"""Code on the pages runs: commands and options exist, Python parses; the blocks of the first pages are executed."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import parge
from parge.cli.main import cli, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

# Pages whose sh and python blocks are run from top to bottom in one folder. Blocks marked `console` are not run: they
# install, or need other machines.
EXECUTED = [
    "README.md",
    "docs/start/tutorial.md",
    "docs/start/own-data.md",
    "docs/start/own-technique.md",
    "docs/how-to/report.md",
]

EDGES = "source,target\n" + "".join(
    f"{a},{b}\n"
    for i in range(60)
    for a, b in [(f"v{i}", f"v{(i + 1) % 60}"), (f"v{i}", f"v{(i * 7 + 3) % 60}"), ("ann", f"v{i}")]
)
LABELS = "vertex,label\n" + "".join(f"v{i},{'even' if i % 2 == 0 else 'odd'}\n" for i in range(60))


def blocks(page: Path, *kinds: str) -> list[tuple[str, str]]:
    """Return the code blocks of these kinds, in order."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [(kind, text) for kind, text in found if kind in kinds]


def commands(page: Path) -> list[list[str]]:
    """Return the words of every call of parge on a page."""
    lines = [line for _, text in blocks(page, "sh", "console") for line in text.replace("\\\n", " ").splitlines()]
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines += [" ".join(text.split()) for text in re.findall(r"`(parge [a-z][^`]*)`", prose)]
    called = [line.strip() for line in lines if line.strip().startswith("parge ")]
    return [shlex.split(re.split(r"\s[|>;&]|\s2>", line)[0], comments=True) for line in called]


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    context = click.Context(cli, info_name="parge")
    command, rest = cli.get_command(context, words[1]), words[2:]
    if isinstance(command, click.Group):
        command, rest = command.get_command(context, rest[0]), rest[1:]
    assert command is not None, words
    return command, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_of_a_page_exist(page: Path) -> None:
    for words in commands(page):
        if words[1].startswith("-") or words[1] == "COMMAND" or "..." in words:
            continue
        command, rest = resolve(words)
        known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
        given = {word.split("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word)}
        assert given <= known, words
        if words[1] == "estimate" and any("=" in word for word in rest):  # it reads no file, so it can be run
            assert run([*words[1:], "--json"]) == 0, words


def every_command() -> list[list[str]]:
    """Return the words of every command of parge."""
    context = click.Context(cli, info_name="parge")
    found = [(name, cli.get_command(context, name)) for name in cli.list_commands(context)]
    inner = [[name, verb] for name, each in found if isinstance(each, click.Group) for verb in each.commands]
    return [[], *([name] for name, _ in found), *inner]


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_help_fits_eighty_columns(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_a_page_parses(page: Path) -> None:
    for _, text in blocks(page, "python"):
        ast.parse(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXECUTED)
def test_a_page_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "parge").write_text(f'#!/bin/sh\nexec {sys.executable} -m parge "$@"\n')
    (tools / "parge").chmod(0o755)
    place = tmp_path / "place"
    place.mkdir()
    (place / "edges.csv").write_text(EDGES)
    (place / "labels.csv").write_text(LABELS)
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(tools), os.environ["PATH"]]),
        "PYTHONPATH": str(Path(parge.__file__).parents[1]),
    }
    found = blocks(ROOT / name, "sh", "python")
    assert found
    python = "\n".join(text for kind, text in found if kind == "python")
    for script in [text for kind, text in found if kind == "sh"]:
        _run(["bash", "-euo", "pipefail", "-c", script], place, environment)
    if python:
        _run([sys.executable, "-c", python], place, environment)


def _run(command: list[str], place: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# Pages that newcomers read first: no sentence of more than 25 words.
PLAIN = [
    "README.md",
    "CHANGELOG.md",
    "docs/start/tutorial.md",
    "docs/start/own-data.md",
    "docs/start/own-technique.md",
    "docs/how-to/cluster.md",
    "docs/how-to/report.md",
    "docs/explain/how-it-works.md",
    "docs/project/roadmap.md",
    "docs/project/before-after.md",
    "docs/reference/folders.md",
]


def sentences(text: str) -> list[str]:
    """Return the sentences of paragraphs and items; tables, code and links' addresses do not count."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = [line for line in text.splitlines() if not line.startswith(("|", "#", "!"))]
    items = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s", "\n".join(prose), flags=re.MULTILINE)
    plain = (re.sub(r"\]\([^)]*\)", "]", item).replace("**", "") for item in items)
    return [sentence for item in plain for sentence in re.split(r"(?<=[.:;?!])[)\]*]*\s", item)]


def test_sentences_are_counted_as_people_would() -> None:
    text = "One two. Three\nfour: five\n\n- [six seven](a.md) eight\n- nine\n\n| a | b |\n\n```sh\nx y z\n```\n"
    found = [sentence.split() for sentence in sentences(text) if sentence.strip()]
    assert found == [["One", "two."], ["Three", "four:"], ["five"], ["[six", "seven]", "eight"], ["nine"]]


@pytest.mark.parametrize("name", PLAIN)
def test_first_pages_have_short_sentences(name: str) -> None:
    found = sentences((ROOT / name).read_text())
    assert [sentence for sentence in found if len(sentence.split()) > 25] == []
