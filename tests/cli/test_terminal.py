"""What files, folders and words say reaches a terminal as text: it moves, colours, links or reverses nothing."""

import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text
from tests.examples import examples

import parge
from parge.cli import show
from parge.cli.main import run
from parge.events import ignore
from parge.graph.generate import planted
from parge.run.metadata import record_retries
from parge.run.open_run import open_run
from parge.run.pipeline import embed_parts
from parge.show.text import on_one_line, pasteable, printable

# Colour, clearing, title, link (OSC 8), clipboard (OSC 52), overwriting, bell, C1, right-to-left, separators, markup.
EVIL = {
    "colour": "\x1b[31mred",
    "clear": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;https://example.org\x1b\\here\x1b]8;;\x1b\\",
    "overwrite": "bad\rgood\x08\x08",
    "c1": "\x9b31m\x9d0;x\x9c",
    "bidi": "a\u202eb\u2066c\u2069\u200f",
    "lines": "a\u2028b\u2029c\x0b\x0cd\x85e",
    "markup": "[red]x[/red][link=https://example.org]y[/link]:heart:",
    "closing": "[/]",
    "delete": "a\x7fb",
}


def is_text(said: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in said)


def name_of(evil: str) -> str:
    return evil.replace("/", "_")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def embedding(evil: str, path: str = "v.parquet", *, n: int = 6) -> None:
    ids = [evil, *(f"{evil}{i}" for i in range(1, n))]
    parge.Embedding(np.random.default_rng(1).normal(size=(n, 3)), ids).save(path)


Lines = Callable[[str], list[list[str]]]


def of_embeddings(evil: str) -> list[list[str]]:
    embedding(evil)
    parge.Embedding(np.eye(3), ["x", "y", evil + "z"]).save("w.parquet")
    Path("labels.csv").write_text(f'id,subject\n"{evil}","{evil}"\n"{evil}1",b\n')
    return [
        ["neighbors", "v.parquet", evil],
        ["neighbors", "v.parquet", evil, "--json"],
        ["neighbors", "v.parquet", "nobody"],
        ["neighbors", "v.parquet", f"no{evil}"],
        ["evaluate", "pip", "v.parquet", "w.parquet"],
        ["evaluate", "classify", "v.parquet", "labels.csv"],
        ["evaluate", "classify", "v.parquet", "labels.csv", "--json"],
        ["align", "w.parquet", "v.parquet", "-o", "a.vec"],
        ["align", "v.parquet", "w.parquet", "-o", "a.npy"],
    ]


def of_graphs(evil: str) -> list[list[str]]:
    Path("g.csv").write_text(f"a,b\n{evil},b\n", newline="")
    Path("bad.txt").write_text(f"a b 1\nc d {evil}\n", newline="")
    Path("g.graphml").write_text(f"<graphml><graph><node id='a'/><edge source='a' target='{evil}'/></graph></graphml>")
    Path("head.csv").write_text(f"source,{evil},{evil}x\n1,2,3\n", newline="")
    Path("vertices.txt").write_text(f"{evil} {evil} x\n", newline="")
    plan = ["--technique", "spectral", "--dim", "1"]
    return [
        ["plan", "g.csv", *plan],
        ["plan", "bad.txt", *plan],
        ["plan", "g.graphml", *plan],
        ["plan", "head.csv", *plan],
        ["plan", "g.csv", "--vertices", "vertices.txt", *plan],
        ["plan", "g.csv", "--technique", evil],
        ["plan", "g.csv", "--technique", f"{evil}:{evil}"],
        ["plan", "g.csv", "--param", f"{evil}={evil}"],
        ["plan", "g.csv", "--engine", evil],
        ["plan", "g.csv", "--reconcile", evil, "--parts", "2"],
        ["plan", "g.csv", f"--{evil}"],
        ["plan", "g.csv", evil],
        ["plan", "--estimate", evil],
        ["plan", "--estimate", f"{evil}={evil}"],
        [evil],
    ]


