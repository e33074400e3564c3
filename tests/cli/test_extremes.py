"""Numbers at the edges of their types on the command line: exit code 2, one short message, nothing written."""

from pathlib import Path

import numpy as np
import pytest

from parge.cli.main import run
from parge.embedding import Embedding

LONG, HUGE, BEYOND = "9" * 5000, str(10**30), str(2**63)

PLAN: dict[str, list[str]] = {
    "vertices": ["--vertices", LONG],
    "vertices beyond": ["--vertices", BEYOND],
    "memory": ["--memory", "9" * 400],
    "memory in units": ["--memory", "2GB,99999PB"],
    "coordinator": ["--coordinator-memory", "99999PB"],
    "coordinator long": ["--coordinator-memory", LONG],
    "seed": ["--seed", BEYOND],
    "seed long": ["--seed", LONG],
    "parts": ["--parts", HUGE],
    "parts long": ["--parts", LONG],
    "capacities": ["--capacities", f"4,{HUGE}"],
    "capacities long": ["--capacities", f"4,{LONG}"],
    "dim": ["--dim", HUGE],
    "dim long": ["--dim", LONG],
    "dim twice": ["--dim", "4", "--param", f"dim={LONG}"],
    "workers": ["--workers", HUGE],
    "anchors": ["--parts", "2", "--anchors", "1e400%"],
    "anchors nan": ["--parts", "2", "--anchors", "nan%"],
    "anchors long": ["--parts", "2", "--anchors", LONG],
    "walks": ["--param", f"walks={10**40}"],
    "walks long": ["--param", f"walks={LONG}"],
    "learning rate": ["--param", "learning_rate=nan"],
    "learning rate infinite": ["--param", "learning_rate=1e400"],
    "parameter": ["--param", LONG],
    "technique": ["--technique", LONG],
    "engine": ["--engine", LONG],
    "option": [f"--{LONG}", "1"],
}

LINES: dict[str, list[str]] = {
    "alpha": ["evaluate", "bound", "g.txt", "--alpha", "nan"],
    "bound dim": ["evaluate", "bound", "g.txt", "--dim", HUGE],
    "bound parts": ["evaluate", "bound", "g.txt", "--parts", HUGE],
    "holdout": ["evaluate", "links", "g.txt", "--holdout", "nan"],
    "train ratio": ["evaluate", "classify", "v.npy", "l.txt", "--train-ratio", "nan"],
    "train ratios": ["evaluate", "classify", "v.npy", "l.txt", "--train-ratio", "0.5,inf"],
    "repeats": ["evaluate", "classify", "v.npy", "l.txt", "--repeats", HUGE],
    "jobs": ["evaluate", "classify", "v.npy", "l.txt", "--jobs", HUGE],
    "core": ["evaluate", "pip", "v.npy", "v.npy", "--core", LONG],
    "neighbors": ["neighbors", "v.npy", LONG],
    "neighbors negative": ["neighbors", "v.npy", "--", f"-{LONG}"],
    "neighbors beyond": ["neighbors", "v.npy", BEYOND],
    "neighbors k": ["neighbors", "v.npy", "1", "-k", LONG],
    "exponent": ["generate", "--vertices", "10", "--edges", "9", "--exponent", "inf", "-o", "n.txt"],
    "mixing": ["generate", "--vertices", "10", "--edges", "9", "--mixing", "nan", "-o", "n.txt"],
    "labels": ["generate", "--vertices", "10", "--edges", "9", "--labels-per-vertex", "nan", "-o", "n.txt"],
    "generate": ["generate", "--vertices", LONG, "-o", "n.txt"],
    "generate edges": ["generate", "--vertices", "10", "--edges", HUGE, "-o", "n.txt"],
    "generate seed": ["generate", "--vertices", "10", "--seed", BEYOND, "-o", "n.txt"],
    "demo seed": ["demo", "--seed", BEYOND, "-o", "d"],
    "estimate vertices": ["plan", "--estimate", f"vertices={LONG}", "edges=9"],
    "estimate nan": ["plan", "--estimate", "vertices=9", "edges=nan"],
    "estimate price": ["plan", "--estimate", "vertices=9", "edges=9", "price_gb=1e400"],
    "estimate memory": ["plan", "--estimate", "vertices=9", "edges=9", f"memory={LONG}"],
    "estimate dim": ["plan", "--estimate", "vertices=9", "edges=9", f"dim={LONG}"],
    "estimate unknown": ["plan", "--estimate", f"{LONG}=3"],
    "command": [LONG],
    "file": ["plan", f"{LONG}.txt"],
}


@pytest.mark.parametrize("line", [*(["plan", "g.txt", *line] for line in PLAN.values()), *LINES.values()],
                         ids=[*(f"plan {case}" for case in PLAN), *LINES])  # fmt: skip
def test_extreme_numbers_are_refused_in_a_few_words(
    line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("g.txt").write_text("1 2\n2 3\n3 4\n4 1\n")
    Path("l.txt").write_text("0 a\n1 b\n2 a\n3 b\n")
    Embedding(np.eye(4), range(4)).save("v.npy")
    before = sorted(tmp_path.rglob("*"))
    assert run(line) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("Error: ") == 1
    assert len(said.err) < 1500
    assert sorted(tmp_path.rglob("*")) == before
