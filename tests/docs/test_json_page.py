"""The keys that docs/reference/json.md names are in what the commands print."""

import io
import json
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest

from parge.cli.main import cli, run
from parge.graph.generate import planted
from parge.io.graphs.write import write

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text()
ROWS = dict(re.findall(r"^\| `parge ([\w -]+)` \| (.*) \|$", PAGE, re.MULTILINE))

PARTS = ["--technique", "hope", "--dim", "4", "--parts", "2", "--anchors", "20", "--engine", "serial"]
# In an order in which each finds what those before it wrote.
COMMANDS: dict[str, list[str]] = {
    "plan": ["g.txt", *PARTS],
    "embed": ["g.txt", *PARTS, "-o", "v.npz", "--space", "space"],
    "decompose": ["g.txt", *PARTS, "--run-dir", "run"],
    "embed-part": ["run/parts/000"],
    "status": ["run"],
    "reconcile": ["run", "-o", "r.npz"],
    "evaluate classify": ["v.npz", "l.txt", "--repeats", "2"],
    "evaluate links": ["g.txt", *PARTS],
    "evaluate pip": ["v.npz", "r.npz"],
    "evaluate bound": ["g.txt", "--dim", "4"],
    "place": ["space", "new.txt", "-o", "p.npz"],
    "update": ["space", "new.txt", "-o", "space-2"],
    "drift": ["space", "new.txt"],
    "align": ["v.npz", "r.npz", "-o", "a.npz"],
    "neighbors": ["v.npz", "3", "-k", "2"],
    "export": ["v.npz", "-o", "links.npz", "--for", "links"],
    "report": ["run", "-o", "page.html", "--projection", "pca"],
    "generate": ["--vertices", "30", "-o", "made.txt"],
    "estimate": ["vertices=1e6", "edges=1e7", "workers=8"],
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run every command once, in one folder; return what each printed."""
    made, found = planted(150, 900, communities=3, seed=1), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("json"))
        write(made.graph, Path("g.txt"))
        Path("l.txt").write_text("".join(f"{v} {made.labels.of(v)[0]}\n" for v in range(150)))
        Path("new.txt").write_text("900 1\n900 2\n")
        for name, words in COMMANDS.items():
            found[name] = output([*name.split(), *words])
            if name == "status":
                output(["embed-part", "run/parts/001"])
    return found


def output(words: list[str]) -> Any:
    said = io.StringIO()
    with redirect_stdout(said):
        assert run([*words, "--json", "--quiet"]) == 0
    return json.loads(said.getvalue())


def keys_in(value: Any) -> set[str]:
    """Return all keys of an object, and of those in it."""
    if isinstance(value, list):
        return set().union(*map(keys_in, value))
    return set(value).union(*map(keys_in, value.values())) if isinstance(value, dict) else set()


def test_the_page_has_every_command_that_prints_json() -> None:
    context = click.Context(cli, info_name="parge")
    verbs = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    for name, group in list(verbs.items()):
        if isinstance(group, click.Group):
            del verbs[name]
            verbs |= {f"{name} {inner}": each for inner, each in group.commands.items()}
    with_json = {name for name, each in verbs.items() if each and any(one.name == "as_json" for one in each.params)}
    assert with_json == set(ROWS) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_keys_of_the_page_are_printed(command: str, printed: dict[str, Any]) -> None:
    row = ROWS["embed"] if command == "reconcile" else ROWS[command]
    optional = {"evaluate classify": {"curve"}, "neighbors": {"vertices", "score", "ip", "out"}}.get(command, set())
    assert set(re.findall(r"`(\w+)`", row)) - keys_in(printed[command]) - optional == set()


def test_keys_of_a_part_are_printed(printed: dict[str, Any]) -> None:
    keys = set(re.findall(r"`(\w+)`", PAGE.split("Each object of `parts`:")[1].split("\n\n")[1].replace("| key |", "")))
    found = {name for command in ("plan", "embed") for name in printed[command]["parts"][0]}
    assert keys - found == {"budget_bytes"}  # there where limits are in bytes