def of_names(evil: str) -> list[list[str]]:
    name = name_of(evil)
    parge.write(planted(60, 200, communities=2, seed=2).graph, f"{name}.txt")
    plan = ["--technique", "spectral", "--dim", "4", "--parts", "2", "--engine", "serial"]
    graph = f"./{name}.txt"
    return [
        ["plan", graph, *plan],
        ["plan", f"no{name}.txt", *plan],
        ["embed", graph, "-o", f"{name}.npy", *plan, "--run-dir", f"{name}.run"],
        ["embed", graph, "-o", f"{name}.npy", *plan, "--run-dir", f"{name}.run"],
        ["embed", graph, "-o", f"{name}.odd", *plan],
        ["decompose", graph, "--run-dir", f"{name}.parts", *plan],
        ["reconcile", f"{name}.parts", "-o", "x.npy"],
        ["embed-part", f"{name}.parts/parts/000"],
        ["embed-part", f"{name}.parts/parts/000", "--technique", f"{name}:x"],
        ["embed-part", f"{name}.txt"],
        ["status", f"{name}.parts"],
        ["report", f"{name}.run", "-o", f"{name}.html"],
        ["report", f"{name}.run", "-o", f"{name}.html", "--scores", f"{name}.txt"],
        ["generate", "--vertices", "9", "--kind", "path", "-o", f"{name}2.txt"],
        ["neighbors", f"no{name}.npy", "1"],
        ["align", f"{name}.npy", f"no{name}.npy", "-o", "x.npy"],
    ]


@pytest.mark.parametrize("lines", [of_embeddings, of_graphs, of_names])
@pytest.mark.parametrize("kind", EVIL)
def test_no_command_prints_what_is_not_text(
    kind: str, lines: Lines, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in lines(EVIL[kind]):
        code = run(line)
        printed = capsys.readouterr()
        assert code in (0, 1, 2), line
        assert is_text(printed.out), (line, printed.out)
        assert is_text(printed.err), (line, printed.err)
        if "--json" in line and code == 0:
            json.loads(printed.out)


def test_neighbors_show_ids_as_they_are(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embedding("[bold]a[/bold]:heart:")
    assert run(["neighbors", "v.parquet", "[bold]a[/bold]:heart:", "-k", "2"]) == 0
    assert "[bold]a[/bold]:heart:" in capsys.readouterr().out
    embedding("é漢字")
    assert run(["neighbors", "v.parquet", "é漢字", "-k", "2"]) == 0
    assert "é漢字" in capsys.readouterr().out


def test_a_name_cannot_add_a_line_to_a_refusal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "none\nError: all is well.txt"]) == 2
    assert sum(line.startswith("Error") for line in capsys.readouterr().err.splitlines()) == 1


