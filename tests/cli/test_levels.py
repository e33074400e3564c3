"""How much a command says: errors always, the rest as asked; results on stdout are the same."""

from pathlib import Path

import pytest

from parge.cli.main import run

LINE = "plan {path} --technique hope --dim 3 --parts 2 --anchors 2"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("graph") / "edges.txt"
    found.write_text("".join(f"{v} {(v + step) % 30}\n" for v in range(30) for step in (1, 2)) + "3 3\n")
    return found


def said(path: Path, capsys: pytest.CaptureFixture[str], *more: str, line: str = LINE) -> tuple[str, str]:
    assert run([*line.format(path=path).split(), *more]) == 0
    found = capsys.readouterr()
    return found.out, found.err


@pytest.mark.parametrize(
    ("more", "notices", "warnings", "steps"),
    [
        ((), True, True, True),
        (("--log-level", "info"), True, True, True),
        (("--log-level", "debug"), True, True, True),
        (("--verbose",), True, True, True),
        (("-v",), True, True, True),
        (("--log-level", "warning"), False, True, False),
        (("--log-level", "error"), False, False, False),
        (("--quiet",), False, False, False),
        (("-q",), False, False, False),
    ],
)
def test_the_level_decides_what_is_said(
    more: tuple[str, ...],
    notices: bool,
    warnings: bool,
    steps: bool,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, err = said(path, capsys, *more)
    assert ("notice: 1 self loop" in err) is notices
    assert ("warning: " in err) is warnings
    assert ("plan: reading" in err) is steps
    usual, _ = said(path, capsys)
    assert out.splitlines()[0] == usual.splitlines()[0]


def test_levels_may_stand_before_the_command_and_last_for_one(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--quiet", *LINE.format(path=path).split()]) == 0
    assert capsys.readouterr().err == ""
    assert said(path, capsys)[1] != ""


def test_quiet_runs_print_results_and_errors(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = f"embed {{path}} -o {tmp_path}/v.npy --technique hope --dim 3 --parts 2 --anchors 9 --engine serial"
    out, err = said(path, capsys, "--quiet", "--json", line=line)
    assert err == ""
    assert out.startswith("{")
    _, loud = said(path, capsys, "--verbose", "--overwrite", line=line)
    assert "embedded subgraph 1 (2 of 2)" in loud
    assert "embedding: subgraph 0" in loud  # every event, not only the last of a part
    assert run(["plan", "no-such-file.txt", "--quiet"]) == 2
    assert "no-such-file.txt" in capsys.readouterr().err
    assert run(["plan", str(path), "--log-level", "loud"]) == 2
    assert "loud" in capsys.readouterr().err
