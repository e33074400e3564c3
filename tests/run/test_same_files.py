"""One file, byte for byte: serial, processes by 1, 2 and 3, and part folders embedded elsewhere one by one."""

import shutil
from pathlib import Path

import pytest
from tests.examples import slow
from tests.run.commands import finish

from parge.cli.main import run as command
from parge.graph.generate import planted
from parge.io.graphs.write import write

PLAN = ["--technique", "deepwalk", "--dim", "8", "--param", "walks=1", "--param", "walk_length=8", "--seed", "3"]
PLAN += ["--parts", "3", "--anchors", "20"]


@pytest.mark.parametrize("suffix", slow("npy", "npz", "parquet", "vec"))
def test_the_same_file_whoever_does_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.chdir(tmp_path)
    write(planted(150, 700, communities=3, seed=4).graph, Path("g.txt"))

    def embed(name: str, *more: str) -> bytes:
        assert command(["embed", "g.txt", "-o", f"{name}.{suffix}", *PLAN, *more]) == 0
        return Path(f"{name}.{suffix}").read_bytes()

    serial = embed("serial", "--engine", "serial")
    for workers in ("1", "2", "3") if suffix == "npy" else ("2",):
        assert embed(f"by-{workers}", "--workers", workers) == serial
    assert command(["decompose", "g.txt", "--run-dir", "run", *PLAN]) == 0
    for i in range(3):
        place, away = Path(f"run/parts/{i:03d}"), tmp_path / f"machine-{i}" / "any name"
        shutil.copytree(place, away)
        shutil.rmtree(place)
        if suffix == "npy":
            finish(away.parent, "embed-part", "any name")
        else:
            assert command(["embed-part", str(away)]) == 0
        shutil.copytree(away, place)
    assert command(["reconcile", "run", "-o", f"elsewhere.{suffix}"]) == 0
    assert Path(f"elsewhere.{suffix}").read_bytes() == serial
    assert embed("resumed", "--run-dir", "run", "--resume") == serial
    if suffix == "npy":
        assert Path("elsewhere.ids.txt").read_bytes() == Path("serial.ids.txt").read_bytes()


def test_the_same_file_although_only_one_saw_the_graph_being_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(planted(150, 700, communities=3, seed=4).graph, Path("g.txt"))
    with Path("g.txt").open("a") as file:
        file.write("3 3\n")
    assert command(["embed", "g.txt", "-o", "direct.parquet", *PLAN, "--engine", "serial"]) == 0
    assert "1 self loop dropped" in capsys.readouterr().err
    assert command(["decompose", "g.txt", "--run-dir", "run", *PLAN]) == 0
    for i in range(3):
        assert command(["embed-part", f"run/parts/{i:03d}"]) == 0
    assert command(["reconcile", "run", "-o", "apart.parquet"]) == 0
    assert Path("apart.parquet").read_bytes() == Path("direct.parquet").read_bytes()
