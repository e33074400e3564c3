"""Progress where people look: a terminal, a notebook, a log where it is asked for; nowhere else."""

import io
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

import parge
from parge import events
from parge.events import Part, Step
from parge.show import terminal
from parge.show.terminal import console, progress_for, shown_on

EDGES = [(v, (v + step) % 40) for v in range(40) for step in (1, 2)]
QUICK: dict[str, Any] = {"technique": "sgc", "dim": 2, "parts": 2, "engine": "serial"}


def test_nothing_is_printed_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    parge.embed(EDGES, **QUICK)
    parge.embed(EDGES, **QUICK, progress=False)
    assert capsys.readouterr() == ("", "")


def test_lines_are_printed_where_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    parge.embed(EDGES, **QUICK, progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "embedded subgraph 1 (2 of 2)" in said.err
    assert "refining" in said.err


def test_a_terminal_has_bars_that_go_away() -> None:
    screen = console(file=io.StringIO(), force_terminal=True, width=90)
    with shown_on(screen) as listener:
        listener(Step("embed", "2 subgraphs with [b]x[/b]\x1b[31m"))
        listener(Part(0, 0.5, 2))
        listener(Step("retry", "subgraph 0 is started again"))
        time.sleep(0.2)
    written = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "embedding" in written
    assert "started again" in written
    assert "\x1b[31m" not in written


class Shell:
    """What IPython has in a notebook: a kernel, and displays that are redrawn."""

    kernel = object()

    def __init__(self) -> None:
        self.states: list[Any] = []

    def display(self, state: Any, display_id: bool) -> "Shell":
        assert display_id
        self.states.append(state)
        return self

    def update(self, state: Any) -> None:
        self.states.append(state)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell()
    module = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=shell.display))
    monkeypatch.setitem(sys.modules, "IPython", module)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)  # type: ignore[arg-type]
    return shell


def test_a_notebook_has_one_display_without_widgets(notebook: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    parge.embed(EDGES, **QUICK)
    assert capsys.readouterr() == ("", "")
    drawn = [state._repr_html_() for state in notebook.states]
    assert any("<progress" in html and "embedding" in html for html in drawn)
    assert "<progress" not in drawn[-1]
    assert "done" in drawn[-1]
    assert repr(notebook.states[-1]).startswith("parge: done")


def test_a_notebook_shows_names_as_text(notebook: Shell) -> None:
    with progress_for(None) as listener:
        listener(Step("read", "<script>alert(1)</script>"))
    assert all("<script" not in state._repr_html_() for state in notebook.states)
    assert any("&lt;script" in state._repr_html_() for state in notebook.states)


def test_a_notebook_can_be_silent(notebook: Shell) -> None:
    parge.embed(EDGES, **QUICK, progress=False)
    assert notebook.states == []


def test_the_first_compile_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_COMPILER_SECONDS", 0.01)
    monkeypatch.setattr(terminal, "compilers", [lambda: True])
    log = console(file=io.StringIO())
    with shown_on(log) as listener:
        listener(Step("decompose"))
        deadline = time.monotonic() + 20
        while "compiling" not in log.file.getvalue() and time.monotonic() < deadline:  # type: ignore[attr-defined]
            time.sleep(0.01)
    assert log.file.getvalue().count("compiling: ") == 1  # type: ignore[attr-defined]


def test_compiling_is_known_by_its_lock() -> None:
    from parge.kernels import jit, walks  # noqa: F401  a room with kernels

    assert jit.is_at_work in events.compilers
    if not jit._folders:
        pytest.skip("no folder to keep compiled code in here")
    held = jit._SharedFile(next(iter(jit._folders)), "nobody", "stamp")
    with held.locked():
        assert jit.is_at_work()
