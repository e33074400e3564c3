"""A run in shards from a stranger: arrays with right checksums and wrong content are refused, and reach no kernel."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.tampering import FAR, PARTS, Change, N, at, cut_short, tamper, without, write_edges
from tests.examples import examples, first

from parge.cluster.checks import check_all_there, leads_both_ways
from parge.cluster.cutting import hold, landmarks
from parge.cluster.mesh import Mesh, run_local
from parge.cluster.redistribute import PartRows
from parge.cluster.run_folder import Folders
from parge.cluster.source import Source, edge_files
from parge.cluster.split import Aim
from parge.cluster.stages import Divide, Read, held_by
from parge.decompose.limits import Limits
from parge.run import arrays
from parge.run.arrays import DamagedError
from parge.run.schema import ROWS, SHARD, STEP

MERGED_EARLY = True


def divide(folder: Path) -> Divide:
    return Divide(Folders(folder), Aim(Limits(np.array([200, 200])), 20), N, "key")


@pytest.fixture(scope="module")
def divided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rows of shards and parts, and with every step of the split."""
    folder = tmp_path_factory.mktemp("divided")
    source = Source(edge_files(write_edges(folder / "edges.txt")), N)
    run_local(PARTS, Read(Folders(folder), source))
    run_local(PARTS, divide(folder))
    return folder


@pytest.fixture
def folder(divided: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(divided, tmp_path / "run"))


def swapped(content: dict[str, Any]) -> None:
    content["indices"][:2] = content["indices"][1::-1]


def own_neighbour(content: dict[str, Any]) -> None:
    content["indices"][0] = content["names"][0]


ROWS_OF_A_GRAPH = {
    "offsets far away": at("indptr", 1, FAR),
    "offsets below 0": at("indptr", 1, -FAR),
    "offsets from elsewhere": at("indptr", 0, 1),
    "offsets that end elsewhere": at("indptr", -1, FAR),
    "too few offsets": cut_short("indptr"),
    "too few neighbours": cut_short("indices"),
    "a neighbour far away": at("indices", 0, 2**31 - 1),
    "a neighbour below 0": at("indices", 0, -1),
    "neighbours out of order": swapped,
    "its own neighbour": own_neighbour,
    "names that do not increase": at("names", 1, 0),
    "a name below 0": at("names", 0, -(2**31)),
    "a name far away": at("names", -1, 2**31 - 1),
    "too few names": cut_short("names"),
}
WEIGHTS_AND_IDS = {
    "too few weights": cut_short("weights"),
    "a weight of NaN": at("weights", 0, np.nan),
    "a weight below 0": at("weights", 0, -1.0),
    "too few ids": cut_short("ids"),
    "no ids": without("ids"),
    "ids and no text": lambda content: content.update(id_ends=content.pop("ids")),
    "offsets of ids that go back": lambda content: content.update(
        id_ends=content.pop("ids")[::-1].copy(), id_bytes=np.zeros(3, np.uint8)
    ),
}
SHARDS = {**ROWS_OF_A_GRAPH, **WEIGHTS_AND_IDS, "no weights": without("weights")}


@pytest.mark.parametrize("change", SHARDS.values(), ids=SHARDS.keys())
@pytest.mark.parametrize("rank", first(range(PARTS), 1))
def test_tampered_shards_are_refused(folder: Path, rank: int, change: Change) -> None:
    tamper(folder / "shards" / f"{rank:03d}", SHARD, change)
    with pytest.raises(DamagedError):
        run_local(PARTS, divide(folder))


def test_the_shard_of_another_is_refused(folder: Path) -> None:
    shutil.rmtree(folder / "shards" / "001")
    shutil.copytree(folder / "shards" / "000", folder / "shards" / "001")
    with pytest.raises(DamagedError):
        run_local(PARTS, divide(folder))


PART_ROWS = {
    **ROWS_OF_A_GRAPH,
    **WEIGHTS_AND_IDS,
    "too few codes": cut_short("codes"),
    "a part far away": at("codes", 0, 2 * PARTS),
    "a part below 0": at("codes", 0, -2),
    "too few marks of anchors": cut_short("is_anchor"),
}