def test_what_a_folder_and_its_workers_say_is_text(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = planted(60, 200, communities=2, seed=2).graph
    plan = parge.Plan(technique=parge.Spectral(dim=4), parts=2, engine="serial", reconcile="consensus")
    with open_run(graph, plan, run_dir=Path("run"), resume=False, listener=ignore) as opened:
        embed_parts(opened, ignore)
    shutil.rmtree("run/parts/000/result")
    for evil in EVIL.values():
        Path("run/parts/000/failure.json").write_text(json.dumps({"message": evil, "notes": [evil]}))
        record_retries(Path("run"), opened.id, [evil])
        for line in (["status", "run"], ["status", "run", "--json"], ["reconcile", "run", "-o", "v.npy"]):
            run(line)
            printed = capsys.readouterr()
            assert is_text(printed.out), printed.out
            assert is_text(printed.err), printed.err


@pytest.mark.parametrize("kind", EVIL)
def test_in_a_terminal_too_only_our_own_signs_are_sent(kind: str) -> None:
    """Whichever way a call takes: a text, a cell, a Text, a status, a message that forgot to escape."""
    evil = EVIL[kind]
    terminal = show.console(file=io.StringIO(), force_terminal=True, color_system=None, width=300)
    table = Table(evil, title=evil, caption=evil)
    table.add_row(evil)
    table.add_row(Text(evil))
    for thing in (evil, Text(evil), table, Text.from_markup("[bold]x[/bold]")):
        terminal.print(thing)
    with terminal.status(evil.replace("[", "(")):
        pass
    said = terminal.file.getvalue()  # type: ignore[attr-defined]
    # what rich itself sends for a status: hide and show the cursor, go up, erase a line
    for own in ("\x1b[?25l", "\x1b[?25h", "\x1b[1A", "\x1b[2K", "\x1b[1m", "\x1b[0m", "\x1b[3m", "\x1b[2;3m", "\r"):
        said = said.replace(own, "")
    assert is_text(said), repr(said)
    assert "\x1b]" not in said


any_word = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
odd_word = st.one_of(
    any_word, st.sampled_from([*EVIL.values(), "$(touch x)", "`x`", "a'b\"c", "-x", "--", "a\nb", "\\", "!x"])
)


@examples(60)
@given(st.lists(odd_word, min_size=1, max_size=30))
def test_a_shell_reads_what_is_to_be_pasted_as_the_very_words(words: list[str]) -> None:
    line = pasteable(*words)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout == b"".join(word.encode() + b"\0" for word in words)


def test_a_path_that_looks_like_an_option_is_none() -> None:
    assert pasteable("parge", "status", Path("-x")) == "parge status ./-x"
    assert pasteable("parge", "status", Path("a/-x"), "--json") == "parge status a/-x --json"


@given(st.text())
def test_printable_text_is_text_and_tells_texts_apart(text: str) -> None:
    assert all(c.isprintable() or c in "\n\t" for c in printable(text))
    assert on_one_line(text).isprintable()
    if text.isprintable():
        assert printable(text) == on_one_line(text) == text


AROUND = [
    "it's",
    'a "b"',
    "$(touch hacked)",
    "`touch hacked`",
    "a\nb",
    "-x",
    "--json",
    "*",
    "a;b",
    "\x1b[31m",
    "~",
    "é 漢",
]


@pytest.mark.parametrize("folder", AROUND)
def test_advice_can_be_pasted_whatever_a_folder_is_called(
    folder: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that `decompose`, `reconcile` and `status` print are those to type next, word for word."""
    parge.write(planted(60, 200, communities=2, seed=2).graph, "g.txt")
    plan = ["--technique", "spectral", "--dim", "4", "--parts", "2", "--engine", "serial", "--reconcile", "consensus"]
    assert run(["decompose", f"--run-dir={folder}", "g.txt", *plan]) == 0
    said = [line.strip() for line in capsys.readouterr().out.replace("Next: ", "").splitlines()]
    first, then = [line for line in said if line.startswith("parge ")]
    assert words(first)[-1].endswith(f"{folder}/parts/000")
    assert words(then)[1:3] in (["reconcile", folder], ["reconcile", f"./{folder}"])
    assert run(words(first)[1:]) == 0
    capsys.readouterr()
    assert run(["reconcile", f"./{folder}", "-o", "v.npy"]) == 2
    missing = capsys.readouterr().err.partition("first: ")[2].strip()
    assert run(words(missing)[1:]) == 0
    capsys.readouterr()
    assert run(["status", f"./{folder}"]) == 0
    assert words(capsys.readouterr().out.partition("Next: ")[2].strip())[1:3] == words(then)[1:3]
    assert run([*words(then)[1:-1], "v.npy"]) == 0
    assert not Path("hacked").exists()


def words(line: str) -> list[str]:
    """Return the words that a shell makes of a line."""
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def test_the_way_on_keeps_words_after_two_dashes(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    parge.write(planted(60, 200, communities=2, seed=2).graph, "-g.txt")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("parge.run.pipeline.finish", full)
    plan = ["--technique", "spectral", "--dim", "4", "--parts", "2", "--engine", "serial", "--run-dir", "my run"]
    assert run(["embed", *plan, "-o", "v.npy", "--", "-g.txt"]) == 1
    again = words(capsys.readouterr().err.partition("where it stopped: ")[2].strip())
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert run(again[1:]) == 0


def test_a_story_is_told_above_the_bars_in_one_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where stdout is a file, it has the story, and stderr the progress."""
    for is_terminal in (True, False):
        out, err = (
            show.console(file=io.StringIO(), force_terminal=terminal, color_system=None, width=60)
            for terminal in (is_terminal, True)
        )
        monkeypatch.setattr(show, "out", out)
        monkeypatch.setattr(show, "err", err)
        show.print_above("told")
        assert ("told" in err.file.getvalue()) == is_terminal
        assert ("told" in out.file.getvalue()) != is_terminal


def test_notices_end_their_lines_between_words_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(40)]
    for is_terminal in (True, False):
        err = show.console(file=io.StringIO(), force_terminal=is_terminal, color_system=None, width=60, soft_wrap=True)
        monkeypatch.setattr(show, "err", err)
        show.notices([" ".join(words)])
        lines = err.file.getvalue().splitlines()
        assert (len(lines) > 1) == is_terminal
        assert " ".join(line.strip() for line in lines) == f"notice: {' '.join(words)}"
