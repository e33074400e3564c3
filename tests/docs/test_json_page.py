"""The keys that docs/reference/json.md names are in what the commands print."""

import json
import re
from pathlib import Path

import pytest

from parge.cli.main import run
from parge.graph.generate import planted
from parge.io.graphs.write import write

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text()


def keys_of(command: str) -> set[str]:
    """Return the words written as code in the second cell of a command's row."""
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `parge {command}`")]
    return set(re.findall(r"`(\w+)`", row.split("|")[2]))


@pytest.mark.parametrize("command", ["plan", "embed"])
def test_keys_of_the_page_are_printed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(planted(120, 700, communities=3, seed=1).graph, tmp_path / "g.txt")
    words = [
        command,
        "g.txt",
        "--technique",
        "hope",
        "--dim",
        "4",
        "--parts",
        "2",
        "--anchors",
        "20",
        "--engine",
        "serial",
    ]
    assert run([*words, *(["-o", "v.npy"] if command == "embed" else []), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert keys_of(command) - set(printed) == set()
    assert {"vertices", "edges", "own", "halo", "lumps", "capacity", "projected_bytes"} <= set(printed["parts"][0])
