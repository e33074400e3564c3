"""Thousands of damaged files, for every reader and for the run folder: a refusal or a right result, no traceback.

Each program fuzzes in a process of its own: a crash of some parser fails one test, and the mutant is left for the
reader of the message.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz import expanding
from tests.fuzz.readers import CASES

# Readers that run in one process, so that libraries are loaded a few times only; by how many mutants of each.
GROUPS: dict[str, tuple[int, list[str]]] = {
    "text": (300, ["text", "csv", "gzip", "zstd", "metis", "graphml", "vertices", "labels", "labels csv"]),
    "arrays": (300, ["mtx", "npz", "parquet", "features", "features npy", "labels parquet"]),
    "embeddings": (300, ["embedding npy", "embedding ids", "embedding npz", "embedding parquet", "embedding text"]),
    "MATLAB": (25, ["mat"]),  # its parser crashes, and so runs in a process for each file
}
FOLDERS = 400
LINES = 250

# How many of each a fast run tries.
FEW = 4
ANSWERS = r"^(.+): (\d+) read, (\d+) refused$"


def _fuzz(module: str, folder: Path, *arguments: str) -> str:
    """Run a fuzzing program, which must come to its end; return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.fuzz.{module}", str(folder), *arguments],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    left = ", ".join(str(file) for file in folder.glob("mutant*")) or f"{folder}/run"
    assert done.returncode == 0, f"exit {done.returncode} on {left}:\n{done.stdout[-1000:]}\n{done.stderr[-6000:]}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_a_reader_answers_damaged_files_with_a_refusal_or_a_value(group: str, tmp_path: Path) -> None:
    count, names = GROUPS[group]
    said = _fuzz("readers", tmp_path, str(count), *names)
    answers = {name: (int(read), int(refused)) for name, read, refused in re.findall(ANSWERS, said, re.MULTILINE)}
    assert set(answers) == set(names)
    for read, refused in answers.values():
        assert read > 0
        assert refused > 0
        assert read + refused >= count  # hypothesis may ask a little more


@pytest.mark.slow
def test_readers_answer_a_few_damaged_files(tmp_path: Path) -> None:
    names = [name for name in CASES if name != "mat"]  # a process for each file
    said = _fuzz("readers", tmp_path, str(FEW), *names)
    counts = {name: int(read) + int(refused) for name, read, refused in re.findall(ANSWERS, said, re.MULTILINE)}
    assert set(counts) == set(names)
    assert min(counts.values()) >= FEW


@pytest.mark.slow
def test_a_damaged_run_folder_is_refused_or_gives_the_bits_of_the_undisturbed_run(tmp_path: Path) -> None:
    said = _fuzz("run_folder", tmp_path, str(FOLDERS))
    for command in ("status", "reconcile", "embed-part", "embed"):
        for code in (0, 2):
            assert re.search(rf"\d+ x {command} {code}\b", said), said


@pytest.mark.slow
def test_a_few_damaged_run_folders_end_without_a_traceback(tmp_path: Path) -> None:
    assert re.match(rf"{FEW} folders: \d+ x ", _fuzz("run_folder", tmp_path, str(FEW)))


@pytest.mark.slow
def test_command_lines_end_in_order_and_change_nothing_wherever_they_run() -> None:
    line = [sys.executable, "-m", "tests.fuzz.command_lines", "--count", str(LINES)]
    done = subprocess.run(line, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    assert re.search(rf"^{LINES} command lines, 0 tracebacks, 0 files changed, .*; 0 wrong$", done.stdout, re.MULTILINE)
    codes = {int(code): int(n) for n, code in re.findall(r"(\d+) x (\d+)", done.stdout)}
    assert codes[0] > LINES // 10
    assert codes[2] > LINES // 10


def test_every_reader_is_fuzzed_and_the_inputs_are_thousands() -> None:
    assert sorted(name for _, names in GROUPS.values() for name in names) == sorted(CASES)
    assert sum(count * len(names) for count, names in GROUPS.values()) + FOLDERS >= 5000


@pytest.mark.parametrize("which", ["CASES", "FITTING"])
@pytest.mark.slow
def test_what_expands_is_counted_before_and_takes_less_than_twice_the_budget(which: str, tmp_path: Path) -> None:
    """A file of kilobytes, or a number on the command line, may stand for terabytes: refused, with both numbers."""
    cases = list(getattr(expanding, which))
    # A process for each of several runs: memory that one case has freed is not counted again for the next.
    runs = [cases] if which == "CASES" else [cases[start::4] for start in range(4)]
    said = [line for names in runs for line in _fuzz("expanding", tmp_path, *names).splitlines()]
    answers = {answer["case"]: answer for answer in map(json.loads, said)}
    assert sorted(answers) == sorted(cases)
    if which == "CASES":
        assert [name for name, answer in answers.items() if answer["refused"] is None] == []
    else:
        assert [name for name, answer in answers.items() if answer["refused"] is not None] == []
    if sys.platform == "linux":  # elsewhere the peak of a process cannot be reset
        over = {name: answer["took"] for name, answer in answers.items() if answer["took"] > 2 * expanding.BUDGET}
        assert over == {}
