"""A curve is one classification a train ratio, from Python and from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from parge.cli.main import run
from parge.embedding import Embedding
from parge.errors import InputError
from parge.evaluate import classify, curve


def noisy(n: int = 400) -> tuple[Embedding, dict[int, int]]:
    rng = np.random.default_rng(0)
    which = rng.integers(4, size=n)
    return Embedding(np.eye(4)[which] * 2 + rng.standard_normal((n, 4)), np.arange(n)), dict(enumerate(which.tolist()))


def test_every_point_is_a_classification() -> None:
    embedding, labels = noisy()
    found = curve(embedding, labels, (0.1, 0.5), repeats=4, protocol="threshold", standardise=True)
    each = [
        classify(embedding, labels, train_ratio=ratio, repeats=4, protocol="threshold", standardise=True)
        for ratio in (0.1, 0.5)
    ]
    assert list(found.points) == each
    assert found.to_json() == {"curve": [point.to_json() for point in each]}
    assert "labelled vertices; threshold, 4 shuffles, features standardised)" in str(found)


def test_the_usual_ratios_are_the_literatures_and_more_training_helps() -> None:
    embedding, labels = noisy()
    found = curve(embedding, labels, repeats=5)
    assert [point.train_ratio for point in found.points] == pytest.approx(np.arange(1, 10) / 10)
    assert found.points[0].micro_f1.mean < found.points[-1].micro_f1.mean


def test_no_ratio_is_refused() -> None:
    with pytest.raises(InputError, match="ratio"):
        curve(*noisy(), ())


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    embedding, labels = noisy()
    embedding.save(tmp_path / "e.npz")
    (tmp_path / "labels.txt").write_text("".join(f"{vertex} {label}\n" for vertex, label in labels.items()))
    return [str(tmp_path / "e.npz"), str(tmp_path / "labels.txt")]


def test_the_command_takes_one_ratio_or_several(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    line = ["evaluate", "classify", *files, "--repeats", "3", "--jobs", "1"]
    assert run([*line, "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert list(one) == ["micro_f1", "macro_f1", "protocol", "train_ratio", "repeats", "classes", "labelled"]
    assert run([*line, "--train-ratio", "0.1,0.5", "--json"]) == 0
    several = json.loads(capsys.readouterr().out)["curve"]
    assert [point["train_ratio"] for point in several] == [0.1, 0.5]
    assert several[1] == one
    assert run([*line, "--standardise", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["standardised"] is True


@pytest.mark.parametrize("ratio", ["0", "1", "0.5,1.2", "half", "0.1,,0.5"])
def test_shares_out_of_range_are_refused(files: list[str], ratio: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "classify", *files, "--train-ratio", ratio]) == 2
    assert "--train-ratio" in capsys.readouterr().err


def test_a_constant_column_changes_no_score(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every column was taken as a label, so that a constant one was right for every vertex and raised the score."""
    line = ["evaluate", "classify", files[0], "--repeats", "3", "--jobs", "1", "--json"]
    pairs = [row.split() for row in Path(files[1]).read_text().splitlines()]
    assert {len(row) for row in pairs} == {2}
    assert run([*line, files[1]]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert (expected["classes"], expected["labelled"]) == (len({label for _, label in pairs}), len(pairs))
    table = tmp_path / "table.csv"
    table.write_text("id,subject,year\n" + "".join(f"{vertex},{label},1999\n" for vertex, label in pairs))
    assert run([*line, str(table)]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == expected
    assert "year" in said.err
    plain = tmp_path / "plain.txt"
    plain.write_text("".join(f"{vertex} {label} 1999\n" for vertex, label in pairs))
    assert run([*line, str(plain)]) == 2
    assert "--label-column 2" in capsys.readouterr().err
    assert run([*line, str(plain), "--label-column", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert run([*line, str(plain), "--label-column", "all"]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == expected["classes"] + 1