@pytest.mark.parametrize("change", PART_ROWS.values(), ids=PART_ROWS.keys())
@pytest.mark.parametrize("rank", first(range(PARTS), 1))
def test_tampered_rows_of_parts_are_refused(folder: Path, rank: int, change: Change) -> None:
    tamper(folder / "rows" / f"{rank:03d}", ROWS, change)
    with pytest.raises(DamagedError):
        run_local(PARTS, lambda mesh: held_by(mesh, Folders(folder), N))


def test_neighbours_in_the_wrong_part_are_refused(folder: Path) -> None:
    tamper(folder / "rows" / "000", ROWS, lambda content: content.update(codes=content["codes"] ^ 2))
    with pytest.raises(DamagedError):
        run_local(PARTS, lambda mesh: held_by(mesh, Folders(folder), N))


def test_a_vertex_in_two_parts_is_refused(folder: Path) -> None:
    second = arrays.load(folder / "rows" / "001", ROWS)[0]["names"]

    def doubled(content: dict[str, Any]) -> None:
        names = content["names"]
        place = next(i for i in range(1, names.size) if any((second > names[i - 1]) & (second < names[i])))
        stranger = int(second[(second > names[place - 1]) & (second < names[place])][0])
        content["names"] = np.insert(names, place, stranger).astype(np.int32)
        content["ids"] = np.insert(content["ids"], place, 10**6)
        content["is_anchor"] = np.insert(content["is_anchor"], place, False)
        content["indptr"] = np.insert(content["indptr"], place, content["indptr"][place])

    tamper(folder / "rows" / "000", ROWS, doubled)
    with pytest.raises(DamagedError, match="parts"):
        run_local(PARTS, lambda mesh: held_by(mesh, Folders(folder), N))


def test_every_vertex_is_to_be_in_one_part() -> None:
    def program(names: tuple[list[int], list[int]]) -> list[None]:
        return run_local(2, lambda mesh: check_all_there(mesh, np.array(names[mesh.rank], np.int32), 4))

    program(([0, 3], [1, 2]))
    for wrong in (([0, 3], [1]), ([0, 3], [1, 3]), ([0, 1, 2], [1, 2, 3]), ([], [])):
        with pytest.raises(DamagedError, match="parts"):
            program(wrong)


def one_way(content: dict[str, Any]) -> None:
    """Leave out all arcs of one vertex."""
    n_gone = int(content["indptr"][1])
    assert n_gone
    content["indptr"] = np.maximum(content["indptr"] - n_gone, 0)
    for name in ("indices", "weights", "codes"):
        content[name] = content[name][n_gone:]


def test_edges_that_lead_one_way_reach_no_partitioner(folder: Path) -> None:
    def program(mesh: Mesh) -> Any:
        held = held_by(mesh, Folders(folder), N)
        return landmarks(mesh, held, N, 40, "kaminpar", 0).n

    assert min(run_local(PARTS, program)) > 0
    tamper(folder / "rows" / "000", ROWS, one_way)
    with pytest.raises(DamagedError, match="one direction"):
        run_local(PARTS, program)


@given(seed=st.integers(0, 2**32 - 1))
@examples(30)
def test_arcs_without_their_other_direction_are_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    there = np.triu(rng.random((n, n)) < 0.5, 1)
    there |= there.T

    def rows() -> tuple[Any, Any]:
        return np.concatenate([[0], np.cumsum(there.sum(axis=1))]), np.nonzero(there)[1].astype(np.int32)

    assert leads_both_ways(*rows())
    u, v = rng.choice(n, 2, replace=False)
    there[u, v] ^= True
    assert not leads_both_ways(*rows())


def test_times_that_differ_by_direction_end_no_process(folder: Path) -> None:
    """The partitioner of the last level demands that both directions of an edge weigh the same."""

    def uneven(content: dict[str, Any]) -> None:
        content["times"][content["times"] > 1] -= 1

    for name in ("first", "coarsest", "parts-0"):
        shutil.rmtree(folder / "steps" / "key-000" / name)
    tamper(folder / "steps" / "key-001" / "level-1", STEP, uneven)
    run_local(PARTS, divide(folder))


