"""A result that holds NaN or infinity is refused where it is read, whatever the processor would make of it."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parge
from parge.cli.main import run as command
from parge.errors import InputError
from parge.events import ignore
from parge.graph.generate import planted
from parge.run import arrays, parts
from parge.run.arrays import DamagedError
from parge.run.open_run import open_run
from parge.run.pipeline import embed_parts
from parge.run.status import status

GRAPH = planted(120, 500, communities=3, seed=2).graph
PLANS = {
    "rotated": parge.Plan(technique=parge.HOPE(dim=4), parts=2, anchors=10, engine="serial", refine="none", seed=1),
    "one part": parge.Plan(technique=parge.HOPE(dim=4), parts=1, engine="serial", refine="none", seed=1),
    "backbone": parge.Plan(
        technique=parge.DeepWalk(dim=4, walks=1, walk_length=8), parts=2, reconcile="backbone", engine="serial", seed=1
    ),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for name, plan in PLANS.items():
        found[name] = tmp_path_factory.mktemp("run")
        with open_run(GRAPH, plan, run_dir=found[name], resume=False, listener=ignore) as run:
            embed_parts(run, ignore)
    return found


def forge(folder: Path, name: str, row: Any, value: Any) -> None:
    """Write a number into an array of a folder, and make the checksums right again."""
    path = folder / f"{name}.npy"
    array = np.load(path)
    array[row] = value
    np.save(path, array)
    manifest = folder / "manifest.json"
    body = json.loads(manifest.read_text())["body"]
    body["arrays"][name] = {"sha256": arrays.file_digest(path), "bytes": path.stat().st_size}
    manifest.write_text(json.dumps({"body": body, "sha256": arrays._digest(body)}))


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, -1])  # an own vertex; an anchor, where there are any
def test_a_result_that_is_not_finite_is_refused_with_its_part_and_the_remedy(
    plan: str, value: float, row: int, finished: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(finished[plan], tmp_path / "a run"))
    part, out = folder / "parts" / "000", tmp_path / "out.npy"
    forge(part / "result", "vectors", row, value)
    with pytest.raises(DamagedError, match="NaN or infinity"):
        parts.load_result(part)
    assert command(["reconcile", str(folder), "-o", str(out)]) == DamagedError.exit_code
    said = capsys.readouterr().err
    assert "NaN or infinity" in said
    assert f"parge embed-part {shlex.quote(str(part))}" in said
    assert not out.exists()
    assert status(folder).parts[0].state == "damaged"


@pytest.mark.parametrize("plan", PLANS)
def test_a_resumed_run_embeds_it_again(plan: str, finished: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished[plan], tmp_path / "run"))
    forge(folder / "parts" / "000" / "result", "vectors", 3, np.inf)
    again = parge.embed(GRAPH, PLANS[plan], run_dir=folder, resume=True)
    assert np.array_equal(again.vectors, parge.embed(GRAPH, PLANS[plan]).vectors)


def test_a_result_from_elsewhere_is_looked_at_when_it_comes(finished: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished["rotated"], tmp_path / "run"))
    place = folder / "parts" / "000"
    forge(place / "result", "vectors", 0, np.nan)
    files = {file.name: np.fromfile(file, np.uint8) for file in (place / "result").iterdir()}
    shutil.rmtree(place / "result")
    with pytest.raises(DamagedError, match="NaN or infinity"):
        parts.accept_result(place, files)


@pytest.mark.parametrize("name", ["shared_in", "shared_reached", "shared_mass", "loops"])
def test_a_backbone_that_is_not_finite_is_refused(name: str, finished: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(finished["backbone"], tmp_path / "run"))
    forge(folder / "parts" / "000" / "subgraph", name, 1, np.nan)
    with pytest.raises(DamagedError, match=r"NaN or infinity|landmarks"):
        parts.load_subgraph(folder / "parts" / "000")


@pytest.mark.parametrize("reconciler", ["orthogonal", "consensus", "linear", "mlp"])
def test_the_largest_finite_numbers_stay_finite(reconciler: str, finished: dict[str, Path], tmp_path: Path) -> None:
    """A rotation makes them larger; what no longer fits float32 is the largest that does, and nothing warns."""
    folder, out = Path(shutil.copytree(finished["rotated"], tmp_path / "run")), tmp_path / "out.npy"
    for part in ("000", "001"):
        result = folder / "parts" / part / "result"
        forge(result, "vectors", ..., np.finfo(np.float32).max * np.sign(np.load(result / "vectors.npy")))
    assert command(["reconcile", str(folder), "-o", str(out), "--reconcile", reconciler]) == 0
    assert np.isfinite(np.load(out)).all()


def test_a_large_result_is_looked_at_a_block_at_a_time(
    finished: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages of a memory map are let go of, and no mask of all of it is made."""
    sizes: list[int] = []
    look = np.isfinite

    def watched(block: Any, *more: Any, **options: Any) -> Any:
        sizes.append(np.size(block))
        return look(block, *more, **options)

    place = tmp_path / "part"
    metadata = parts.load_result(finished["rotated"] / "parts" / "000")[1]
    parts.save_result(place, np.ones((40_000, 64), np.float32), metadata)
    monkeypatch.setattr("parge.storage.np.isfinite", watched)
    parts.load_result(place)
    assert sum(sizes) >= 40_000 * 64
    assert max(sizes) <= 1 << 20


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".vec"])
def test_embeddings_that_are_not_finite_are_refused_by_every_reader(value: float, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{suffix}"
    parge.Embedding(np.ones((5, 3), np.float32), np.arange(5)).save(path)
    assert len(parge.Embedding.load(path)) == 5
    good, bad = np.ones((5, 3), np.float32), np.ones((5, 3), np.float32)
    bad[2, 1] = value
    if suffix == ".npy":
        np.save(path, bad)
    elif suffix == ".npz":
        np.savez(path, vectors=bad, ids=np.arange(5))
    elif suffix == ".vec":
        path.write_text("5 3\n" + "".join(f"{i} {' '.join(map(str, row))}\n" for i, row in enumerate(bad.tolist())))
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table({"id": np.arange(5), "vector": bad.tolist()}), path)
    for source in (lambda: parge.Embedding.load(path), lambda: parge.Embedding(bad, np.arange(5))):
        with pytest.raises(InputError, match="row 2"):
            source()
    with pytest.raises(InputError, match="row 2"):
        parge.evaluate.pip(good, bad)
    assert command(["neighbors", str(path), "1"]) == InputError.exit_code
