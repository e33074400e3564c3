"""A space on disk that was damaged, or made by a stranger, is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run.resealed import put, reseal
from tests.space.world import N_OLD, frozen

import parge
from parge.cli.main import run
from parge.errors import InputError, PargeError
from parge.run.arrays import DamagedError
from parge.run.spaces import open_space, save_space


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_space(frozen(), tmp_path / "space")
    return tmp_path / "space"


def _truncate(folder: Path) -> None:
    path = folder / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1])


def _flip(folder: Path) -> None:
    content = bytearray((folder / "indices.npy").read_bytes())
    content[-1] ^= 1
    (folder / "indices.npy").write_bytes(bytes(content))


def _link(folder: Path) -> None:
    (folder / "vectors.npy").rename(folder.parent / "elsewhere.npy")
    (folder / "vectors.npy").symlink_to(folder.parent / "elsewhere.npy")


def aged(folder: Path, version: int, ages: list[dict[str, Any]]) -> None:
    """Give a space that version, and ages that differ from a good one."""
    good = {"version": 2, "placed": 0.1, "edges": 0.1, "drift": 0.1, "error": 0.1, "is_loss": True}
    facts = {"version": version, "ages": [{**good, **age} for age in ages]}
    reseal(folder, lambda body: body["facts"].update(facts))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "truncated": _truncate,
    "a bit": _flip,
    "link": _link,
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "empty manifest": lambda folder: (folder / "manifest.json").write_text(""),
    "no vectors": lambda folder: (folder / "vectors.npy").unlink(),
    "another version": lambda folder: reseal(folder, lambda body: body.__setitem__("format", 99)),
    "another kind": lambda folder: reseal(folder, lambda body: body.__setitem__("kind", "graph")),
    "strange array": lambda folder: reseal(folder, lambda body: body["arrays"].__setitem__("../x", {"bytes": 1})),
    "history": lambda folder: reseal(folder, lambda body: body["facts"].__setitem__("version", "seven")),
    "age": lambda folder: aged(folder, 2, [{"drift": float("nan")}]),
    "no such drift": lambda folder: aged(folder, 2, [{"drift": 1e300}]),
    "negative error": lambda folder: aged(folder, 2, [{"error": -1.0}]),
    "no version": lambda folder: reseal(folder, lambda body: body["facts"].__setitem__("version", 0)),
    "endless versions": lambda folder: reseal(folder, lambda body: body["facts"].__setitem__("version", 2**63 - 1)),
    "an update lost": lambda folder: aged(folder, 3, [{"version": 2}]),
    "updates in disorder": lambda folder: aged(folder, 2, [{"version": 3}, {"version": 2}]),
    "ages": lambda folder: reseal(folder, lambda body: body["facts"].__setitem__("ages", "many")),
    "looked": lambda folder: reseal(folder, lambda body: body["facts"].__setitem__("looked", 7)),
    "seen": lambda folder: aged(folder, 2, [{"seen": 3}]),
    "told": lambda folder: reseal(folder, lambda body: body["facts"].__setitem__("told", 0.0)),
    "pickle": lambda folder: put(folder, "origin", np.array([object()] * N_OLD)),
    "not finite": lambda folder: put(folder, "vectors", np.full((N_OLD, 16), np.nan, np.float32)),
    "too few vectors": lambda folder: put(folder, "vectors", np.ones((3, 16), np.float32)),
    "other columns": lambda folder: put(folder, "vectors", np.ones((N_OLD, 5), np.float32)),
    "a neighbour beyond": lambda folder: put(folder, "indices", np.full(frozen().graph.indices.size, 10**6, np.int32)),
    "ids twice": lambda folder: put(folder, "ids", np.zeros(N_OLD, np.int64)),
    "few ids": lambda folder: put(folder, "ids", np.arange(3)),
    "lengths": lambda folder: put(folder, "lengths", np.zeros(2)),
    "origins": lambda folder: put(folder, "origin", np.full(N_OLD, 9, np.uint8)),
}


def test_a_history_as_updates_leave_it_is_read(folder: Path) -> None:
    aged(folder, 3, [{}, {"version": 3, "seen": 2}])
    assert open_space(folder).history.version == 3


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_space_is_refused(damage: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    DAMAGES[damage](folder)
    with pytest.raises((DamagedError, InputError)) as error:
        open_space(folder)
    assert isinstance(error.value, PargeError)
    assert error.value.exit_code == 2
    (folder.parent / "new.txt").write_text("0 900\n1 900\n")
    assert run(["place", str(folder), str(folder.parent / "new.txt"), "-o", str(folder.parent / "o.npz")]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.count("Error") == 1


def test_vectors_of_a_space_that_was_damaged_are_not_read(folder: Path) -> None:
    manifest, vectors = folder / "manifest.json", folder / "vectors.npy"
    whole, text = vectors.read_bytes(), manifest.read_text()
    vectors.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match="altered"):
        parge.Embedding.load(folder)
    vectors.write_bytes(whole)
    manifest.write_text(text.replace('"space"', '"space" ').replace('"format": 1', '"format": 2'))
    with pytest.raises(InputError, match="damaged"):
        parge.Embedding.load(folder)
    manifest.write_text(text)
    reseal(folder, lambda body: body.update(format=2))
    with pytest.raises(InputError, match="another version"):
        parge.Embedding.load(folder)
    manifest.write_text(text)
    vectors.unlink()
    with pytest.raises(InputError, match=r"vectors\.npy"):
        parge.Embedding.load(folder)