def test_an_anchor_at_home_in_two_parts_is_refused() -> None:
    names, nothing = np.arange(2, dtype=np.int32), np.zeros(0, np.int32)

    def program(mesh: Mesh) -> Any:
        marks, codes = np.array([True, False]), np.zeros(0, np.int16)
        return hold(mesh, PartRows(mesh.rank, names, marks, np.arange(2), np.zeros(3, np.int64), nothing, codes, None))

    with pytest.raises(DamagedError, match="anchor"):
        run_local(PARTS, program)


LEVEL = {
    **ROWS_OF_A_GRAPH,
    "times of 0": at("times", 0, 0),
    "times below 0": at("times", 0, -(2**31)),
    "times that are too many": at("times", 0, 2**31 - 1),
    "too few times": cut_short("times"),
    "a load below 0": at("loads", 0, -1),
    "a load far away": at("loads", 0, 2**62),
    "another load": at("loads", 0, 10**6),
    "too few loads": cut_short("loads"),
    "a label far away": at("label", 0, 2**31 - 1),
    "a label below 0": at("label", 0, -1),
    "too few labels": cut_short("label"),
    "no names": without("names"),
    "no labels": without("label"),
    "nothing": lambda content: content.clear(),
}


@pytest.mark.parametrize("change", LEVEL.values(), ids=LEVEL.keys())
def test_tampered_levels_are_refused(folder: Path, change: Change) -> None:
    for name in ("first", "coarsest", "parts-0"):
        shutil.rmtree(folder / "steps" / "key-000" / name)
    tamper(folder / "steps" / "key-001" / "level-1", STEP, change)
    with pytest.raises(DamagedError):
        run_local(PARTS, divide(folder))


def test_a_label_that_no_group_has_is_refused(folder: Path) -> None:
    for name in ("first", "parts-0"):
        shutil.rmtree(folder / "steps" / "key-000" / name)
    place = folder / "steps" / "key-001" / "level-1"
    names = arrays.load(place, STEP)[0]["names"]
    strange = np.setdiff1d(np.arange(N // 2, N), names)[0]
    tamper(place, STEP, at("label", 0, strange))
    with pytest.raises(DamagedError):
        run_local(PARTS, divide(folder))


STEPS = {
    "a part far away": at("part", 0, PARTS),
    "a part very far away": at("part", 0, 2**31 - 1),
    "a part below 0": at("part", 0, -1),
    "too few parts": cut_short("part"),
    "no part": without("part"),
}


@pytest.mark.parametrize("change", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("step", ["coarsest", "parts-0", "first"])
def test_tampered_steps_are_refused(folder: Path, step: str, change: Change) -> None:
    for name in ("first", "parts-0"):  # what was kept later is not there, so that the step is read
        if step != name and (step, name) != ("first", "parts-0"):
            shutil.rmtree(folder / "steps" / "key-000" / name)
    tamper(folder / "steps" / "key-001" / step, STEP, change)
    with pytest.raises(DamagedError):
        run_local(PARTS, divide(folder))


TURN = {
    **STEPS,
    "a best part far away": at("best_part", 0, PARTS),
    "a best part below 0": at("best_part", 0, -1),
    "too few best parts": cut_short("best_part"),
    "too few anchors": cut_short("best_anchors"),
    "edges lost below 0": at("n_lost", 0, -1),
    "other edges lost": at("n_lost", 0, 10**6),
    "too few numbers": cut_short("n_lost"),
}


@pytest.mark.parametrize("change", TURN.values(), ids=TURN.keys())
def test_tampered_turns_are_refused(folder: Path, change: Change) -> None:
    turn = next(place.name for place in (folder / "steps" / "key-001").glob("turn-*-0"))
    tamper(folder / "steps" / "key-001" / turn, STEP, change)
    with pytest.raises(DamagedError):
        run_local(PARTS, divide(folder))


def test_untouched_steps_are_taken(folder: Path, divided: Path) -> None:
    """What the tests above change is refused for the change alone."""
    for name in ("first", "coarsest", "parts-0"):
        shutil.rmtree(folder / "steps" / "key-000" / name)
    shutil.rmtree(folder / "rows")
    run_local(PARTS, divide(folder))
    for rank in range(PARTS):
        for name, array in arrays.load(divided / "rows" / f"{rank:03d}", ROWS)[0].items():
            assert np.array_equal(array, np.load(folder / "rows" / f"{rank:03d}" / f"{name}.npy"))
